"""What a change of inputs does to a resource."""

from __future__ import annotations

from typing import Any

import pytest

from tests.replacements import INPUTS, SEEN, changed
from xmgen import resource_types as types
from xmgen.resource_types.effect import Change, Effect, effect
from xmgen.resource_types.table import TABLE


@pytest.mark.parametrize(("kind", "type", "path", "value"), SEEN)
def test_a_change_of_one_input_does_what_the_provider_was_seen_to_do(
    kind: Any, type: str, path: str, value: Any
) -> None:
    new, old = changed(INPUTS[type], path, value)
    assert effect(type, INPUTS[type], new) == Effect((Change(path, old, value, kind),))


@pytest.mark.parametrize("type", INPUTS)
def test_no_change_is_no_change(type: str) -> None:
    assert effect(type, INPUTS[type], dict(INPUTS[type])) == Effect()


@pytest.mark.parametrize(
    ("type", "old", "new"),
    [
        (types.NODE_POOL, {"nodeConfig": {"oauthScopes": ["a", "b"]}}, {"nodeConfig": {"oauthScopes": ["b", "a"]}}),
        (types.NODE_POOL, {"nodeConfig": {"spot": False}}, {"nodeConfig": {}}),
        (types.NODE_POOL, {"nodeConfig": {}}, {"nodeConfig": {"spot": False}}),
        (types.CLUSTER, {"network": "default"}, {"network": "projects/acme/global/networks/default"}),
        (
            types.SUBNETWORK,
            {"network": "https://www.googleapis.com/compute/v1/projects/a/global/networks/n"},
            {"network": "projects/a/global/networks/n"},
        ),
        (
            types.RUN,
            {"jobs": [{"args": ["1"], "executable": {"digest": "a", "runner": "x"}}]},
            {"jobs": [{"args": ["2"], "executable": {"digest": "a", "runner": "y"}}]},
        ),
    ],
)
def test_another_way_to_say_the_same_is_no_change(type: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    assert effect(type, old, new) == Effect()


@pytest.mark.parametrize(
    ("type", "old", "new", "kind", "forced_by"),
    [
        pytest.param(
            types.CLUSTER,
            {"location": "a", "resourceLabels": {"o": "1"}},
            {"location": "b", "resourceLabels": {"o": "2"}},
            "replace",
            ("location",),
            id="only what forces it is the cause",
        ),
        pytest.param(
            types.NODE_POOL, {"cluster": "${a.id}"}, {"cluster": "${b.id}"}, "replace", ("cluster",), id="unknown"
        ),
        pytest.param(
            types.CLUSTER,
            {},
            {"privateClusterConfig": {"enablePrivateNodes": True}},
            "update",
            (),
            id="block without it",
        ),
        pytest.param(
            types.CLUSTER,
            {},
            {"privateClusterConfig": {"masterIpv4CidrBlock": "172.16.0.0/28"}},
            "replace",
            ("privateClusterConfig",),
            id="block with it",
        ),
        pytest.param(
            types.RESOURCE_POLICY, {"workloadPolicy": {}}, {}, "replace", ("workloadPolicy",), id="block taken away"
        ),
        pytest.param(
            types.JOB,
            {"spec": {"template": {"a": 1}}},
            {"spec": {"template": {"a": 2}}},
            "replace",
            ("spec.template.a",),
            id="a Job's pods",
        ),
        pytest.param(
            types.JOB, {"spec": {"backoffLimit": 1}}, {"spec": {"backoffLimit": 2}}, "update", (), id="a Job's retries"
        ),
        pytest.param(
            types.SECRET,
            {"stringData": {"k": "${x}"}},
            {"stringData": {"k": "${y}"}},
            "replace",
            ("stringData.k",),
            id="a Secret",
        ),
        pytest.param(
            types.NAMESPACE,
            {"metadata": {"name": "a"}},
            {"metadata": {"name": "b"}},
            "replace",
            ("metadata.name",),
            id="a namespace",
        ),
        pytest.param(
            types.PROVIDER,
            {"kubeconfig": "a", "clusterIdentifier": "c"},
            {"kubeconfig": "b", "clusterIdentifier": "c"},
            "update",
            (),
            id="credentials",
        ),
        pytest.param(
            types.PROVIDER,
            {"clusterIdentifier": "c"},
            {"clusterIdentifier": "d"},
            "replace",
            ("clusterIdentifier",),
            id="another cluster",
        ),
        pytest.param(types.RUN, {"identity": "a"}, {"identity": "b"}, "replace", ("identity",), id="another trial"),
        pytest.param(
            types.RUN,
            {"jobs": [{"executable": {"digest": "a"}}]},
            {"jobs": [{"executable": {"digest": "b"}}]},
            "replace",
            ("jobs[0].executable.digest",),
            id="other code",
        ),
        pytest.param(
            types.CUSTOM_JOB,
            {"jobSpec": {"a": 1}},
            {"jobSpec": {"a": 2}, "wait": True},
            "replace",
            ("jobSpec.a",),
            id="a CustomJob",
        ),
        pytest.param(types.CUSTOM_JOB, {}, {"wait": True}, "update", (), id="waiting for a CustomJob"),
        pytest.param(types.IMAGE, {"tags": ["a"]}, {"tags": ["b"]}, "update", (), id="another image"),
        pytest.param(types.CODE, {"digest": "a"}, {"digest": "b"}, "update", (), id="code"),
        pytest.param(
            "gcp:sql/databaseInstance:DatabaseInstance",
            {"region": "a"},
            {"region": "b"},
            "replace",
            ("region",),
            id="a type of another version",
        ),
    ],
)
def test_what_is_replaced_and_why(
    type: str, old: dict[str, Any], new: dict[str, Any], kind: str, forced_by: tuple[str, ...]
) -> None:
    outcome = effect(type, old, new)
    assert (outcome.kind, outcome.forced_by) == (kind, forced_by)


def test_ignored_changes_are_none() -> None:
    old = {"nodeConfig": {"serviceAccount": "a"}, "description": "x"}
    new = {"nodeConfig": {"serviceAccount": "b"}, "description": "y"}
    assert effect(types.CLUSTER, old, new, ignored=["nodeConfig"]).forced_by == ("description",)


def test_keys_with_the_paths_own_punctuation_are_quoted() -> None:
    outcome = effect(types.JOB, {"metadata": {"annotations": {}}}, {"metadata": {"annotations": {"pulumi.com/x": "y"}}})
    assert outcome == Effect((Change('metadata.annotations["pulumi.com/x"]', None, "y", "update"),))


def test_every_type_of_a_program_has_a_row() -> None:
    tokens = {value for value in vars(types).values() if isinstance(value, str) and value.count(":") == 2}
    assert tokens | set(types.OBJECTS.values()) == TABLE.keys()


def test_no_path_stands_twice() -> None:
    twice = {
        (row.token, path)
        for row in TABLE.values()
        for paths in (row.replaces, row.blocks, row.kept)
        for path in paths
        if paths.count(path) > 1
    }
    assert twice == set()
