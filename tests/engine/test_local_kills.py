"""Ctrl-C and kill -9: nothing keeps running, and the next `up` neither loses nor doubles a trial."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.engine.harness import Project, children, kill, unit, until
from xmgen.provider import watchdog

pytestmark = pytest.mark.engine

# Runs until it is let go; says when it begins and when it has come to its end.
TRIAL = "mark begun; echo running; while ! test -e $PROJECT/go; do sleep 0.05; done; mark ended"


def let_go(project: Project) -> None:
    (project.root / "go").touch()


@pytest.mark.parametrize("who", ["engine", "provider", "both"])
@pytest.mark.parametrize(
    ("point", "begun"),
    [
        ("before_start", 1),
        ("running", 2),
        ("after_end", 1),
    ],
)
def test_kill_and_up_again(project: Project, point: str, begun: int, who: str):
    """begun: how often the trial is begun in all. It is brought to its end once."""
    project.declare(unit("one", TRIAL), unit("two", "mark two", after=["one"]))
    if point != "running":
        let_go(project)

    killed = project.up(XMGEN_FAULT=f"{point}:{who}")

    assert not killed.ok
    until(lambda: not project.processes(), "nothing keeps running")
    assert "one" not in project.state()
    let_go(project)

    outcome = project.recover()

    assert outcome.ok, outcome.output
    marks = project.marks()
    assert (marks.count("ended"), marks.count("two")) == (1, 1)
    # A provider that has not noticed yet that its engine is gone may still begin the trial, to end it at once.
    late = {begun + 1} if (point, who) == ("before_start", "engine") else set[int]()
    assert marks.count("begun") in {begun} | late
    assert project.state()["one"]["outputs"]["exitCode"] == 0
    assert project.destroy().ok
    assert project.state() == {}
    assert not (project.run_folder("one") / "attempt").exists()


def test_killed_while_a_finished_trial_is_replaced(project: Project):
    project.declare(unit("one", "mark first"), unit("two", "mark two", after=["one"]))
    assert project.up().ok
    project.declare(unit("one", "mark second"), unit("two", "mark two", after=["one"]))

    killed = project.up(XMGEN_FAULT="after_end:both")
    assert not killed.ok
    until(lambda: not project.processes(), "nothing keeps running")
    outcome = project.recover()

    assert outcome.ok, outcome.output
    assert project.marks() == ["first", "two", "second", "two"]


def test_killed_while_a_failed_trial_runs_again(project: Project):
    project.declare(unit("one", "mark run; test -e $PROJECT/mended"))
    assert not project.up().ok
    (project.root / "mended").touch()

    assert not project.up(XMGEN_FAULT="after_end:both").ok
    outcome = project.recover()

    assert outcome.ok, outcome.output
    assert project.marks() == ["run", "run"]
    assert "initErrors" not in project.state()["one"]


def test_metrics_of_a_success_that_was_not_reported_are_not_lost(project: Project):
    project.declare(unit("one", """echo '{"loss": 1}' > $XMGEN_OUTPUT_DIR/metrics.json"""))
    assert not project.up(XMGEN_FAULT="after_end:both").ok
    killed = (project.run_folder("one") / "attempt" / "journal.json").read_text()

    outcome = project.recover()

    assert outcome.ok, outcome.output
    assert "taken over" in outcome.output
    assert project.state()["one"]["outputs"]["metrics"] == {"loss": 1}
    assert project.state()["one"]["outputs"]["attempt"] in killed


def test_a_process_that_hides_from_its_group_is_found_too(project: Project):
    project.declare(unit("one", "setsid sh -c 'sleep 300' & echo running; sleep 300"))

    assert not project.up(XMGEN_FAULT="running:both").ok

    until(lambda: not project.processes(), "nothing keeps running")


def test_a_process_left_in_the_background_ends_with_its_trial(project: Project):
    project.declare(unit("one", "setsid sh -c 'sleep 300' & sleep 300 & mark one"))

    outcome = project.up()

    assert outcome.ok, outcome.output
    until(lambda: not project.processes(), "nothing keeps running")


def test_processes_that_become_others_all_the_time_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """For a moment of `exec` a process has no environment, and so no mark."""
    monkeypatch.setattr(watchdog, "KILL_SECONDS", 60.0)
    script = tmp_path / "script"
    script.write_text('exec sh "$0"\n')
    job = f"{tmp_path}/0/"
    environment = {**os.environ, watchdog.MARK: job}
    processes = [subprocess.Popen(["sh", script], env=environment, start_new_session=True) for _ in range(40)]
    try:
        watchdog.kill_job(job)
        # What is killed takes a moment to end; what was not found goes on.
        ended = [process.wait(timeout=60) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert ended == [-signal.SIGKILL] * len(processes)


def test_killed_with_the_watchdog_as_well(project: Project):
    """Then the trial dies with its watchdog, and what it had started is cleared by the next `up`."""
    project.declare(unit("one", f"sleep 300 & {TRIAL}"))
    process = project.start_up()
    until(lambda: project.marks() == ["begun"], "the trial runs")
    # A trial may have noted its begin before what it started has become `sleep`.
    until(lambda: len(project.running("sleep\x00300")) == 1, "it sleeps in the background")
    for pid in set(project.processes()) - project.running("sleep\x00300"):
        # A trial naps in processes that end by themselves, and ends with its watchdog.
        with contextlib.suppress(ProcessLookupError):
            kill(pid)
    process.wait()
    let_go(project)

    outcome = project.recover()

    assert outcome.ok, outcome.output
    assert project.marks() == ["begun", "begun", "ended"]
    until(lambda: not project.processes(), "nothing keeps running")


@pytest.mark.parametrize("stubborn", ["", "trap '' TERM; "])
def test_ctrl_c_stops_what_runs_and_the_next_up_runs_it(project: Project, stubborn: str):
    # One CPU: the second trial waits for the first.
    project.configure("cpus", "1")
    project.declare(unit("one", f"{stubborn}{TRIAL}"), unit("two", f"{stubborn}{TRIAL}"))
    process = project.start_up()
    until(lambda: project.marks() == ["begun"], "a trial runs")

    # As the terminal does it: the signal goes to the engine's process group, which the provider is no part of.
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)

    assert process.returncode != 0
    assert "cancelled" in output
    assert "defect" not in output
    until(lambda: not project.processes(), "nothing keeps running")
    assert sorted(project.state()) == ["trial"]
    let_go(project)
    outcome = project.up()
    assert outcome.ok, outcome.output
    assert project.marks() == ["begun", "begun", "ended", "begun", "ended"]


def test_an_idle_provider_ends_with_its_engine(project: Project):
    """Also while nothing runs: here it waits for a GPU that another process holds."""
    import fcntl

    project.configure("gpus", "1")
    project.declare(unit("one", "mark one", requirements={"gpus": 1}))
    lock = (Path(project.env["XMGEN_RUNTIME_DIR"]) / "gpu-0.lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    process = project.start_up()
    until(lambda: (project.run_folder("one") / ".lock").exists(), "the trial waits")
    assert any(children(process.pid))

    kill(process.pid)
    process.wait()

    until(lambda: not project.processes(), "nothing keeps running")
    assert project.marks() == []
    lock.close()


def test_a_watchdog_that_is_killed_stops_its_trial_and_is_replaced(project: Project):
    project.configure("cpus", "1")
    project.declare(unit("one", TRIAL), unit("two", TRIAL))
    process = project.start_up()
    until(lambda: project.marks() == ["begun"], "a trial runs")
    (watchdog,) = project.running("watchdog.py")
    (trial,) = children(watchdog)

    kill(watchdog)
    until(lambda: trial not in project.running(""), "the trial dies with it")
    let_go(project)
    output, _ = process.communicate(timeout=60)

    assert process.returncode != 0
    assert "the watchdog of xmgen was killed, and the processes with it" in output
    assert len(project.state()) == 2
    outcome = project.up()
    assert outcome.ok, outcome.output
    assert project.marks().count("ended") == 2
