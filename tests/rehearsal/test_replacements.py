"""Whether pulumi-gcp makes another resource before the one whose place it takes is gone, or after."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from pulumi.runtime.proto import provider_pb2 as pb

from xmgen.provider import wire
from xmgen.provider.wire import Properties
from xmgen.rehearsal.cloud import kinds
from xmgen.rehearsal.standin import StandIn

GENERATED = "thing-0123abc"
MEMBER: Properties = {"role": "roles/x", "member": "serviceAccount:a"}
TPU_HOSTS: Properties = {"name": GENERATED, "nodeConfig": {"machineType": "ct5lp-hightpu-4t"}}


def diff(plugin: str, type: str, olds: Properties, news: Properties) -> pb.DiffResponse:
    urn = f"urn:pulumi:dev::experiments::{type}::thing"
    request = pb.DiffRequest(urn=urn, old_inputs=wire.struct(olds), news=wire.struct(news))
    return asyncio.run(StandIn(plugin, None).Diff(request, cast(Any, None)))


@pytest.mark.parametrize(
    ("type", "olds", "change", "first"),
    [
        pytest.param(kinds.SUBNETWORK, {"name": GENERATED, "region": "r1"}, {"region": "r2"}, False, id="generated"),
        pytest.param(kinds.SUBNETWORK, {"name": "thing", "region": "r1"}, {"region": "r2"}, True, id="given"),
        pytest.param(kinds.NODE_POOL, {"name": "thing-c8b6a6"}, {"cluster": "b"}, True, id="given, with a hash"),
        pytest.param(kinds.NODE_POOL, {"name": "one"}, {"name": "two"}, True, id="given, and another"),
        pytest.param(kinds.NODE_POOL, TPU_HOSTS, {}, False, id="for what Google has filled in"),
        pytest.param(
            kinds.NODE_POOL, {**TPU_HOSTS, "name": "thing"}, {}, True, id="given, for what Google has filled in"
        ),
        pytest.param(kinds.ACCOUNT, {"accountId": "nodes"}, {"accountId": "jobs"}, True, id="given, called otherwise"),
        pytest.param(kinds.REPOSITORY, {"repositoryId": "one"}, {"location": "r2"}, False, id="never generated"),
        pytest.param(kinds.BUCKET_MEMBER, {**MEMBER, "bucket": "b"}, {"bucket": "c"}, False, id="nameless"),
        pytest.param(kinds.PROJECT_MEMBER, MEMBER, {"role": "roles/y"}, True, id="always"),
        pytest.param(kinds.NODE_POOL, {"name": "thing"}, {"nodeCount": 2}, False, id="no replacement"),
    ],
)
def test_what_goes_first(type: str, olds: Properties, change: Properties, first: bool) -> None:
    assert diff("gcp", type, olds, {**olds, **change}).deleteBeforeReplace is first


def test_another_image_takes_no_place() -> None:
    """pulumi-docker-build builds again (provider/internal/image.go: Diff)."""
    answer = diff("docker-build", "docker-build:index:Image", {"tags": ["a"]}, {"tags": ["b"]})
    assert (answer.changes, list(answer.replaces), answer.deleteBeforeReplace) == (pb.DiffResponse.DIFF_SOME, [], False)
