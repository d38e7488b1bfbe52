"""What no Kubernetes Job can be made of. All problems of an experiment are found together."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from xmgen import names, rules
from xmgen.errors import Problem
from xmgen.executors import images, limits
from xmgen.executors.addresses import texts_of
from xmgen.executors.gke import jobs as kubernetes
from xmgen.executors.gke import objects as kubernetes_objects
from xmgen.executors.gke import services
from xmgen.experiment import ClusterChoice, Experiment, Job, Kubernetes, ShellSafeArg, Volume
from xmgen.plan import places
from xmgen.plan.model import Plan
from xmgen.plan.places import Key, place
from xmgen.resource_types import CLUSTER, OBJECTS
from xmgen.resource_types.naming import rule_broken

_ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
"""What every version of Kubernetes takes; newer ones take more."""
_BUCKET = re.compile(r"[a-z0-9][-_.a-z0-9]{1,220}[a-z0-9]|<xmgen:bucket:[^>/]+>")
_URL = re.compile(r"gs://([a-z0-9][-_.a-z0-9]+[a-z0-9])")
_UNWRITABLE = re.compile(r"[\x7f-\x84\x86-\x9f\ufffe\uffff]")
"""What Pulumi's Kubernetes provider refuses: it reads an object's JSON, which leaves these as they are, as YAML, which
has none of them (https://yaml.org/spec/1.2.2/#51-character-set). JSON escapes other control characters."""
_CLAIM = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_RESERVED = (kubernetes.SHARED_MEMORY, kubernetes.OUTPUT_FOLDER)


def problems(experiment: Experiment) -> list[Problem]:
    """Of its jobs and their executors."""
    known = {e.name for e in experiment.executables if images.known_entrypoint(e) is not None}
    result: list[Problem] = []
    for unit in experiment.units:
        for job in unit.jobs:
            if isinstance(job.executor, Kubernetes):
                result += _job(job, job.executable in known, place(unit, job.name))
                result += _called_like_the_waiter(job, job.executor, place(unit, job.name))
    for where, executor in places.executors(experiment, Kubernetes):
        result += _executor(executor, where)
    return [*result, *kubernetes_objects.claim_problems(experiment)]


def _called_like_the_waiter(job: Job, executor: Kubernetes, where: str) -> list[Problem]:
    # Containers of one pod have different names.
    if not executor.service or names.slug(job.name) != services.WAITER:
        return []
    hint = "that is what the container is called which waits for the others: give the job another name"
    return [Problem("a service cannot be called that", where, hint)]


def of_cluster(experiment: Experiment, shared: Plan | None) -> list[Problem]:
    """About the cluster that the experiment uses. shared: the plan of the stack that it belongs to."""
    return [*_no_cluster(experiment.cluster), *_no_filestore(experiment, shared)]


def of_services(experiment: Experiment, pods: Mapping[Key, int]) -> list[Problem]:
    """pods: of each job."""
    return [
        Problem(
            f"is a service of {pods[position, job.name]} pods",
            where=place(unit, job.name),
            hint="a service is one pod: make it several jobs of the group",
        )
        for position, unit in enumerate(experiment.units)
        for job in unit.jobs
        if isinstance(job.executor, Kubernetes) and job.executor.service and pods.get((position, job.name), 1) > 1
    ]


def notes(experiment: Experiment) -> list[str]:
    """What is no problem here, but may be one when the jobs run."""
    named: dict[str, None] = {}
    mounted: set[str] = set()
    for unit in experiment.units:
        for job in unit.jobs:
            if isinstance(job.executor, Kubernetes):
                named |= dict.fromkeys(bucket for text in texts_of(job) for bucket in _URL.findall(text))
                mounted |= {v.bucket.partition("/")[0] for v in job.executor.volumes or () if v.bucket}
    result: list[str] = []
    if others := [f"gs://{bucket}" for bucket in named if bucket not in mounted]:
        account = names.service_account(experiment.stack, "jobs")
        result.append(
            f"Jobs name {', '.join(others)}: their account, {account}, may use the stack's own bucket and those that "
            "they mount; others somebody has to grant it, unless they are public."
        )
    of_each = (executor.tpu_runtime_version for _, executor in places.executors(experiment, Kubernetes))
    versions = {version for version in of_each if version}
    if versions:
        result.append(
            f"The version of the TPU's software ({', '.join(sorted(versions))}) has no effect on GKE: images bring it."
        )
    awaited = {position for unit in experiment.units for position in unit.depends_on}
    groups = (experiment.units[position].jobs for position in sorted(awaited))
    if shown := dict.fromkeys(
        ", ".join(job.name for job in jobs)
        for jobs in groups
        if len(jobs) > 1 and all(isinstance(job.executor, Kubernetes) and not job.executor.service for job in jobs)
    ):
        result.append(
            f"Other work units wait until all jobs of a group have succeeded ({'; '.join(list(shown)[:3])}): one that "
            "only serves the others, such as a parameter server, has to be a `service` or to end by itself."
        )
    return result


def is_bucket(text: str) -> bool:
    """Whether it can be the name of a bucket, or stands for the stack's."""
    return _BUCKET.fullmatch(text) is not None


def _no_cluster(choice: ClusterChoice | None) -> list[Problem]:
    """What no cluster can be called, and where none can be."""
    problems: list[Problem] = []
    if choice is not None and choice.kind == "existing" and (rule := rule_broken(CLUSTER, choice.name)):
        problems.append(Problem(f"{choice.name!r} is no name of a cluster", hint=rule))
    if choice is not None and choice.location is not None and (rule := rules.not_a_location(choice.location)):
        problems.append(Problem(f"{choice.location!r} is no location of a cluster", hint=rule))
    return problems


def _no_filestore(experiment: Experiment, shared: Plan | None) -> list[Problem]:
    """Claims that nothing on the other stack's cluster would serve: their jobs would wait for ever."""
    claims = kubernetes_objects.on_filestore(experiment)
    if shared is None or shared.cluster is None or shared.cluster.filestore or not claims:
        return []
    other = shared.experiment
    there = f"`filestore: true` in {other.source}" if other.pools is not None else "a cluster of its own that has it"
    return [
        Problem(
            f"claims are on Filestore ({', '.join(claims)}), whose driver the cluster of {other.stack!r} lacks",
            hint=f"{there}, or buckets instead of the claims",
        )
    ]


def _job(job: Job, entrypoint_known: bool, where: str) -> Iterator[Problem]:
    if not entrypoint_known and any(isinstance(arg, ShellSafeArg) for arg in job.args):
        yield Problem(
            f"has a ShellSafeArg, but the entry point of {job.executable!r} is not known",
            where=where,
            hint="use xm.PythonContainer, or expand the argument in the image's own entry point",
        )
    for name in job.env:
        if not _ENV_NAME.fullmatch(name):
            yield Problem(
                f"{name!r} cannot name an environment variable on Kubernetes",
                where=where,
                hint="letters, digits, `_`, `-` and `.`, no digit first",
            )
    found = dict.fromkeys(char for text in texts_of(job) for char in _UNWRITABLE.findall(text))
    if found:
        yield Problem(
            f"has characters in its arguments or environment that no Job can hold: {_code_points(found)}",
            where=where,
            hint="pass the text encoded, such as in base64, or in a file",
        )


def _code_points(characters: Iterable[str]) -> str:
    return ", ".join(f"U+{ord(char):04X}" for char in characters)


def _executor(executor: Kubernetes, where: str) -> Iterator[Problem]:
    yield from (replace(problem, where=where) for problem in limits.problems(executor))
    if executor.reservation is not None and (rule := rules.not_a_reservation(executor.reservation)):
        yield Problem(f"{executor.reservation!r} is no reservation", where, rule)
    paths = [posixpath.normpath(volume.path) for volume in executor.volumes or ()]
    for volume, path in zip(executor.volumes or (), paths, strict=True):
        yield from _volume(volume, path, where)
    for path in dict.fromkeys(path for path in paths if paths.count(path) > 1):
        yield Problem(f"several volumes are mounted at {path}", where)


def _volume(volume: Volume, path: str, where: str) -> Iterator[Problem]:
    if rule := rules.not_a_mount_path(volume.path):
        yield Problem(f"a volume cannot be mounted at {volume.path!r}", where, rule)
    elif any(path == reserved or path.startswith(f"{reserved}/") for reserved in _RESERVED):
        yield Problem(f"{path} is taken", where, f"{' and '.join(_RESERVED)} are there in every job")
    if (volume.bucket is None) == (volume.claim is None):
        yield Problem(f"the volume at {path} needs either a bucket or a claim", where)
    if volume.bucket is not None:
        bucket, _, folder = volume.bucket.partition("/")
        if not is_bucket(bucket):
            yield Problem(f"{volume.bucket!r} is no bucket", where, "its name without gs://, or name/folder")
        if "," in folder:
            yield Problem(f"{volume.bucket!r}: a comma cannot stand in the name of a folder", where)
        if found := _UNWRITABLE.findall(folder):
            yield Problem(f"{volume.bucket!r}: no Job can hold {_code_points(dict.fromkeys(found))}", where)
    if volume.claim is not None and not (_CLAIM.fullmatch(volume.claim) and len(volume.claim) <= 63):
        yield Problem(f"{volume.claim!r} cannot name a claim", where, "lower-case letters, digits and hyphens")
    if volume.storage_class is not None and (rule := rule_broken(OBJECTS["StorageClass"], volume.storage_class)):
        yield Problem(f"{volume.storage_class!r} is no storage class", where, rule)
