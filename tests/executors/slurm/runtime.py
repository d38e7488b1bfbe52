"""Work units on Slurm: Pulumi knows how they ended, and Slurm writes what they print into a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xmgen.errors import Problem
from xmgen.executors.base import LiveStatus, LogWindow, Runtime
from xmgen.project import Project
from xmgen.pulumi_cli.session import Session
from xmgen.stack.compiled import CompiledStack


class SlurmRuntime(Runtime):
    def status(self, work: Session, stack: CompiledStack, export: str | None, *, active: bool | None) -> LiveStatus:
        return LiveStatus(units=self.recorded(stack, export))

    def logs(
        self, project: Project, stack: CompiledStack, units: Sequence[str], window: LogWindow, *, follow: bool
    ) -> Iterator[str | Problem]:
        for unit in units:
            file = project.root / f"slurm-{unit}.out"
            yield file.read_text(encoding="utf-8") if file.exists() else Problem("has printed nothing", where=unit)


RUNTIME = SlurmRuntime()
