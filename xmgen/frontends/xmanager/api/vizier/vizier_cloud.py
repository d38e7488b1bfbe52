"""Vertex Vizier. Its trials are chosen while the experiment runs, so a stack cannot contain them: `launch` refuses."""

from __future__ import annotations

from typing import Any, NoReturn

from xmgen.frontends.xmanager.api import xm
from xmgen.frontends.xmanager.api.xm import problems

_INSTEAD = (
    "add the trials that shall run, for example `for x in (-2, 0, 2): experiment.add(job, args={'args': {'x': x}})`, "
    "or draw them from random.Random(seed); or run the study in a job of its own"
)


class StudyFactory:
    def __init__(self, study_config: Any, num_trials_total: int, display_name: str, location: str) -> None:
        self.study_config = study_config
        self.num_trials_total = num_trials_total
        self.display_name = display_name
        self.location = location

    @property
    def vz_client(self) -> NoReturn:
        raise problems.refuse(f"vizier_cloud.{type(self).__name__}.vz_client", _INSTEAD)

    def study(self) -> NoReturn:
        raise problems.refuse(f"vizier_cloud.{type(self).__name__}.study()", _INSTEAD)


class NewStudy(StudyFactory):
    def __init__(
        self,
        study_config: Any,
        num_trials_total: int = 0,
        display_name: str | None = None,
        project: str | None = None,
        location: str | None = None,
    ) -> None:
        super().__init__(study_config, num_trials_total, display_name or "", location or "us-central1")
        self.project = project


class VizierExploration:
    def __init__(
        self,
        experiment: xm.Experiment,
        job: xm.JobType,
        study_factory: StudyFactory,
        num_trials_total: int,
        num_parallel_trial_runs: int,
    ) -> None:
        del experiment, job, study_factory, num_trials_total, num_parallel_trial_runs

    def launch(self, **kwargs: Any) -> NoReturn:
        """Refused: it would poll the study, and create the next trial from its answer."""
        del kwargs
        raise problems.refuse("vizier_cloud.VizierExploration.launch()", _INSTEAD)
