"""An experiment kept in memory, for tests of launch code: XManager's `xm_mock`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from xmgen.frontends.xmanager.api.xm import core, job_blocks
from xmgen.frontends.xmanager.api.xm.async_packager import AsyncPackager
from xmgen.frontends.xmanager.api.xm.metadata_context import KeptAnnotations, MetadataContext
from xmgen.frontends.xmanager.api.xm.units import CreateTask

MockContextAnnotations = KeptAnnotations


class MockMetadataContext(MetadataContext):
    def __init__(self) -> None:
        super().__init__(creator="unknown", annotations=MockContextAnnotations())


class MockExecutable(job_blocks.Executable):
    """An executable with a number for a name."""

    counter = 0

    def __init__(self) -> None:
        super().__init__(name=f"{MockExecutable.counter}")
        MockExecutable.counter += 1


class MockExecutor(job_blocks.Executor):
    """An executor that is only a place."""

    Spec = job_blocks.ExecutorSpec


@attrs.define(slots=False)
class MockConstraint(job_blocks.Constraint):
    id: str


class MockExperimentUnit(core.WorkUnit):
    """A unit that is complete as soon as it is created."""

    def __init__(
        self,
        experiment: MockExperiment,
        work_unit_id: int,
        create_task: CreateTask,
        args: Mapping[str, Any] | None,
        role: core.ExperimentUnitRole,
        identity: str = "",
    ) -> None:
        super().__init__(experiment, create_task, args, role, identity)
        self._mock = experiment
        self._work_unit_id = work_unit_id

    def _launch_job_group(self, job_group: job_blocks.JobGroup, args_view: Mapping[str, Any], identity: str) -> None:
        self._mock.launched_jobs.extend(job_group.jobs.values())
        self._mock.launched_jobs_args.append(args_view)

    @property
    def work_unit_id(self) -> int:
        return self._work_unit_id

    @property
    def experiment_unit_name(self) -> str:
        return f"{self.experiment_id}_{self._work_unit_id}"


class MockExperiment(core.Experiment):
    """launched_jobs, launched_jobs_args: what was added, and the args shown for it."""

    _async_packager = AsyncPackager(lambda packageables: [MockExecutable() for _ in packageables])

    def __init__(self) -> None:
        super().__init__()
        self.launched_jobs: list[job_blocks.JobType] = []
        self.launched_jobs_args: list[Mapping[str, Any]] = []
        self._units = 0
        self._work_units: dict[int, MockExperimentUnit] = {}
        self._auxiliary_units: list[MockExperimentUnit] = []
        self._context = MockMetadataContext()

    def _create_experiment_unit(
        self, args: Mapping[str, Any] | None, role: core.ExperimentUnitRole, identity: str
    ) -> MockExperimentUnit:
        self._units += 1
        unit = MockExperimentUnit(self, self._units, self._create_task, args, role, identity)
        if isinstance(role, core.AuxiliaryUnitRole):
            self._auxiliary_units.append(unit)
        else:
            self._work_units[unit.work_unit_id] = unit
        return unit

    @property
    def experiment_id(self) -> int:
        return 1

    @property
    def work_unit_count(self) -> int:
        return len(self._work_units)

    @property
    def work_units(self) -> Mapping[int, MockExperimentUnit]:
        return self._work_units

    @property
    def auxiliary_units(self) -> list[MockExperimentUnit]:
        return self._auxiliary_units

    @property
    def context(self) -> MockMetadataContext:
        return self._context
