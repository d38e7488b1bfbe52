"""How an experiment is planned for this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xmgen.catalog.options import wrong_amounts
from xmgen.errors import Problem
from xmgen.executors.addresses import texts_of
from xmgen.executors.local import resources, runs
from xmgen.executors.planning import ExecutorPlanner, PackagedCode, UnitToPlan
from xmgen.experiment import Executable, Experiment, Local
from xmgen.plan import places
from xmgen.plan.model import Manifest, Plan, PlannedExecutable, PlannedImage
from xmgen.plan.places import place
from xmgen.plan.resources import Declared
from xmgen.program import local as program


class LocalPlanner(ExecutorPlanner):
    kind, place, executor = "local", "on this machine", Local

    def __init__(self, experiment: Experiment, shared: Plan | None) -> None:
        super().__init__(experiment, shared)
        # Of the others the catalog says it.
        self.problems = [
            replace(wrong, where=where)
            for where, executor in places.executors(experiment, Local)
            if (wrong := wrong_amounts(executor.requirements))
        ]
        self.problems += _secrets(experiment)
        ignored = {
            name for _, executor in places.executors(experiment, Local) for name in runs.ignored(executor.requirements)
        }
        if ignored:
            self.job_notes = [f"The Local executor takes cpu and local_gpu; it ignores {', '.join(sorted(ignored))}."]

    def package(self, executable: Executable, name: str) -> PlannedExecutable | PlannedImage | str | Problem:
        return runs.executable(executable, name, self.experiment)

    def manifests(self, unit: UnitToPlan, code: PackagedCode) -> tuple[Manifest, ...]:
        predecessors = [each.name for each in unit.predecessors]
        return (runs.manifest(self.experiment, unit.unit, unit.name, unit.identity, code.keys, predecessors),)

    def declared(self, plan: Plan) -> Declared:
        return resources.declared(plan)

    @classmethod
    def modules(cls, plan: Plan) -> dict[str, str]:
        return program.modules(plan)


def _secrets(experiment: Experiment) -> Iterator[Problem]:
    secrets = {reference.token for reference in experiment.references if reference.kind == "secret"}
    for unit in experiment.units:
        for job in unit.jobs:
            here = isinstance(job.executor, Local)
            if here and any(secret in text for text in texts_of(job) for secret in secrets):
                yield Problem(
                    "has a secret of the stack's configuration, which the Local executor does not hand on",
                    where=place(unit, job.name),
                    hint="a job on this machine inherits the environment: let the program read the variable",
                )


PLANNER = LocalPlanner
