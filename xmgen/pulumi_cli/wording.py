"""What Pulumi says, cut down to what a user needs."""

from __future__ import annotations

import re
import signal

UNSAID = (
    "the same with plain Pulumi and `--logtostderr -v 9` says more; "
    "the log of the machine (`dmesg`) says whether its memory ran out"
)
"""Where there is more to be found of an engine that said nothing."""

TRACEBACK = "Traceback (most recent call last):"

_MACHINERY = re.compile(
    r'File "[^"\n]*(?:pulumi-language-python-exec"|[/\\]pulumi[/\\](?:(?:runtime|provider|automation)[/\\])?\w+\.py"'
    r"|[/\\]grpc[/\\])"
)
"""Frames of the language host and of the SDK, of which no program of a trial has any."""

_FRAME = re.compile(r'File "[^"\n]*", line \d+, in \S+')
_EXCEPTION = re.compile(r"(?<!\S)(?:[A-Za-z_]\w*\.)*[A-Za-z_]*(?:Error|Exception|Exit|Interrupt|Warning)(?:: |$)")
_RPC_DETAILS = re.compile(r'\bdetails = "((?:[^"\\]|\\.)*)"')


def brief(text: str) -> str:
    """The text, and of a traceback through Pulumi's own code, on one line or on many, nothing but the exception.

    Tracebacks of anything else, such as a trial's in its log, are left as they are.
    """
    before, found, rest = text.partition(TRACEBACK)
    if not found or not _MACHINERY.search(rest):
        return text
    exception = _exception(rest)
    if details := _RPC_DETAILS.search(exception):
        exception = details[1].replace('\\"', '"')
    return f"{before.rstrip()} {exception}".strip()


def ended(code: int) -> str:
    """How a process ended that said nothing: `it ended with status 3`."""
    if code >= 0:
        return f"it said nothing, and ended with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"it said nothing, and was ended by {name}"


def _exception(rest: str) -> str:
    """What follows the last frame: of exceptions that led to each other, the last one."""
    last = [*_FRAME.finditer(rest)][-1]
    after = rest[last.end() :]
    if "\n" not in after.rstrip("\n"):
        found = _EXCEPTION.search(after)
        return after[found.start() :].strip() if found else "an error of the Python program"
    indent = last.start() - rest.rfind("\n", 0, last.start()) - 1
    lines = after.split("\n")[1:]
    # Code and its carets are indented more than the frame that they belong to, an exception less.
    first = next((n for n, line in enumerate(lines) if line.strip() and _indent(line) < indent), len(lines))
    return "\n".join(line.rstrip() for line in lines[first:]).strip() or "an error of the Python program"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
