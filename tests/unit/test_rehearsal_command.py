"""What `xmgen rehearse` shows: a table that lives while it runs, and the report."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from tests.conftest import ROOT
from tests.rehearsal_reports import EVERYTHING, node, pod
from xmgen import project
from xmgen.commands import output
from xmgen.commands import rehearse as command
from xmgen.errors import InputError
from xmgen.pulumi_cli.events import Change, Message, Progress, ResourceStep
from xmgen.rehearsal.rehearsal import Options, Rehearsal
from xmgen.rehearsal.report import Report
from xmgen.stack.compiled import CompiledStack

POOL, JOB = "gcp:container/nodePool:NodePool", "kubernetes:batch/v1:Job"


def resource(type: str, name: str, status: str, operation: str = "create") -> ResourceStep:
    return ResourceStep(name=name, type=type, operation=cast(Any, operation), status=cast(Any, status))


def shown(capsys: pytest.CaptureFixture[str], report: Report) -> list[str]:
    command.print_report(report)
    return capsys.readouterr().out.splitlines()


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, EVERYTHING) == [
        "",
        "unit    job  pods  pool  at the end",
        "unit-a  a    2     t4    Succeeded",
        "unit-b  b    1     t4    pod b-0 exited with code 3",
        "",
        "pool  machine        nodes  pods  cpu  memory  accelerators",
        "t4    n1-standard-4  2      3     75%  50%     100%",
        "",
        "4 pods (pod-1, pod-2, pod-3, …) found no node",
        "  the scheduler: 0/1 nodes are available",
        "  t4: it has all of its nodes: 2",
        "  what to change: less | more",
        "",
        "pod-9 found no node",
        "  the scheduler: 0/9 nodes are available",
        "  t4: label a is c, not b",
        "  what to change: less | more",
        "",
        "b failed",
        "  pod b-0 exited with code 3",
        "    step 1",
        "    loss: nan",
        "",
        "up: pool: googleapi: Error 400",
        "in two lines",
        "the pods of a are on 2 slices",
        "3 pods scheduled",
        "8 resources created: 5 Job, 3 IAMMember",
        "images: built and pushed to 127.0.0.1:5000: trainer",
        "a second `up` is not empty: 1 to update, 2 to replace (x:y:Job a, x:y:Pool t4)",
        "`destroy` leaves behind: namespaces sweep",
        "kept on purpose: sweep-output",
        "taken to exist: claim sweep/data",
        "not set, filled in for the rehearsal: gcp:project",
        "",
        "sweep: something does not fit",
    ]


def test_the_report_of_a_stack_that_fits(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report(stack="sweep", created={"a:b:Job": 1}, seconds={"destroy": 1.0})
    assert shown(capsys, report) == [
        "",
        "0 pods scheduled",
        "1 resource created: 1 Job",
        "a second `up` changes nothing",
        "`destroy` leaves nothing behind",
        "",
        "sweep: everything fits",
    ]


class Observed:
    """A cluster in the middle of an `up`."""

    def pods(self, namespaces: set[str]) -> list[Any]:
        assert namespaces == {"sweep"}
        return [
            pod("a-1", "a", node="gke-t4-0"),
            pod("b-1", "b", node="gke-t4-1", ended="5"),
            pod("c-1", "c", node="gke-gone-0", pool="gone", ended="5"),
            pod("d-1", "d"),
            pod("e-1", "e"),
        ]

    def nodes(self) -> list[Any]:
        gone = node("gke-gone-0", "gone")
        gone.gone = True
        return [node("gke-t4-0"), node("gke-t4-1"), node("gke-system-0", "system"), gone]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A narrow one."""
    written = io.StringIO()
    monkeypatch.setattr(
        output, "console", lambda: Console(file=written, force_terminal=True, width=60, no_color=True, soft_wrap=True)
    )
    return written


def table() -> command.LiveTable:
    made = SimpleNamespace(observer=Observed(), namespaces=lambda plan: {"sweep"})
    return command.LiveTable(cast(Rehearsal, made), cast(CompiledStack, None))


def rendered(table: command.LiveTable) -> list[str]:
    console = Console(file=io.StringIO(), width=60, no_color=True)
    with console.capture() as capture:
        console.print(table.render())
    return [line.rstrip() for line in capture.get().splitlines()]


def test_the_live_table(terminal: io.StringIO) -> None:
    shown = table()
    changes: list[Change | None] = [
        None,
        resource(POOL, "t4", "started"),
        resource(POOL, "system", "started"),
        resource(POOL, "system", "done"),
    ]
    for change in changes:
        shown.hear("up", Progress(units={}), change)
    head, *rest = rendered(shown)
    assert head.startswith("up: creating everything, in a simulated cloud; 1 done, ")
    assert rest == [
        "  gcp:container/nodePool:NodePool t4",
        "pool    nodes  running  ended",
        "gone    0      0        1",
        "system  1      0        0",
        "t4      2      1        1",
        "2 pods without a node",
    ]
    shown.hear("destroy", Progress(units={}), None)
    head, *rest = rendered(shown)
    assert head.startswith("destroy: removing everything; 0 done, ")
    assert rest[0] == "pool    nodes  running  ended"


def test_what_goes_wrong_scrolls_by_above_it(terminal: io.StringIO) -> None:
    shown = table()
    shown.hear("up", Progress(units={}), None)
    shown.hear("up", Progress(units={}), resource(JOB, "train", "done"))
    shown.hear("up", Progress(units={}), resource(POOL, "t4", "failed"))
    shown.hear("up", Progress(units={}), Message(severity="warning", text="a warning", unit="t4"))
    assert terminal.getvalue().splitlines() == [
        "failed    gcp:container/nodePool:NodePool t4",
        "warning: t4: a warning",
    ]


def test_without_a_terminal_there_is_a_line_for_everything(capsys: pytest.CaptureFixture[str]) -> None:
    shown = command.Lines()
    changes: list[Change | None] = [None, resource(POOL, "t4", "started"), resource(POOL, "t4", "done")]
    for change in changes:
        shown.hear("up", Progress(units={}), change)
    shown.hear("destroy", Progress(units={}), None)
    assert capsys.readouterr().out.splitlines() == [
        "==> up: creating everything, in a simulated cloud",
        "created   gcp:container/nodePool:NodePool t4",
        "==> destroy: removing everything",
    ]


def test_one_report_at_a_time() -> None:
    with pytest.raises(InputError, match="--json and --markdown exclude each other"):
        command.rehearse(project.find(ROOT), "gke-sweep", options=Options(), folder=None, json=True, as_markdown=True)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 1e9])
def test_pods_run_for_a_number_of_seconds(seconds: float) -> None:
    options = Options(pod_seconds=seconds)
    with pytest.raises(InputError, match=re.escape(f"--pod-seconds is a number of seconds, not {seconds:g}")):
        command.rehearse(project.find(ROOT), "gke-sweep", options=options, folder=None, json=False, as_markdown=False)
