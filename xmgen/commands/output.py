"""How commands speak: rich on a terminal, plain text elsewhere, JSON for programs."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from xmgen.errors import XmgenError

_NEVER_CUT = 100_000
"""Width of text that no terminal shows: a table's columns are as wide as their content."""

_FOLDED = 6
"""Characters of a line of a folded cell, at least."""


_FOR_TERMINALS = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links, the clipboard
    r"|[@-Z\\-_])"
)


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What steers a terminal, or turns what follows around; not ends of lines and tabs."""


def console(*, error: bool = False) -> Console:
    """Standard output, or standard error: what a reader of results must not find among them."""
    file = sys.stderr if error else sys.stdout
    terminal = Console(file=file, highlight=False, soft_wrap=True)
    if terminal.is_terminal:
        return terminal
    return Console(file=file, highlight=False, soft_wrap=True, width=_NEVER_CUT, no_color=True)


def say(text: str, style: str = "", *, error: bool = False) -> None:
    """A line of text, in which nothing is markup, and nothing speaks to a terminal."""
    console(error=error).print(Text(escaped(text), style=style))


def print_json(value: object) -> None:
    print(_json(value, indent=2))


def print_json_line(value: object) -> None:
    print(_json(value), flush=True)


def _json(value: object, indent: int | None = None) -> str:
    # JSON leaves some of them as they are.
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False, indent=indent))


def print_text(text: str, language: str) -> None:
    """Lines of files, in which what would steer a terminal is an escape. language: rich's, that colours them."""
    text = _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)
    target = console()
    if text and target.is_terminal:
        from rich.syntax import Syntax

        target.print(Syntax(text, language, background_color="default", word_wrap=language != "diff"))
    else:
        print(text, end="")


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], styles: Mapping[str, str] | None = None
) -> None:
    """A table whose cells are shown as they are. styles: of cells that hold exactly this text, on a terminal."""
    from rich import box
    from rich.table import Table

    target = console()
    texts = [[cell(value) for value in row] for row in rows]
    headings = [cell(column) for column in columns]
    room = target.is_terminal and target.width >= _least_width([headings, *texts])
    table = Table(box=box.SIMPLE_HEAD if room else None, pad_edge=False, show_edge=False)
    for heading in headings:
        # Fold and never cut: half of a name or a number is worth nothing.
        table.add_column(Text(heading), overflow="fold")
    for row in texts:
        table.add_row(*(Text(text, style=(styles or {}).get(text, "")) for text in row))
    if room:
        target.print(table, soft_wrap=False)
        return
    wide = Console(file=target.file, highlight=False, width=_NEVER_CUT, no_color=True)
    with wide.capture() as capture:
        wide.print(table)
    for line in capture.get().splitlines():
        print(line.rstrip())


def _least_width(rows: Sequence[Sequence[str]]) -> int:
    """Of a table that folds its cells and can still be read: with less room columns would vanish."""
    return sum(min(max(map(len, column)), _FOLDED) + 2 for column in zip(*rows, strict=True))


def cell(value: object) -> str:
    """A value in a table's cell."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.4g}"
        case str():
            # One row is one line.
            return escaped(value).replace("\n", "\\n").replace("\t", "\\t")
        case int():
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False)


def escaped(text: str) -> str:
    """Lines of a user's, in which what cannot be printed is an escape."""
    return "".join(char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text)


def readable(text: str) -> str:
    """What a program printed, without what it says to a terminal: colours, movements of the cursor, titles."""
    return "\n".join(cell(line.expandtabs()) for line in _FOR_TERMINALS.sub("", text).rstrip("\n").split("\n"))


def print_error(error: XmgenError) -> None:
    target = console(error=True)
    for problem in error.problems:
        line = Text("error: ", style="bold red")
        if problem.where:
            line.append(f"{escaped(problem.where)}: ", style="bold")
        line.append(escaped(problem.message))
        target.print(line)
        if problem.hint:
            target.print(Text(f"  {escaped(problem.hint)}", style="dim"))


@contextlib.contextmanager
def standard_output_kept_clean() -> Generator[None]:
    """What a launch script prints goes to standard error: standard output is for the command's result."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
