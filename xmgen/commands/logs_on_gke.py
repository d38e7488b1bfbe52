"""What the pods of trials on GKE printed, as their cluster has it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from xmgen.commands import output
from xmgen.commands.results import named
from xmgen.errors import OperationError, Problem
from xmgen.executors.gke import connection as kubernetes
from xmgen.executors.gke import pod_logs
from xmgen.executors.gke.connection import Connection, Refused
from xmgen.executors.gke.pod_logs import Followed, Log, Printed, Window
from xmgen.project import Project
from xmgen.pulumi_cli import backend, session, trials
from xmgen.pulumi_cli.session import Session
from xmgen.stack.compiled import CompiledStack

POLL_SECONDS = 1.0

MOST_NOTED = 10

_TOO_MANY = Problem(f"{pod_logs.MOST_AT_ONCE} logs are followed at once; the others come as these end")


def show(project: Project, compiled: CompiledStack, units: Sequence[str], window: Window, *, follow: bool) -> None:
    """Raises OperationError where there is nothing to show, or the cluster does not answer."""
    stack = compiled.name
    work = session.begin(project, stack)
    export = work.export() if work.exists() else None
    cluster = kubernetes.connect(work, export) if export is not None else None
    if export is None or cluster is None:
        raise OperationError(Problem(f"{stack} is not up", hint=f"`xmgen up {stack}` runs it"))
    of = _Wanted(work, compiled, units, export, cluster)
    if follow:
        _follow(of, window)
    else:
        _show(of, window)


class _Wanted:
    """The Jobs of the units that are meant."""

    def __init__(
        self, work: Session, compiled: CompiledStack, units: Sequence[str], export: str, cluster: Connection
    ) -> None:
        self.cluster = cluster
        self._work = work
        self._compiled = compiled
        self._units = units
        self._state = trials.job_states(export)

    def now(self) -> list[Printed]:
        return pod_logs.of_units(self._compiled, self._units, self._state, self.cluster)

    def over(self, found: Sequence[Printed]) -> bool:
        """Whether nothing more is to come, not even of an `up` that has not come to a Job yet."""
        if not all(each.over for each in found):
            return False
        work = self._work
        return all(each.there for each in found) or not backend.is_locked(work.backend, work.project, work.stack)


def _show(wanted: _Wanted, window: Window) -> None:
    found = wanted.now()
    logs = [log for each in found for log in each.logs if log.state != "waiting"]
    problems = [each.known for each in found if each.known is not None]
    readable = False
    for log in logs:
        try:
            for line in pod_logs.read(wanted.cluster, log, window):
                _print(log, line, headed=len(logs) > 1)
            readable = True
        except Refused as refused:
            problems.append(log.unreadable(refused))
    if not readable:
        raise OperationError(*_some(problems))
    _note(problems)


def _follow(wanted: _Wanted, window: Window) -> None:
    followed = Followed(wanted.cluster, window)
    noted: set[Problem] = set()
    titles: set[str] = set()
    while True:
        found = wanted.now()
        logs = [log for each in found for log in each.logs]
        titles |= {log.title for log in logs}
        known = [each.known for each in found if each.known is not None]
        over = wanted.over(found)
        if over and not titles:
            raise OperationError(*_some(known))
        if followed.look(logs):
            known.append(_TOO_MANY)
        _note([problem for problem in known if problem not in noted])
        noted |= set(known)
        # What is done has put all its lines by now.
        last = over and followed.done
        for log, what in followed.come(0 if last else POLL_SECONDS):
            if isinstance(what, Problem):
                _note([what])
            else:
                _print(log, what, headed=len(titles) > 1)
        if last:
            break
    _note([each.failed for each in found if each.failed is not None])


def _print(log: Log, line: str, *, headed: bool) -> None:
    sys.stdout.write(f"{log.title} | {line}\n" if headed else f"{line}\n")
    sys.stdout.flush()


def _some(problems: Iterable[Problem]) -> list[Problem]:
    """Those of many units that are the same as one, and of many the first."""
    of: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        of.setdefault((problem.message, problem.hint), []).append(problem.where)
    together = [Problem(message, named(places), hint) for (message, hint), places in of.items()]
    more = len(together) - MOST_NOTED
    return together if more <= 0 else [*together[:MOST_NOTED], Problem(f"and {more} more of this kind")]


def _note(problems: Sequence[Problem]) -> None:
    """Beside the logs, which are on standard output."""
    for problem in _some(problems):
        output.say(str(problem), error=True)
