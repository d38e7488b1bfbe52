"""How an experiment is planned for GKE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from xmgen.catalog.model import Architecture
from xmgen.errors import Problem
from xmgen.executors import images
from xmgen.executors.gke import jobs, objects, refusals, resources
from xmgen.executors.gke import plan as machines
from xmgen.executors.planning import ExecutorPlanner, PackagedCode, UnitToPlan, is_service
from xmgen.experiment import Executable, Experiment, Job, Kubernetes
from xmgen.plan.model import Manifest, Plan, PlannedExecutable, PlannedImage
from xmgen.plan.places import Key
from xmgen.plan.resources import Declared
from xmgen.program import gke as program


class GkePlanner(ExecutorPlanner):
    kind, place, where, executor = "kubernetes", "on a cluster", "on GKE", Kubernetes

    def __init__(self, experiment: Experiment, shared: Plan | None) -> None:
        super().__init__(experiment, shared)
        self._shared = shared
        self.problems = refusals.problems(experiment)
        if isinstance(self._machines, list):
            self.problems += self._machines
        else:
            self.pods = {key: placement.pods for key, placement in self._machines.places.items()}
            self.machine_notes = list(self._machines.notes)
        self.problems += refusals.of_services(experiment, self.pods)
        self.job_notes = refusals.notes(experiment)

    @classmethod
    def uses(cls, experiment: Experiment) -> bool:
        return experiment.pools is not None or super().uses(experiment)

    @classmethod
    def refusals(cls, experiment: Experiment, shared: Plan | None) -> list[Problem]:
        return refusals.of_cluster(experiment, shared)

    @cached_property
    def _machines(self) -> machines.ClusterPlan | list[Problem]:
        return machines.plan(self.experiment, self._shared)

    @property
    def _planned(self) -> machines.ClusterPlan:
        assert not isinstance(self._machines, list)  # noqa: S101 — nothing is asked for where there are problems
        return self._machines

    def package(self, executable: Executable, name: str) -> PlannedExecutable | PlannedImage | str | Problem:
        return images.image(executable, name, self.experiment)

    def architecture(self, key: Key) -> Architecture:
        return self._planned.places[key].architecture

    def manifests(self, unit: UnitToPlan, code: PackagedCode) -> tuple[Manifest, ...]:
        context = self._context(code)
        after = [jobs.job_name(manifest) for each in unit.predecessors for manifest in each.manifests]

        def made(job: Job, ends_with: Sequence[str] = ()) -> list[Manifest]:
            return jobs.job_manifests(
                context,
                unit.unit,
                job,
                unit_name=unit.name,
                image=code.of_jobs[job.executable],
                placement=self._planned.places[unit.position, job.name],
                nodes=self._planned.nodes[unit.position, job.name],
                after=after,
                ends_with=ends_with,
                waits=unit.awaited,
            )

        of_job = {job.name: made(job) for job in unit.unit.jobs if not is_service(job)}
        ends_with = [jobs.job_name(manifest) for manifests in of_job.values() for manifest in manifests]
        of_job |= {job.name: made(job, ends_with) for job in unit.unit.jobs if is_service(job)}
        return tuple(manifest for job in unit.unit.jobs for manifest in of_job[job.name])

    def completed(self, plan: Plan, code: PackagedCode) -> Plan:
        filestore = bool(self.experiment.filestore or objects.on_filestore(self.experiment))
        service = any(jobs.needs_service(manifest) for unit in plan.units for manifest in unit.manifests)
        controllers = bool(code.controllers)
        return replace(
            plan,
            cluster=replace(self._planned.cluster, filestore=filestore),
            objects=tuple(objects.objects(self.experiment, service=service, controllers=controllers)),
            controllers=controllers,
        )

    def declared(self, plan: Plan) -> Declared:
        return resources.declared(plan)

    @classmethod
    def modules(cls, plan: Plan) -> dict[str, str]:
        return program.modules(plan)

    def _context(self, code: PackagedCode) -> jobs.Context:
        """What the Jobs of all units have in common."""
        if self._made_context is None:
            self._made_context = jobs.Context.of(self.experiment, code.controllers)
        return self._made_context

    _made_context: jobs.Context | None = None


PLANNER = GkePlanner
