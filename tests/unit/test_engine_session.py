"""What `recover` and `settle` do with creations of unknown outcome, on an engine that only reads what is marked."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from tests.engine_states import IMAGE, NETWORK, NETWORK_ID, TENSORBOARD, resource, state
from xmgen.errors import OperationError
from xmgen.project import Project
from xmgen.pulumi_cli import interrupted, orphans
from xmgen.pulumi_cli.backend import Backend
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.interrupted import MARK
from xmgen.pulumi_cli.pulumi import Pulumi
from xmgen.pulumi_cli.session import Session

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

    def interrupt(self) -> None:
        """Nobody waits for it."""


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


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is on its way."""
    monkeypatch.setattr(orphans, "ARRIVAL_SECONDS", 0.0)


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


def killed(folder: Path, at: datetime) -> Backend:
    """A backend of files in which a process that is dead locked the stack."""
    with subprocess.Popen(["true"]) as process:
        pass
    lock = folder / "backend" / ".pulumi" / "locks" / "organization" / "experiments" / "dev" / "lock.json"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text(json.dumps({"hostname": socket.gethostname(), "pid": process.pid}), encoding="utf-8")
    os.utime(lock, (at.timestamp(), at.timestamp()))
    return Backend((folder / "backend").as_uri(), own=False)


@pytest.mark.parametrize(
    ("created", "said"),
    [
        ("2026-05-01T12:04:00Z", f"Took up gcp:container/cluster:Cluster one, which was created as {CLUSTER_ID}."),
        (
            "2026-05-01T11:00:00Z",
            f"gcp:container/cluster:Cluster one was there before, as {CLUSTER_ID}: it is not this stack's.",
        ),
    ],
)
def test_a_search_that_is_killed_and_begun_again_knows_whose_it_is(tmp_path: Path, created: str, said: str) -> None:
    """What the killed operation made is older than the search, and the stack's all the same."""
    content = json.loads(state(creating=[CLUSTER]))
    content["deployment"]["manifest"] = {"time": "2026-05-01T12:05:00.5Z"}
    engine = Engine(json.dumps(content), {CLUSTER["urn"]: "dial tcp: no route to host"})
    work = replace(session(engine, tmp_path), backend=killed(tmp_path, datetime(2026, 5, 1, 12, tzinfo=UTC)))
    with pytest.raises(OperationError):
        work.recover()
    killed(tmp_path, datetime(2026, 5, 1, 14, tzinfo=UTC))
    engine.answers = {CLUSTER["urn"]: {"createTime": created}}
    assert work.recover() == ["Removed the lock of an operation that was killed.", said]


@pytest.mark.parametrize(
    ("pending", "locked", "ended", "waits"),
    [
        ([NETWORK], True, 0, 1),
        ([NETWORK], False, 1, 1),
        # Nobody was killed: an earlier search has come to no end.
        ([NETWORK], False, 0, 0),
        # It is done again, whether it arrives or not.
        ([IMAGE], True, 1, 0),
        ([], True, 1, 0),
    ],
)
def test_what_was_on_its_way_when_somebody_was_killed_has_a_moment_to_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pending: list[dict[str, Any]], locked: bool, ended: int, waits: int
) -> None:
    engine = Engine(state(creating=pending), {NETWORK["urn"]: None})
    work = session(engine, tmp_path)
    if locked:
        work = replace(work, backend=killed(tmp_path, datetime.now(UTC)))
    looked: list[int] = []

    def end(project: Path) -> int:
        return ended

    monkeypatch.setattr(orphans, "end", end)
    monkeypatch.setattr(orphans, "let_arrive", lambda: looked.append(len(engine.refreshes)))
    work.recover()
    # Before it looks.
    assert looked == [0] * waits


@pytest.mark.parametrize(("why", "waits"), [("unexpected EOF", 1), ("googleapi: Error 403: forbidden, forbidden", 0)])
def test_what_was_on_its_way_when_a_connection_broke_has_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str, waits: int
) -> None:
    engine = Engine(state(), {NETWORK["urn"]: None})
    looked: list[int] = []
    monkeypatch.setattr(orphans, "let_arrive", lambda: looked.append(len(engine.refreshes)))
    progress = Progress(units={}, failed_creates={NETWORK["urn"]: NETWORK}, errors={NETWORK["urn"]: [why]})
    session(engine, tmp_path).settle(progress, datetime.now(UTC))
    assert looked == [0] * waits


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
