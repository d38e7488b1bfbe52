"""What the models of an experiment.yaml have in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError


def error(message: str, hint: str = "") -> PydanticCustomError:
    """A validation error in our own words; `hint` says what would be right."""
    # Braces in the texts are not pydantic's to fill: they go in as context.
    return PydanticCustomError("xmgen", "{message}", {"message": message, "hint": hint})


NAME_PATTERN = "^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$"


def _name(name: str) -> str:
    if not re.fullmatch(NAME_PATTERN, name):
        raise error(f"{name!r} cannot be a name", "up to 63 letters, digits, _ and -; no - at the start")
    return name


Name = Annotated[str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": NAME_PATTERN})]
"""A name that the file gives to an executable, a work unit or a job; files and resources are named after it."""


def _not_blank(value: str) -> str:
    if not value.strip():
        raise error("must not be empty")
    return value


Text = Annotated[str, Field(min_length=1), AfterValidator(_not_blank)]


class Model(BaseModel):
    """Strict (a text is no number) and closed (an unknown key is an error). Docstrings of fields become the schema's
    descriptions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


class OneOf(Model):
    """A model of which exactly one of some keys must be there."""

    choices: ClassVar[tuple[str, ...]]

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        fields = type(self).model_fields
        given = [name for field in self.model_fields_set if (name := fields[field].alias or field) in self.choices]
        if len(given) != 1:
            raise error(
                f"needs exactly one of {', '.join(self.choices)}; has {' and '.join(sorted(given)) or 'none of them'}"
            )
        return self


def exactly_one_of(*choices: str) -> Callable[[dict[str, Any]], None]:
    """The same rule for the JSON Schema."""

    def extend(schema: dict[str, Any]) -> None:
        schema["oneOf"] = [{"required": [choice]} for choice in choices]

    return extend
