"""What commands ask of the place where a stack's work units run: the run-time side of an executor.

Each executor has a folder, and in it `runtime.py` with one subclass of `Runtime`. Commands find it by what the compiled
stack runs on, and name none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module

from xmgen import executors
from xmgen.errors import InputError, OperationError, Problem
from xmgen.project import Project
from xmgen.pulumi_cli import trials
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.pulumi import Event
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.trials import Trial
from xmgen.stack.compiled import CompiledStack


@dataclass(frozen=True, slots=True)
class LogWindow:
    """Which part of a log. tail: its last lines. since: what came in the last seconds."""

    tail: int | None = None
    since: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStatus:
    """How the units of a stack stand.

    units:      every one, in the experiment's order. unreached: why they are as Pulumi knew them last, and not as now.
    unfinished: how many the next `up` would run that nothing runs now. notes: what there is to say beside them.
    """

    units: Sequence[Trial]
    unreached: OperationError | None = None
    unfinished: int = 0
    notes: tuple[str, ...] = ()


GONE = "The cluster is gone, and with it what was on it."
"""What is said of what `Reruns.forgets` is about."""

Table = tuple[str, Sequence[str], Sequence[Sequence[object]]]
"""Title, columns and rows."""

OnEvent = Callable[[Event], str]
"""Told of an event of Pulumi's; returns what went wrong because of it, in a sentence, or nothing."""


def _nothing(event: Event) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reruns:
    """What an `up` runs again, though for Pulumi it is as good as what runs.

    kind:    what they are. reasons: URN -> why. unknown: why they, or others, cannot be known, in a sentence.
    forgets: where what they ran on is gone, which Pulumi does not know: a session that finds it out.
    """

    kind: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    unknown: str = ""
    forgets: Session | None = None

    def arguments(self) -> list[str]:
        """For Pulumi."""
        return [argument for urn in self.reasons for argument in ("--replace", urn)]

    def sentences(self) -> list[str]:
        """For the user."""
        unknown = [self.unknown] if self.unknown else []
        if not self.reasons:
            return unknown
        why = ", ".join(f"{count} {reason}" for reason, count in sorted(Counter(self.reasons.values()).items()))
        several = "" if len(self.reasons) == 1 else "s"
        return [*unknown, f"{len(self.reasons)} {self.kind}{several} will run again: {why}."]

    def prepare(self) -> OnEvent:
        """Before an `up` that runs them. Returns what is to be told of its events. Raises OperationError."""
        return _nothing


class Runtime(ABC):
    """One place where work units run. What a method does not have to do with a place, it leaves as it is here."""

    @abstractmethod
    def status(self, work: Session, stack: CompiledStack, export: str | None, *, active: bool | None) -> LiveStatus:
        """How the units stand now. export: the stack's state; None where there is no stack. active: whether an
        operation works on it; None where nobody can tell.
        """

    @abstractmethod
    def logs(
        self, project: Project, stack: CompiledStack, units: Sequence[str], window: LogWindow, *, follow: bool
    ) -> Iterator[str | Problem]:
        """What these units printed: texts as they are to be written, and between them what is to be said of them.

        Raises OperationError where there is nothing to show, InputError for a window that there is not.
        """

    def tables(self, stack: CompiledStack) -> list[Table]:
        """What `inspect` shows of a compiled stack beside its resources and units."""
        return []

    def recorded(self, stack: CompiledStack, export: str | None) -> list[Trial]:
        """How the units stood when the stack's state was written."""
        return trials.recorded(stack, export)

    def reruns(self, work: Session, stack: CompiledStack) -> Reruns:
        """What the next `up` runs again."""
        return Reruns()

    def finish(self, work: Session, stack: CompiledStack, progress: Progress, *, failed: bool) -> list[str]:
        """After an `up`: take what Pulumi does not know of the units into `progress`. failed: whether the `up` has.

        Returns what cannot be known, in sentences.
        """
        return []

    def refuse_undecided(self, project: Project, stack: CompiledStack, settings: Sequence[str]) -> None:
        """Raise InputError for what only the stack's configuration can say, and does not. settings: of the command
        line, `key=value`.
        """
        return

    def refuse_move(self, work: Session, stack: CompiledStack, settings: Sequence[str]) -> None:
        """Raise OperationError where an `up` would move what cannot be moved. settings: of the command line."""
        return

    def before_removal(self, work: Session, export: str, command: str) -> tuple[Session, list[str]]:
        """Before an operation that removes or reads what is there, of whatever stack. Returns the session to do it in,
        and what was found out, in sentences. command: of xmgen's. Raises OperationError where it would come to nothing.
        """
        return work, []


@cache
def _of_folder(name: str) -> Runtime:
    return import_module(f"xmgen.executors.{name}.runtime").RUNTIME


def runtime(stack: CompiledStack) -> Runtime:
    """Of a compiled stack. Raises InputError for one that runs where no executor of this xmgen does."""
    runs = stack.declared.runs
    folder = executors.folder_of(runs)
    if folder is None:
        hint = f"compile it again, or use the xmgen that compiled it; known: {', '.join(executors.folders())}"
        raise InputError(Problem(f"runs on {runs!r}, which this xmgen knows nothing of", where=stack.name, hint=hint))
    return _of_folder(folder)


def runtimes() -> list[Runtime]:
    """Each, for stacks of which only the state is there."""
    return [_of_folder(name) for name in executors.folders()]
