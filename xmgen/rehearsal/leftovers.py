"""What is there: in the API server and in the simulated cloud. Compared before and after, what a stack left behind."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from xmgen.pulumi_cli.state import StateResource
from xmgen.rehearsal.api import Api
from xmgen.rehearsal.cloud.store import Item, Store

# They come and go by themselves: what nodes and controllers say of themselves, and of what happened.
_PASSING = frozenset({"events", "leases", "endpoints", "endpointslices", "controllerrevisions", "servicecidrs"})


def objects(api: Api) -> set[str]:
    """Every object of the API server, as `kind namespace/name`."""
    kinds = [kind for version in _versions(api) for kind in _kinds(api, version)]

    def of(kind: tuple[str, str]) -> list[str]:
        path, name = kind
        answer = api.request("GET", f"{path}/{name}")
        items: list[dict[str, Any]] = answer.body["items"] if answer.ok else []
        return [f"{name} {_full_name(item)}" for item in items]

    with ThreadPoolExecutor(4) as threads:
        return {each for found in threads.map(of, kinds) for each in found}


def _versions(api: Api) -> list[str]:
    groups: list[dict[str, Any]] = api.request("GET", "/apis").body["groups"]
    return ["/api/v1", *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups)]


def _kinds(api: Api, version: str) -> list[tuple[str, str]]:
    resources: list[dict[str, Any]] = api.request("GET", version).body["resources"]
    return [
        (version, str(each["name"]))
        for each in resources
        if "list" in each["verbs"] and "/" not in each["name"] and each["name"] not in _PASSING
    ]


def _full_name(item: dict[str, Any]) -> str:
    metadata = item["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else str(metadata["name"])


def resources(store: Store) -> dict[str, Item]:
    """What somebody created in the cloud and nobody has deleted."""
    return {item.id: item for item in store if item.owner}


def names(state: Iterable[StateResource]) -> set[str]:
    """The full names of a stack's objects in the API server, from its resources as the engine has them."""
    return {each.id for each in state if each.type.startswith("kubernetes:")}


def belongs(entry: str, names: set[str], namespaces: set[str]) -> bool:
    """Whether an object, as `objects` has it, is one of these, or one of these namespaces, or lies in one."""
    name = entry.partition(" ")[2]
    return name in names or name.partition("/")[0] in namespaces
