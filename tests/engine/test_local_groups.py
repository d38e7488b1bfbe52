"""Jobs of a group, services, and what bounds how much runs at a time."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from tests.engine.harness import Project, unit, until

pytestmark = pytest.mark.engine

# Notes how many such trials run at this moment.
COUNTED = "mkdir -p $PROJECT/now; touch $PROJECT/now/$$; sleep 0.2; mark $(ls $PROJECT/now | wc -l); rm $PROJECT/now/$$"


def test_the_jobs_of_a_group_start_together(project: Project):
    meet = "touch $PROJECT/{me}; until test -e $PROJECT/{other}; do sleep 0.02; done; echo {me}"
    project.declare(unit("pair", meet.format(me="x", other="y"), meet.format(me="y", other="x")))

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert "a: x" in outcome.output
    assert "b: y" in outcome.output
    outputs = project.state()["pair"]["outputs"]
    assert outputs["exitCodes"] == {"a": 0, "b": 0}
    assert outputs["logPath"] == ".xmgen/dev/runs/pair"


def test_jobs_of_a_group_have_an_output_folder_each_and_their_metrics_are_merged_in_order(project: Project):
    write = 'echo \'{{"{key}": 1, "last": "{key}"}}\' > $XMGEN_OUTPUT_DIR/metrics.json'
    project.declare(unit("pair", write.format(key="x"), write.format(key="y")))

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert project.state()["pair"]["outputs"]["metrics"] == {"x": 1, "y": 1, "last": "y"}
    assert sorted(path.name for path in (project.run_folder("pair") / "output").iterdir()) == ["a", "b"]


def test_a_service_does_not_hold_its_unit_and_ends_with_it(project: Project):
    service = {"name": "db", "args": ["touch $PROJECT/up; exec sleep 300"], "service": True}
    client = {"name": "client", "args": ["until test -e $PROJECT/up; do sleep 0.02; done; mark done"]}
    project.declare(unit("group", jobs=[service, client]))

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert project.state()["group"]["outputs"]["exitCodes"] == {"client": 0}
    assert project.marks() == ["done"]
    until(lambda: not project.processes(), "nothing keeps running")


def test_when_one_job_fails_the_rest_of_its_group_is_stopped(project: Project):
    project.declare(
        unit("pair", "mark begun; sleep 300", "while ! test -e $PROJECT/marks; do sleep 0.02; done; exit 7")
    )

    outcome = project.up()

    assert not outcome.ok
    assert project.state()["pair"]["outputs"]["exitCodes"] == {"b": 7}
    until(lambda: not project.processes(), "nothing keeps running")


def test_a_service_that_fails_fails_its_unit(project: Project):
    project.declare(
        unit("pair", jobs=[{"name": "db", "args": ["exit 4"], "service": True}, {"name": "x", "args": ["sleep 300"]}])
    )

    outcome = project.up()

    assert not outcome.ok
    assert "job db ended with exit code 4" in outcome.output


@pytest.mark.parametrize(("requirements", "most"), [({}, 2), ({"cpu": 2}, 1), ({"cpu": 0.5}, 4)])
def test_cpus_bound_how_many_run_at_a_time(project: Project, requirements: dict[str, float], most: int):
    project.configure("cpus", "2")
    project.declare(*(unit(f"u{index}", COUNTED, requirements=requirements) for index in range(6)))

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert len(project.marks()) == 6
    assert max(map(int, project.marks())) <= most


def test_no_gpu_is_handed_out_twice(project: Project):
    project.configure("gpus", "3")
    use = """
    for gpu in $(echo $CUDA_VISIBLE_DEVICES | tr , ' '); do mkdir $PROJECT/gpu$gpu || exit 9; mark $gpu; done
    sleep 0.1
    for gpu in $(echo $CUDA_VISIBLE_DEVICES | tr , ' '); do rmdir $PROJECT/gpu$gpu; done
    """
    project.declare(
        unit("one", use, requirements={"gpus": 1}),
        unit("pair", use, use, requirements={"gpus": 1}),
        unit("two", use, requirements={"gpus": 2}),
        unit("three", use, requirements={"gpus": 3}),
        unit("none", "mark none=$CUDA_VISIBLE_DEVICES"),
    )

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert len(project.marks()) == 1 + 2 + 2 + 3 + 1
    assert {"0", "1", "2", "none="} == set(project.marks())


def test_gpu_slots_are_shared_with_other_providers_of_the_user(project: Project):
    project.configure("gpus", "2")
    project.declare(unit("one", "mark $CUDA_VISIBLE_DEVICES", requirements={"gpus": 1}))
    held = (Path(project.env["XMGEN_RUNTIME_DIR"]) / "gpu-0.lock").open("w")
    fcntl.flock(held, fcntl.LOCK_EX)

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert project.marks() == ["1"]
    held.close()


@pytest.mark.parametrize(
    ("requirements", "complaint"),
    [
        ({"cpu": 64}, "work unit one: asks for 64 CPUs, this machine has 4"),
        ({"gpus": 3}, "work unit one: asks for 3 GPUs, this machine has 2"),
    ],
)
def test_more_than_the_machine_has_is_refused(project: Project, requirements: dict[str, int], complaint: str):
    project.configure("gpus", "2")
    project.declare(unit("one", "mark one", requirements=requirements))

    outcome = project.up()

    assert not outcome.ok
    assert complaint in outcome.output
    assert project.marks() == []
    assert "one" not in project.state()


def test_a_group_whose_jobs_ask_for_nothing_runs_on_any_machine(project: Project):
    project.configure("cpus", "1")
    project.declare(unit("trio", "mark a", "mark b", "mark c"))

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert sorted(project.marks()) == ["a", "b", "c"]


def test_two_stacks_at_the_same_time(project: Project, tmp_path: Path):
    """Neither disturbs the other; each waits for the other's sign."""
    other = Project.create(tmp_path / "other")
    other.env |= {"XMGEN_RUNTIME_DIR": project.env["XMGEN_RUNTIME_DIR"]}
    meet = "touch {mine}; until test -e {theirs}; do sleep 0.02; done"
    project.declare(unit("one", meet.format(mine=tmp_path / "x", theirs=tmp_path / "y")))
    other.declare(unit("one", meet.format(mine=tmp_path / "y", theirs=tmp_path / "x")))

    processes = [each.start_up() for each in (project, other)]
    outputs = [process.communicate(timeout=120)[0] for process in processes]

    assert [process.returncode for process in processes] == [0, 0], outputs


def test_a_timeout_ends_a_trial_as_failed(project: Project):
    project.program(
        """
        slow = Executable("slow", command=["sleep", "300"])
        Run("one", identity="1", jobs=[{"name": "a", "executable": slow.packaged}],
            opts=pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create="1s")))
        """
    )

    outcome = project.up()

    assert not outcome.ok
    assert "stopped after its timeout of 1 seconds" in outcome.output
    assert project.state()["one"]["outputs"]["exitCode"] == 124
    until(lambda: not project.processes(), "nothing keeps running")
