"""experiment.yaml: an experiment without Python. docs/experiment-yaml.md describes the format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DictSchema

from xmgen.errors import InputError, Problem
from xmgen.experiment import Experiment
from xmgen.frontends.spec import build, document, problems
from xmgen.frontends.spec.context import Context
from xmgen.frontends.spec.model import Spec

SCHEMA_DIALECT = "http://json-schema.org/draft-07/schema#"
"""The dialect that the YAML extensions of editors know."""


def load(source: Path, *, root: Path, stack: str, flags: Sequence[str] = ()) -> Experiment:
    """Read an experiment.yaml. root: the project's folder, around it; the experiment's paths are relative to that.

    Raises InputError with everything that is wrong in the file.
    """
    root, source = root.resolve(), source.resolve()
    name = source.relative_to(root).as_posix()
    if flags:
        raise InputError(
            Problem(f"an experiment in YAML takes no flags: {' '.join(flags)}", name, "only a launch script has flags")
        )
    read = document.read(source, name)
    checked, around = _check(read, root=root, here=source.parent)
    return build.experiment(checked, around.references, root=root, stack=stack, source=name, where=read.where)


def schema() -> dict[str, Any]:
    """The JSON Schema of the format, for editors."""
    return {"$schema": SCHEMA_DIALECT, **Spec.model_json_schema(schema_generator=_Schema)}


class _Schema(GenerateJsonSchema):
    """Without titles that only repeat a key's name, and with names closed to what their pattern allows."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def dict_schema(self, schema: DictSchema) -> JsonSchemaValue:
        result = super().dict_schema(schema)
        if "patternProperties" in result:
            result["additionalProperties"] = False
        return result


def _check(read: document.Document, *, root: Path, here: Path) -> tuple[Spec, Context]:
    found = problems.cycles(read)
    content = read.value
    if isinstance(content, dict):
        # `x-…` is where a file keeps what it refers to by anchors.
        content = {key: value for key, value in content.items() if not key.startswith("x-")}
    around = Context.of(content, root=root, here=here)
    try:
        spec = Spec.model_validate(content, context=around)
    except ValidationError as failure:
        again = [failure, *_below_unknown_kinds(content, failure, around)]
        found += problems.of_all(again, read, Spec)
    else:
        if not found:
            return spec, around
    raise InputError(*dict.fromkeys(found))


def _below_unknown_kinds(content: Any, failure: ValidationError, around: Context) -> list[ValidationError]:
    """What validation says with the kinds in the file that are none replaced by such as there are: pydantic looks at
    nothing below them.
    """
    failures: list[ValidationError] = []
    for corrected in problems.corrected(content, failure, Spec):
        try:
            Spec.model_validate(corrected, context=around)
        except ValidationError as further:
            failures.append(further)
        else:
            return []
    return failures
