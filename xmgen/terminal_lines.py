"""Lines that jobs print, as they are kept in Pulumi's state and shown on a terminal. Logs have them as they came."""

from __future__ import annotations

LONGEST = 1_000
"""Characters of a line."""


def drawn(line: str) -> str:
    """What a terminal would show in the end: a progress bar draws over itself. NUL would end the text in one."""
    return line.rstrip("\r").rpartition("\r")[2].replace("\0", "\N{REPLACEMENT CHARACTER}")


def cut(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
