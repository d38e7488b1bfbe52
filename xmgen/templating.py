"""Templates hold the frame and the comments of generated text; every value in it passes one of these filters.

A value that no filter has turned into `Code` is an error, so that forgetting a filter cannot let a title or an argument
become code. Undefined names are errors, too.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import jinja2

from xmgen.errors import InputError, Problem


class Code(str):
    """Text that may stand in generated text as it is."""

    __slots__ = ()


def render(template: str, **values: object) -> str:
    """The text of a template of `templates/`. Raises jinja2.UndefinedError for a value that is missing."""
    return _environment().get_template(template).render(**values)


def register(**filters: Callable[..., Code]) -> None:
    """Further filters, of those who know more than literals."""
    _environment().filters.update(filters)


@functools.cache
def _environment() -> jinja2.Environment:
    # Autoescaping is for HTML; what protects these texts is `finalize`.
    environment = jinja2.Environment(  # noqa: S701
        loader=jinja2.FileSystemLoader(templates_folder()),
        undefined=jinja2.StrictUndefined,
        finalize=_only_code,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "code_span": code_span,
        "comment": comment,
        "docker_instruction": docker_instruction,
        "docker_text": docker_text,
        "docstring": docstring,
        "html_comment": html_comment,
        "json": json_literal,
        "markdown": markdown,
        "py": python_literal,
        "word": word,
    }
    return environment


def templates_folder() -> Path:
    """Inside the package when installed from a wheel, beside it in a checkout."""
    package = Path(__file__).parent
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


def _only_code(value: object) -> object:
    # Jinja passes the template's own constant text through here as plain strings only when it is an expression.
    if isinstance(value, Code | jinja2.Undefined):
        return value
    raise TypeError(f"a template may only print filtered values, not {value!r}")


def python_literal(value: object) -> Code:
    """A Python literal of a str, bool, int, finite float, None, list, tuple or dict of these."""
    return Code(_literal(value))


def _literal(value: object) -> str:
    match value:
        case None | bool() | int():
            return repr(value)
        case str():
            # A subclass may print as it likes.
            return str.__repr__(value)
        case float() if math.isfinite(value):
            return repr(value)
        case list():
            return f"[{', '.join(_literal(item) for item in cast(list[object], value))}]"
        case tuple():
            items = cast(tuple[object, ...], value)
            return f"({', '.join(_literal(item) for item in items)}{',' if len(items) == 1 else ''})"
        case dict():
            pairs = cast(dict[object, object], value).items()
            return f"{{{', '.join(f'{_literal(key)}: {_literal(item)}' for key, item in pairs)}}}"
        case jinja2.Undefined():
            # Using it as a text raises the error that names it.
            return str(value)
        case _:
            raise TypeError(f"no Python literal for {value!r}")


def json_literal(value: Any) -> Code:
    return Code(json.dumps(value, ensure_ascii=False, allow_nan=False))


def one_line(text: str) -> str:
    """Printable characters and single spaces only: no line break, control or bidirectional character survives."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def comment(text: str) -> Code:
    """Text for the rest of a comment line."""
    return Code(one_line(text))


def html_comment(text: str) -> Code:
    """Text inside an HTML comment, which two hyphens would end."""
    return Code(re.sub("-(?=-)", "- ", one_line(text)))


def docstring(text: str) -> Code:
    """A docstring of one line; the text's backslashes and quotes cannot end it."""
    line = one_line(text)
    return Code(f'"""{line}"""' if '"' not in line and "\\" not in line else _literal(line))


def markdown(text: object) -> Code:
    """Text inside Markdown, a table's cell included: shown as written, never read as markup or HTML."""
    return Code("".join(f"\\{char}" if char in r"\`*_{}[]<>()#+!|~$&" else char for char in one_line(str(text))))


def code_span(text: str) -> Code:
    """Text in a Markdown code span, inside a table's cell. The fence is longer than any run of backticks in it."""
    line = one_line(text)
    if not line:
        return Code("")
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    padding = " " if "`" in line else ""
    # Even inside code a bar would end the cell.
    return Code(f"{fence}{padding}{line}{padding}{fence}".replace("|", "\\|"))


def word(text: str) -> Code:
    """One word of a Dockerfile's instruction, such as an image's name."""
    if not text or any(char.isspace() or not char.isprintable() or char in "\\$\"'" for char in text):
        raise InputError(Problem(f"{text!r} is not the name of an image"))
    return Code(text)


def docker_text(text: str) -> Code:
    """The rest of a Dockerfile's line, of which Docker would expand variables and escapes."""
    return Code("".join(f"\\{char}" if char in "\\$" else char for char in _one_line_only(text)))


def docker_instruction(text: str) -> Code:
    """An instruction that the user wrote, as it is; it may go on over several lines, as a Dockerfile's does."""
    return Code(text)


def _one_line_only(text: str) -> str:
    if not text.isprintable():
        raise InputError(Problem(f"{text!r} cannot stand in a Dockerfile"))
    return text
