"""Whose cluster it is, on the command line: chosen, remembered, created."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from xmgen.cli import cli
from xmgen.commands import cluster, operate
from xmgen.errors import InputError
from xmgen.experiment import ClusterChoice
from xmgen.project import Project
from xmgen.pulumi_cli import session
from xmgen.stack import init, lock

TEAM = """
title: Team
location: europe-west4-a
pools:
- requirements: {t4: 1}
  jobs: 8
"""
EXPERIMENT = """
title: Sweep
executables: {trainer: {kind: container, image_path: 'trainer:1'}}
work_units:
  train: {job: {executable: trainer, executor: {kind: kubernetes, requirements: {t4: 1}}}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    init.init(tmp_path)
    (tmp_path / "team.cluster.yaml").write_text(TEAM)
    (tmp_path / "sweep.yaml").write_text(EXPERIMENT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def compiled(project: Path, stack: str) -> ClusterChoice | None:
    return lock.read(project / "stacks" / stack / "experiment.lock.json").cluster


def test_a_clusters_file_compiles_to_a_stack_of_its_name(project: Path) -> None:
    done = run("compile", "team.cluster.yaml")
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (project / "stacks" / "team").iterdir()) == [
        "SUMMARY.md",
        "__main__.py",
        "cluster.py",
        "experiment.lock.json",
        "resources.yaml",
    ]
    assert run("check").exit_code == 0


def test_a_cluster_has_no_work_units_to_count_or_to_run(project: Path) -> None:
    first, *_, last = run("compile", "team.cluster.yaml").stdout.splitlines()
    assert first == "stacks/team: a cluster without jobs of its own, written"
    assert last == "Next: `xmgen inspect team` shows it, `xmgen up team --set gcp:project=…` makes it."


def test_the_choice_of_the_command_line_is_remembered(project: Path) -> None:
    run("compile", "team.cluster.yaml")
    assert run("compile", "sweep.yaml", "--cluster", "stack:team").exit_code == 0
    expected = ClusterChoice(kind="stack", name="team", by_option=True)
    assert compiled(project, "sweep") == expected
    assert "StackReference" in (project / "stacks" / "sweep" / "cluster.py").read_text()
    assert run("check").exit_code == 0
    assert run("compile", "sweep.yaml").exit_code == 0
    assert compiled(project, "sweep") == expected
    assert run("compile", "sweep.yaml", "--cluster", "own").exit_code == 0
    assert compiled(project, "sweep") == ClusterChoice(kind="own", by_option=True)
    assert "StackReference" not in (project / "stacks" / "sweep" / "cluster.py").read_text()


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("{stack: team}", ClusterChoice(kind="stack", name="team")),
        ("{existing: prod}", ClusterChoice(kind="existing", name="prod")),
        (
            "{existing: prod, location: us-central1-a}",
            ClusterChoice(kind="existing", name="prod", location="us-central1-a"),
        ),
    ],
)
def test_a_file_says_it_too_and_the_command_line_comes_first(project: Path, key: str, expected: ClusterChoice) -> None:
    run("compile", "team.cluster.yaml")
    (project / "sweep.yaml").write_text(f"{EXPERIMENT}cluster: {key}\n")
    assert run("compile", "sweep.yaml").exit_code == 0
    assert compiled(project, "sweep") == expected
    assert run("check").exit_code == 0
    run("compile", "sweep.yaml", "--cluster", "existing:other@us-east1")
    assert compiled(project, "sweep") == ClusterChoice(
        kind="existing", name="other", location="us-east1", by_option=True
    )


def test_what_is_wrong_with_a_choice_is_said(project: Path) -> None:
    for choice in ("", "team", "stack:", "stack:a@b", "existing:", "existing:a@", "own:x", "other:x"):
        done = run("compile", "sweep.yaml", "--cluster", choice)
        assert done.exit_code == 2, choice
        assert f"{choice!r} chooses no cluster" in done.output
    for choice in ("stack:tean", "stack:../team", "stack:Team"):
        done = run("compile", "sweep.yaml", "--cluster", choice)
        assert (done.exit_code, "which is not compiled" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("existing:a b", "'a b' is no name of a cluster"),
        ("existing:../x", "'../x' is no name of a cluster"),
        ("existing:x@nowhere", "'nowhere' is no location of a cluster"),
        ('{existing: "a\\nb"}', "'a\\nb' is no name of a cluster"),
        ('{existing: x, location: "y z"}', "'y z' is no location of a cluster"),
    ],
)
def test_a_cluster_is_called_as_gke_calls_one(project: Path, choice: str, message: str) -> None:
    if choice.startswith("{"):
        (project / "sweep.yaml").write_text(f"{EXPERIMENT}cluster: {choice}\n")
    done = run("compile", "sweep.yaml", *([] if choice.startswith("{") else ["--cluster", choice]))
    assert (done.exit_code, message in done.output) == (2, True)


def test_a_shared_clusters_change_shows_in_those_that_use_it(project: Path) -> None:
    run("compile", "team.cluster.yaml")
    run("compile", "sweep.yaml", "--cluster", "stack:team")
    (project / "team.cluster.yaml").write_text(TEAM.replace("t4: 1", "l4_24th: 1"))
    assert run("compile", "team.cluster.yaml").exit_code == 0
    done = run("check", "sweep")
    assert done.exit_code == 1
    assert "t4-1" in done.output


@pytest.mark.parametrize("pool", ["jobs: 1000000000000", "reservation: a b", "requirements: {replicas: 1000000000}"])
def test_a_pool_is_one_that_a_cluster_can_have(project: Path, pool: str) -> None:
    needs = "" if pool.startswith("req") else "requirements: {t4: 1}, "
    (project / "team.cluster.yaml").write_text(f"title: Team\npools:\n- {{{needs}{pool}}}\n")
    done = run("compile", "team.cluster.yaml")
    assert (done.exit_code, pool.split(":")[0] in done.output) == (2, True)


def test_everything_wrong_in_a_clusters_file_is_said_at_once(project: Path) -> None:
    (project / "team.cluster.yaml").write_text("title: Team\nplace: here\npools:\n- {requirements: {t5: 1}, jobs: 0}\n")
    done = run("compile", "team.cluster.yaml")
    assert done.exit_code == 2
    assert all(word in done.output for word in ("place", "t5", "jobs"))
    assert not (project / "stacks" / "team").exists()


def test_inspect_shows_a_cluster(project: Path) -> None:
    run("compile", "team.cluster.yaml")
    shown = json.loads(run("inspect", "team", "--json").stdout)
    steps = {(resource["type"], resource["name"]): resource["step"] for resource in shown["resources"]}
    network, cluster = steps["gcp:compute/network:Network", "team"], steps["gcp:container/cluster:Cluster", "team"]
    assert 1 < network < cluster < steps["gcp:container/nodePool:NodePool", "system"]
    pools = [each for each in shown["resources"] if each["type"] == "gcp:container/nodePool:NodePool"]
    assert [(each["name"] == "system", "cluster" in each["dependsOn"]) for each in pools] == [
        (True, True),
        (False, True),
    ]


# create, without the engine


IN_A_PROJECT = ["--set", "gcp:project=my-project"]


@pytest.fixture
def brought_up(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    calls: list[tuple[str, str | None]] = []

    def up(project: Project, source: str, *, stack: str | None, **_: object) -> int:
        calls.append((source, stack))
        return 0

    monkeypatch.setattr(operate, "up", up)
    return calls


def test_create_writes_the_clusters_file_and_brings_it_up(project: Path, brought_up: list[object]) -> None:
    pools = ["--pool", "t4=1,service_tier=freebie,jobs=8", "--pool", "tpu_v5e=4x4,reservation=ours"]
    done = run("cluster", "create", "lab", "--location", "us-west4-a", *pools, *IN_A_PROJECT)
    assert done.exit_code == 0, done.output
    assert yaml.safe_load((project / "clusters" / "lab.cluster.yaml").read_text()) == {
        "title": "Cluster lab",
        "location": "us-west4-a",
        "pools": [
            {"requirements": {"t4": 1, "service_tier": "freebie"}, "jobs": 8},
            {"requirements": {"tpu_v5e": "4x4"}, "reservation": "ours"},
        ],
    }
    assert brought_up == [("clusters/lab.cluster.yaml", "lab")]
    assert run("compile", "clusters/lab.cluster.yaml").exit_code == 0


def test_a_cluster_may_have_the_driver_of_filestore(project: Path, brought_up: list[object]) -> None:
    assert run("cluster", "create", "lab", "--filestore", *IN_A_PROJECT).exit_code == 0
    written = yaml.safe_load((project / "clusters" / "lab.cluster.yaml").read_text())
    assert written == {"title": "Cluster lab", "filestore": True}
    assert run("compile", "clusters/lab.cluster.yaml").exit_code == 0
    assert '"gcp_filestore_csi_driver_config": {"enabled": True}' in (project / "stacks/lab/cluster.py").read_text()
    assert len(brought_up) == 1


def test_create_never_changes_a_file_that_is_there(project: Path, brought_up: list[object]) -> None:
    run("cluster", "create", "lab", "--location", "us-west4-a", *IN_A_PROJECT)
    before = (project / "clusters" / "lab.cluster.yaml").read_text()
    assert run("cluster", "create", "lab").exit_code == 0
    refused = run("cluster", "create", "lab", "--pool", "t4=1")
    assert (refused.exit_code, "is there already" in refused.output) == (2, True)
    # The same again is no change.
    assert run("cluster", "create", "lab", "--location", "us-west4-a").exit_code == 0
    assert (project / "clusters" / "lab.cluster.yaml").read_text() == before
    assert len(brought_up) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pool", "cpu=4,jobs=x"], "--pool cpu=4,jobs=x: must be a whole number, not the text 'x'"),
        (["--pool", "t44=1"], "--pool t44=1 t44: unknown key 't44'\n  known: cpu, ram, "),
        (["--pool", "t4=1,job=8"], "--pool t4=1,job=8 job: unknown key 'job'\n  did you mean 'jobs'?"),
        (["--pool", "cpu=4", "--pool", "t4=3000"], "t4=3000: no machine has 3000 of these GPUs"),
        (["--location", "nowhere"], "'nowhere' is no location"),
        (["--set", "owner"], "--set: 'owner' is no setting"),
        (["--set", "gcp:projet=p"], "pulumi-gcp has no setting 'gcp:projet'\n  did you mean 'gcp:project'?"),
        ([], "lab cannot run without gcp:project\n  `xmgen cluster create lab --set gcp:project=…` sets it for good"),
        (
            [
                "--location",
                "europe-west4-a",
                "--pool",
                "t4=1,jobs=8",
                "--pool",
                "cpu=4",
                "--filestore",
                "--set",
                "owner=a",
            ],
            "`xmgen cluster create lab --location europe-west4-a --pool t4=1,jobs=8 --pool cpu=4 --filestore "
            "--set owner=a --set gcp:project=…` sets it for good",
        ),
    ],
)
def test_create_writes_nothing_unless_all_of_it_is_right(
    project: Path, brought_up: list[object], arguments: list[str], message: str
) -> None:
    done = run("cluster", "create", "lab", *arguments)
    assert (done.exit_code, message in done.output) == (2, True), done.output
    assert not (project / "clusters").exists()
    assert brought_up == []


@pytest.mark.parametrize(
    ("there", "message"),
    [
        ("experiment", "the stack 'lab' is an experiment's, not a cluster's"),
        ("cluster", "clusters/lab.cluster.yaml: the stack 'lab' is that of team.cluster.yaml"),
        ("foreign", "xmgen did not write this"),
        ("link", "clusters/lab.cluster.yaml: leads out of the project"),
        ("file", "clusters: is not a folder"),
        ("folder", "clusters/lab.cluster.yaml: is no file"),
    ],
)
def test_create_writes_nothing_where_something_is_in_the_way(
    project: Path,
    brought_up: list[object],
    tmp_path_factory: pytest.TempPathFactory,
    there: str,
    message: str,
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    match there:
        case "experiment":
            assert run("compile", "sweep.yaml", "--stack", "lab").exit_code == 0
        case "cluster":
            assert run("compile", "team.cluster.yaml", "--stack", "lab").exit_code == 0
        case "foreign":
            (project / "stacks" / "lab").mkdir()
            (project / "stacks" / "lab" / "notes.md").write_text("mine")
        case "link":
            (project / "clusters").symlink_to(outside)
        case "file":
            (project / "clusters").touch()
        case _:
            (project / "clusters" / "lab.cluster.yaml").mkdir(parents=True)
    before = sorted(project.rglob("*"))
    done = run("cluster", "create", "lab", *IN_A_PROJECT)
    assert (done.exit_code, message in done.output) == (1 if there == "foreign" else 2, True), done.output
    assert (sorted(project.rglob("*")), list(outside.iterdir()), brought_up) == (before, [], [])


@pytest.mark.parametrize("name", ["Lab", "a/b", "../x", "a b", "a" * 41])
def test_names_of_clusters(project: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name"):
        cluster.source_of(Project(root=project), name)


@pytest.mark.parametrize("pool", ["t4", "=1", "t4=1,x"])
def test_pools_that_say_nothing(project: Path, pool: str) -> None:
    done = run("cluster", "create", "lab", "--pool", pool)
    assert (done.exit_code, "is no pool" in done.output) == (2, True)
    assert not (project / "clusters").exists()


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        ("cpu=[1", "'[1' is no value"),
        ("cpu=*x", "'*x' is no value"),
        ("cpu=!!python/object:x", "is no value"),
        ("cpu=2026-13-45", "is no value"),
        ("cpu=1,cpu=2", "says 'cpu' twice"),
        ("cpu=1, cpu=2", "says 'cpu' twice"),
    ],
)
def test_pools_that_cannot_be_read(project: Path, pool: str, message: str) -> None:
    done = run("cluster", "create", "lab", "--pool", pool)
    assert (done.exit_code, message in done.output) == (2, True), done.output
    assert not (project / "clusters").exists()


def test_create_takes_no_option_that_means_nothing_for_a_cluster(project: Path) -> None:
    done = run("cluster", "create", "lab", "--runner", "process")
    assert (done.exit_code, "No such option" in done.output) == (2, True)


def test_delete_is_for_clusters_alone(project: Path) -> None:
    run("compile", "sweep.yaml")
    done = run("cluster", "delete", "sweep", "--yes")
    assert done.exit_code == 2
    assert "the stack 'sweep' is an experiment's, not a cluster's" in done.output


NAMES = ["sweep.yaml", "./sweep.yaml", "stacks/sweep", "stacks/sweep/", "clusters/team.cluster.yaml", "../sweep", ""]


@pytest.mark.parametrize("command", ["delete", "credentials"])
@pytest.mark.parametrize("name", NAMES)
def test_a_cluster_is_named_by_its_stack_alone(
    project: Path, command: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("compile", "sweep.yaml")
    begun: list[object] = []
    monkeypatch.setattr(session, "begin", lambda *given: begun.append(given))  # pyright: ignore
    done = run("cluster", command, name)
    assert (done.exit_code, f"{name!r} cannot be the name" in done.output, begun) == (2, True, []), done.output


def test_a_stack_that_does_not_say_whose_it_is_is_not_deleted(project: Path) -> None:
    run("compile", "sweep.yaml")
    (project / "stacks" / "sweep" / "experiment.lock.json").write_text('{"version": 99}')
    done = run("cluster", "delete", "sweep", "--yes")
    assert (done.exit_code, "this xmgen reads version" in done.output) == (2, True), done.output
