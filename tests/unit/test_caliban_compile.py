"""`xmgen caliban …`: from a Caliban project and its command line to a stack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from xmgen import compiler
from xmgen.cli import cli
from xmgen.errors import InputError
from xmgen.experiment import (
    Accelerator,
    Argv,
    ClusterChoice,
    Container,
    DockerOptions,
    Experiment,
    JobRequirements,
    Kubernetes,
    Local,
    PythonContainer,
    Reference,
    Vertex,
)
from xmgen.project import Project
from xmgen.stack import init, lock

SECRET = "s3cr/et"
MLFLOW = {
    "project": "proj",
    "region": "europe-west4",
    "db": "runs",
    "user": "ml@x",
    "password": SECRET,
    "artifact_root": "gs://bkt/runs",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Caliban project in a project of ours; the working directory."""
    init.init(tmp_path)
    folder = tmp_path / "mnist"
    (folder / "trainer").mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "trainer" / "train.py").write_text("print('training')\n")
    (folder / "run.sh").write_text("echo run\n")
    (folder / "sweep.json").write_text('{"lr": [0.1, 0.2], "fast": true}')
    monkeypatch.chdir(folder)
    for name in ("REGION", "PROJECT_ID", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    return folder


def configure(folder: Path, **config: object) -> None:
    (folder / ".calibanconfig.json").write_text(json.dumps(config))


def run(*arguments: str, code: int = 0, stdin: str | None = None) -> Result:
    done = CliRunner().invoke(cli, ["caliban", *arguments], catch_exceptions=False, input=stdin)
    assert done.exit_code == code, done.output
    return done


def load(folder: Path, *flags: str, stack: str = "mnist") -> Experiment:
    return compiler.load(folder, root=folder.parent, stack=stack, flags=flags)


def executable(folder: Path, *flags: str) -> PythonContainer:
    [found] = load(folder, *flags).executables
    assert isinstance(found, PythonContainer)
    return found


def refusals(folder: Path, *flags: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(folder, *flags)
    return [problem.message for problem in caught.value.problems]


def manifests(folder: Path, stack: str, name: str) -> list[Any]:
    return list(yaml.safe_load_all((folder.parent / "stacks" / stack / "manifests" / name).read_text()))


# Stacks


def test_run_compiles_to_a_local_stack(folder: Path) -> None:
    command = ["run", "--nogpu", "--experiment_config", "sweep.json", "trainer.train", "--", "--seed", "1"]
    assert run(*command).stdout.startswith("stacks/mnist-local: 2 work units, written\n")
    jobs = [job for unit in manifests(folder, "mnist-local", "local.yaml") for job in unit["jobs"]]
    assert [job["args"] for job in jobs] == [["--seed", "1", "--fast", "--lr", lr] for lr in ("0.1", "0.2")]
    assert run(*command).stdout.startswith("stacks/mnist-local: 2 work units, unchanged\n")
    checked = CliRunner().invoke(cli, ["check"])
    assert (checked.exit_code, checked.stdout) == (0, "mnist-local: up to date\n")


def test_submit_compiles_to_jobs_on_gke(folder: Path) -> None:
    run("--stack", "big", "cluster", "job", "submit", "--gpu_spec", "2xT4", "--min_cpu", "2500", "trainer/train.py")
    [job] = manifests(folder, "big", "jobs.yaml")
    pod = job["spec"]["template"]["spec"]
    assert pod["nodeSelector"]["cloud.google.com/gke-accelerator"] == "nvidia-tesla-t4"
    assert pod["nodeSelector"]["cloud.google.com/gke-spot"] == "true"
    assert pod["containers"][0]["resources"] == {
        "requests": {"cpu": "2500m", "memory": "7000000000", "nvidia.com/gpu": "2"},
        "limits": {"memory": "7000000000", "nvidia.com/gpu": "2"},
    }
    assert job["spec"]["backoffLimit"] == 4


def test_a_cluster_is_a_stack_without_jobs(folder: Path) -> None:
    run("cluster", "create", "--cluster_name", "Shared_1", "--zone", "us-west1-b", "--single_zone")
    assert 'location = "us-west1-b"' in (folder.parent / "stacks" / "shared-1" / "cluster.py").read_text()
    # Jobs for a cluster of another stack.
    assert load(folder, "cluster", "job", "submit", "--cluster_name", "Shared_1", "run.sh").cluster == ClusterChoice(
        kind="stack", name="shared-1"
    )
    assert load(folder, "cluster", "job", "submit", "--cluster_name", "other", "run.sh").cluster == ClusterChoice(
        kind="existing", name="other"
    )


def test_delete_without_a_cluster_is_no_traceback(folder: Path) -> None:
    assert refusals(folder, "cluster", "delete", "--cluster_name", "x") == ["`cluster delete` compiles to nothing"]


# Executors


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["run"], Local(requirements=JobRequirements(accelerator=Accelerator(type="local_gpu", count=1)))),
        (["run", "--nogpu"], Local()),
        (
            ["run", "--nogpu", "--docker_run_args", "-v /a:/b --publish=80:8080"],
            Local(docker_options=DockerOptions(volumes={"/a": "/b"}, ports={8080: 80})),
        ),
        (
            ["cluster", "job", "submit", "--nogpu"],
            Kubernetes(requirements=JobRequirements(cpu=31, ram=25 * 10**9, service_tier="spot"), retries=4),
        ),
        (
            ["cluster", "job", "submit", "--nonpreemptible", "--min_mem", "1"],
            Kubernetes(
                requirements=JobRequirements(cpu=1.5, ram=10**6, accelerator=Accelerator(type="p100", count=1)),
                retries=4,
            ),
        ),
        (
            # There are no such machines to be had as Spot.
            ["cluster", "job", "submit", "--tpu_spec", "8xV3"],
            Kubernetes(
                requirements=JobRequirements(cpu=1.5, ram=7 * 10**9, accelerator=Accelerator(type="tpu_v3", count=8)),
                retries=4,
            ),
        ),
        (
            ["cloud", "--region", "us-west1", "--machine_type", "n1-standard-4", "--gpu_spec", "1xT4"],
            Vertex(
                requirements=JobRequirements(
                    cpu=4, ram=15 * 2**30, accelerator=Accelerator(type="t4", count=1), location="us-west1"
                )
            ),
        ),
        (
            ["cloud", "--tpu_spec", "8xV2"],
            Vertex(requirements=JobRequirements(accelerator=Accelerator(type="tpu_v2", count=8))),
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_the_options_ask_for(folder: Path, flags: list[str], expected: object) -> None:
    assert load(folder, *flags, "run.sh").units[0].jobs[0].executor == expected


def test_labels_of_a_training_job(folder: Path) -> None:
    flags = ["cloud", "--nogpu", "-l", "Team=A.B", "-l", "lr=x", "--experiment_config", "sweep.json", "run.sh"]
    common = {"docker_image": "mnist", "fast": "", "gpu_enabled": "false", "job_name": "caliban_mnist"}
    assert [unit.jobs[0].labels for unit in load(folder, *flags).units] == [
        {**common, "lr": lr, "team": "a_b", "tpu_enabled": "false"} for lr in ("0_1", "0_2")
    ]


# Images


def test_an_image_holds_what_the_command_says(folder: Path) -> None:
    configure(folder, base_image="img:{}", apt_packages={"cpu": ["zsh", "git"]})
    for name in ("setup.py", "requirements.txt", "environment.yml"):
        (folder / name).touch()
    found = executable(folder, "run", "--nogpu", "--extras", "dev", "-d", "data", "trainer.train")
    assert found.base_image == "img:cpu"
    assert found.docker_instructions is not None
    assert [line for line in found.docker_instructions if "printf" not in line] == [
        "RUN groupadd --non-unique --gid 1000 caliban",
        "RUN useradd --non-unique --no-log-init --uid 1000 --gid 1000"
        " --home-dir /home/caliban --shell /bin/bash caliban",
        "RUN mkdir -m 777 /usr/app /.resources /home/caliban",
        "ENV HOME=/home/caliban PYTHONUNBUFFERED=1",
        "WORKDIR /usr/app",
        "USER 1000:1000",
        "USER root",
        "RUN apt-get update"
        " && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends git zsh"
        " && apt-get clean && rm -rf /var/lib/apt/lists/*",
        "USER 1000:1000",
        'COPY --chown=1000:1000 ["mnist/setup.py", "/usr/app"]',
        "RUN python -m pip install --no-cache-dir '.[cpu,dev]'",
        'COPY --chown=1000:1000 ["mnist/environment.yml", "/usr/app"]',
        "RUN conda env update --quiet --name base --file environment.yml",
        'COPY --chown=1000:1000 ["mnist/requirements.txt", "/usr/app"]',
        "RUN python -m pip install --no-cache-dir -r requirements.txt",
        'COPY --chown=1000:1000 ["mnist/data", "/usr/app/data"]',
        'COPY --chown=1000:1000 ["mnist/trainer", "/usr/app/trainer"]',
    ]


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("trainer.train", ["python", "-m", "trainer.train"]),
        ("trainer/train.py", ["python", "trainer/train.py"]),
        ("run.sh", ["/bin/bash", "run.sh"]),
    ],
)
def test_a_module_or_script_is_started_by_calibans_launcher(folder: Path, module: str, command: list[str]) -> None:
    start = ("--caliban_command", json.dumps(command))
    assert executable(folder, "run", module).entrypoint == Argv(
        container=("python", "/.resources/caliban_launcher.py", *start),
        process=("python", "-m", "xmgen.frontends.caliban.launcher", *start),
    )


def test_a_given_image_is_not_built(folder: Path) -> None:
    assert load(folder, "run", "--image_id", "abc", "run.sh").executables == (Container(name="run", image="abc"),)
    assert load(folder, "cloud", "--image_tag", "g/i:1", "run.sh").executables == (
        Container(name="run", image="g/i:1"),
    )


def test_a_project_at_the_root_is_no_part_of_its_own_stack(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    (folder.parent / "main.py").touch()
    run("--stack", "whole", "cluster", "job", "submit", "--nogpu", "main.py")
    dockerfile = (folder.parent / "stacks" / "whole" / "images" / "main" / "Dockerfile").read_text()
    assert 'COPY --chown=1000:1000 [".", "/usr/app/."]' in dockerfile
    assert "unchanged" in run("--stack", "whole", "cluster", "job", "submit", "--nogpu", "main.py").stdout


def test_a_trial_more_is_no_changed_code_unless_the_program_reads_the_sweep(folder: Path) -> None:
    flags = ["run", "--experiment_config", "sweep.json", "run.sh"]
    before = executable(folder, *flags)
    (folder / "sweep.json").write_text('{"lr": [0.1, 0.2, 0.3]}')
    assert executable(folder, *flags).digest == before.digest
    (folder / "run.sh").write_text("cat sweep.json\n")
    assert "sweep.json" not in executable(folder, *flags).exclude


# Secrets


@pytest.mark.parametrize("command", [["run"], ["cluster", "job", "submit"], ["cloud"]])
def test_no_secret_is_in_an_image_or_a_stack(folder: Path, command: list[str]) -> None:
    configure(folder, mlflow_config=MLFLOW)
    (folder / "key.json").write_text("PRIVATE")
    experiment = load(folder, *command, "--nogpu", "--cloud_key", "key.json", "run.sh")
    [image] = experiment.executables
    assert isinstance(image, PythonContainer)
    assert image.exclude == (".calibanconfig.json", "key.json")
    assert SECRET not in repr(experiment)
    uri = "postgresql+pg8000://ml%40x:{password}@/runs?unix_sock=/tmp/cloudsql/proj:europe-west4:runs/.s.PGSQL.5432"
    [job] = experiment.units[0].jobs
    assert job.env["MLFLOW_TRACKING_URI"] == uri
    password = Reference(kind="secret", name="mlflowDbPassword")
    # A program on this machine inherits the variable.
    assert experiment.references == (() if command == ["run"] else (password,))
    assert job.env.get("MLFLOW_DB_PASSWORD") == (None if command == ["run"] else password.token)


def test_a_key_is_mounted_on_this_machine(folder: Path) -> None:
    (folder / "key.json").touch()
    [job] = load(folder, "run", "--nogpu", "--cloud_key", "key.json", "run.sh").units[0].jobs
    assert isinstance(job.executor, Local)
    assert job.executor.docker_options == DockerOptions(volumes={"./mnist/key.json": "/.creds/credentials.json:ro"})
    assert refusals(folder, "run", "--cloud_key", "none.json", "run.sh") == ["there is no file 'none.json'"]


def test_jobs_on_gke_reach_the_database_through_a_sidecar(folder: Path) -> None:
    configure(folder, base_image="b", mlflow_config=MLFLOW)
    run("cluster", "job", "submit", "--nogpu", "run.sh")
    [job] = manifests(folder, "mnist-gke", "jobs.yaml")
    pod = job["spec"]["template"]["spec"]
    [proxy] = pod["initContainers"]
    assert proxy["restartPolicy"] == "Always"
    assert proxy["args"][-1] == "proj:europe-west4:runs"
    mounts = [each["volumeMounts"] for each in (proxy, pod["containers"][0])]
    assert all({"name": "cloud-sql", "mountPath": "/tmp/cloudsql"} in each for each in mounts)
    files = {path: path.read_text() for path in (folder.parent / "stacks" / "mnist-gke").rglob("*") if path.is_file()}
    assert not any(SECRET in text for text in files.values())
    program = next(text for path, text in files.items() if path.name == "jobs.py")
    assert 'role="roles/cloudsql.client"' in program
    assert 'config.require_secret("mlflowDbPassword")' in program


def test_an_mlflow_run_keeps_its_name_when_trials_are_added(folder: Path) -> None:
    configure(folder, mlflow_config=MLFLOW)
    flags = ["run", "--nogpu", "--xgroup", "g", "--experiment_config", "sweep.json", "run.sh"]

    def names() -> list[str]:
        units = load(folder, *flags).units
        configs = [json.loads(str(unit.jobs[0].args[1])) for unit in units]
        assert {config["env"]["MLFLOW_EXPERIMENT_NAME"] for config in configs} == {"g"}
        return [config["env"]["MLFLOW_RUN_NAME"] for config in configs]

    before = names()
    (folder / "sweep.json").write_text('{"lr": [0.3, 0.1, 0.1, 0.2], "fast": true}')
    after = names()
    assert [after[1], after[3]] == before
    assert after[2] == f"{after[1]}-2"


# Dry runs and exports


def test_a_dry_run_writes_nothing(folder: Path) -> None:
    configure(folder, base_image="b")
    done = run("run", "--dry_run", "--docker_run_args", "-v /a:/b", "trainer.train", "--", "a b")
    assert done.stdout == (
        "Job 1: Running command: docker run --platform linux/amd64 --runtime nvidia --ipc host -v /a:/b "
        "-e PYTHONUNBUFFERED=1 dry_run_tag 'a b'\n"
        "stacks/mnist-local would be compiled with 1 work unit; nothing is written.\n"
    )
    assert "a GKE cluster in us-west1;" in run("cluster", "create", "--dry_run", "--zone", "us-west1-b").stdout
    assert Project(root=folder.parent).stacks() == []


def test_export_writes_jobs_for_any_cluster(folder: Path) -> None:
    flags = ["cluster", "job", "submit", "--nogpu", "--name", "My Sweep", "--experiment_config", "sweep.json"]
    done = run(*flags, "--image_tag", "g/i:1", "--export", "out.yaml", "run.sh", "--", "x")
    assert done.stdout == "wrote out_0.yaml\nwrote out_1.yaml\n"
    documents = [yaml.safe_load((folder / f"out_{number}.yaml").read_text()) for number in range(2)]
    [container] = documents[1]["spec"]["template"]["spec"]["containers"]
    assert documents[1]["metadata"] == {"generateName": "my-sweep-"}
    assert (container["image"], container["args"]) == ("g/i:1", ["x", "--fast", "--lr", "0.2"])
    assert Project(root=folder.parent).stacks() == []


def test_an_export_needs_no_project_but_an_image(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.parent / "Pulumi.yaml").unlink()
    flags = ["cluster", "job", "submit", "--nogpu", "--export", "one.json", "run.sh"]
    assert "which image the Jobs run is not known" in run(*flags, code=2).stderr
    monkeypatch.setenv("PROJECT_ID", "example.com:ml")
    run(*flags)
    [container] = json.loads((folder / "one.json").read_text())["spec"]["template"]["spec"]["containers"]
    assert container["image"].startswith("gcr.io/example.com/ml/")
    assert container["image"].endswith(":latest")


def test_an_export_into_the_code_of_a_stack_is_refused(folder: Path) -> None:
    submit = ["cluster", "job", "submit", "--nogpu"]
    run(*submit, "run.sh")
    flags = [*submit, "--image_tag", "i"]
    refused = run(*flags, "--export", "one.json", "run.sh", code=2).stderr
    assert (
        "--export one.json: mnist is the code of the stack mnist-gke, which another file in it would change" in refused
    )
    assert not (folder / "one.json").exists()
    run(*flags, "--export", "../one.json", "run.sh")
    (folder / ".dockerignore").write_text("*.json\n")
    run(*flags, "--export", "one.json", "run.sh")
    assert (folder / "one.json").exists()


def test_an_exported_job_takes_the_password_from_a_secret(folder: Path) -> None:
    configure(folder, mlflow_config=MLFLOW)
    run("cluster", "job", "submit", "--nogpu", "--image_tag", "i", "--export", "one.json", "run.sh")
    text = (folder / "one.json").read_text()
    assert SECRET not in text
    [container] = json.loads(text)["spec"]["template"]["spec"]["containers"]
    secret = {"name": "secrets", "key": "mlflowDbPassword"}
    assert container["env"][-1] == {"name": "MLFLOW_DB_PASSWORD", "valueFrom": {"secretKeyRef": secret}}


# What is taken from around the command


def test_a_sweep_from_standard_input_becomes_part_of_the_command(folder: Path) -> None:
    run("run", "--nogpu", "--experiment_config", "stdin", "run.sh", "--", "-x", stdin='{"a": [1, 2]} # two')
    recorded = json.loads((folder.parent / "stacks" / "mnist-local" / "experiment.lock.json").read_text())
    assert recorded["flags"] == ["run", "--nogpu", "--experiment_config", '{"a": [1, 2]}', "run.sh", "--", "-x"]
    assert len(recorded["units"]) == 2
    assert CliRunner().invoke(cli, ["check"]).exit_code == 0


def test_no_path_of_this_machine_becomes_part_of_the_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    (home / "key.json").touch()
    (home / "sweep.json").write_text('{"b": 1}')

    def flags(sweep: Path) -> list[str]:
        run("run", "--nogpu", "--cloud_key", str(home / "key.json"), "--experiment_config", str(sweep), "run.sh")
        return json.loads((folder.parent / "stacks" / "mnist-local" / "experiment.lock.json").read_text())["flags"]

    common = ["run", "--nogpu", "--cloud_key", "~/key.json", "--experiment_config"]
    assert flags(folder / "sweep.json") == [*common, "sweep.json", "run.sh"]
    assert flags(home / "sweep.json") == [*common, '{"b": 1}', "run.sh"]


def test_a_dry_run_on_gke_shows_what_the_stack_would_hold(folder: Path) -> None:
    shown = run("cluster", "job", "submit", "--dry_run", "--tpu_spec", "32xV3", "run.sh").stdout
    assert shown.startswith('Job 1: {\n  "backoffLimit": 4,')
    assert '"cloud.google.com/gke-tpu-topology": "4x4"' in shown


def test_the_region_of_the_environment_becomes_part_of_the_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGION", "no region")
    assert "'no region' is no region" in run("cloud", "run.sh", code=2).stderr


# Mistakes


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["run"], ["the following arguments are required: module"]),
        (["run", "nothing.py"], ["there is no program 'nothing.py'"]),
        (["run", "../trainer/train.py"], ["'../trainer/train.py' lies outside the project"]),
        (
            ["run", "-d", "none", "-d", "..", "run.sh"],
            ["there is no folder 'none' in the project", "there is no folder '..' in the project"],
        ),
        (["run", "run.sh", "--lr", "1"], ["unrecognized arguments: --lr 1"]),
        (
            ["run", "--docker_run_args", "--privileged -v x", "run.sh"],
            ["'--privileged' cannot be compiled", "'x' is no volume"],
        ),
        (["run", "--docker_run_args", '-e "A=B', "run.sh"], ["""'-e "A=B': no closing quotation"""]),
        (["run", "--docker_run_args", '-e "A=B"', "run.sh"], ["""'"A' cannot name an environment variable"""]),
        (["run", "--extras", "dev\nRUN evil", "run.sh"], ["'dev\\nRUN evil' is no extra"]),
        (["run", "--experiment_config", "none.json", "run.sh"], ["cannot be read: No such file or directory"]),
        (["run", "--experiment_config", '{"a": []}', "run.sh"], ["expands to no experiment"]),
        (["cloud", "--nogpu", "--gpu_spec", "1xT4", "run.sh"], ["--nogpu does not go with --gpu_spec"]),
        (["cloud", "--gpu_spec", "1xT4", "--tpu_spec", "8xV3", "run.sh"], ["a job has either GPUs or a TPU"]),
        (["cloud", "--region", "here", "-l", "team", "run.sh"], ["'here' is no region", "'team' is no label"]),
        (["cluster", "create"], ["a cluster needs a zone"]),
        (["cluster", "create", "--zone", "us-west1"], ["'us-west1' is no zone"]),
        (["cluster", "create", "--zone", "us-west1-b", "--release_channel", "RAPID"], ["there is no choice of RAPID"]),
        (["cluster", "job", "submit", "--min_cpu", "-1", "run.sh"], ["-1 is no amount"]),
        (["run", "--nog", "run.sh"], ["unrecognized arguments: --nog"]),
        (["cluster", "job", "ls"], ["`caliban cluster job ls` has no stack"]),
        (["status"], ["`caliban status` has no stack"]),
        ([], ["a Caliban project is compiled from a command of Caliban's"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_mistakes_are_refused_in_words(folder: Path, flags: list[str], expected: list[str]) -> None:
    assert refusals(folder, *flags) == expected


def test_a_mistake_is_no_traceback_and_writes_nothing(folder: Path) -> None:
    configure(folder, extras=["a"])
    done = run("run", "run.sh", code=2)
    assert (done.stdout, done.stderr.splitlines()[0]) == (
        "",
        "error: .calibanconfig.json extras: unknown key 'extras'",
    )
    assert Project(root=folder.parent).stacks() == []


def test_help_is_calibans(folder: Path) -> None:
    assert "--experiment_config FILE" in run("run", "--help").stdout


def test_the_example_has_a_stack_for_each_target() -> None:
    root = Path(__file__).parents[2]
    stacks = [lock.read(path) for path in root.glob("stacks/caliban-mnist-*/experiment.lock.json")]
    assert {each.source for each in stacks} == {"examples/caliban-mnist"}
    assert {each.units[0].jobs[0].executor.kind for each in stacks} == {"local", "kubernetes", "vertex"}
