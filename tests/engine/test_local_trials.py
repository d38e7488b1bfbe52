"""Work units on this machine, through the real engine: what runs, what it leaves, what a second `up` does."""

from __future__ import annotations

import json

import pytest

from tests.builders import experiment, job
from tests.engine.harness import Project, unit
from xmgen.stack import lock

pytestmark = pytest.mark.engine

METRICS = """echo '{"loss": 0.5, "by_class": {"cat": [1, 2]}}' > $XMGEN_OUTPUT_DIR/metrics.json"""


def test_a_unit_runs_to_its_end_and_says_what_came_of_it(project: Project):
    project.declare(unit("one", f"echo hello; {METRICS}; echo model > $XMGEN_OUTPUT_DIR/model"))

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert "hello" in outcome.output
    outputs = project.state()["one"]["outputs"]
    assert {key: outputs[key] for key in outputs if key not in ("attempt", "startedAt", "durationSeconds")} == {
        "exitCode": 0,
        "exitCodes": {"a": 0},
        "logPath": ".xmgen/dev/runs/one/a.log",
        "outputPath": ".xmgen/dev/runs/one/output",
        "metrics": {"loss": 0.5, "by_class": {"cat": [1, 2]}},
        "runner": "process",
    }
    assert outputs["startedAt"].endswith("Z")
    assert outputs["durationSeconds"] >= 0
    assert (project.root / outputs["logPath"]).read_text() == "hello\n"
    assert (project.root / outputs["outputPath"] / "model").read_text() == "model\n"


def test_a_preview_runs_nothing_and_leaves_no_trace(project: Project):
    project.declare(unit("one", "mark one"))

    outcome = project.preview()

    assert outcome.ok, outcome.output
    assert project.marks() == []
    assert not (project.root / ".xmgen").exists()


def test_a_second_up_changes_nothing(project: Project):
    project.declare(unit("one", "mark one"), unit("two", "mark two", after=["one"]))
    assert project.up().ok

    again = project.up()

    assert again.ok, again.output
    assert "3 unchanged" in again.output or "4 unchanged" in again.output
    assert project.pulumi("preview", "--expect-no-changes", "--stack", "dev").ok
    assert project.marks() == ["one", "two"]


def test_a_failed_trial_is_in_the_state_with_its_last_output_while_others_go_on(project: Project):
    project.declare(
        unit("good", "mark good"),
        unit("bad", "mark bad; for i in $(seq 30); do echo line $i; done; exit 3"),
        unit("follower", "mark follower", after=["bad"]),
    )

    outcome = project.up()

    assert not outcome.ok
    assert "Traceback" not in outcome.output
    state = project.state()
    assert sorted(state) == ["bad", "good", "trial"]
    (reason,) = state["bad"]["initErrors"]
    assert "job a ended with exit code 3; log: .xmgen/dev/runs/bad/a.log" in reason
    assert "line 30" in reason
    assert "line 11" in reason
    assert "line 10" not in reason
    assert state["bad"]["outputs"]["exitCode"] == 3
    assert sorted(project.marks()) == ["bad", "good"]


def test_failed_trials_run_again_and_finished_ones_never_do(project: Project):
    project.declare(unit("good", "mark good"), unit("bad", "mark bad; test -e $PROJECT/mended"))
    assert not project.up().ok
    (project.root / "mended").touch()

    again = project.up()

    assert again.ok, again.output
    assert sorted(project.marks()) == ["bad", "bad", "good"]
    assert "initErrors" not in project.state()["bad"]
    assert project.state()["bad"]["outputs"]["exitCode"] == 0


def test_changed_args_replace_just_that_trial_and_what_depends_on_it(project: Project):
    first, other, last = (
        unit("first", "mark first"),
        unit("other", "mark other"),
        unit("last", "mark last", after=["first"]),
    )
    project.declare(first, other, last)
    assert project.up().ok

    changed = {**unit("first", "mark changed"), "name": "first"}
    project.declare(changed, other, last)
    outcome = project.up()

    assert outcome.ok, outcome.output
    assert sorted(project.marks()[:3]) == ["first", "last", "other"]
    assert project.marks()[3:] == ["changed", "last"]


def test_changed_code_replaces_what_runs_it_and_what_depends_on_that(project: Project):
    other = {"command": ["sh", "-c", "echo other >> $PROJECT/marks"]}
    units = (
        unit("data", jobs=[{"name": "a", "executable": "other"}]),
        unit("train", "mark train", after=["data"]),
        unit("evaluate", jobs=[{"name": "a", "executable": "other"}], after=["train"]),
    )
    project.declare(*units, other=other)
    assert project.up().ok
    assert project.marks() == ["other", "train", "other"]

    trial = {
        "directory": "code/trial",
        "digest": project.code("trial", "#!/bin/sh\necho changed >> $PROJECT/marks\n"),
        "command": ["./trial"],
        "working_directory": "code",
    }
    project.declare(*units, other=other, trial=trial)
    outcome = project.up()

    assert outcome.ok, outcome.output
    assert project.marks()[3:] == ["changed", "other"]


def test_code_that_changed_after_the_compile_is_refused(project: Project):
    (project.root / "stacks" / "dev").mkdir()
    compiled = lock.dumps(experiment(job(), stack="dev"))
    (project.root / "stacks" / "dev" / "experiment.lock.json").write_text(compiled, encoding="utf-8")
    project.declare(unit("one", "mark one"))
    (project.root / "code" / "trial").write_text("#!/bin/sh\necho edited\n")
    (project.root / "code" / "launcher.py").touch()

    outcome = project.up()

    assert not outcome.ok
    assert "code of trial changed after the compile" in outcome.output
    assert "run `xmgen compile code/launcher.py --stack dev` again" in outcome.output
    assert project.marks() == []


def test_moved_positional_names_do_not_run_a_finished_trial_again(project: Project):
    before = unit("one", "mark one", hostname="123_1_a")
    project.declare(before)
    assert project.up().ok

    after = unit("one", "mark one", hostname="123_2_a")
    project.declare({**after, "identity": before["identity"]})
    outcome = project.up()

    assert outcome.ok, outcome.output
    assert "updated" not in outcome.output
    assert project.state()["one"]["inputs"]["jobs"][0]["hostname"] == "123_2_a"
    assert project.marks() == ["one"]


def test_where_it_runs_is_no_change(project: Project):
    project.declare(unit("one", "mark one"))
    assert project.up().ok

    project.configure("runner", "auto")
    project.configure("cpus", "2")
    outcome = project.up()

    assert outcome.ok, outcome.output
    assert project.marks() == ["one"]


def test_a_finished_trial_stays_finished_when_its_folder_is_gone(project: Project):
    import shutil

    project.declare(unit("one", "mark one"))
    assert project.up().ok
    shutil.rmtree(project.root / ".xmgen")

    assert project.pulumi("refresh", "--yes", "--skip-preview", "--stack", "dev").ok
    assert project.up().ok
    assert project.marks() == ["one"]


def test_outputs_survive_edits_and_destroy_and_the_rest_does_not(project: Project):
    project.declare(unit("one", "mark first; echo first > $XMGEN_OUTPUT_DIR/model"))
    assert project.up().ok
    project.declare(unit("one", "mark second; echo second > $XMGEN_OUTPUT_DIR/model"))
    assert project.up().ok
    assert project.destroy().ok

    left = {path.relative_to(project.run_folder("one")).as_posix() for path in project.run_folder("one").rglob("*")}
    assert left == {"earlier", "earlier/1", "earlier/1/model", "output", "output/model"}
    assert (project.run_folder("one") / "output" / "model").read_text() == "second\n"
    assert (project.run_folder("one") / "earlier" / "1" / "model").read_text() == "first\n"
    assert project.state() == {}

    assert project.up().ok
    assert project.marks() == ["first", "second", "second"]


def test_outputs_go_with_their_trial_where_the_user_says_so(project: Project):
    project.configure("keepOutputs", "false")
    project.declare(unit("one", "echo model > $XMGEN_OUTPUT_DIR/model"))
    assert project.up().ok
    assert project.destroy().ok

    assert not (project.root / ".xmgen" / "dev").exists()


def test_an_explicit_replacement_runs_a_finished_trial_again(project: Project):
    project.declare(unit("one", "mark one"))
    assert project.up().ok

    urn = project.state()["one"]["urn"]
    outcome = project.up("--replace", urn)

    assert outcome.ok, outcome.output
    assert project.marks() == ["one", "one"]


def test_a_finished_trial_can_be_imported(project: Project):
    project.declare(unit("one", "mark one"))
    assert project.up().ok
    before = project.state()["one"]
    assert project.pulumi("state", "delete", before["urn"], "--yes", "--stack", "dev").ok

    options = ("--yes", "--skip-preview", "--protect=false", "--generate-code=false", "--stack", "dev")
    outcome = project.pulumi("import", "xmgen:local:Run", "one", "one", *options)

    assert outcome.ok, outcome.output
    assert project.state()["one"]["outputs"] == before["outputs"]
    assert project.up().ok
    assert project.marks() == ["one"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "Expecting property name"),
        ("[1]", "not an object"),
        ('{"loss": NaN}', "NaN is not JSON"),
        ('{"loss": 1e999}', "a number is too large"),
    ],
)
def test_metrics_that_cannot_be_used_are_a_warning(project: Project, content: str, complaint: str):
    project.declare(unit("one", f"echo '{content}' > $XMGEN_OUTPUT_DIR/metrics.json"))

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert "warning" in outcome.output
    assert complaint in outcome.output
    assert project.state()["one"]["outputs"]["metrics"] == {}


def test_environment_and_arguments_arrive_byte_for_byte(project: Project):
    text = "a  b\n\"'$HOME `x` \\ ü 🎉 {{ }} *"
    (project.root / "code").mkdir()
    digest = project.code("show.py", "import json, os, sys\nprint(json.dumps([sys.argv[1:], dict(os.environ)]))\n")
    show = {
        "directory": "code/show.py",
        "digest": digest,
        "command": ["python", "show.py"],
        "working_directory": "code",
    }
    args = [text, {"shell": '"$GREETING" $GREETING'}, "", text]
    env = {"GREETING": "good  day", "TEXT": text}
    project.declare(unit("one", jobs=[{"name": "a", "executable": "show", "args": args, "env": env}]), show=show)

    outcome = project.up()

    assert outcome.ok, outcome.output
    argv, environment = json.loads((project.run_folder("one") / "a.log").read_text())
    assert argv == [text, "good  day", "good", "day", "", text]
    assert environment["TEXT"] == text
    assert environment["PYTHONUNBUFFERED"] == "1"
    assert environment["XMGEN_OUTPUT_DIR"] == str(project.run_folder("one") / "output")
    assert environment["HOME"]
    assert "PULUMI_CONFIG_PASSPHRASE" not in environment
    assert "CUDA_VISIBLE_DEVICES" not in environment


def test_output_is_kept_and_not_streamed_where_the_job_says_so(project: Project):
    project.declare(unit("one", "echo to-the-file-only", streamOutput=False))

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert "to-the-file-only\n" not in outcome.output
    assert (project.run_folder("one") / "a.log").read_text() == "to-the-file-only\n"


def test_secrets_are_not_shown(project: Project):
    project.program(
        """
        shown = Executable("shown", command=["sh", "-c", "echo the key is $KEY; exit 1"])
        Run("one", identity="1", jobs=[
            {"name": "a", "executable": shown.packaged, "env": {"KEY": pulumi.Output.secret("swordfish")}},
        ])
        """
    )

    outcome = project.up()

    assert not outcome.ok
    assert "the key is [secret]" in outcome.output
    assert "swordfish" not in outcome.output
    assert "swordfish" not in json.dumps(project.state())
    assert "swordfish" not in (project.run_folder("one") / "attempt" / "journal.json").read_text()


def test_a_program_that_cannot_be_started_fails_its_trial(project: Project):
    project.declare(unit("one", jobs=[{"name": "a", "executable": "gone"}]), gone={"command": ["/no/such/program"]})

    outcome = project.up()

    assert not outcome.ok
    assert "job a cannot be started: [Errno 2] No such file or directory: '/no/such/program'" in outcome.output
    assert project.state()["one"]["outputs"]["exitCode"] == 127


def test_bad_inputs_are_refused_before_anything_runs(project: Project):
    project.declare(unit("one", "mark one", requirments={"cpu": 1}, env={"A": 1}))

    outcome = project.preview()

    assert not outcome.ok
    assert "unknown key 'requirments'" in outcome.output
    assert "did you mean 'requirements'?" in outcome.output
    assert "jobs[0].env.A" in outcome.output
    assert project.marks() == []


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("runner", "contaner", "did you mean 'container'?"),
        ("gpus", "many", "xmgen:gpus must be a whole number, 0 or more, not 'many'"),
        ("cpu", "2", "did you mean 'cpus'?"),
    ],
)
def test_bad_settings_are_refused(project: Project, key: str, value: str, complaint: str):
    project.configure(key, value)
    project.declare(unit("one", "mark one"))

    outcome = project.preview()

    assert not outcome.ok
    assert complaint in outcome.output
