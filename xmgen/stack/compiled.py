"""A stack as it is compiled: what its committed folder says, and not what this xmgen would make of its source.

Everything after the compile reads it. So another version of xmgen, which would plan other Jobs, deletes and hides none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import yaml

from xmgen.errors import InputError, Problem
from xmgen.executors.gke.jobs import AFTER_ANNOTATION, RESOURCE_ANNOTATION
from xmgen.executors.gke.jobs import UNIT_LABEL as JOBS_UNIT_LABEL
from xmgen.executors.vertex.custom_jobs import UNIT_LABEL as CUSTOM_JOBS_UNIT_LABEL
from xmgen.experiment import Experiment, JobRequirements
from xmgen.locations import region_of
from xmgen.plan.model import Manifest
from xmgen.project import LOCK_FILE, STACKS, Project
from xmgen.resource_types import CLUSTER, CUSTOM_JOB, JOB, NODE_POOL, RUN
from xmgen.stack import documents, lock, recompile
from xmgen.stack.documents import Document

Runs = Literal["local", "gke", "vertex", "cluster"]
"""What a stack's work units run on; `cluster` for a stack that is but a cluster."""

OBJECTS = "manifests/objects.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledUnit:
    """A work unit.

    name:       the logical name. position: in `Experiment.units`. depends_on: names of the units that it waits for.
    type:       the type of its resources. resources: their logical names: of its Jobs, else its own.
    documents:  of the manifests, one for each resource.
    """

    name: str
    position: int
    type: str
    resources: tuple[str, ...]
    documents: tuple[Document, ...] = field(repr=False)
    depends_on: tuple[str, ...] = ()

    @property
    def heads(self) -> list[Manifest]:
        """What its manifests are called and labelled, which takes little time."""
        return [document.head for document in self.documents]

    @property
    def manifests(self) -> list[Manifest]:
        """All that its manifests say. Raises InputError for what is no YAML."""
        try:
            return [document.whole() for document in self.documents]
        except yaml.YAMLError as error:
            raise InputError(Problem(f"its manifest is no YAML: {_one_line(error)}", where=self.name)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledCluster:
    """The cluster that a stack's jobs run on, or that it is.

    kind: the stack's own, another stack's, or one that exists. name: of the other stack or the existing cluster.
    location: None leaves it to the configuration, or to the other stack.
    """

    kind: Literal["own", "stack", "existing"] = "own"
    name: str = ""
    location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledStack:
    """experiment: as it was compiled. runs: what its units run on. units: in its order. cluster: None where there is
    none. objects: what Jobs need beside themselves. declared: type and name of the clusters and node pools that the
    stack makes.
    """

    experiment: Experiment
    runs: Runs
    units: tuple[CompiledUnit, ...]
    cluster: CompiledCluster | None = None
    objects: tuple[Manifest, ...] = ()
    declared: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return self.experiment.stack


Read = Callable[[str], str | None]
"""The text of a file of the stack's folder, by its path in it; None where there is none."""


def read(project: Project, stack: str) -> CompiledStack:
    """Raises InputError for a folder that does not fit together, or is of a version that this xmgen cannot read, and
    OSError where the machine refuses to read it.
    """

    def of_file(path: str) -> str | None:
        file = project.stack(stack) / path
        try:
            return file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise InputError(Problem(f"cannot be read: {error}", where=f"{STACKS}/{stack}/{path}")) from None

    experiment = lock.read(project.lock(stack), stack)
    try:
        return of_files(experiment, of_file)
    except _UnfitError as error:
        # Only now: to know the command may take the front end that the stack's source is for.
        hint = f"compile it again: `{recompile.of_stack(project.root, stack)}`"
        raise InputError(*(replace(problem, hint=hint) for problem in error.problems)) from None


def of_files(experiment: Experiment, text: Read) -> CompiledStack:
    """text: gives the files of the stack's folder. Raises InputError as `read` does."""
    folder = f"{STACKS}/{experiment.stack}"
    executors = {job.executor.kind for unit in experiment.units for job in unit.jobs}
    if len(executors) > 1:
        raise _unfit(f"{folder}/{LOCK_FILE}", f"its jobs run in several places: {', '.join(sorted(executors))}")
    executor = next(iter(executors), None)
    manifests = _MANIFESTS[executor] if executor else None
    units = tuple(_units(experiment, manifests, text)) if manifests else ()
    runs = manifests.runs if manifests else "local" if experiment.pools is None else "cluster"
    on_cluster = runs in ("gke", "cluster")
    return CompiledStack(
        experiment=experiment,
        runs=runs,
        units=units,
        cluster=_cluster(experiment) if on_cluster else None,
        objects=tuple(each.head for each in _documents(folder, OBJECTS, text, None)) if on_cluster else (),
        declared=tuple(_declared(text)) if on_cluster else (),
    )


# Units, from the manifests


@dataclass(frozen=True, slots=True)
class _Manifests:
    """How an executor's manifests say of which unit a document is.

    keys: the top-level keys that say it. unit: its logical name. resource: that of the document's own resource.
    after: what it waits for, by the identities of other documents; None where it does not say. identity: of a document.
    """

    runs: Runs
    type: str
    file: str
    keys: frozenset[str]
    unit: Callable[[Any], str]
    resource: Callable[[Any], str]
    identity: Callable[[Any], str]
    after: Callable[[Any], Sequence[str] | None]


def _words(text: str) -> list[str]:
    return text.split()


_MANIFESTS: Mapping[str, _Manifests] = {
    "local": _Manifests(
        "local",
        RUN,
        "manifests/local.yaml",
        frozenset({"name", "dependsOn"}),
        unit=lambda run: run["name"],
        resource=lambda run: run["name"],
        identity=lambda run: run["name"],
        after=lambda run: run.get("dependsOn", []),
    ),
    "kubernetes": _Manifests(
        "gke",
        JOB,
        "manifests/jobs.yaml",
        frozenset({"apiVersion", "kind", "metadata"}),
        unit=lambda job: job["metadata"]["labels"][JOBS_UNIT_LABEL],
        resource=lambda job: job["metadata"]["annotations"][RESOURCE_ANNOTATION],
        identity=lambda job: job["metadata"]["name"],
        after=lambda job: _words(job["metadata"]["annotations"].get(AFTER_ANNOTATION, "")),
    ),
    "vertex": _Manifests(
        "vertex",
        CUSTOM_JOB,
        "manifests/vertex/jobs.yaml",
        frozenset({"displayName", "labels"}),
        unit=lambda job: job["labels"][CUSTOM_JOBS_UNIT_LABEL],
        resource=lambda job: job["labels"][CUSTOM_JOBS_UNIT_LABEL],
        identity=lambda job: job["labels"][CUSTOM_JOBS_UNIT_LABEL],
        # The body of a request has no place for it: the program says it, and the lock file.
        after=lambda job: None,
    ),
}
"""By the kind of an executor."""


def _units(experiment: Experiment, of: _Manifests, text: Read) -> list[CompiledUnit]:
    where = f"{STACKS}/{experiment.stack}/{of.file}"
    by_unit: dict[str, list[Document]] = {}
    unit_of: dict[str, str] = {}
    after: dict[str, list[str] | None] = {}
    resources: dict[str, list[str]] = {}
    for number, document in enumerate(_documents(f"{STACKS}/{experiment.stack}", of.file, text, of.keys), start=1):
        try:
            unit, resource, identity = (str(say(document.head)) for say in (of.unit, of.resource, of.identity))
            waits_for = of.after(document.head)
        except (KeyError, TypeError, AttributeError):
            raise _unfit(where, f"document {number} does not say of which work unit it is") from None
        if identity in unit_of:
            raise _unfit(where, f"two documents are called {identity}")
        unit_of[identity] = unit
        by_unit.setdefault(unit, []).append(document)
        resources.setdefault(unit, []).append(resource)
        after[unit] = None if waits_for is None else [*(after.get(unit) or []), *waits_for]
    if len(by_unit) != len(experiment.units):
        raise _unfit(where, f"has {len(by_unit)} work units, and {LOCK_FILE} has {len(experiment.units)}")
    names_of_units = list(by_unit)
    result: list[CompiledUnit] = []
    for position, name in enumerate(names_of_units):
        depends_on = tuple(names_of_units[other] for other in experiment.units[position].depends_on)
        said = after[name]
        if said is not None and {unit_of.get(identity, "") for identity in said} != set(depends_on):
            raise _unfit(where, f"{name} waits for others than {LOCK_FILE} has")
        result.append(
            CompiledUnit(
                name=name,
                position=position,
                type=of.type,
                resources=tuple(resources[name]),
                documents=tuple(by_unit[name]),
                depends_on=depends_on,
            )
        )
    return result


def _documents(folder: str, path: str, text: Read, keys: frozenset[str] | None) -> list[Document]:
    """Those of a file; none where there is no such file and `keys` is None. keys: None for all of them."""
    content = text(path)
    if content is None:
        if keys is None:
            return []
        raise _unfit(f"{folder}/{path}", "is not there")
    try:
        if keys is not None:
            return documents.read(content, keys)
        return [Document(document) for document in documents.read_all(content)]
    except yaml.YAMLError as error:
        raise _unfit(f"{folder}/{path}", f"is not as it was compiled: {_one_line(error)}") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


class _UnfitError(InputError):
    """Files of a folder that do not fit together."""


def _unfit(where: str, message: str) -> _UnfitError:
    return _UnfitError(Problem(message, where=where, hint="compile it again"))


# The cluster. resources.yaml will say all of it; until then the lock file and the program do.

_IN_PROGRAM = re.compile(r'gcp\.container\.(Cluster|NodePool)\(\s+"([^"]+)"')


def _declared(text: Read) -> list[tuple[str, str]]:
    types = {"Cluster": CLUSTER, "NodePool": NODE_POOL}
    return [(types[kind], name) for kind, name in _IN_PROGRAM.findall(text("cluster.py") or "")]


def _cluster(experiment: Experiment) -> CompiledCluster:
    choice = experiment.cluster
    if choice is not None and choice.kind != "own":
        return CompiledCluster(kind=choice.kind, name=choice.name, location=choice.location)
    asked: list[JobRequirements] = [job.executor.requirements for unit in experiment.units for job in unit.jobs]
    asked += [pool.requirements for pool in experiment.pools or ()]
    locations = {each.location for each in asked if each.location}
    if choice is not None and choice.location:
        locations = {choice.location}
    if len(locations) > 1:
        # Zones of one region: the cluster is regional.
        locations = {region_of(each) for each in locations}
    return CompiledCluster(location=next(iter(locations), None))
