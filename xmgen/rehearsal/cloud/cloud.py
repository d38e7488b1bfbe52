"""Google's side of every request: what is asked is checked, kept, and answered."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from xmgen.errors import InputError
from xmgen.rehearsal.cloud import arguments, kinds, refusals
from xmgen.rehearsal.cloud.dials import Dials, LostResponse
from xmgen.rehearsal.cloud.errors import Refusal
from xmgen.rehearsal.cloud.kinds import Endpoint
from xmgen.rehearsal.cloud.store import Item, Properties, Store, part
from xmgen.resource_types import (
    ACCOUNT_MEMBER,
    API,
    BUCKET_MEMBER,
    CLUSTER,
    NODE_POOL,
    PROJECT_MEMBER,
    REPOSITORY,
)
from xmgen.resource_types.table import lookup

GOOGLE = "gcp:"

Point = Literal["received", "done"]
"""Of an operation: its request is there, and nothing has happened yet; it has been carried out, and nobody knows."""

_LOOKUPS = {
    "gcp:container/getCluster:getCluster": CLUSTER,
    "gcp:artifactregistry/getRepository:getRepository": REPOSITORY,
}

_IDEMPOTENT = frozenset({API, PROJECT_MEMBER, ACCOUNT_MEMBER, BUCKET_MEMBER})
"""What can be made twice: it is there afterwards."""


class Cloud:
    """A project of Google Cloud, or several: every request names its own.

    store: its resources. dials: a file, see `dials`. endpoint: of every cluster. remove_nodes: takes a deleted pool's
    nodes away. registry: where images are pushed; empty when none are built. pool_refusal: why a pool cannot be made;
    empty when it can.
    """

    def __init__(
        self,
        store: Store,
        dials: Path,
        endpoint: Endpoint,
        remove_nodes: Callable[[Item], None],
        registry: str = "",
        pool_refusal: Callable[[Item], str] = lambda pool: "",
    ) -> None:
        self.store = store
        self._registry = registry
        self.dials = Dials(dials)
        self._endpoint = endpoint
        self._remove_nodes = remove_nodes
        self._pool_refusal = pool_refusal
        self.at: Callable[[Point, str, str], None] = _nothing
        """Called with a point of every operation, its kind and its URN: how a test has something happen just then."""

    def answer(self, request: Properties) -> Properties:
        """The answer to a stand-in's request. Refusals are answers, too: `{"error": text}`.

        Raises LostResponse when the answer is to be lost.
        """
        operation, urn = str(request["operation"]), str(request.get("urn", ""))
        try:
            self.at("received", operation, urn)
            course = self.dials.apply(operation, str(request.get("type", "")), urn)
            answer = self._do(operation, request)
        except (Refusal, InputError) as refusal:
            return {"error": str(refusal)}
        # As Google does it: an operation under way goes on whether or not somebody waits for it, and can be seen.
        time.sleep(course.seconds)
        self.at("done", operation, urn)
        if course.fault == "lost":
            raise LostResponse
        if course.fault == "half":
            answer["reasons"] = ["googleapi: Error 500: the operation failed half-way, internalError"]
        return answer

    def _do(self, operation: str, request: Properties) -> Properties:
        match operation:
            case "ping":
                return {}
            case "build":
                return {"registry": self._registry}
            case "check":
                return self._check(request)
            case "create":
                return self._create(request)
            case "read":
                return self._read(request)
            case "update":
                return self._update(request)
            case "delete":
                return self._delete(request)
            case "invoke":
                return self._look_up(str(request["type"]), request["inputs"])
            case _:
                raise ValueError(f"unknown operation {operation!r}")

    def _check(self, request: Properties) -> Properties:
        type, inputs = str(request["type"]), dict(request["inputs"])
        if not type.startswith(GOOGLE):
            return {"failures": arguments.problems(type, inputs), "added": {}}
        added: Properties = {}
        name = lookup(type).name
        old: Properties = request.get("old") or {}
        if name is not None and name.generated and not inputs.get(name.input):
            seed = bytes.fromhex(str(request["seed"])) or str(request["urn"]).encode()
            added[name.input] = old.get(name.input) or kinds.generated_name(str(request["name"]), seed)
        return {"failures": arguments.problems(type, inputs), "added": added}

    def _create(self, request: Properties) -> Properties:
        type, inputs = str(request["type"]), _complete(request)
        self._refuse(type, inputs)
        id = kinds.id_of(type, inputs)
        known = self.store.get(id)
        if known is not None and not known.assumed and type not in _IDEMPOTENT:
            raise Refusal(409, f"Already exists: {id}")
        outputs = self._outputs(type, inputs)
        item = Item(
            id=id,
            type=type,
            inputs=inputs,
            outputs=outputs,
            owner=str(request["urn"]),
            parents=[parent for parent in kinds.kind(type).parents(inputs) if self.store.get(parent)],
        )
        if type == NODE_POOL and (why := self._pool_refusal(item)):
            raise Refusal(403, why)
        self.store.put(item)
        if type == CLUSTER and inputs.get("initialNodeCount"):
            self.store.put(_default_pool(item))
        return {"id": id, "outputs": outputs}

    def _read(self, request: Properties) -> Properties:
        """state: whether the caller knows it. Else this is an import, by one of the ids that pulumi-gcp takes."""
        type, id = str(request["type"]), str(request["id"])
        item = self.store.get(id if request["state"] else kinds.imported(type, id))
        if item is None:
            if type == CLUSTER and not request["state"]:
                # The import waits until a cluster is ready, and so fails where there is none.
                raise Refusal(404, f"Not found: {id}")
            return {}
        if not (request["state"] or item.owner or item.assumed):
            # An API that was enabled before, say: whose state takes it in has it, as if it had been made again.
            self.store.put(replace(item, owner=str(request["urn"])))
        unread = frozenset[str]() if request["state"] else kinds.kind(type).unread
        inputs, outputs = (
            {key: value for key, value in part.items() if key not in unread} for part in (item.inputs, item.outputs)
        )
        return {"id": item.id, "outputs": outputs, "inputs": inputs}

    def _update(self, request: Properties) -> Properties:
        type, inputs = str(request["type"]), _complete(request)
        item = self.store.get(str(request["id"]))
        if item is None:
            raise Refusal(404, f"Not found: {request['id']}")
        self._refuse(type, inputs)
        outputs = self._outputs(type, inputs)
        self.store.put(replace(item, inputs=inputs, outputs=outputs))
        return {"id": item.id, "outputs": outputs}

    def _delete(self, request: Properties) -> Properties:
        type, id = str(request["type"]), str(request["id"])
        item = self.store.get(id)
        if item is None:
            return {}
        why = refusals.deletion(type, id, item.inputs, self.store)
        if isinstance(why, Refusal):
            raise why
        if why:
            return {"error": why}
        if type == API and item.inputs.get("disableOnDestroy") is False:
            # It stays enabled: Pulumi only forgets it.
            self.store.put(replace(item, owner=""))
            return {}
        for pool in self.store.children(id) if type == CLUSTER else [item] if type == NODE_POOL else []:
            self.store.remove(pool.id)
            self._remove_nodes(pool)
        self.store.remove(id)
        return {}

    def _look_up(self, token: str, inputs: Properties) -> Properties:
        """What exists already. Nothing here can know it, so it is taken to exist, and the report says so."""
        if token not in _LOOKUPS:
            raise Refusal(404, f"a rehearsal does not know {token}")
        type, complete = _LOOKUPS[token], dict(inputs)
        id = kinds.id_of(type, complete)
        item = self.store.get(id)
        if item is None:
            item = Item(id=id, type=type, inputs=complete, outputs=self._outputs(type, complete), assumed=True)
            self.store.put(item)
        return {"outputs": {**item.inputs, **item.outputs, "id": item.id, **self._lists(item)}}

    def _lists(self, item: Item) -> Properties:
        """Functions answer nested objects as lists."""
        if item.type != CLUSTER:
            return {}
        project = item.inputs["project"]
        authority: Properties = {**part(item.outputs, "masterAuth"), "clientCertificateConfigs": []}
        return {
            "masterAuths": [authority],
            "workloadIdentityConfigs": [{"workloadPool": f"{project}.svc.id.goog"}],
            "addonsConfigs": [{"gcsFuseCsiDriverConfigs": [{"enabled": True}]}] if item.assumed else [],
        }

    def _outputs(self, type: str, inputs: Properties) -> Properties:
        outputs: Properties = kinds.kind(type).outputs(inputs)
        return {**outputs, **kinds.cluster_outputs(self._endpoint)} if type == CLUSTER else outputs

    def _refuse(self, type: str, inputs: Properties) -> None:
        api = kinds.kind(type).api
        project = inputs["project"]
        enabled = {item.inputs["service"] for item in self.store.of(API) if item.inputs["project"] == project}
        if api and f"{api}.googleapis.com" not in enabled:
            raise Refusal(403, f"{api}.googleapis.com has not been used in project {project} before or it is disabled")
        if (found := refusals.refusal(type, inputs, self.store)) is not None:
            raise found


def _default_pool(cluster: Item) -> Item:
    """Its nodes take no part: no job is meant for them, and the pool goes at once, unless its removal is cut off."""
    id = kinds.default_pool(cluster.id)
    inputs = {"project": cluster.inputs["project"], "name": id.rpartition("/")[2], "cluster": cluster.id}
    return Item(id=id, type=NODE_POOL, inputs=inputs, outputs={}, owner=cluster.owner, parents=[cluster.id])


def _complete(request: Properties) -> Properties:
    """The inputs with what the provider's configuration adds."""
    return {
        "project": request["project"],
        **{key: value for key, value in request["inputs"].items() if value is not None},
    }


def _nothing(point: Point, operation: str, urn: str) -> None:
    pass
