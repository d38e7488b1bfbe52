"""What the pods of trials on GKE printed, as their cluster has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xmgen.errors import OperationError, Problem, named
from xmgen.executors.base import LogWindow
from xmgen.executors.gke import connection as kubernetes
from xmgen.executors.gke import pod_logs
from xmgen.executors.gke.connection import Connection, Refused
from xmgen.executors.gke.pod_logs import Followed, Log, Printed
from xmgen.project import Project
from xmgen.pulumi_cli import backend, session, trials
from xmgen.pulumi_cli.session import Session
from xmgen.stack.compiled import CompiledStack

POLL_SECONDS = 1.0

MOST_NOTED = 10

_TOO_MANY = Problem(f"{pod_logs.MOST_AT_ONCE} logs are followed at once; the others come as these end")


def of_units(
    project: Project, compiled: CompiledStack, units: Sequence[str], window: LogWindow, *, follow: bool
) -> Iterator[str | Problem]:
    """Raises OperationError where there is nothing to show, or the cluster does not answer."""
    stack = compiled.name
    work = session.begin(project, stack)
    export = work.export() if work.exists() else None
    cluster = kubernetes.connect(work, export) if export is not None else None
    if export is None or cluster is None:
        raise OperationError(Problem(f"{stack} is not up", hint=f"`xmgen up {stack}` runs it"))
    wanted = _Wanted(work, compiled, units, export, cluster)
    return _followed(wanted, window) if follow else _there(wanted, window)


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

    def over(self, printed: Sequence[Printed]) -> bool:
        """Whether nothing more is to come, not even of an `up` that has not come to a Job yet."""
        if not all(job.over for job in printed):
            return False
        work = self._work
        return all(job.there for job in printed) or not backend.is_locked(work.backend, work.project, work.stack)


def _there(wanted: _Wanted, window: LogWindow) -> Iterator[str | Problem]:
    """What has been printed so far."""
    printed = wanted.now()
    logs = [log for job in printed for log in job.logs if log.state != "waiting"]
    problems = [job.known for job in printed if job.known is not None]
    readable = False
    for log in logs:
        try:
            for line in pod_logs.read(wanted.cluster, log, window):
                yield _text(log, line, headed=len(logs) > 1)
            readable = True
        except Refused as refused:
            problems.append(log.unreadable(refused))
    if not readable:
        raise OperationError(*_some(problems))
    yield from _some(problems)


def _followed(wanted: _Wanted, window: LogWindow) -> Iterator[str | Problem]:
    """What comes until all have ended."""
    followed = Followed(wanted.cluster, window)
    noted: set[Problem] = set()
    titles: set[str] = set()
    while True:
        printed = wanted.now()
        logs = [log for job in printed for log in job.logs]
        titles |= {log.title for log in logs}
        problems = [job.known for job in printed if job.known is not None]
        over = wanted.over(printed)
        if over and not titles:
            raise OperationError(*_some(problems))
        if followed.look(logs):
            problems.append(_TOO_MANY)
        yield from _some(problem for problem in problems if problem not in noted)
        noted |= set(problems)
        # What is done has put all its lines by now.
        last = over and followed.done
        for log, came in followed.come(0 if last else POLL_SECONDS):
            yield came if isinstance(came, Problem) else _text(log, came, headed=len(titles) > 1)
        if last:
            break
    yield from _some(job.failed for job in printed if job.failed is not None)


def _text(log: Log, line: str, *, headed: bool) -> str:
    return f"{log.title} | {line}\n" if headed else f"{line}\n"


def _some(problems: Iterable[Problem]) -> list[Problem]:
    """Those of many units that are the same as one, and of many the first."""
    of: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        of.setdefault((problem.message, problem.hint), []).append(problem.where)
    together = [Problem(message, named(places), hint) for (message, hint), places in of.items()]
    more = len(together) - MOST_NOTED
    return together if more <= 0 else [*together[:MOST_NOTED], Problem(f"and {more} more of this kind")]
