"""What a change means for the trials of a stack that is up: table by kind of change."""

from __future__ import annotations

import json
import py_compile
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests import on_gke, programs
from tests.builders import experiment, job, python_container
from tests.reviewing import compared, files
from xmgen import __version__, sources
from xmgen.cli import cli
from xmgen.experiment import Experiment, JobRequirements, Local
from xmgen.plan import planner
from xmgen.program import render as program
from xmgen.resource_types import EXECUTABLE, RUN
from xmgen.review.compare import ProjectChange, StackChange
from xmgen.review.report import report
from xmgen.review.resources import PropertyChange, ResourceChange
from xmgen.review.units import Reason, UnitChange

Change = tuple[str, dict[str, str], tuple[Reason, ...]]


def changes(old: Experiment, new: Experiment) -> list[Change]:
    """Change, varying arguments and reasons of each unit that is touched."""
    units = compared(files(old), files(new)).units
    return [(unit.change, dict(unit.arguments), unit.reasons) for unit in units]


def markdown(*changes: StackChange) -> str:
    return report(ProjectChange(), changes)


def sweep(*points: str, more: str = "", **fields: object) -> Experiment:
    jobs = [job(*[f"--{arg}" for arg in [*point.split(), *more.split()]]) for point in points]
    return experiment(*jobs, **fields)  # type: ignore[arg-type]


def argument(name: str, old: str | None, new: str | None) -> Reason:
    return Reason("argument", name, old, new)


JOBS = "stacks/sweep/jobs.py"
RENDERED = f"is not what xmgen {__version__} writes for the experiment in its lock file"

TRAIN_AND_EVALUATE = {"after": {1: [0]}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(sweep("lr=1", "lr=2"), sweep("lr=1", "lr=2"), [], id="nothing"),
        pytest.param(sweep("lr=1", "lr=2"), sweep("lr=2", "lr=1"), [], id="another order"),
        pytest.param(
            sweep("lr=1", "lr=2"),
            sweep("lr=1", "lr=2", "lr=3"),
            [("added", {"lr": "3"}, ())],
            id="a point more",
        ),
        pytest.param(
            sweep("lr=1", "lr=2", "lr=3"),
            sweep("lr=1", "lr=3"),
            [("removed", {"lr": "2"}, ())],
            id="a point less",
        ),
        pytest.param(
            sweep("lr=1", "lr=2"),
            sweep("lr=1", "lr=3"),
            [("added", {"lr": "3"}, ()), ("removed", {"lr": "2"}, ())],
            id="another point is another trial",
        ),
        pytest.param(
            sweep("lr=1", "lr=2", more="steps=10"),
            sweep("lr=1", "lr=2", more="steps=20"),
            [
                ("run again", {"lr": "1"}, (argument("steps", "10", "20"),)),
                ("run again", {"lr": "2"}, (argument("steps", "10", "20"),)),
            ],
            id="what all trials share changed",
        ),
        pytest.param(
            sweep("lr=1", "lr=2", more="steps=10"),
            sweep("lr=1", "lr=3", more="steps=20 wide"),
            [
                ("run again", {"lr": "1"}, (argument("steps", "10", "20"), argument("wide", None, "true"))),
                ("added", {"lr": "3"}, ()),
                ("removed", {"lr": "2"}, ()),
            ],
            id="both",
        ),
        pytest.param(
            sweep("lr=1", "lr=2"),
            sweep("lr=1 seed=1", "lr=1 seed=2", "lr=2 seed=1", "lr=2 seed=2"),
            [
                ("run again", {"lr": "1", "seed": "1"}, (argument("seed", None, "1"),)),
                ("added", {"lr": "1", "seed": "2"}, ()),
                ("run again", {"lr": "2", "seed": "1"}, (argument("seed", None, "1"),)),
                ("added", {"lr": "2", "seed": "2"}, ()),
            ],
            id="a dimension more",
        ),
        pytest.param(
            sweep("lr=1"),
            sweep("lr=2"),
            [("run again", {}, (argument("lr", "1", "2"),))],
            id="a single trial is itself",
        ),
        pytest.param(
            experiment(job(env={"MODE": "fast"})),
            experiment(job(env={"MODE": "slow"})),
            [("run again", {}, (argument("$MODE", "fast", "slow"),))],
            id="the environment",
        ),
        pytest.param(
            sweep("lr=1"),
            sweep("lr=1", executables=(python_container(digest="sha256:" + "1" * 64),)),
            [("run again", {}, (Reason("code", "trainer"),))],
            id="code",
        ),
        pytest.param(
            sweep("lr=1"),
            sweep("lr=1", executables=(python_container(base_image="python:3.13"),)),
            [("run again", {}, (Reason("executable", "trainer"),))],
            id="the definition of an executable",
        ),
        pytest.param(
            experiment(job("--lr=1")),
            experiment(job("--lr=1", executor=Local(requirements=JobRequirements(cpu=4)))),
            [("run again", {}, (Reason("executor", "train", "", "cpu=4"),))],
            id="requirements",
        ),
        pytest.param(
            experiment(job(name="train"), job(name="evaluate", executable="tester"), **TRAIN_AND_EVALUATE,
                       executables=(python_container(), python_container("tester"))),
            experiment(job(name="train"), job(name="evaluate", executable="tester"), **TRAIN_AND_EVALUATE,
                       executables=(python_container(digest="sha256:" + "1" * 64), python_container("tester"))),
            [
                ("run again", {}, (Reason("code", "trainer"),)),
                ("run again", {}, (Reason("predecessor", "train-{train}"),)),
            ],
            id="code of a predecessor",
        ),
        pytest.param(
            experiment(job("--n=1", name="train"), job(name="evaluate"), **TRAIN_AND_EVALUATE),
            experiment(job("--n=2", name="train"), job(name="evaluate"), **TRAIN_AND_EVALUATE),
            [
                ("run again", {"n": "2"}, (argument("n", "1", "2"),)),
                ("run again", {}, (Reason("predecessor", "train-n-2-{train}"),)),
            ],
            id="an argument of a predecessor",
        ),
        pytest.param(
            experiment(job(name="train"), job(name="evaluate")),
            experiment(job(name="train"), job(name="evaluate"), **TRAIN_AND_EVALUATE),
            [("run again", {}, (Reason("predecessor", "train-{train}"),))],
            id="a predecessor more",
        ),
    ],
)  # fmt: skip
def test_which_units_run_again_and_why(old: Experiment, new: Experiment, expected: list[Change]) -> None:
    # A predecessor's logical name ends in a hash, which the table leaves out.
    train = planner.plan(new).units[0].identity[:8]
    filled = [
        (change, varying, tuple(replace(reason, name=reason.name.replace("{train}", train)) for reason in reasons))
        for change, varying, reasons in expected
    ]
    assert changes(old, new) == filled


def test_a_units_name_before_and_its_resources() -> None:
    old = sweep("lr=1", "lr=2", more="steps=10")
    new = sweep("lr=1", more="steps=10", executables=(python_container(digest="sha256:" + "1" * 64),))
    kept, gone = (unit.name for unit in planner.plan(old).units)
    change = compared(files(old), files(new))
    [executable] = change.resources
    assert change == StackChange(
        stack="sweep",
        change="changed",
        type=RUN,
        units=(
            UnitChange("run again", kept, {}, (Reason("code", "trainer"),)),
            UnitChange("removed", gone, {"lr": "2"}),
        ),
        unchanged=0,
        resources=(
            ResourceChange(
                "changed",
                EXECUTABLE,
                "trainer",
                (PropertyChange("digest", "sha256:" + "0" * 64, "sha256:" + "1" * 64, "update"),),
                old=executable.old,
                new=executable.new,
            ),
        ),
        program=("stacks/sweep/__main__.py", "stacks/sweep/executables.py"),
    )


def test_a_renamed_unit_says_what_it_was() -> None:
    old, new = sweep("lr=1"), sweep("lr=2")
    (unit,) = compared(files(old), files(new)).units
    assert (unit.was, unit.unit) == (planner.plan(old).units[0].name, planner.plan(new).units[0].name)


def test_a_whole_stack_that_comes_or_goes() -> None:
    there = files(sweep("lr=1", "lr=2"))
    come, gone = compared({}, there), compared(there, {})
    assert (come.change, [unit.change for unit in come.units]) == ("added", ["added", "added"])
    assert (gone.change, [unit.change for unit in gone.units]) == ("removed", ["removed", "removed"])
    assert compared(there, there) == StackChange(stack="sweep", change="unchanged", type=RUN, unchanged=2)


def test_a_run_that_only_moves_among_the_others_is_no_change() -> None:
    old = files(sweep("lr=1", "lr=2"))
    assert compared(old, files(sweep("lr=2", "lr=1"))) == StackChange("sweep", "unchanged", type=RUN, unchanged=2)
    moved = compared(old, files(sweep("lr=0", "lr=2", "lr=1")))
    assert ([(unit.change, unit.arguments) for unit in moved.units], moved.unchanged) == ([("added", {"lr": "0"})], 2)


def test_markdown_says_what_a_reviewer_asks() -> None:
    old, new = sweep("lr=1", "lr=2", more="steps=10"), sweep("lr=1", "lr=3", more="steps=20")
    one, three = (unit.name for unit in planner.plan(new).units)
    two = planner.plan(old).units[1].name
    unchanged = StackChange(stack="other", change="unchanged", unchanged=1)
    assert markdown(compared(files(old), files(new)), unchanged) == (
        "## Stack `sweep`\n"
        "\n"
        "**Resources**\n"
        "\n"
        "- work units: 2 removed, 2 added\n"
        "\n"
        "Work units: 1 run again, 1 added, 1 removed, 0 unchanged.\n"
        "\n"
        "| change | work unit | arguments that vary | because of |\n"
        "|---|---|---|---|\n"
        f"| run again | `{one}` | `lr=1` | `steps`: `10` → `20` |\n"
        f"| added | `{three}` | `lr=3` |  |\n"
        f"| removed | `{two}` | `lr=2` |  |\n"
        "\n"
        "1 other stack unchanged.\n"
    )
    assert markdown(unchanged) == "No stack changes.\n"


def test_what_a_removed_stack_leaves_up_is_said() -> None:
    text = markdown(compared(files(experiment(job())), {}))
    assert "## Stack `sweep` (removed)\n" in text
    assert "\n\nWhat is up of it stays up until `xmgen destroy sweep`, which needs nothing of its folder.\n\n" in text


def test_no_argument_becomes_markup() -> None:
    old, new = experiment(job("--text=a")), experiment(job("--text=`b` | <script>\n## c"))
    text = markdown(compared(files(old), files(new)))
    assert "| `text`: `a` → `` `b` \\| <script> ## c `` |" in text


class Repository:
    """A project in a Git repository, of which each commit has one stack."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "Pulumi.yaml").write_text("name: experiments\nmain: stacks/\n")
        self.git("init", "--quiet")

    def git(self, *arguments: str) -> None:
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True, capture_output=True)

    def write(self, made: Experiment) -> None:
        for path, text in files(made).items():
            if path != "Pulumi.yaml":
                (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                (self.root / path).write_text(text)

    def commit(self, made: Experiment | None, tag: str) -> None:
        if made is not None:
            self.write(made)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", tag)
        self.git("tag", tag)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    # The project is a folder of its repository, as it may be.
    root = tmp_path / "ml"
    root.mkdir()
    repository = Repository(root)
    repository.commit(sweep("lr=1"), "one")
    repository.commit(sweep("lr=1", "lr=2"), "two")
    monkeypatch.chdir(root)
    return repository


def review(*arguments: str) -> dict[str, object]:
    done = CliRunner().invoke(cli, ["review", "--json", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (stack,) = json.loads(done.stdout)["stacks"]
    return {
        "change": stack["change"],
        "units": [unit["change"] for unit in stack["units"]],
        "problem": stack["problem"],
    }


def test_two_commits_are_compared(repository: Repository) -> None:
    assert review("--base", "one", "--head", "two") == {"change": "changed", "units": ["added"], "problem": ""}
    assert review("--base", "two", "--head", "one") == {"change": "changed", "units": ["removed"], "problem": ""}


def test_without_a_head_the_working_tree_is_compared(repository: Repository) -> None:
    assert review("--base", "two") == {"change": "unchanged", "units": [], "problem": ""}
    repository.write(sweep("lr=2"))
    assert review("--base", "two") == {"change": "changed", "units": ["removed"], "problem": ""}


def test_code_that_is_not_what_was_compiled_is_said_of_the_working_tree(repository: Repository) -> None:
    code = repository.root / "code" / "trainer"
    code.mkdir(parents=True)
    (code / "train.py").write_text("1\n")
    (repository.root / "code" / "launcher.py").touch()
    executable = python_container(digest=sources.digest(code))
    repository.commit(sweep("lr=1", executables=(executable,)), "compiled")

    def said(*arguments: str) -> str:
        return CliRunner().invoke(cli, ["review", "--base", "compiled", *arguments], catch_exceptions=False).stdout

    assert said() == "No stack changes.\n"
    (code / "train.py").write_text("2\n")
    assert said() == (
        "Stack `sweep` is stale: the code of `trainer` is not what was compiled. "
        "`xmgen compile code/launcher.py --stack sweep` compiles it.\n\n"
        "No stack changes, as far as their lists of resources and work units say.\n"
    )
    assert json.loads(said("--json"))["stacks"][0]["stale"] == ["trainer"]
    assert said("--head", "compiled") == "No stack changes.\n"
    (code / "train.py").unlink()
    code.rmdir()
    assert "is stale" in said()


def test_what_changed_without_the_lock_file_is_said(repository: Repository) -> None:
    """Of a launch script that was not compiled, and of a generated file that was edited by hand."""
    launcher, program = repository.root / "code" / "launcher.py", repository.root / "stacks" / "sweep" / "jobs.py"
    code = repository.root / "code" / "trainer"
    code.mkdir(parents=True)
    (code / "train.py").write_text("1\n")
    launcher.write_text("1\n")
    made = sweep("lr=1", executables=(python_container(digest=sources.digest(code)),))
    repository.commit(made, "compiled")
    launcher.write_text("2\n")
    program.write_text(program.read_text() + "import os\n")
    (repository.root / "elsewhere").write_text("")
    said = (
        f"**Not what xmgen writes, and not what the rest of this review is of**\n\n- `{JOBS}` {RENDERED}\n\n"
        "Stack `sweep`: `code/launcher.py` changed, and its lock file did not. "
        "`xmgen check sweep` says whether the stack is what its source compiles to.\n\n"
        "## Stack `sweep`\n\n"
        "**Program**: `stacks/sweep/jobs.py` changed; `xmgen check sweep` says whether that is of a compile.\n\n"
        "Work units: 1 unchanged.\n"
    )

    def markdown_of(*arguments: str) -> str:
        return CliRunner().invoke(cli, ["review", *arguments], catch_exceptions=False).stdout

    assert markdown_of("--base", "compiled") == said
    repository.commit(None, "edited")
    assert markdown_of("--base", "compiled", "--head", "edited") == said
    assert json.loads(markdown_of("--base", "compiled", "--json"))["stacks"][0]["files"] == [
        "code/launcher.py",
        "stacks/sweep/jobs.py",
    ]
    # With the lock file it was compiled.
    repository.commit(sweep("lr=1", "lr=2"), "recompiled")
    assert "lock file" not in markdown_of("--base", "compiled")


def test_a_program_that_was_edited_is_named_though_the_lock_file_changed_too(repository: Repository) -> None:
    repository.write(sweep("lr=1", "lr=2", "lr=3"))
    (repository.root / JOBS).write_text((repository.root / JOBS).read_text() + "import evil\n")
    done = CliRunner().invoke(cli, ["review", "--base", "two"], catch_exceptions=False)
    assert f"- `{JOBS}` {RENDERED}\n" in done.stdout
    (stack,) = json.loads(CliRunner().invoke(cli, ["review", "--base", "two", "--json"]).stdout)["stacks"]
    assert (JOBS in stack["files"], stack["findings"]) == (True, [{"path": JOBS, "fault": RENDERED}])


def test_of_a_stack_that_another_version_wrote_the_digests_are_the_weaker_proof(repository: Repository) -> None:
    made = program.render(planner.plan(sweep("lr=1", "lr=2", "lr=3")), "99.0")
    folder = repository.root / "stacks" / "sweep"
    programs.write(folder, made)

    def said() -> str:
        return CliRunner().invoke(cli, ["review", "--base", "two"], catch_exceptions=False).stdout

    weaker = (
        f"Stack `sweep` was written by xmgen `99.0`, and this is {__version__}: its files were held against the "
        "digests in its lock file alone. That is the weaker proof: whoever changes a file can change its digest.\n"
    )
    assert weaker in said()
    assert "Not what xmgen writes" not in said()
    (folder / "jobs.py").write_text(made["jobs.py"] + "import evil\n")
    assert f"- `{JOBS}` is not what its lock file records\n" in said()
    assert weaker in said()


def test_bytecode_that_is_committed_is_named(repository: Repository) -> None:
    cache = repository.root / "stacks" / "sweep" / "__pycache__" / "jobs.cpython-311.pyc"
    cache.parent.mkdir()
    py_compile.compile(str(repository.root / JOBS), str(cache))
    # What Python left here, which no commit brought.
    ours = CliRunner().invoke(cli, ["review", "--base", "two"], catch_exceptions=False).stdout
    assert "Not what xmgen writes" not in ours
    repository.git("add", "--force", "--all")
    named = f"- `{cache.relative_to(repository.root)}` is bytecode, which Python may run in place of the source\n"
    assert named in CliRunner().invoke(cli, ["review", "--base", "two"], catch_exceptions=False).stdout
    repository.git("commit", "--quiet", "--message", "bytecode")
    assert named in CliRunner().invoke(cli, ["review", "--base", "two", "--head", "HEAD"]).stdout


def test_a_location_that_the_lock_file_leaves_to_the_settings_is_read_there(repository: Repository) -> None:
    settings = repository.root / "stacks" / "Pulumi.sweep.yaml"

    def set_location(zone: str) -> None:
        settings.write_text(f"config:\n  gcp:project: acme\n  experiments:location: {zone}\n")

    set_location("europe-west4-a")
    repository.commit(on_gke.experiment(), "up")
    assert review("--base", "up") == {"change": "unchanged", "units": [], "problem": ""}
    set_location("europe-west4-b")
    moved = {"change": "changed", "units": ["run again"], "problem": ""}
    assert review("--base", "up") == moved
    repository.git("commit", "--quiet", "--all", "--message", "moved")
    repository.git("tag", "moved")
    assert review("--base", "up", "--head", "moved") == moved
    settings.write_bytes(b"\xff")
    assert "Pulumi.sweep.yaml: cannot be read" in str(review("--base", "up")["problem"])


def test_a_stack_that_cannot_be_read_is_said_so_and_no_error(repository: Repository) -> None:
    (repository.root / "stacks/sweep/experiment.lock.json").write_text('{"version": 0}')
    repository.commit(None, "unreadable")
    result = review("--base", "unreadable", "--head", "two")
    assert "version 0 of the lock file" in str(result["problem"])


def test_a_lock_file_that_never_ends_is_not_read(repository: Repository) -> None:
    lock_file = repository.root / "stacks" / "sweep" / "experiment.lock.json"
    lock_file.unlink()
    lock_file.symlink_to("/dev/zero")
    assert review("--base", "two")["change"] == "removed"
    repository.commit(None, "link")
    assert "a link, which nothing here follows" in str(review("--base", "two", "--head", "link")["problem"])


@pytest.mark.parametrize("ref", ["nothing", "--output=/tmp/x", ""])
def test_a_commit_that_is_none_is_bad_input(repository: Repository, ref: str) -> None:
    done = CliRunner().invoke(cli, ["review", f"--base={ref}"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Git knows no commit" in done.stderr


def test_without_a_repository_or_a_commit_there_is_nothing_to_compare_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> str:
        done = CliRunner().invoke(cli, ["review", "--base", "main"])
        assert (done.exit_code, done.stdout) == (2, "")
        return done.stderr

    monkeypatch.chdir(tmp_path)
    # None of the folders above counts.
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "Pulumi.yaml").write_text("name: experiments\nmain: stacks/\n")
    assert refused() == f"error: {tmp_path}: is in no Git repository\n  `git init` makes it one\n"
    subprocess.run(["git", "init", "--quiet"], check=True)
    assert refused() == f"error: {tmp_path}: nothing is committed yet\n  commit what is to be compared with\n"
