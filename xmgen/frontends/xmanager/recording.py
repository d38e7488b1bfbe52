"""What one run of a launch script asked for.

The launch API (`api.xm`, `api.xm_local`) writes into the active `Recording` instead of launching;
`api.xm_local.conversion` makes of it the `Experiment` that the planner reads.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from xmgen import names
from xmgen.errors import Problem
from xmgen.experiment import Arg, Reference, Role
from xmgen.plan import places

if TYPE_CHECKING:
    from xmgen.frontends.xmanager.api.xm.job_blocks import Executable, Executor, Packageable

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class RecordedJob:
    """A job as it would be launched.

    args: the executable's own, merged with the job's.
    env:  likewise; values are texts.
    """

    name: str
    executable: Executable
    executor: Executor
    args: tuple[Arg, ...]
    env: dict[str, str]


@dataclass(slots=True, eq=False)
class RecordedUnit:
    """A work unit or an auxiliary unit, in the order in which they were added.

    id:         counts the work units of the experiment from 1; an auxiliary unit has 0.
    identity:   the user's own name for it.
    origin:     the line of the script that adds it; empty when that is not known.
    after:      the units whose completion the script waited for before it added this one.
    """

    id: int
    role: Role
    name: str
    identity: str = ""
    origin: str = ""
    jobs: list[RecordedJob] = field(default_factory=list["RecordedJob"])
    after: dict[RecordedUnit, None] = field(default_factory=dict["RecordedUnit", None])

    @property
    def description(self) -> str:
        """How the user would name it in an error."""
        return places.of_unit(self.role, self.id)


@dataclass(slots=True, eq=False)
class RecordedExperiment:
    """One `create_experiment` of the script."""

    title: str
    units: list[RecordedUnit] = field(default_factory=list[RecordedUnit])


class Recording:
    """Everything that one run of a launch script asked for.

    stack:         the stack it is compiled for.
    root:          the project's folder; paths are recorded relative to it.
    script:        the launch script; relative paths in it resolve against its folder. None in an interactive session.
    experiment_id: XManager's `experiment_id`; stable for the stack unless given.
    """

    def __init__(
        self,
        *,
        stack: str = "experiment",
        root: Path | None = None,
        script: Path | None = None,
        experiment_id: int | None = None,
    ) -> None:
        self.stack = stack
        self.root = (root or Path.cwd()).resolve()
        self.script = script.resolve() if script else None
        self.script_name = str(self.script) if self.script else None
        self.experiment_id = names.experiment_id(stack) if experiment_id is None else experiment_id
        self.packageables: list[Packageable] = []
        self.experiments: list[RecordedExperiment] = []
        self.problems: list[Problem] = []
        self.references: dict[Reference, None] = {}
        self._seen: set[Hashable] = set()
        self._names: dict[str, str] = {}
        self._lock = threading.Lock()
        self._made: dict[Callable[[Recording], Any], Any] = {}

    @property
    def units(self) -> list[RecordedUnit]:
        """The units of all the script's experiments."""
        return [unit for experiment in self.experiments for unit in experiment.units]

    @property
    def titles(self) -> list[str]:
        return [experiment.title for experiment in self.experiments]

    def one(self, make: Callable[[Recording], T]) -> T:
        """What `make` makes, the first time; the same from then on. For what a run has one of."""
        with self._lock:
            if make not in self._made:
                self._made[make] = make(self)
            return self._made[make]

    def reference(self, reference: Reference) -> str:
        """The token that stands for the reference in texts; only noted references are resolved."""
        with self._lock:
            self.references[reference] = None
        return reference.token

    def note(self, problem: Problem) -> None:
        """Makes the recording unusable, whatever the script does with the exception it gets."""
        with self._lock:
            if problem not in self.problems:
                self.problems.append(problem)

    def first_time(self, what: Hashable) -> bool:
        """Whether this is asked for the first time: for warnings that need no repetition."""
        with self._lock:
            if what in self._seen:
                return False
            self._seen.add(what)
            return True

    def place(self, path: str, line: int) -> str:
        """`launcher.py:40`: a place in the script as its user would name it."""
        name = self._names.get(path)
        if name is None:
            try:
                name = Path(path).resolve().relative_to(self.root).as_posix()
            except ValueError:
                name = Path(path).name
            # A sweep asks for the place of each of its trials.
            self._names[path] = name
        return f"{name}:{line}"


_current: contextvars.ContextVar[Recording | None] = contextvars.ContextVar("xmgen_recording", default=None)
_in_use: list[Recording] = []
_default: list[Recording] = []
_lock = threading.Lock()


def current() -> Recording:
    """The active recording.

    A thread that a launch script starts has an empty context; it gets the recording of the process if there is only
    one in use. Outside any recording (a notebook, a unit test of a launch script) a default one serves.
    """
    recording = _current.get()
    if recording is not None:
        return recording
    with _lock:
        if _in_use:
            return _in_use[-1]
        if not _default:
            _default.append(Recording())
        return _default[0]


@contextlib.contextmanager
def use(recording: Recording) -> Generator[Recording]:
    """Makes `recording` the active one, here and in the tasks and event loops started from here."""
    token = _current.set(recording)
    with _lock:
        _in_use.append(recording)
    try:
        yield recording
    finally:
        with _lock:
            _in_use.remove(recording)
        _current.reset(token)


def in_this_recording(function: Callable[P, T]) -> Callable[P, T]:
    """`function` bound to the caller's context, to be called in another thread."""
    context = contextvars.copy_context()

    def bound(*args: P.args, **kwargs: P.kwargs) -> T:
        return context.run(function, *args, **kwargs)

    return bound
