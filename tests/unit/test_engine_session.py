"""What `recover` and `settle` do with creations of unknown outcome, on an engine that only reads what is marked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from tests.unit.test_engine_interrupted import IMAGE, NETWORK, NETWORK_ID, TENSORBOARD, resource, state
from xmgen.engine import interrupted
from xmgen.engine.backend import Backend
from xmgen.engine.events import Progress
from xmgen.engine.interrupted import MARK
from xmgen.engine.pulumi import Pulumi
from xmgen.engine.session import Session
from xmgen.errors import OperationError
from xmgen.project import Project

CLUSTER = resource("gcp:container/cluster:Cluster", "one", inputs={"name": "one-1234567", "location": "z"})
CLUSTER_ID = "projects/acme/locations/z/clusters/one-1234567"
NAMESPACE = resource("kubernetes:core/v1:Namespace", "jobs", inputs={"metadata": {"name": "jobs"}})


class Refresh:
    """answers: URN -> outputs of what is there, None for what is not, or why it cannot be read."""

    messages = ("the stack is somewhere else",)
    code = 255

    def __init__(self, engine: Engine, targets: set[str]) -> None:
        self._engine = engine
        self._targets = targets

    def __enter__(self) -> Refresh:
        return self

    def __exit__(self, *error: object) -> None: ...

    def __iter__(self) -> Iterator[dict[str, Any]]:
        content = json.loads(self._engine.state)
        kept: list[dict[str, Any]] = []
        failed = False
        for each in content["deployment"]["resources"]:
            answer = self._engine.answers.get(each["urn"]) if each["urn"] in self._targets else each.get("outputs", {})
            if failed or isinstance(answer, str):
                # The first that cannot be read ends it.
                if not failed and self._engine.speaks:
                    yield {"diagnosticEvent": {"severity": "error", "urn": each["urn"], "message": answer}}
                failed = True
                kept.append(each)
            elif answer is not None:
                read = {key: value for key, value in each.items() if key != "initErrors"}
                kept.append({**read, "outputs": answer} if each["urn"] in self._targets else each)
        content["deployment"]["resources"] = kept
        self._engine.state = json.dumps(content)

    def wait(self) -> int:
        return 0


@dataclass
class Engine:
    state: str
    answers: Mapping[str, Any]
    speaks: bool = True
    refreshes: list[set[str]] = field(default_factory=list)

    def run(self, *arguments: str, stdin: str | None = None) -> str:
        match arguments[:2]:
            case ("stack", "export"):
                return self.state
            case ("stack", "import"):
                assert stdin is not None
                content = json.loads(stdin)
                content["deployment"]["pending_operations"] = []
                self.state = json.dumps(content)
                return ""
            case _:
                raise AssertionError(arguments)

    def start(self, *arguments: str) -> Refresh:
        assert arguments[0] == "refresh"
        targets = {urn for option, urn in pairwise(arguments) if option == "--target"}
        self.refreshes.append(targets)
        return Refresh(self, targets)

    def resources(self) -> dict[str, dict[str, Any]]:
        return {each["urn"]: each for each in json.loads(self.state)["deployment"]["resources"][1:]}


def session(engine: Engine, folder: Path) -> Session:
    project = Project(root=folder, name="experiments")
    return Session(project, "dev", cast(Pulumi, engine), Backend("https://api.pulumi.com", own=False))


def test_nothing_was_interrupted(tmp_path: Path) -> None:
    engine = Engine(state(NETWORK), {})
    before = engine.state
    assert session(engine, tmp_path).recover() == []
    assert (engine.state, engine.refreshes) == (before, [])


def test_what_is_there_is_taken_up_and_the_rest_is_forgotten(tmp_path: Path) -> None:
    answers = {
        NETWORK["urn"]: {"name": "net-1234567"},
        CLUSTER["urn"]: f"googleapi: Error 404: Not found: {CLUSTER_ID}, notFound",
        NAMESPACE["urn"]: None,
    }
    engine = Engine(state(creating=[CLUSTER, NETWORK, NAMESPACE, IMAGE]), answers)
    assert session(engine, tmp_path).recover() == [
        "Took up 1 operation that a kill had interrupted.",
        "gcp:container/cluster:Cluster one had not been created yet.",
        f"Took up gcp:compute/network:Network net, which was created as {NETWORK_ID}.",
        "kubernetes:core/v1:Namespace jobs had not been created yet.",
    ]
    assert engine.resources() == {
        NETWORK["urn"]: {**NETWORK, "id": NETWORK_ID, "outputs": {"name": "net-1234567"}},
    }


@pytest.mark.parametrize("speaks", [True, False])
def test_an_operation_does_not_begin_while_something_may_be_there(tmp_path: Path, speaks: bool) -> None:
    """speaks: whether the engine says of what it could not read."""
    answers: dict[str, Any] = {CLUSTER["urn"]: "dial tcp: no route to host", NETWORK["urn"]: None}
    engine = Engine(state(creating=[NETWORK, CLUSTER]), answers, speaks)
    with pytest.raises(OperationError) as caught:
        session(engine, tmp_path).recover()
    (problem,) = caught.value.problems
    why = "dial tcp: no route to host" if speaks else "pulumi refresh failed: the stack is somewhere else"
    assert problem.message == (
        f"whether gcp:container/cluster:Cluster one was created, as {CLUSTER_ID}, cannot be found out: {why}"
    )
    # It is not forgotten: the next one looks again.
    assert engine.resources() == {CLUSTER["urn"]: {**CLUSTER, "id": CLUSTER_ID, "initErrors": [MARK]}}
    engine.answers = {CLUSTER["urn"]: {"endpoint": "10.0.0.1"}}
    assert session(engine, tmp_path).recover() == [
        f"Took up gcp:container/cluster:Cluster one, which was created as {CLUSTER_ID}."
    ]


def test_what_nobody_can_look_for_is_named_each_time(tmp_path: Path) -> None:
    engine = Engine(state(creating=[TENSORBOARD]), {})
    expected = (
        "gcp:vertex/aiTensorboard:AiTensorboard runs may or may not have been created: look for it, and either delete "
        "it or take it in with `pulumi import gcp:vertex/aiTensorboard:AiTensorboard runs ID`."
    )
    for _ in range(2):
        assert session(engine, tmp_path).recover() == [expected]


def test_what_was_there_before_an_operation_stays_somebody_elses(tmp_path: Path) -> None:
    outputs = {"metadata": {"name": "jobs", "creationTimestamp": "2026-05-01T11:00:00Z"}}
    engine = Engine(state(), {NAMESPACE["urn"]: outputs})
    urn = NAMESPACE["urn"]
    progress = Progress(units={}, failed_creates={urn: NAMESPACE}, errors={urn: ["unexpected EOF"]})
    assert session(engine, tmp_path).settle(progress, datetime(2026, 5, 1, 12, tzinfo=UTC)) == [
        "kubernetes:core/v1:Namespace jobs was there before, as jobs: it is not this stack's."
    ]
    assert engine.resources() == {}


def test_after_an_operation_a_search_without_an_end_is_no_error(tmp_path: Path) -> None:
    engine = Engine(state(), {NAMESPACE["urn"]: "connection refused"})
    progress = Progress(
        units={}, failed_creates={NAMESPACE["urn"]: NAMESPACE}, errors={NAMESPACE["urn"]: ["unexpected EOF"]}
    )
    assert session(engine, tmp_path).settle(progress, datetime.now(UTC)) == [
        "whether kubernetes:core/v1:Namespace jobs was created, as jobs, cannot be found out: connection refused. "
        "The next `xmgen up` or `xmgen destroy` looks again."
    ]
    assert interrupted.still_marked(engine.state) == {NAMESPACE["urn"]}
