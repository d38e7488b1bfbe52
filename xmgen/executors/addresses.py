"""Addresses of jobs in the arguments and environment of other jobs: which resolve where the jobs run, and which do not.

On GKE a job of one pod has the name `{experiment}-{work unit}-{job}.experiments` in DNS, as XManager names it; the pods
of an Indexed Job have the names that Kubernetes gives them. Texts are never changed so that they resolve: what cannot
resolve is refused where it is certainly meant as an address, with a port, and noted where it may be a mere label.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from xmgen import names
from xmgen.arguments import text_of
from xmgen.errors import Problem, did_you_mean
from xmgen.experiment import Experiment, Job, Local, Vertex, WorkUnit
from xmgen.plan.model import Value
from xmgen.plan.places import Key, place

COORDINATOR_VARIABLE = "XMGEN_COORDINATOR_ADDRESS"
REPLICAS_VARIABLE = "XMGEN_REPLICAS"
"""By which the replicas of a job on GKE find each other; Kubernetes sets JOB_COMPLETION_INDEX itself."""


def host_name(full_job_name: str) -> str:
    """XManager's host name of a job: its full name with hyphens, as a DNS label."""
    return names.slug(full_job_name)


def texts_of(job: Job) -> list[str]:
    """The texts of a job's args and env."""
    return [*map(text_of, job.args), *job.env.values()]


def host_names(experiment: Experiment) -> frozenset[str]:
    """The host names of jobs that stand in some job's args or env."""
    name = re.compile(rf"(?<![a-zA-Z0-9-]){experiment.experiment_id}-[\w-]+")
    texts = (text for unit in experiment.units for job in unit.jobs for text in texts_of(job))
    xid = str(experiment.experiment_id)
    return frozenset(host_name(found) for text in texts if xid in text for found in name.findall(text))


def replica_environment(job_name: str, replicas: int) -> list[Value]:
    """The variables by which the pods of a Job find each other. Those of an Indexed Job have the Job's name and their
    index as host name; the first is where they meet."""
    return [
        {"name": COORDINATOR_VARIABLE, "value": f"{job_name}-0.{names.SERVICE}"},
        {"name": REPLICAS_VARIABLE, "value": str(replicas)},
    ]


def problems(experiment: Experiment, pods: Mapping[Key, int]) -> list[Problem]:
    """Addresses at which nobody will be. pods: of each job on a cluster, as far as they are known."""
    said = [each for each in _names(experiment) if each[2].is_address]
    known = _hosts(experiment) if said else {}
    found = (
        replace(problem, where=place(unit, job.name))
        for unit, job, name in said
        if (problem := _problem(job, name, known, pods)) is not None
    )
    return list(dict.fromkeys(found))


def notes(experiment: Experiment) -> list[str]:
    """What looks like an address that does not resolve, though it may be something else."""
    said = [(job, name.host) for _, job, name in _names(experiment) if not name.is_address]
    known = _hosts(experiment) if said else {}
    labels = dict.fromkeys(host for job, host in said if (meant := known.get(host_name(host))) and meant.job is not job)
    result: list[str] = []
    if labels:
        shown = ", ".join(list(labels)[:3])
        result.append(f"Jobs hold the name of another job, {shown}, which is no address of it. {_RIGHT}")
    bare = dict.fromkeys(_bare_addresses(experiment))
    if bare:
        shown = ", ".join(list(bare)[:3])
        right = _RIGHT_IN_YAML if experiment.source.endswith(names.YAML_SUFFIXES) else _RIGHT
        result.append(f"Jobs hold {shown}: on GKE and Vertex AI a job's name alone does not resolve. {right}")
    return result


_RIGHT = "On GKE `contrib.addressing.k8s_pod_domain` gives its address."
_RIGHT_IN_YAML = "On GKE `{address: …}` gives its address."


@dataclass(frozen=True, slots=True)
class _Name:
    """A positional name in a text.

    service: whether `.experiments` follows. resolves: whether it, or what `Texts` makes of it, can be a name in DNS.
    port:    with its colon.
    """

    host: str
    service: bool
    resolves: bool
    port: str

    @property
    def is_address(self) -> bool:
        return self.service or bool(self.port)


@dataclass(frozen=True, slots=True)
class _Host:
    key: Key
    job: Job


def _names(experiment: Experiment) -> Iterator[tuple[WorkUnit, Job, _Name]]:
    """The positional names in the texts of jobs that do not run on this machine, where all of them resolve."""
    xid = str(experiment.experiment_id)
    pattern = re.compile(
        rf"(?<![\w.-])(?P<host>{xid}(?P<separator>[_-])[\w-]+)"
        rf"(?:(?P<service>\.{names.SERVICE}(?![\w-]))(?P<namespace>\.{names.NAMESPACE}(?![\w-]))?[\w.-]*)?"
        r"(?P<port>:\d{1,5}(?!\w))?"
    )
    for unit in experiment.units:
        for job in unit.jobs:
            if isinstance(job.executor, Local):
                continue
            for text in texts_of(job):
                for match in pattern.finditer(text) if xid in text else ():
                    # Those of XManager's namespace are changed to the stack's, and to hyphens: see `Texts`.
                    changed = match["namespace"] and match["separator"] == "-"
                    resolves = bool(match["service"] and (changed or "_" not in match["host"]))
                    yield unit, job, _Name(match["host"], bool(match["service"]), resolves, match["port"] or "")


def _hosts(experiment: Experiment) -> dict[str, _Host]:
    """By the name that a job of one pod has."""
    return {
        host_name(names.full_job_name(experiment.experiment_id, unit, job.name)): _Host((position, job.name), job)
        for position, unit in enumerate(experiment.units)
        for job in unit.jobs
    }


def _problem(job: Job, said: _Name, known: Mapping[str, _Host], pods: Mapping[Key, int]) -> Problem | None:
    if isinstance(job.executor, Vertex):
        return Problem(
            f"holds the address {said.host}{said.port}, which does not resolve on Vertex AI",
            hint="xm.ShellSafeArg(utils.get_workerpool_address('workerpool0')), numbered as the group's jobs are; "
            "or let the program read CLUSTER_SPEC",
        )
    meant = known.get(host_name(said.host))
    if meant is None:
        hint = did_you_mean(host_name(said.host), known)
        return Problem(f"holds the address of a job that there is not, {said.host}", hint=hint)
    if (count := pods.get(meant.key, 1)) > 1:
        return Problem(
            f"holds the address of {meant.job.name}, which is {count} pods, none of that name",
            hint=f"the pods of a job find each other by {COORDINATOR_VARIABLE}; a job that others address has one: "
            "make it several jobs of the group",
        )
    if not said.resolves:
        right = f"{host_name(said.host)}.{names.SERVICE}{said.port}"
        return Problem(
            f"holds the address {said.host}{said.port}, which does not resolve on GKE",
            hint=f"{right} does: `contrib.addressing.k8s_pod_domain` gives it",
        )
    return None


def _bare_addresses(experiment: Experiment) -> Iterator[str]:
    """`ps:2222` in a group with a job of that name."""
    for unit in experiment.units:
        if len(unit.jobs) < 2 or isinstance(unit.jobs[0].executor, Local):
            continue
        pattern = _bare(tuple(job.name for job in unit.jobs))
        for job in unit.jobs:
            for text in texts_of(job):
                if ":" in text:
                    yield from pattern.findall(text)


@functools.lru_cache(maxsize=64)
def _bare(jobs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, jobs))}):\d+(?!\w)")
