"""logs: what trials printed, wherever they run."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from xmgen.commands import output, target
from xmgen.errors import InputError, Problem, did_you_mean
from xmgen.executors.base import LogWindow, runtime
from xmgen.project import Project

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def logs(
    project: Project, stack: str, wanted: Sequence[str], *, follow: bool, tail: int | None, since: str | None
) -> None:
    """wanted: as a user names units; all of them when there are none."""
    compiled = target.existing(project, stack)
    window = LogWindow(tail, None if since is None else seconds(since))
    names = [unit.name for unit in compiled.units]
    units = list(dict.fromkeys(_unit(names, text) for text in wanted)) if wanted else names
    for printed in runtime(compiled).logs(project, compiled, units, window, follow=follow):
        if isinstance(printed, Problem):
            # Beside the logs, which are on standard output.
            output.say(str(printed), error=True)
        else:
            sys.stdout.write(printed)
            sys.stdout.flush()


def seconds(text: str) -> int:
    """`90s`, `10m`, `2h`, `1d`, or several of them as in `1h30m`. Raises InputError for anything else."""
    parts = re.findall(r"(\d+)([smhd])", text, re.ASCII)
    total = sum(int(number) * _SECONDS[unit] for number, unit in parts)
    if not total or "".join(number + unit for number, unit in parts) != text:
        raise InputError(Problem(f"{text!r} is no length of time", where="--since", hint="such as 90s, 10m, 2h or 1d"))
    return total


def _unit(names: Sequence[str], wanted: str) -> str:
    """A unit by its name, its position from 1, or the beginning of its name. Raises InputError."""
    if wanted in names:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    matches = [name for name in names if name.startswith(wanted)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        shown = ", ".join(matches[:5]) + (", …" if len(matches) > 5 else "")
        raise InputError(Problem(f"{wanted!r} begins the names of {len(matches)} work units", hint=shown))
    hint = did_you_mean(wanted, names) if len(names) <= 10 else f"a name, its beginning, or a number up to {len(names)}"
    raise InputError(Problem(f"no work unit {wanted!r}", hint=hint))
