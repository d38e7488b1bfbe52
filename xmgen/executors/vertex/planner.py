"""How an experiment is planned for Vertex AI."""

from __future__ import annotations

from dataclasses import replace

from xmgen.catalog.model import Architecture
from xmgen.errors import Problem
from xmgen.executors import images
from xmgen.executors.planning import ExecutorPlanner, PackagedCode, UnitToPlan
from xmgen.executors.vertex import custom_jobs, resources
from xmgen.executors.vertex import plan as machines
from xmgen.experiment import Executable, Experiment, Vertex
from xmgen.plan.model import Manifest, Plan, PlannedExecutable, PlannedImage, VertexPlace
from xmgen.plan.places import Key
from xmgen.plan.resources import Declared
from xmgen.program import vertex as program


class VertexPlanner(ExecutorPlanner):
    kind, place, executor = "vertex", "on Vertex AI", Vertex

    def __init__(self, experiment: Experiment, shared: Plan | None) -> None:
        super().__init__(experiment, shared)
        self._machines = machines.plan(experiment)
        if isinstance(self._machines, list):
            self.problems = self._machines
        else:
            self.machine_notes = list(self._machines.notes)
        self._late_bound = {
            job.executable
            for unit in experiment.units
            for job in unit.jobs
            if isinstance(job.executor, Vertex) and custom_jobs.is_late_bound(job)
        }

    @property
    def _planned(self) -> machines.VertexPlan:
        assert not isinstance(self._machines, list)  # noqa: S101 — nothing is asked for where there are problems
        return self._machines

    def package(self, executable: Executable, name: str) -> PlannedExecutable | PlannedImage | str | Problem:
        image = images.image(executable, name, self.experiment)
        if executable.name in self._late_bound and isinstance(image, PlannedImage):
            return custom_jobs.with_late_bindings(image)
        return image

    def architecture(self, key: Key) -> Architecture:
        return self._planned.machines[key].architecture

    def manifests(self, unit: UnitToPlan, code: PackagedCode) -> tuple[Manifest, ...]:
        of_jobs = {job.name: self._planned.machines[unit.position, job.name] for job in unit.unit.jobs}
        made = custom_jobs.custom_job(
            self.experiment, unit.unit, unit_name=unit.name, images=code.of_jobs, machines=of_jobs
        )
        return (made,)

    def completed(self, plan: Plan, code: PackagedCode) -> Plan:
        return replace(plan, vertex=VertexPlace(region=self._planned.region))

    def declared(self, plan: Plan) -> Declared:
        return resources.declared(plan)

    @classmethod
    def modules(cls, plan: Plan) -> dict[str, str]:
        return program.modules(plan)


PLANNER = VertexPlanner
