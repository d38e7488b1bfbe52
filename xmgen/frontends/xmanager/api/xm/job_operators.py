"""Operations on jobs and groups of jobs."""

from __future__ import annotations

import copy
import itertools
import uuid
from collections.abc import Callable, Iterable
from typing import cast

import attrs

from xmgen.frontends.xmanager.api.xm.job_blocks import Constraint, Job, JobGroup, JobType, JobTypeVar, is_job_generator
from xmgen.frontends.xmanager.api.xm.problems import invalid, unsupported


def shallow_copy_job_type(job_type: JobTypeVar) -> JobTypeVar:
    """A copy whose jobs can be given names, args and env without changing the user's."""
    if is_job_generator(job_type):
        return job_type
    copied: JobType = copy.copy(job_type)
    if isinstance(copied, JobGroup):
        copied.jobs = {name: shallow_copy_job_type(job) for name, job in copied.jobs.items()}
    return cast(JobTypeVar, copied)


def populate_job_names(job_type: JobType) -> None:
    """Names the jobs that have no name: by their place in the group (`outer_inner`), else by their executable."""

    def name(job: JobType, place: tuple[str, ...]) -> None:
        if isinstance(job, Job):
            job.name = job.name or "_".join(place) or _executable_name(job)
        elif isinstance(job, JobGroup):
            for key, each in job.jobs.items():
                name(each, (*place, key))

    name(job_type, ())


def _executable_name(job: Job) -> str:
    try:
        return job.executable.name
    except AttributeError:
        raise unsupported(
            f"the executable of a job is {job.executable!r}",
            hint="package() returns a list: [executable] = experiment.package([…])",
        ) from None


def collect_jobs_by_filter(job_group: JobType, predicate: Callable[[Job], bool]) -> list[Job]:
    """The jobs of a group and of the groups in it for which `predicate` holds, depth first.

    Raises TypeError for a generator or a JobConfig inside a group.
    """
    if isinstance(job_group, Job):
        return [job_group] if predicate(job_group) else []
    if isinstance(job_group, JobGroup):
        return [job for each in job_group.jobs.values() for job in collect_jobs_by_filter(each, predicate)]
    raise unsupported(f"a JobGroup consists of jobs and groups, not of {job_group!r}")


def flatten_jobs(job_group: JobType) -> list[Job]:
    return collect_jobs_by_filter(job_group, lambda _: True)


@attrs.define(slots=False)
class ConstraintClique:
    """A constraint and what it applies to.

    jobs:              all jobs in the group, depth first.
    group_name:        of the group; a name made for the purpose.
    size:              how many jobs and groups the group directly consists of.
    parent_group_name: of the group around it, if that has constraints.
    """

    constraint: Constraint
    jobs: list[Job]
    group_name: str | None = None
    size: int | None = None
    parent_group_name: str | None = None


def aggregate_constraint_cliques(job_group: JobGroup) -> list[ConstraintClique]:
    """One clique for each constraint, outer groups first."""
    numbers = itertools.count()

    def cliques(group: JobGroup, parent: str | None) -> list[ConstraintClique]:
        name = f"jobgroup_{next(numbers)}_{uuid.uuid4().hex}"
        jobs = flatten_jobs(group)
        own = [ConstraintClique(each, jobs, name, len(group.jobs), parent) for each in group.constraints]
        inner: Iterable[JobType] = group.jobs.values()
        for each in inner:
            if isinstance(each, JobGroup):
                own += cliques(each, name if group.constraints else None)
        return own

    return cliques(job_group, None)


def get_jobs(job_group: JobGroup) -> dict[str, JobType]:
    """The jobs of a group by name; groups in it are resolved, anything else stands under its key.

    Raises ValueError for two of one name.
    """
    jobs: dict[str, JobType] = {}
    for key, job in job_group.jobs.items():
        found = get_jobs(job) if isinstance(job, JobGroup) else {job.name if isinstance(job, Job) else key: job}
        for name, each in found.items():
            if name in jobs:
                raise invalid(f"{name} is duplicated in the experiment")
            jobs[name] = each
    return jobs
