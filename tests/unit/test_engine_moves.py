"""A cluster that is up stays where it is: which move an `up` would make, by the state and the configuration."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import experiment, job
from tests.compiled_stacks import compiled_stack
from xmgen import project
from xmgen.executors.gke import moves
from xmgen.experiment import ClusterChoice, Container, JobRequirements, Kubernetes, Local
from xmgen.project import Project
from xmgen.resource_types import CLUSTER, NETWORK, SUBNETWORK
from xmgen.stack import init
from xmgen.stack.compiled import CompiledStack

IMAGE = Container(name="trainer", image="python:3.11")
THERE = ClusterChoice(kind="existing", name="prod", location="europe-west4-b")


@pytest.fixture
def made(tmp_path: Path) -> Project:
    init.init(tmp_path)
    return project.read(tmp_path)


def planned(location: str | None = None, choice: ClusterChoice | None = None) -> CompiledStack:
    """location: where the job asks to run."""
    asked = Kubernetes(requirements=JobRequirements(location=location))
    source = experiment(job(executor=asked, executable=IMAGE.name), stack="two", executables=(IMAGE,))
    return compiled_stack(replace(source, cluster=choice) if choice else source)


def in_state(type: str, **more: Any) -> dict[str, Any]:
    return {"urn": f"urn:pulumi:two::experiments::{type}::two", "type": type, "custom": True, **more}


def cluster(location: str, **more: Any) -> dict[str, Any]:
    return in_state(CLUSTER, inputs={"location": location}, **more)


def network(region: str) -> dict[str, Any]:
    return in_state(SUBNETWORK, inputs={"region": region})


def wanted(made: Project, plan: CompiledStack, *state: dict[str, Any], given: tuple[str, ...] = ()) -> str:
    export = json.dumps({"version": 3, "deployment": {"resources": list(state)}})
    move = moves.wanted(made, plan, lambda: export, given)
    return move.text if move else ""


UP = (network("us-central1"), cluster("us-central1-a"))
"""Where a stack is that says nothing."""


@pytest.mark.parametrize(
    ("state", "asked", "kept", "given", "move"),
    [
        pytest.param((), None, {"location": "europe-west4-b"}, (), "", id="not up"),
        pytest.param(UP, None, {}, (), "", id="nothing is said"),
        pytest.param(UP, None, {"gcp:project": "acme"}, ("owner=ada",), "", id="nothing is said of a place"),
        pytest.param(
            UP, None, {"location": "us-central1-b"}, (), "cluster us-central1-a us-central1-b", id="in the settings"
        ),
        pytest.param(
            UP,
            None,
            {"experiments:location": "us-central1-b"},
            (),
            "cluster us-central1-a us-central1-b",
            id="in the settings, as Pulumi writes it",
        ),
        pytest.param(
            UP,
            None,
            {"location": "us-central1-b"},
            ("location=us-central1-c", "experiments:location=us-central1-a"),
            "",
            id="the last word of the command line",
        ),
        pytest.param(
            UP, None, {}, ("location=us-central1-f",), "cluster us-central1-a us-central1-f", id="by the command line"
        ),
        pytest.param(
            UP, None, {}, ("location=us-central1",), "cluster us-central1-a us-central1", id="from a zone to its region"
        ),
        pytest.param(
            UP,
            "europe-west4-b",
            {},
            ("location=us-central1-a",),
            "cluster us-central1-a europe-west4-b",
            id="what a job asks for comes first",
        ),
        pytest.param(
            (network("us-central1"),),
            None,
            {},
            ("location=europe-west4-b",),
            "network us-central1 europe-west4",
            id="a cluster that did not come, in another region",
        ),
        pytest.param((network("us-central1"),), None, {}, ("location=us-central1-f",), "", id="in the same region"),
        pytest.param(
            (cluster("us-central1-b", delete=True), cluster("us-central1-a")),
            None,
            {},
            (),
            "",
            id="one that has been replaced is still to be deleted",
        ),
    ],
)
def test_a_move(
    made: Project,
    state: tuple[dict[str, Any], ...],
    asked: str | None,
    kept: dict[str, str],
    given: tuple[str, ...],
    move: str,
) -> None:
    made.settings("two").write_text(yaml.safe_dump({"config": kept}), encoding="utf-8")
    told = ""
    if move:
        what, old, new = move.split()
        told = f"the {what} of two is in {old}, and cannot move to {new}"
    assert wanted(made, planned(asked), *state, given=given) == told


OWN = (in_state(NETWORK, inputs={}), in_state(SUBNETWORK, inputs={"region": "us-central1"}))
"""A network of the stack's own."""


def on_network(name: str, pods: str = "pods") -> dict[str, Any]:
    ranges = {"clusterSecondaryRangeName": pods, "servicesSecondaryRangeName": "services"}
    inputs = {
        "location": "us-central1-a",
        "network": f"projects/acme/global/networks/{name}",
        "subnetwork": f"projects/acme/regions/us-central1/subnetworks/{name}",
        "ipAllocationPolicy": ranges,
    }
    return in_state(CLUSTER, inputs=inputs, id="projects/acme/locations/us-central1-a/clusters/two")


SHARED = {"network": "shared", "subnetwork": "shared", "podsRange": "pods", "servicesRange": "services"}


@pytest.mark.parametrize(
    ("state", "kept", "move"),
    [
        pytest.param((*OWN, on_network("two")), {"gcp:project": "acme"}, None, id="as it is"),
        pytest.param(
            (*OWN, on_network("two")),
            SHARED,
            moves.Move(
                "the cluster of two is on the subnetwork projects/acme/regions/us-central1/subnetworks/two, and cannot "
                "move to shared",
                "subnetwork",
            ),
            id="to a network of somebody else's",
        ),
        pytest.param((on_network("shared"),), SHARED, None, id="on it already"),
        pytest.param(
            (on_network("shared"),),
            {},
            moves.Move(
                "the cluster of two is on the subnetwork projects/acme/regions/us-central1/subnetworks/shared, and "
                "cannot move to a network of its own",
                "subnetwork",
            ),
            id="to a network of its own",
        ),
        pytest.param(
            (on_network("shared"),),
            {**SHARED, "network": "projects/other/global/networks/shared"},
            moves.Move(
                "the cluster of two is on the network projects/acme/global/networks/shared, and cannot move to "
                "projects/other/global/networks/shared",
                "network",
            ),
            id="to a network of the same name in another project",
        ),
        pytest.param(
            (on_network("shared"),),
            {**SHARED, "podsRange": "more-pods"},
            moves.Move(
                "the cluster of two has its pods in the range pods, and cannot move them to more-pods", "podsRange"
            ),
            id="to another range of pods",
        ),
        pytest.param(
            (on_network("shared"),),
            {**SHARED, "servicesRange": "more-services"},
            moves.Move(
                "the cluster of two has its services in the range services, and cannot move them to more-services",
                "servicesRange",
            ),
            id="to another range of services",
        ),
        pytest.param(
            (*OWN, on_network("two")),
            {"gcp:project": "other"},
            moves.Move("the cluster of two is in the project acme, and cannot move to other", "gcp:project"),
            id="to another project",
        ),
    ],
)
def test_whatever_replaces_the_cluster_is_a_move(
    made: Project, state: tuple[dict[str, Any], ...], kept: dict[str, str], move: moves.Move | None
) -> None:
    made.settings("two").write_text(yaml.safe_dump({"config": kept}), encoding="utf-8")
    export = json.dumps({"version": 3, "deployment": {"resources": list(state)}})
    assert moves.wanted(made, planned(), lambda: export) == move


def test_where_an_environment_may_name_a_subnetwork_nothing_is_said_of_it(made: Project) -> None:
    made.settings("two").write_text(yaml.safe_dump({"environment": ["shared"]}), encoding="utf-8")
    assert wanted(made, planned(), on_network("shared")) == ""


def test_what_an_environment_of_pulumis_may_say_is_not_known(made: Project) -> None:
    made.settings("two").write_text(yaml.safe_dump({"environment": ["shared"]}), encoding="utf-8")
    assert wanted(made, planned(), cluster("europe-west4-a")) == ""
    settings = {"environment": ["shared"], "config": {"experiments:location": "us-central1-b"}}
    made.settings("two").write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert "europe-west4-a, and cannot move to us-central1-b" in wanted(made, planned(), cluster("europe-west4-a"))


def test_a_project_may_have_no_location_of_its_own(made: Project) -> None:
    (made.root / "Pulumi.yaml").write_text("name: experiments\nruntime: python\n", encoding="utf-8")
    assert wanted(made, planned(), *UP) == ""


def test_the_clusters_of_others_are_not_asked_about(made: Project) -> None:
    here = compiled_stack(experiment(job("a", executor=Local())))
    for plan in (planned(choice=THERE), here):
        assert moves.wanted(made, plan, lambda: pytest.fail("the state is of no interest")) is None
