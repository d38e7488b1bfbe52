"""A TensorBoard server that runs beside an experiment, as an auxiliary unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmgen.frontends.xmanager.api import xm


class TensorboardProvider:
    DEFAULT_TENSORBOARD_PORT = 6006

    @staticmethod
    def get_tensorboard_packageable(timeout_secs: int) -> xm.PythonContainer:
        """The container of a server that ends after `timeout_secs`; 0 means never.

        Raises RuntimeError when `timeout_secs` is negative.
        """
        if timeout_secs < 0:
            raise RuntimeError(f"timeout_secs must not be negative, got {timeout_secs}")
        return xm.PythonContainer(
            base_image="tensorflow/tensorflow",
            entrypoint=xm.CommandList([f"timeout {timeout_secs}s tensorboard"]),
        )

    @staticmethod
    def get_tensorboard_job_args(
        log_dir: str,
        port: int | None = None,
        additional_args: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        """Flags of the server; `additional_args` win."""
        return {
            "logdir": log_dir,
            "port": port or TensorboardProvider.DEFAULT_TENSORBOARD_PORT,
            # Reachable from outside its container.
            "host": "0.0.0.0",  # noqa: S104
            # The fast loader cannot use GKE's Workload Identity: tensorflow/tensorboard#4784.
            "load_fast": "false",
            **(additional_args or {}),
        }


def add_tensorboard(
    experiment: xm.Experiment,
    logdir: str,
    executor: xm.Executor,
    timeout_secs: int = 24 * 60 * 60,
    args: Mapping[str, Any] | None = None,
) -> None:
    """Add a server that shows `logdir` to the experiment."""
    packageable = xm.Packageable(
        TensorboardProvider.get_tensorboard_packageable(timeout_secs=timeout_secs), executor.Spec()
    )
    [executable] = experiment.package([packageable])
    job = xm.Job(
        executable,
        executor,
        args=TensorboardProvider.get_tensorboard_job_args(logdir, additional_args=args),
        name="tensorboard",
    )
    experiment.add(xm.AuxiliaryUnitJob(job, termination_delay_secs=0))
