"""Distributed TensorFlow on Kubernetes: groups of jobs that find each other through `TF_CONFIG`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from xmgen.frontends.xmanager.api import xm, xm_local
from xmgen.frontends.xmanager.api.contrib import addressing

Generator = Callable[..., Awaitable[Any]]


@dataclasses.dataclass
class MultiWorkerMirroredStrategyBuilder:
    """Jobs of `tf.distribute.MultiWorkerMirroredStrategy`: `num_workers` equal workers.

    `experiment.add(builder.gen_job_group(), args=hparams)` adds one group.
    """

    experiment: xm.Experiment
    worker_executable: xm.Executable
    worker_executor: xm.Executor
    worker_name: str = "worker"
    num_workers: int = 1

    def gen_job_group(self) -> Generator:
        """A job generator whose keyword arguments are the hyper-parameters."""
        return _generator(self.create_job_group)

    def create_job_group(self, work_unit: xm.WorkUnit, hparams: xm.UserArgs) -> xm.JobGroup:
        _require_kubernetes("MultiWorkerMirroredStrategy", self.worker_executor)
        return self.create_kubernetes_job_group(work_unit, hparams)

    def create_kubernetes_job_group(self, work_unit: xm.WorkUnit, hparams: xm.UserArgs) -> xm.JobGroup:
        names = _numbered(self.worker_name, self.num_workers)
        cluster = {"worker": _domains(self.experiment, work_unit, names)}
        jobs: dict[str, Any] = {
            name: _job(self.worker_executable, self.worker_executor, cluster, "worker", index, hparams)
            for index, name in enumerate(names)
        }
        return xm.JobGroup(**jobs)


@dataclasses.dataclass
class ParameterServerStrategyBuilder:
    """Jobs of `tf.distribute.experimental.ParameterServerStrategy`: a chief, parameter servers, workers.

    The chief gets no hyper-parameters, as in XManager.
    """

    experiment: xm.Experiment
    chief_executable: xm.Executable
    chief_executor: xm.Executor
    worker_executable: xm.Executable
    worker_executor: xm.Executor
    ps_executable: xm.Executable
    ps_executor: xm.Executor
    chief_name: str = "chief"
    worker_name: str = "worker"
    ps_name: str = "ps"
    num_workers: int = 1
    num_ps: int = 1

    def gen_job_group(self) -> Generator:
        """A job generator whose keyword arguments are the hyper-parameters."""
        return _generator(self.create_job_group)

    def create_job_group(self, work_unit: xm.WorkUnit, hparams: xm.UserArgs) -> xm.JobGroup:
        _require_kubernetes("ParameterServerStrategy", self.chief_executor, self.worker_executor, self.ps_executor)
        return self.create_kubernetes_job_group(work_unit, hparams)

    def create_kubernetes_job_group(self, work_unit: xm.WorkUnit, hparams: xm.UserArgs) -> xm.JobGroup:
        ps_names = _numbered(self.ps_name, self.num_ps)
        worker_names = _numbered(self.worker_name, self.num_workers)
        cluster = {
            "chief": _domains(self.experiment, work_unit, [self.chief_name]),
            "worker": _domains(self.experiment, work_unit, worker_names),
            "ps": _domains(self.experiment, work_unit, ps_names),
        }
        jobs: dict[str, Any] = {
            self.chief_name: _job(self.chief_executable, self.chief_executor, cluster, "chief", 0, {})
        }
        for index, name in enumerate(ps_names):
            jobs[name] = _job(self.ps_executable, self.ps_executor, cluster, "ps", index, hparams)
        for index, name in enumerate(worker_names):
            jobs[name] = _job(self.worker_executable, self.worker_executor, cluster, "worker", index, hparams)
        return xm.JobGroup(**jobs)


def _require_kubernetes(strategy: str, *executors: xm.Executor) -> None:
    for executor in executors:
        if not isinstance(executor, xm_local.Kubernetes):
            raise NotImplementedError(
                f"{strategy} runs on xm_local.Kubernetes only, because its jobs address each other by name; "
                f"got {type(executor).__name__}"
            )


def _generator(create: Callable[[xm.WorkUnit, xm.UserArgs], xm.JobGroup]) -> Generator:
    async def generate(work_unit: xm.WorkUnit, **hparams: Any) -> Any:
        return work_unit.add(create(work_unit, hparams))

    return generate


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name}-{index}" for index in range(count)]


def _domains(experiment: xm.Experiment, work_unit: xm.WorkUnit, names: Sequence[str]) -> list[str]:
    return [addressing.k8s_pod_domain(name, experiment.experiment_id, work_unit.work_unit_id) for name in names]


def _job(
    executable: xm.Executable,
    executor: xm.Executor,
    cluster: Mapping[str, Sequence[str]],
    task_type: str,
    index: int,
    args: xm.UserArgs,
) -> xm.Job:
    tf_config = {"cluster": cluster, "task": {"type": task_type, "index": index}}
    return xm.Job(executable=executable, executor=executor, args=args, env_vars={"TF_CONFIG": json.dumps(tf_config)})
