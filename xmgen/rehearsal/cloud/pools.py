"""Node pools at work: their nodes are added and removed, by the user's number or by the autoscaler."""

from __future__ import annotations

import functools
import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from xmgen.executors.gke.pods import refused
from xmgen.rehearsal.api import Api
from xmgen.rehearsal.cloud.nodes import POOL_LABEL, SYSTEM_NAMESPACE, SYSTEM_POD, ZONE_LABEL, Template, template
from xmgen.rehearsal.cloud.quota import Quota
from xmgen.rehearsal.cloud.scheduling import Amounts, Object, added, amounts, has_room, less, obstacles, requests
from xmgen.rehearsal.cloud.storage import Storage
from xmgen.rehearsal.cloud.store import Item, Store, part
from xmgen.resource_types import NODE_POOL

IDLE_SECONDS = 5.0
"""How long a node has nothing to do before it is taken away; on GKE it is ten minutes."""


@dataclass(frozen=True, slots=True)
class View:
    """The cluster at one moment. pods: those of the jobs, not of GKE itself."""

    nodes: list[Object]
    pods: list[Object]

    def by_pool(self) -> dict[str, list[Object]]:
        result: defaultdict[str, list[Object]] = defaultdict(list)
        for node in self.nodes:
            result[node["metadata"]["labels"].get(POOL_LABEL, "")].append(node)
        return result

    def by_node(self) -> dict[str, list[Object]]:
        """The pods that take room on a node."""
        result: defaultdict[str, list[Object]] = defaultdict(list)
        for pod in self.pods:
            if pod["spec"].get("nodeName") and not ended(pod):
                result[pod["spec"]["nodeName"]].append(pod)
        return result

    def unplaced(self) -> list[Object]:
        return [pod for pod in self.pods if not pod["spec"].get("nodeName") and not ended(pod)]

    def waiting(self) -> list[Object]:
        return [pod for pod in self.unplaced() if refused(pod)]


def ended(pod: Object) -> bool:
    return pod["status"].get("phase") in ("Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]


def _name(node: Object) -> str:
    return str(node["metadata"]["name"])


def group(pod: Object) -> str:
    """The Job whose pods a slice of several hosts belongs to."""
    owners: list[Object] = pod["metadata"].get("ownerReferences") or []
    return str(owners[0]["name"]) if owners else str(pod["metadata"]["name"])


@dataclass(slots=True)
class _Room:
    """What is free on a node that is there, or that would be added."""

    free: Amounts
    zone: str
    pods: list[Object] = field(default_factory=list[Object])


class Pools:
    """The node pools of the simulated cloud, as nodes of one cluster."""

    def __init__(self, store: Store, api: Api, quota: Quota) -> None:
        self._store = store
        self._api = api
        self._quota = quota
        self.storage = Storage(store, api)
        self._idle: dict[str, float] = {}
        self._lock = threading.Lock()
        self.helpless: dict[str, list[str]] = {}
        """Pods, by name, for which no pool can grow, and why not."""

    def view(self) -> View:
        nodes = self._api.items("/api/v1/nodes")
        pods = self._api.items("/api/v1/pods", fieldSelector=f"metadata.namespace!={SYSTEM_NAMESPACE}")
        return View(nodes, pods)

    def step(self, view: View) -> None:
        """Bring every pool to the number of nodes that it should have now."""
        with self._lock:
            self._step(view)

    def _step(self, view: View) -> None:
        pools = {str(item.inputs["name"]): (item, template(item, self._store)) for item in self._store.of(NODE_POOL)}
        there = view.by_pool()
        for name in there.keys() - pools.keys() - {""}:
            # Its deletion was cut off.
            self._remove(name)
        self._quota.count((kind, len(there.get(name, []))) for name, (_, kind) in pools.items())
        self.storage.step(view.nodes)
        for name, (item, kind) in pools.items():
            missing = least(item, kind) - len(there.get(name, []))
            if missing > 0:
                self._quota.take(kind, missing)
                self._grow(kind, there.get(name, []), [""] * missing)
        self._help(view, pools, there)
        self._shrink(view, pools, there)

    def refusal(self, item: Item) -> str:
        """Why a pool cannot be made: there is no quota for the nodes that it has from the start."""
        kind = template(item, self._store)
        return self._quota.short(kind, least(item, kind))

    def remove(self, item: Item) -> None:
        """A pool is deleted: its nodes go, and the pods on them are evicted."""
        with self._lock:
            self._remove(str(item.inputs["name"]))

    def _remove(self, pool: str) -> None:
        nodes = self._api.items("/api/v1/nodes", labelSelector=f"{POOL_LABEL}={pool}")
        with ThreadPoolExecutor(_THREADS) as threads:
            list(threads.map(self._evict, [str(node["metadata"]["name"]) for node in nodes]))

    def with_its_slice(self, view: View, node: str) -> set[str]:
        """The nodes that Google takes away when it takes this one: of a slice of several hosts, all."""
        pool = next((name for name, nodes in view.by_pool().items() if node in map(_name, nodes)), "")
        if (found := self._kind(pool)) is None or found.hosts == 1:
            return {node}
        return {_name(each) for each in view.by_pool()[pool]}

    def reclaim(self, names: Sequence[str]) -> None:
        """Spot machines are taken back. The pods on them are there still, for Kubernetes to collect."""
        with self._lock:
            for name in names:
                self._drop(name)

    def _kind(self, pool: str) -> Template | None:
        items = {str(item.inputs["name"]): item for item in self._store.of(NODE_POOL)}
        return template(items[pool], self._store) if pool in items else None

    def _drop(self, node: str) -> None:
        self._api.request("DELETE", f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/pods/{SYSTEM_POD}-{node}", _NOW)
        self._delete_node(node)

    def _evict(self, node: str) -> None:
        for pod in self._api.items("/api/v1/pods", fieldSelector=f"spec.nodeName={node}"):
            self._delete_pod(pod)
        self._delete_node(node)

    def _help(self, view: View, pools: Mapping[str, tuple[Item, Template]], there: Mapping[str, list[Object]]) -> None:
        """Add nodes for pods that wait, as far as nodes that are there, or on their way, have no room for them."""
        rooms = self._rooms(view, pools)
        added_nodes: defaultdict[str, list[str]] = defaultdict(list)
        helpless: dict[str, list[str]] = {}
        for pod in view.unplaced():
            if why := self.storage.why_not(pod):
                helpless[str(pod["metadata"]["name"])] = [why]
                continue
            # The scheduler has not looked at it yet.
            if not refused(pod):
                continue
            if any(self._place(pod, rooms.get(name, []), kind) for name, (_, kind) in pools.items()):
                continue
            reasons: list[str] = []
            for name, (item, kind) in sorted(pools.items(), key=lambda each: (_size(each[1][1]), each[0])):
                why = self._why_not(pod, item, kind, len(there.get(name, [])) + len(added_nodes[name]))
                if why:
                    reasons.append(f"{name}: {why}")
                    continue
                zone = next(iter(self.storage.zones(pod)), "")
                added_nodes[name] += [zone] * kind.hosts
                self._quota.take(kind, kind.hosts)
                rooms.setdefault(name, []).extend(_Room(_empty(kind), zone) for _ in range(kind.hosts))
                self._place(pod, rooms[name], kind)
                break
            else:
                helpless[str(pod["metadata"]["name"])] = reasons
        self.helpless = helpless
        for name, zones in added_nodes.items():
            self._grow(pools[name][1], there.get(name, []), zones)

    def _rooms(self, view: View, pools: Mapping[str, tuple[Item, Template]]) -> dict[str, list[_Room]]:
        running = view.by_node()
        rooms: dict[str, list[_Room]] = {}
        for name, nodes in view.by_pool().items():
            if name not in pools:
                continue
            for node in nodes:
                pods = running.get(node["metadata"]["name"], [])
                taken = added(requests(pod) for pod in pods)
                free = less(_empty(pools[name][1]), taken)
                zone = str(node["metadata"]["labels"].get(ZONE_LABEL, ""))
                rooms.setdefault(name, []).append(_Room(free, zone, list(pods)))
        return rooms

    def _place(self, pod: Object, rooms: list[_Room], kind: Template) -> bool:
        if not rooms or obstacles(pod, kind.labels, kind.taints):
            return False
        if kind.hosts > 1 and {group(each) for room in rooms for each in room.pods} - {group(pod)}:
            return False
        wanted, zones = requests(pod), self.storage.zones(pod)
        room = next((room for room in rooms if has_room(room.free, wanted) and zones <= {room.zone}), None)
        if room is None:
            return False
        room.free = less(room.free, wanted)
        room.pods.append(pod)
        return True

    def _why_not(self, pod: Object, item: Item, kind: Template, size: int) -> str:
        """Why a node more of this pool would not help this pod; empty when it would."""
        if found := obstacles(pod, kind.labels, kind.taints):
            return found[0]
        zones = self.storage.zones(pod)
        if len(zones) > 1 or not zones <= set(kind.zones):
            return f"its volumes are in {', '.join(sorted(zones))}, the pool's nodes in {', '.join(kind.zones)}"
        if not kind.vcpus:
            return f"how much its machines ({kind.machine}) leave to jobs is not known"
        wanted, empty = requests(pod), _empty(kind)
        lacking = [name for name, amount in wanted.items() if amount > empty.get(name, 0)]
        if lacking:
            return "; ".join(
                f"{name}: {_shown(name, wanted[name])} needed, {_shown(name, empty.get(name, 0))} on an empty node"
                for name in lacking
            )
        if size + kind.hosts > (limit := most(item, kind)):
            return f"it has all of its nodes: {limit}"
        return self._quota.exceeded(kind, kind.hosts)

    def _grow(self, kind: Template, there: list[Object], zones: Sequence[str]) -> None:
        """zones: of every node that is added; empty where it does not matter."""
        names = {str(node["metadata"]["name"]) for node in there}
        numbers = (number for number in itertools.count() if f"gke-{kind.pool}-{number}" not in names)
        # A slice may have hundreds of hosts.
        with ThreadPoolExecutor(_THREADS) as threads:
            list(threads.map(functools.partial(self._add, kind), numbers, zones))

    def _add(self, kind: Template, number: int, zone: str) -> None:
        name = f"gke-{kind.pool}-{number}"
        self._api.request("POST", "/api/v1/nodes", kind.node(name, zone or kind.zones[number % len(kind.zones)]))
        self._api.request("POST", f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/pods", kind.system_pod(name))

    def _shrink(
        self, view: View, pools: Mapping[str, tuple[Item, Template]], there: Mapping[str, list[Object]]
    ) -> None:
        """Take away nodes that have had nothing to do for a while: first closed to new pods, then gone."""
        busy = view.by_node()
        # On GKE they would stay for ten minutes: long enough to read the log of a pod that failed.
        telling = {pod["spec"].get("nodeName") for pod in view.pods if pod["status"].get("phase") == "Failed"}
        now = time.monotonic()
        waiting = view.waiting()
        for name, (item, kind) in pools.items():
            nodes = there.get(name, [])
            idle = [node for node in nodes if not busy.get(_name(node)) and _name(node) not in telling]
            if (kind.hosts > 1 and len(idle) < len(nodes)) or not item.inputs.get("autoscaling"):
                idle = []
            for node in nodes:
                if node not in idle:
                    self._idle.pop(str(node["metadata"]["name"]), None)
            needed = any(not obstacles(pod, kind.labels, kind.taints) for pod in waiting)
            spare = idle[: len(nodes) - least(item, kind)] if not needed else []
            for node in nodes:
                closed = bool(node["spec"].get("unschedulable"))
                if node not in spare:
                    # A pod came for it, or wants it now: it is open again.
                    if closed:
                        self._close(node, False)
                elif closed:
                    self._drop(_name(node))
                elif now - self._idle.setdefault(_name(node), now) > IDLE_SECONDS:
                    self._close(node, True)

    def _close(self, node: Object, closed: bool) -> None:
        """To new pods."""
        self._api.request("PATCH", f"/api/v1/nodes/{_name(node)}", {"spec": {"unschedulable": closed}})

    def _delete_node(self, name: str) -> None:
        self._idle.pop(name, None)
        self._api.request("DELETE", f"/api/v1/nodes/{name}", _NOW)

    def _delete_pod(self, pod: Object) -> None:
        metadata = pod["metadata"]
        self._api.request("DELETE", f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}", _NOW)


_THREADS = 4
_NOW = {"gracePeriodSeconds": 0}


def least(item: Item, kind: Template) -> int:
    """How many nodes a pool has at the least. All of its numbers but the totals are those of each zone (GKE REST API,
    projects.locations.clusters.nodePools: initialNodeCount; NodePoolAutoscaling).
    """
    scaling = part(item.inputs, "autoscaling")
    if not scaling:
        return int(item.inputs.get("nodeCount") or item.inputs.get("initialNodeCount") or 0) * len(kind.zones)
    return int(scaling.get("totalMinNodeCount") or (scaling.get("minNodeCount") or 0) * len(kind.zones))


def most(item: Item, kind: Template) -> int:
    scaling: dict[str, Any] = part(item.inputs, "autoscaling")
    if not scaling:
        return least(item, kind)
    return int(scaling.get("totalMaxNodeCount") or (scaling.get("maxNodeCount") or 0) * len(kind.zones))


def _empty(kind: Template) -> Amounts:
    """What an empty node has for jobs."""
    return less(amounts(kind.allocatable), {**amounts(kind.system_requests()), "pods": 1000})


def _size(kind: Template) -> tuple[int, int]:
    size = amounts(kind.allocatable)
    return size["cpu"], size["memory"]


def _shown(name: str, amount: int) -> str:
    if name in ("memory", "ephemeral-storage"):
        return f"{amount / 1000 / 2**30:.1f} GiB"
    return f"{amount / 1000:g}"
