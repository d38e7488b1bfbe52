"""The documentation and the schema of experiment.yaml say what the program does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from xmgen import catalog
from xmgen.frontends import spec
from xmgen.frontends.spec import document, requirements
from xmgen.frontends.xmanager.api.xm import ResourceType

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/experiment-yaml.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = sorted(ROOT.glob("examples/*/experiment.yaml"))


def fragments() -> list[str]:
    return [pytest.param(block, id=f"block-{number}") for number, block in enumerate(BLOCKS, start=1)]  # type: ignore[misc]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("train.py", "code/train.py", "image/Dockerfile", "bin/tool"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


def completed(block: str) -> str:
    """A block of the page shows some sections; the others come from the page's other blocks."""
    texts = [block]
    if "\nwork_units:" not in f"\n{block}":
        texts.append(next(other for other in BLOCKS if other.startswith("work_units:")))
    if "\nexecutables:" not in f"\n{block}":
        texts.append(next(other for other in BLOCKS if other.startswith("executables:")))
    if "\ntitle:" not in f"\n{block}":
        texts.append("title: A block of the page\n")
    return "".join(texts)


@pytest.mark.parametrize("block", fragments())
def test_every_block_of_the_page_is_valid(project: Path, block: str) -> None:
    file = project / "experiment.yaml"
    file.write_text(completed(block), encoding="utf-8")
    assert spec.load(file, root=project, stack="page").units
    jsonschema.validate(document.read(file, "page").value, spec.schema())


def test_the_sizes_that_the_page_gives(project: Path) -> None:
    file = project / "experiment.yaml"
    sizes: dict[str, int] = {}
    for block in BLOCKS:
        file.write_text(completed(block), encoding="utf-8")
        sizes[block] = len(spec.load(file, root=project, stack="page").units)
    assert sizes[BLOCKS[0]] == 4
    assert sizes[next(block for block in BLOCKS if "zip:\n        args:" in block)] == 16
    assert sizes[next(block for block in BLOCKS if "count: 20" in block)] == 20


def test_the_committed_schema_is_the_one_that_xmgen_prints() -> None:
    assert json.loads((ROOT / "docs/experiment.schema.json").read_text(encoding="utf-8")) == spec.schema()


def test_the_schema_is_one() -> None:
    jsonschema.Draft7Validator.check_schema(spec.schema())


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.parent.name)
def test_the_examples_name_the_schema_and_follow_it(file: Path) -> None:
    reference = re.match(r"# yaml-language-server: \$schema=(.*)\n", file.read_text(encoding="utf-8"))
    assert reference
    schema = json.loads((file.parent / reference[1]).read_text(encoding="utf-8"))
    jsonschema.validate(document.read(file, file.name).value, schema)


def keys(schema: dict[str, Any]) -> set[str]:
    """All keys that the schema knows, wherever they stand."""
    found = set(schema.get("properties", {}))
    children = [child for child in schema.values() if isinstance(child, dict)]
    children += [
        each for child in schema.values() if isinstance(child, list) for each in child if isinstance(each, dict)
    ]
    return found.union(*map(keys, children)) if children else found


def test_the_page_explains_every_key() -> None:
    words = set(re.findall(r"\w+", PAGE))
    # Accelerators are a table's, which follows the catalog.
    assert keys(spec.schema()) - words - catalog.names().keys() == set()


@pytest.mark.parametrize(
    "content",
    [
        {"title": "T", "executables": {}, "work_units": {}},
        {"title": "T", "executables": {"a b": {"kind": "container", "image_path": "i"}}, "work_units": {}},
        {"title": "T", "executable": {}},
    ],
)
def test_the_schema_refuses_what_xmgen_refuses(content: Any) -> None:
    assert not jsonschema.Draft7Validator(spec.schema()).is_valid(content)


def test_requirements_are_xmanagers() -> None:
    ours = set(requirements.Requirements.model_fields) - {"architecture", "location", "replicas", "service_tier"}
    theirs = {name.lower() for name in ResourceType.__members__} - {"memory", "ephemeral_storage"}
    assert ours == theirs


def test_the_page_is_yaml_for_everyone() -> None:
    for block in BLOCKS:
        assert isinstance(yaml.safe_load(block), dict)
