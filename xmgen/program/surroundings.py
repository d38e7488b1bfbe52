"""What a stack on Google Cloud creates beside the resources that an experiment decides about, as a table's rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xmgen import resource_types
from xmgen.plan.resources import Declared, Input, Output, Resource, Text

_WHAT = {
    "network": "network, subnetwork and Cloud NAT, unless the configuration names a subnetwork",
    "nodes": "account of the nodes",
    "repository": "repository of images",
    "namespace": "namespace",
    "output": "bucket of outputs, which outlives the stack",
    "output_bucket": "bucket of outputs, which outlives the stack; unless the configuration names one",
    "jobs_account": "account of the jobs, as which the namespace's pods may act",
    "controllers_account": "account of the controllers, which start jobs",
    "account": "account of the jobs",
}
"""By what the program calls it."""


@dataclass(frozen=True, slots=True)
class Surrounding:
    """name: as the program has it. rights: the roles that an account gets."""

    what: str
    name: str
    rights: tuple[str, ...] = ()


def surroundings(declared: Declared) -> list[Surrounding]:
    """In the program's order; empty for a stack that runs on this machine."""
    resources = [each for resource in declared.resources for each in resource.expanded()]
    return [row for resource in resources for row in _row(resource, resources)]


def _row(resource: Resource, resources: list[Resource]) -> Iterator[Surrounding]:
    if resource.type == resource_types.TENSORBOARD:
        yield Surrounding("TensorBoard", str(resource.name))
    elif resource.type == resource_types.ACCOUNT:
        roles = (str(each.inputs["role"]) for each in resources if _is_of(each, resource.variable))
        yield Surrounding(_WHAT[resource.variable], str(resource.inputs["accountId"]), tuple(dict.fromkeys(roles)))
    elif resource.variable in _WHAT:
        yield Surrounding(_WHAT[resource.variable], str(resource.name))
    elif isinstance(member := resource.inputs.get("member"), Text) and resource.variable == "rights":
        yield Surrounding("rights of an account that there is", _said(member), (str(resource.inputs["role"]),))


def _is_of(grant: Resource, account: str) -> bool:
    return grant.inputs.get("member") == Output(account, "member")


def _said(member: Text) -> str:
    return "".join(map(_part, member.parts)).removeprefix("serviceAccount:")


def _part(part: Input) -> str:
    from xmgen.program.resources_yaml import notation

    return str(notation(part))
