"""A stack as it is compiled: what its committed folder says, and not what this xmgen would make of its source.

Everything after the compile reads it. So another version of xmgen, which would plan other Jobs, deletes and hides none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import yaml

from xmgen import resource_types
from xmgen.errors import InputError, Problem
from xmgen.executors.gke.jobs import AFTER_ANNOTATION, RESOURCE_ANNOTATION
from xmgen.executors.gke.jobs import UNIT_LABEL as JOBS_UNIT_LABEL
from xmgen.executors.vertex.custom_jobs import UNIT_LABEL as CUSTOM_JOBS_UNIT_LABEL
from xmgen.experiment import Experiment
from xmgen.plan.model import Manifest
from xmgen.project import LOCK_FILE, STACKS, Project
from xmgen.stack import documents, lock, recompile, resources
from xmgen.stack.documents import Document
from xmgen.stack.resources import DeclaredResources


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
    """experiment: as it was compiled. declared: the resources of the program. units: the work units, in the
    experiment's order. cluster: that jobs run on, or that the stack is; None where there is none.
    """

    experiment: Experiment
    declared: DeclaredResources
    units: tuple[CompiledUnit, ...]
    cluster: CompiledCluster | None = None

    @property
    def name(self) -> str:
        return self.experiment.stack

    @property
    def objects(self) -> list[dict[str, Any]]:
        """What is on the cluster beside the Jobs, as Kubernetes has it."""
        kinds = [each for each in self.declared.resources if each.type.startswith("kubernetes:")]
        return [resources.kubernetes_object(each) for each in kinds]


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
    listed = text(resources.FILE)
    if listed is None:
        raise _unfit(f"{folder}/{resources.FILE}", "is not there; an older xmgen compiled the stack")
    declared = resources.parse(listed, f"{folder}/{resources.FILE}")
    units: list[CompiledUnit] = []
    if declared.workloads is not None:
        units = _units(experiment, declared.workloads, f"{folder}/{declared.workloads.manifests}", text)
    elif experiment.units:
        raise _unfit(f"{folder}/{resources.FILE}", f"has no workloads, and {LOCK_FILE} has {len(experiment.units)}")
    return CompiledStack(
        experiment=experiment, declared=declared, units=tuple(units), cluster=_cluster(declared, folder)
    )


# Units, from the manifests


@dataclass(frozen=True, slots=True)
class _Says:
    """How manifests of a type say of which unit a document is, each as a function of the document.

    keys: the top-level keys that say it. unit: its logical name. resource: that of the document's own resource.
    identity: by which others mean the document. after: those that it waits for; None where it does not say.
    """

    keys: frozenset[str] = frozenset({"name", "dependsOn"})
    unit: Callable[[Any], str] = lambda run: run["name"]
    resource: Callable[[Any], str] = lambda run: run["name"]
    identity: Callable[[Any], str] = lambda run: run["name"]
    after: Callable[[Any], Sequence[str] | None] = lambda run: run.get("dependsOn", [])


_SAYS: Mapping[str, _Says] = {
    resource_types.JOB: _Says(
        keys=frozenset({"apiVersion", "kind", "metadata"}),
        unit=lambda job: job["metadata"]["labels"][JOBS_UNIT_LABEL],
        resource=lambda job: job["metadata"]["annotations"][RESOURCE_ANNOTATION],
        identity=lambda job: job["metadata"]["name"],
        after=lambda job: job["metadata"]["annotations"].get(AFTER_ANNOTATION, "").split(),
    ),
    resource_types.CUSTOM_JOB: _Says(
        keys=frozenset({"displayName", "labels"}),
        unit=lambda job: job["labels"][CUSTOM_JOBS_UNIT_LABEL],
        resource=lambda job: job["labels"][CUSTOM_JOBS_UNIT_LABEL],
        identity=lambda job: job["labels"][CUSTOM_JOBS_UNIT_LABEL],
        # The body of a request has no place for it: the program says it, and the lock file.
        after=lambda job: None,
    ),
}
"""By the type of the resources: bodies that others have laid down. Documents of our own have a `name`, and may have
`dependsOn`."""


def _units(experiment: Experiment, workloads: resources.Workloads, where: str, text: Read) -> list[CompiledUnit]:
    says = _SAYS.get(workloads.type, _Says())
    by_unit: dict[str, list[Document]] = {}
    of_unit: dict[str, list[str]] = {}
    unit_of: dict[str, str] = {}
    after: dict[str, list[str] | None] = {}
    for number, document in enumerate(_documents(where, text(workloads.manifests), says.keys), start=1):
        try:
            unit, resource, identity = (str(say(document.head)) for say in (says.unit, says.resource, says.identity))
            waits_for = says.after(document.head)
        except (KeyError, TypeError, AttributeError):
            raise _unfit(where, f"document {number} does not say of which work unit it is") from None
        if identity in unit_of:
            raise _unfit(where, f"two documents are called {identity}")
        unit_of[identity] = unit
        by_unit.setdefault(unit, []).append(document)
        of_unit.setdefault(unit, []).append(resource)
        after[unit] = None if waits_for is None else [*(after.get(unit) or []), *waits_for]
    if len(by_unit) != len(experiment.units):
        raise _unfit(where, f"has {len(by_unit)} work units, and {LOCK_FILE} has {len(experiment.units)}")
    names = list(by_unit)
    units: list[CompiledUnit] = []
    for position, name in enumerate(names):
        depends_on = tuple(names[other] for other in experiment.units[position].depends_on)
        said = after[name]
        if said is not None and {unit_of.get(identity, "") for identity in said} != set(depends_on):
            raise _unfit(where, f"{name} waits for others than {LOCK_FILE} has")
        units.append(
            CompiledUnit(
                name=name,
                position=position,
                type=workloads.type,
                resources=tuple(of_unit[name]),
                documents=tuple(by_unit[name]),
                depends_on=depends_on,
            )
        )
    return units


def _documents(where: str, text: str | None, keys: frozenset[str]) -> list[Document]:
    if text is None:
        raise _unfit(where, "is not there")
    try:
        return documents.read(text, keys)
    except yaml.YAMLError as error:
        raise _unfit(where, f"is not as it was compiled: {_one_line(error)}") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


class _UnfitError(InputError):
    """Files of a folder that do not fit together."""


def _unfit(where: str, message: str) -> _UnfitError:
    return _UnfitError(Problem(message, where=where, hint="compile it again"))


# The cluster

_REFERENCE = re.compile(r"\$\{(\w+)\}")


def _cluster(declared: DeclaredResources, folder: str) -> CompiledCluster | None:
    kind, _, rest = declared.cluster.partition(":")
    name, _, location = rest.partition("@")
    match kind:
        case "":
            return None
        case "own":
            made = declared.of_type(resource_types.CLUSTER)
            return CompiledCluster(location=_literal(declared, made[0].properties.get("location")) if made else None)
        case "stack" | "existing":
            return CompiledCluster(kind=kind, name=name, location=location or None)
        case _:
            raise _unfit(f"{folder}/{resources.FILE}", f"{declared.cluster!r} is no cluster")


def _literal(declared: DeclaredResources, value: object) -> str | None:
    """A text of the list, through its variables; None where only the configuration says it."""
    for _ in declared.variables:
        if isinstance(value, str) and (reference := _REFERENCE.fullmatch(value)):
            value = declared.variables.get(reference[1])
    return value if isinstance(value, str) and "${" not in value else None
