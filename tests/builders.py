"""Small experiments for tests: every argument has a default, so that a test names only what it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xmgen import names
from xmgen.experiment import (
    Arg,
    Executable,
    Executor,
    Experiment,
    Job,
    Local,
    ModuleName,
    PythonContainer,
    WorkUnit,
)

STACK = "sweep"
XID = names.experiment_id(STACK)


def python_container(name: str = "trainer", **fields: object) -> PythonContainer:
    defaults: dict[str, object] = {
        "path": f"code/{name}",
        "entrypoint": ModuleName("train"),
        "digest": "sha256:" + "0" * 64,
    }
    return PythonContainer(name=name, **(defaults | fields))  # type: ignore[arg-type]


def job(
    *args: Arg,
    name: str = "train",
    executable: str = "trainer",
    executor: Executor | None = None,
    env: Mapping[str, str] | None = None,
) -> Job:
    return Job(name=name, executable=executable, executor=executor or Local(), args=args, env=dict(env or {}))


def units(*jobs: Job | tuple[Job, ...], after: Mapping[int, Sequence[int]] | None = None) -> tuple[WorkUnit, ...]:
    """One work unit per argument; `after` maps positions to the positions they depend on."""
    after = after or {}
    return tuple(
        WorkUnit(
            id=position + 1,
            jobs=each if isinstance(each, tuple) else (each,),
            depends_on=tuple(after.get(position, ())),
        )
        for position, each in enumerate(jobs)
    )


def experiment(
    *jobs: Job | tuple[Job, ...],
    title: str = "A sweep",
    stack: str = STACK,
    executables: tuple[Executable, ...] = (python_container(),),
    after: Mapping[int, Sequence[int]] | None = None,
) -> Experiment:
    return Experiment(
        title=title,
        stack=stack,
        source="code/launcher.py",
        experiment_id=names.experiment_id(stack),
        executables=executables,
        units=units(*(jobs or (job(),)), after=after),
    )
