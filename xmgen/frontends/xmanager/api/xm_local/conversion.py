"""From a recording to the experiment that the planner reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import cast

from xmgen import experiment as ir
from xmgen.arguments import text_of
from xmgen.errors import InputError, Problem
from xmgen.frontends.xmanager.api import xm
from xmgen.frontends.xmanager.api.xm_local.order import in_order
from xmgen.frontends.xmanager.api.xm_local.to_executable import Executables
from xmgen.frontends.xmanager.api.xm_local.to_executor import Executors
from xmgen.frontends.xmanager.recording import RecordedJob, RecordedUnit, Recording, use
from xmgen.plan import places


def to_experiment(recording: Recording, *, title: str | None = None, stack: str, source: str) -> ir.Experiment:
    """The experiment that was recorded.

    title:  the stack's title; None takes the script's own.
    source: what it was compiled from, relative to the project's folder.
    Raises InputError with every problem of the recording.
    """
    with use(recording):  # paths are relative to this recording's script
        return _Conversion(recording).experiment(title, stack, source)


class _Conversion:
    """Collects the problems of one recording instead of stopping at the first."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._problems = list(recording.problems)
        self._executables = Executables(recording, self._problems)
        self._executors = Executors(self._problems)
        self._origins: dict[str, str] = {}

    def experiment(self, title: str | None, stack: str, source: str) -> ir.Experiment:
        title = self._title() if title is None else title
        self._check_text(title, "the title", "")
        for packageable in self._recording.packageables:
            self._executables.define(packageable.executable_spec, packageable.executor_spec)
        units = [self._unit(unit, after) for unit, after in in_order(self._recording.units)]
        for executable in self._executables.defined:
            self._check_texts(asdict(executable), "its definition", f"executable {executable.name}")
        if self._problems:
            raise InputError(*(places.at(self._origins, problem) for problem in self._problems))
        return ir.Experiment(
            title=title,
            stack=stack,
            source=source,
            experiment_id=self._recording.experiment_id,
            executables=tuple(self._executables.defined),
            units=tuple(units),
            references=tuple(self._recording.references),
            origins=self._origins | self._executables.origins,
        )

    def _title(self) -> str:
        with_units = [experiment.title for experiment in self._recording.experiments if experiment.units]
        if len(with_units) > 1:
            self._problems.append(
                Problem(
                    f"the script adds to {len(with_units)} experiments: {', '.join(map(repr, with_units))}",
                    hint="a stack holds one: write one launch script for each, or choose one with a flag",
                )
            )
        return next(iter(with_units or self._recording.titles), "")

    def _unit(self, unit: RecordedUnit, after: Sequence[int]) -> ir.WorkUnit:
        description = unit.description
        self._origins[description] = unit.origin
        self._check_text(unit.identity, "the identity", description)
        names = [job.name for job in unit.jobs]
        for name in sorted({name for name in names if names.count(name) > 1}):
            self._problems.append(
                Problem(f"two jobs are called {name!r}", unit.description, "give each a name of its own")
            )
        return ir.WorkUnit(
            id=unit.id,
            jobs=tuple(self._job(description, job) for job in unit.jobs),
            role=unit.role,
            depends_on=tuple(after),
            label=unit.identity,
        )

    def _job(self, unit: str, job: RecordedJob) -> ir.Job:
        where = places.of_job(unit, job.name)
        self._origins[places.of_executor(where)] = xm.Executor.origin_of(job.executor)
        self._check_job(job, where)
        return ir.Job(
            name=job.name,
            executable=self._executables.name(job.executable, where),
            executor=self._executors.convert(job.executor, where),
            args=job.args,
            env=job.env,
        )

    def _check_job(self, job: RecordedJob, where: str) -> None:
        if not job.name:
            self._problems.append(Problem("a job has no name", where, "xm.Job(…, name='trainer')"))
        # First what is usual: a sweep has many texts, and all are well.
        if not _fault("".join((job.name, *map(text_of, job.args), *job.env.values()))):
            return
        self._check_text(job.name, "its name", where)
        for number, arg in enumerate(job.args, start=1):
            self._check_text(arg, f"argument {number}", where)
        for name, value in job.env.items():
            self._check_text(value, f"environment variable {name}", where)

    def _check_texts(self, value: object, what: str, where: str) -> None:
        match value:
            case str():
                self._check_text(value, what, where)
            case dict():
                for item in cast("dict[str, object]", value).values():
                    self._check_texts(item, what, where)
            case list() | tuple():
                for item in cast("Sequence[object]", value):
                    self._check_texts(item, what, where)
            case _:
                return

    def _check_text(self, value: ir.Arg, what: str, where: str) -> None:
        text = text_of(value)
        fault = _fault(text)
        if not fault:
            return
        where = where.encode(errors="backslashreplace").decode().replace("\0", "\\0")
        self._problems.append(Problem(f"{what} contains {fault}: {text!a}", where, "no program can receive it"))


def _fault(text: str) -> str:
    """What keeps a text from surviving a file, a command line and an environment; empty when nothing does."""
    if "\0" in text:
        return "a NUL character"
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        return "half of a surrogate pair"
    return ""
