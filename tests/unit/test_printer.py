"""Resources as the Python that declares them, and as the notation of Pulumi YAML."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from xmgen.errors import InputError
from xmgen.plan.resources import (
    Commented,
    ConfigurationKey,
    Declared,
    Input,
    Json,
    Not,
    Options,
    Output,
    Resource,
    SecretSetting,
    Setting,
    Text,
    Variable,
    Workloads,
)
from xmgen.program import printer, python, resources_yaml
from xmgen.stack import resources
from xmgen.stack.resources import DeclaredResource, DeclaredResources

ENDPOINT = Output("cluster", "masterAuth.clusterCaCertificate")


@pytest.mark.parametrize(
    ("value", "code", "notation"),
    [
        ("text", "'text'", "text"),
        ("${not} a reference", "'${not} a reference'", "$${not} a reference"),
        (3, "3", 3),
        (None, "None", None),
        (Variable("node_roles"), "node_roles", "${nodeRoles}"),
        (ENDPOINT, "cluster.master_auth.cluster_ca_certificate", "${cluster.masterAuth.clusterCaCertificate}"),
        (Setting("location"), "config.require('location')", "${config.location}"),
        (Setting("gcp:zone"), "pulumi.Config('gcp').require('zone')", "${config.gcp:zone}"),
        (
            Setting("systemMachineType", "e2"),
            "config.get('systemMachineType') or 'e2'",
            {"fn::default": ["${config.systemMachineType}", "e2"]},
        ),
        (SecretSetting("key"), "config.require_secret('key')", "${config.key}"),
        (Text(("roles/", Variable("role"))), "f'roles/{role}'", "roles/${role}"),
        (Text(('a"{b}\\', Variable("x"))), "f'a\"{{b}}\\\\{x}'", 'a"{b}\\${x}'),
        (Text(("https://", ENDPOINT)), None, "https://${cluster.masterAuth.clusterCaCertificate}"),
        (Json({"a": 1}), None, {"fn::toJSON": {"a": 1}}),
        (Not(Variable("keep")), "not keep", {"fn::not": "${keep}"}),
        ({"labels": {"aB/c": "d"}, "diskSizeGb": 1}, None, {"labels": {"aB/c": "d"}, "diskSizeGb": 1}),
        (Commented([True], "why"), "[True]", [True]),
    ],
)
def test_inputs(value: Input, code: str | None, notation: object) -> None:
    printed = printer.expression(value, snake=True)
    ast.parse(printed, mode="eval")
    if code is not None:
        assert printed == code
    assert resources_yaml.notation(value) == notation


def test_names_of_properties_are_the_sdks_and_keys_of_users_their_own() -> None:
    value: Input = {"guestAccelerators": [{"gpuType": "t4"}], "labels": {"aB": "c"}, "clusterIP": "None"}
    assert ast.literal_eval(printer.expression(value, snake=True)) == {
        "guest_accelerators": [{"gpu_type": "t4"}],
        "labels": {"aB": "c"},
        "cluster_ip": "None",
    }


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("gcp:container/cluster:Cluster", "gcp.container.Cluster"),
        ("gcp:projects/iAMMember:IAMMember", "gcp.projects.IAMMember"),
        ("docker-build:index:Image", "docker_build.Image"),
        ("kubernetes:core/v1:Namespace", "kubernetes.core.v1.Namespace"),
        ("kubernetes:rbac.authorization.k8s.io/v1:Role", "kubernetes.rbac.v1.Role"),
        ("pulumi:providers:kubernetes", "kubernetes.Provider"),
        ("pulumi:providers:xmgen", "Provider"),
        ("xmgen:index:Code", "Code"),
    ],
)
def test_classes_of_types(type_: str, expected: str) -> None:
    assert printer.python_class(type_) == expected


BUCKET = Resource(
    variable="output",
    name="sweep-output",
    type="gcp:storage/bucket:Bucket",
    inputs={
        "location": Variable("region"),
        "forceDestroy": Commented(False, "Results outlive the stack."),
        "versioning": Commented({"enabled": True}, "as the team wants it", after=True),
    },
    options=Options(
        parent="cluster",
        depends_on=("*services", "code.train"),
        retain_on_delete=Not(Variable("delete")),
        ignore_changes=("labels",),
        why="In this order.",
        why_ignored="Others set them.",
    ),
    why="What the jobs write.",
)

SERVICES = Resource(
    variable="services",
    name=Variable("service"),
    type="gcp:projects/service:Service",
    inputs={"service": Text((Variable("service"), ".googleapis.com"))},
    over=("service", ("compute", "container", "storage")),
    why="APIs.",
)

RIGHTS = [
    Resource(variable="rights", key=key, name=key, type=f"gcp:{type_}", inputs={"role": "r"})
    for key, type_ in (("a", "storage/bucketIAMMember:BucketIAMMember"), ("b", "projects/iAMMember:IAMMember"))
]


def formatted(resources: list[Resource]) -> str:
    return python.formatted(printer.declaration(resources) + "\n")


def test_a_declaration_reads_as_if_written_by_hand() -> None:
    assert formatted([BUCKET]) == textwrap.dedent(
        """\
        # What the jobs write.
        output = gcp.storage.Bucket(
            "sweep-output",
            location=region,
            # Results outlive the stack.
            force_destroy=False,
            versioning={"enabled": True},  # as the team wants it
            # In this order.
            opts=ResourceOptions(
                parent=cluster,
                depends_on=[*services, code["train"]],
                retain_on_delete=not delete,
                # Others set them.
                ignore_changes=["labels"],
            ),
        )
        """
    )


def test_several_of_a_kind_are_a_comprehension_and_others_a_list() -> None:
    assert formatted([SERVICES]) == textwrap.dedent(
        """\
        # APIs.
        services = [
            gcp.projects.Service(service, service=f"{service}.googleapis.com")
            for service in ("compute", "container", "storage")
        ]
        """
    )
    assert formatted(RIGHTS) == textwrap.dedent(
        """\
        rights: list[pulumi.Resource] = [
            gcp.storage.BucketIAMMember("a", role="r"),
            gcp.projects.IAMMember("b", role="r"),
        ]
        """
    )
    assert formatted(RIGHTS[:1]).startswith("rights = [")


def test_the_list_is_written_and_read_again() -> None:
    declared = Declared(
        runs="gke",
        cluster="existing:team@us-east1-b",
        configuration={"key": ConfigurationKey(secret=True), "bucket": ConfigurationKey(required=False)},
        variables={"network_id": {"fn::ifSet": ["subnetwork", Setting("network"), Output("network", "id")]}},
        resources=(SERVICES, replace(BUCKET, unless="bucket"), replace(RIGHTS[0], only_if="wanted")),
        workloads=Workloads(
            type="kubernetes:batch/v1:Job", manifests="manifests/jobs.yaml", options=Options(provider="provider")
        ),
    )
    text = resources_yaml.dump(declared)
    assert resources.parse(text, "resources.yaml") == DeclaredResources(
        runs="gke",
        cluster="existing:team@us-east1-b",
        configuration={"bucket": ConfigurationKey(required=False), "key": ConfigurationKey(secret=True)},
        variables={"networkId": {"fn::ifSet": ["subnetwork", "${config.network}", "${network.id}"]}},
        resources=(
            *(
                DeclaredResource(
                    key=f"services.{api}",
                    type="gcp:projects/service:Service",
                    name=api,
                    properties={"service": f"{api}.googleapis.com"},
                )
                for api in ("compute", "container", "storage")
            ),
            DeclaredResource(
                key="output",
                type="gcp:storage/bucket:Bucket",
                name="sweep-output",
                properties={"location": "${region}", "forceDestroy": False, "versioning": {"enabled": True}},
                options={
                    "parent": "${cluster}",
                    "dependsOn": ["${services}", "${code.train}"],
                    "retainOnDelete": {"fn::not": "${delete}"},
                    "ignoreChanges": ["labels"],
                },
                unless="bucket",
            ),
            DeclaredResource(
                key="rights.a",
                type="gcp:storage/bucketIAMMember:BucketIAMMember",
                name="a",
                properties={"role": "r"},
                only_if="wanted",
            ),
        ),
        workloads=resources.Workloads(
            type="kubernetes:batch/v1:Job", manifests="manifests/jobs.yaml", options={"provider": "${provider}"}
        ),
    )
    # Of several of one variable the first has the comment.
    assert text.count("# APIs.") == text.count("# What the jobs write.") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "is no YAML"),
        ("- a", "is not as xmgen writes it"),
        ("runs: gke", "has the format None, this xmgen reads 1"),
        ("format: 2\nruns: gke", "has the format 2, this xmgen reads 1"),
        ("format: 1\nruns: [gke]", "is not as xmgen writes it"),
        ("format: 1\nruns: gke\nresources: {a: {type: t}}", "is not as xmgen writes it"),
        ("format: 1\nruns: gke\nworkloads: {type: t, manifests: ../../secret}", "is not as xmgen writes it"),
        ("format: 1\nruns: gke\nworkloads: {type: t, manifests: /etc/passwd}", "is not as xmgen writes it"),
    ],
)
def test_a_list_that_cannot_be_read_is_one_clear_problem(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        resources.parse(text, "stacks/s/resources.yaml")
    [problem] = refused.value.problems
    assert (problem.where, problem.message.startswith(message)) == ("stacks/s/resources.yaml", True), problem


SCALARS = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


@given(st.dictionaries(st.text(min_size=1), VALUES))
def test_no_value_becomes_code(labels: dict[str, Input]) -> None:
    printed = printer.constructor(replace(BUCKET, inputs={"labels": labels}, options=Options()))
    [call] = [node for node in ast.walk(ast.parse(printed)) if isinstance(node, ast.Call)]
    assert ast.literal_eval(call.keywords[0].value) == labels


@given(st.lists(st.text() | st.just(Variable("project")), min_size=1))
def test_no_text_leaves_its_place_in_a_format(parts: list[str | Variable]) -> None:
    printed = printer.expression(Text(tuple(parts)))
    expected = "".join("acme" if isinstance(part, Variable) else part for part in parts)
    assert eval(printed, {"project": "acme"}) == expected


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)))


@given(st.dictionaries(TEXTS, TEXTS | st.integers() | st.booleans() | st.lists(TEXTS)))
def test_every_value_comes_back_from_the_yaml(labels: dict[str, Input]) -> None:
    text = resources_yaml.dump(Declared(runs="local", resources=(replace(BUCKET, inputs={"labels": labels}),)))
    [resource] = yaml.load(text, Loader=yaml.CSafeLoader)["resources"].values()
    assert resource["properties"]["labels"] == resources_yaml.notation(labels)
