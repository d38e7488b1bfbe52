"""`xmgen:index:Code`: code that is not what was compiled is refused before anything is built from it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests import builders
from xmgen import sources
from xmgen.provider import wire
from xmgen.provider.executable import CodeResource
from xmgen.provider.resource import Difference, Request, State
from xmgen.stack.lock import dumps
from xmgen.urns import Urn

URN = Urn("urn:pulumi:dev::experiments::xmgen:index:Code::trainer")


class Silent:
    async def info(self, text: str) -> None: ...

    debug = warning = status = info


REQUEST = Request(urn=URN, log=Silent())


def folder(root: Path) -> wire.Properties:
    (root / "code").mkdir()
    (root / "code" / "train.py").write_text("print(1)")
    (root / "code" / "launcher.py").write_text("launch()")
    lock = root / "stacks" / "dev" / "experiment.lock.json"
    lock.parent.mkdir(parents=True)
    compiled = builders.experiment(builders.job(), stack="dev")
    flags = ("--rates=1,2", "--title=a b")
    lock.write_text(dumps(replace(compiled, source="code/launcher.py", flags=flags)))
    exclude = ("launcher.py",)
    return {"directory": "code", "digest": sources.digest(root / "code", exclude), "exclude": list(exclude)}


def problems(root: Path, inputs: wire.Properties) -> dict[str, str]:
    found = asyncio.run(CodeResource(root).check(REQUEST, inputs, None))
    return {path: str(problem) for path, problem in found.items()}


def test_code_as_it_was_compiled_is_taken(tmp_path: Path) -> None:
    assert problems(tmp_path, folder(tmp_path)) == {}


def test_the_launch_script_is_no_code(tmp_path: Path) -> None:
    inputs = folder(tmp_path)
    (tmp_path / "code" / "launcher.py").write_text("launch(twice=True)")
    assert problems(tmp_path, inputs) == {}


def test_changed_code_is_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    inputs = folder(tmp_path)
    (tmp_path / "code" / "train.py").write_text("print(2)")
    assert problems(tmp_path, inputs) == {
        "digest": "code: code of trainer changed after the compile\n  "
        "run `xmgen compile code/launcher.py --stack dev -- --rates=1,2 '--title=a b'` again"
    }


def test_code_that_is_gone_is_refused(tmp_path: Path) -> None:
    assert list(problems(tmp_path, {"directory": "other", "digest": "sha256:1"})) == ["digest"]


@pytest.mark.parametrize(
    ("inputs", "wrong"),
    [
        ({}, ["directory", "digest"]),
        ({"directory": "", "digest": 1}, ["directory", "digest"]),
        ({"directory": "code", "digest": "sha256:1", "exclude": "launcher.py"}, ["exclude"]),
        ({"directory": "code", "digest": "sha256:1", "folder": "code"}, ["folder"]),
    ],
)
def test_malformed_inputs(tmp_path: Path, inputs: wire.Properties, wrong: list[str]) -> None:
    assert list(problems(tmp_path, inputs)) == wrong


def test_there_is_nothing_to_create_or_delete(tmp_path: Path) -> None:
    async def life() -> tuple[State, Difference, State, State | None]:
        inputs: wire.Properties = {"directory": "code", "digest": "sha256:1"}
        changed: wire.Properties = {**inputs, "digest": "sha256:2"}
        code = CodeResource(tmp_path)
        created = await code.create(REQUEST, inputs)
        difference = await code.diff(REQUEST, changed, inputs, created.outputs)
        updated = await code.update(REQUEST, created.id, changed, inputs, created.outputs)
        await code.delete(REQUEST, created.id, inputs, created.outputs)
        return created, difference, updated, await code.read(REQUEST, created.id, changed, updated.outputs)

    created, difference, updated, read = asyncio.run(life())
    assert created == State(id="trainer", outputs={"directory": "code", "digest": "sha256:1"})
    assert difference == Difference(changes={"digest": "update"})
    assert updated == State(id="trainer", outputs={"directory": "code", "digest": "sha256:2"})
    assert read == State(id="trainer", outputs=updated.outputs, inputs=updated.outputs)
