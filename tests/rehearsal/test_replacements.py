"""Whether pulumi-gcp makes another resource before the one whose place it takes is gone, or after."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2 as pb

from tests.replacements import INPUTS, SEEN, changed
from xmgen import resource_types as types
from xmgen.provider import wire
from xmgen.provider.wire import Properties
from xmgen.rehearsal.standin import StandIn

GENERATED = "thing-0123abc"
MEMBER: Properties = {"role": "roles/x", "member": "serviceAccount:a"}
TPU_HOSTS: Properties = {"name": GENERATED, "nodeConfig": {"machineType": "ct5lp-hightpu-4t"}}


def diff(plugin: str, type: str, olds: Properties, news: Properties, context: Any = None) -> pb.DiffResponse:
    urn = f"urn:pulumi:dev::experiments::{type}::thing"
    request = pb.DiffRequest(urn=urn, old_inputs=wire.struct(olds), news=wire.struct(news))
    return asyncio.run(StandIn(plugin, None).Diff(request, context))


@pytest.mark.parametrize(
    ("type", "olds", "change", "first"),
    [
        pytest.param(types.SUBNETWORK, {"name": GENERATED, "region": "r1"}, {"region": "r2"}, False, id="generated"),
        pytest.param(types.SUBNETWORK, {"name": "thing", "region": "r1"}, {"region": "r2"}, True, id="given"),
        pytest.param(types.NODE_POOL, {"name": "thing-c8b6a6"}, {"cluster": "b"}, True, id="given, with a hash"),
        pytest.param(types.NODE_POOL, {"name": "one"}, {"name": "two"}, True, id="given, and another"),
        pytest.param(types.NODE_POOL, TPU_HOSTS, {}, False, id="for what Google has filled in"),
        pytest.param(
            types.NODE_POOL, {**TPU_HOSTS, "name": "thing"}, {}, True, id="given, for what Google has filled in"
        ),
        pytest.param(types.ACCOUNT, {"accountId": "nodes"}, {"accountId": "jobs"}, True, id="given, called otherwise"),
        pytest.param(types.REPOSITORY, {"repositoryId": "one"}, {"location": "r2"}, False, id="never generated"),
        pytest.param(types.BUCKET_MEMBER, {**MEMBER, "bucket": "b"}, {"bucket": "c"}, False, id="nameless"),
        pytest.param(types.PROJECT_MEMBER, MEMBER, {"role": "roles/y"}, True, id="always"),
        pytest.param(types.NODE_POOL, {"name": "thing"}, {"nodeCount": 2}, False, id="no replacement"),
    ],
)
def test_what_goes_first(type: str, olds: Properties, change: Properties, first: bool) -> None:
    assert diff("gcp", type, olds, {**olds, **change}).deleteBeforeReplace is first


class Aborted(Exception):
    pass


class Refusing:
    async def abort(self, code: Any, details: str) -> None:
        raise Aborted(details)


@pytest.mark.parametrize(("kind", "type", "path", "value"), SEEN)
def test_the_stand_in_does_what_the_provider_was_seen_to_do(kind: str, type: str, path: str, value: Any) -> None:
    new, _ = changed(INPUTS[type], path, value)
    if kind == "replace" and type == types.CLUSTER:
        # Both would have the rehearsal's one control plane.
        with pytest.raises(Aborted, match=f"cannot replace a cluster, as a change of {path} would"):
            diff("gcp", type, INPUTS[type], new, Refusing())
        return
    answer = diff("gcp", type, INPUTS[type], new)
    there = pb.DiffResponse.DIFF_NONE if kind == "none" else pb.DiffResponse.DIFF_SOME
    assert (answer.changes, list(answer.replaces)) == (there, [path] if kind == "replace" else [])


def test_another_image_takes_no_place() -> None:
    """pulumi-docker-build builds again (provider/internal/image.go: Diff)."""
    answer = diff("docker-build", "docker-build:index:Image", {"tags": ["a"]}, {"tags": ["b"]})
    assert (answer.changes, list(answer.replaces), answer.deleteBeforeReplace) == (pb.DiffResponse.DIFF_SOME, [], False)
