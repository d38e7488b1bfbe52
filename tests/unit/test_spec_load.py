"""What an experiment.yaml means."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import on_gke
from tests.unit.spec_files import HEAD, load, load_units, project
from xmgen import names, sources
from xmgen.errors import InputError
from xmgen.experiment import (
    Accelerator,
    Binary,
    CommandList,
    Container,
    Dockerfile,
    DockerOptions,
    Experiment,
    Job,
    JobRequirements,
    Kubernetes,
    Local,
    ModuleName,
    PythonContainer,
    ShellSafeArg,
    TensorboardCapability,
    Vertex,
    WorkUnit,
)
from xmgen.frontends import spec

SINGLE = "train:\n  job: {{executable: trainer, executor: {{kind: local}}, {}}}\n"


def only_job(experiment: Experiment) -> Job:
    [unit] = experiment.units
    [job] = unit.jobs
    return job


def test_the_smallest_file(tmp_path: Path) -> None:
    assert load_units(tmp_path, SINGLE.format("")) == Experiment(
        title="T",
        stack="s",
        source="experiment.yaml",
        experiment_id=names.experiment_id("s"),
        executables=(
            PythonContainer(
                name="trainer",
                path="code",
                entrypoint=ModuleName("train"),
                digest=sources.digest(tmp_path / "code"),
            ),
        ),
        units=(WorkUnit(id=1, jobs=(Job(name="train", executable="trainer", executor=Local()),)),),
    )


def test_every_kind_of_executable(tmp_path: Path) -> None:
    home = project(tmp_path) / "here"
    for name in ("code/requirements.txt", "image/Dockerfile", "image/other.Dockerfile", "tool", "weights"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    (home / "experiment.yaml").write_text(
        """\
title: T
executables:
  python:
    kind: python_container
    path: code
    entrypoint: {commands: [./prepare, python train.py]}
    base_image: base
    docker_instructions: [RUN true]
    use_deep_module: true
    push_image_tag: registry/python:1
  image: {kind: dockerfile, path: image, push_image_tag: registry/image:1}
  other: {kind: dockerfile, path: ./image/, dockerfile: image/other.Dockerfile}
  redis: {kind: container, image_path: 'redis:7', push_image_tag: registry/redis:7}
  tool: {kind: binary, path: ../here/tool, dependencies: [weights]}
work_units:
  train: {job: {executable: tool, executor: {kind: local}}}
"""
    )
    image = sources.digest(home / "image")
    assert spec.load(home / "experiment.yaml", root=tmp_path, stack="s").executables == (
        PythonContainer(
            name="python",
            path="here/code",
            entrypoint=CommandList(("./prepare", "python train.py")),
            digest=sources.digest(home / "code"),
            requirements=True,
            base_image="base",
            docker_instructions=("RUN true",),
            use_deep_module=True,
            push_image_tag="registry/python:1",
        ),
        Dockerfile(
            name="image",
            path="here/image",
            dockerfile="here/image/Dockerfile",
            digest=image,
            push_image_tag="registry/image:1",
        ),
        Dockerfile(name="other", path="here/image", dockerfile="here/image/other.Dockerfile", digest=image),
        Container(name="redis", image="redis:7", push_image_tag="registry/redis:7"),
        Binary(name="tool", path="here/tool", digest=sources.digest(home / "tool"), dependencies=("here/weights",)),
    )


def test_a_trial_more_is_no_changed_code(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    text = HEAD.replace("path: code", "path: .") + "  train: {job: {executable: trainer, executor: {kind: local}}}\n"
    [before] = load(tmp_path, text).executables
    [after] = load(tmp_path, text + "  again: {job: {executable: trainer, executor: {kind: local}}}\n").executables
    assert before == after


@pytest.mark.parametrize(
    ("executor", "expected"),
    [
        ("kind: local", Local()),
        (
            "kind: local, docker_options: {ports: {8080: 80}, volumes: {./data: /a, ../up: /b, /abs: /c, named: /d},"
            " interactive: true, mount_gcs_path: false}, stream_output: false, service: true",
            Local(
                docker_options=DockerOptions(
                    ports={8080: 80},
                    volumes={"./here/data": "/a", "./up": "/b", "/abs": "/c", "named": "/d"},
                    mount_gcs_path=False,
                    interactive=True,
                ),
                stream_output=False,
                service=True,
            ),
        ),
        ("kind: local, docker_options: {}", Local(docker_options=DockerOptions())),
        ("kind: kubernetes, tpu_runtime_version: '2.16'", Kubernetes(tpu_runtime_version="2.16")),
        ("kind: kubernetes, service: true", Kubernetes(service=True)),
        ("kind: kubernetes, service: false", Kubernetes()),
        (
            "kind: vertex, tensorboard: {name: t, base_output_directory: b/o}",
            Vertex(tensorboard=TensorboardCapability(name="t", base_output_directory="b/o")),
        ),
    ],
)
def test_an_executor_is_what_its_keys_say(tmp_path: Path, executor: str, expected: object) -> None:
    (project(tmp_path) / "here").mkdir()
    (tmp_path / "here/experiment.yaml").write_text(
        "title: T\nexecutables: {redis: {kind: container, image_path: redis}}\n"
        f"work_units: {{u: {{jobs: {{a: {{executable: redis, executor: {{{executor}}}}}}}}}}}\n"
    )
    assert only_job(spec.load(tmp_path / "here/experiment.yaml", root=tmp_path, stack="s")).executor == expected


@pytest.mark.parametrize(
    ("requirements", "expected"),
    [
        ("", JobRequirements()),
        ("cpu: 1", JobRequirements(cpu=1)),
        ("cpu: 0.5, ram: 4GiB, disk: 100GB", JobRequirements(cpu=0.5, ram=4 * 2**30, disk=100 * 10**9)),
        ("ram: 1024, disk: 1.5 KiB", JobRequirements(ram=1024, disk=1536)),
        ("ram: 9007199254740993KB", JobRequirements(ram=9007199254740993000)),
        ("t4: 1", JobRequirements(accelerator=Accelerator(type="t4", count=1.0))),
        ("local_gpu: 2", JobRequirements(accelerator=Accelerator(type="local_gpu", count=2.0))),
        ("tpu_v2: 8", JobRequirements(accelerator=Accelerator(type="tpu_v2", count=8.0))),
        ("tpu_v5e: 4x4", JobRequirements(accelerator=Accelerator(type="tpu_v5e", topology="4x4"))),
        ("tpu_v5p: 2x2x4*3", JobRequirements(accelerator=Accelerator(type="tpu_v5p", topology="2x2x4", slices=3))),
        (
            "architecture: arm, location: here, replicas: 3, service_tier: batch",
            JobRequirements(architecture="arm", location="here", replicas=3, service_tier="batch"),
        ),
    ],
)
def test_requirements_are_read_with_their_units(tmp_path: Path, requirements: str, expected: JobRequirements) -> None:
    unit = f"train: {{job: {{executable: trainer, executor: {{kind: local, requirements: {{{requirements}}}}}}}}}"
    assert only_job(load_units(tmp_path, unit)).executor == Local(requirements=expected)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("{}", ()),
        ("{a: 1, b: 0.1, c: text}", ("--a=1", "--b=0.1", "--c=text")),
        ("{yes: true, no: false}", ("--yes", "--nono")),
        ("{a: null, b: , c: 'null'}", ("--c=null",)),
        ("{a: [1, b c], b: []}", ("--a=1", "--a=b c")),
        ("{a: 1e-5, b: '1e-5', c: 1e3}", ("--a=1e-05", "--b=1e-5", "--c=1000.0")),
        ("{d: 1e+22, e: 1.0, f: 0x10}", ("--d=1e+22", "--e=1.0", "--f=16")),
        ("{a: no, b: 010, c: 2024-01-01, d: 12:30}", ("--a=no", "--b=010", "--c=2024-01-01", "--d=12:30")),
        ("{1: 2, true: 3}", ("--1=2", "--true=3")),
        ("{a: {shell: $HOME/x y}}", (ShellSafeArg("--a=$HOME/x y"),)),
        ("{a: $HOME, b: <xmgen:config:project>}", ("--a=$HOME", "--b=<xmgen:config:project>")),
        ("[run, --fast, 3, 0.5, '', {shell: $X}]", ("run", "--fast", "3", "0.5", "", ShellSafeArg("$X"))),
    ],
)  # fmt: skip
def test_arguments_become_argv(tmp_path: Path, args: str, expected: tuple[object, ...]) -> None:
    assert only_job(load_units(tmp_path, SINGLE.format(f"args: {args}"))).args == expected


@pytest.mark.parametrize(
    ("executable", "job", "trial", "expected"),
    [
        ("{a: 1, b: 2}", "{b: 3, c: 4}", "{c: 5, d: 6}", ("--a=1", "--b=3", "--c=5", "--d=6")),
        ("[pos]", "{a: 1}", "{a: 2}", ("pos", "--a=2")),
        ("{a: 1}", "[pos]", "{a: 2}", ("--a=2", "pos")),
        ("{a: 1, b: 2}", "{a: null}", "{b: null}", ()),
        ("{a: null}", "{a: 1}", "{}", ("--a=1",)),
        ("[lr]", "{lr: 1}", "{lr: null}", ("lr",)),
    ],
)
def test_a_trials_arguments_override_the_jobs_and_those_the_executables(
    tmp_path: Path, executable: str, job: str, trial: str, expected: tuple[str, ...]
) -> None:
    experiment = load(
        tmp_path,
        f"""\
title: T
executables: {{redis: {{kind: container, image_path: redis, args: {executable}}}}}
work_units:
  u:
    job: {{executable: redis, executor: {{kind: local}}, args: {job}}}
    sweep: {{list: [{{args: {trial}}}]}}
""",
    )
    assert only_job(experiment).args == expected


def test_a_deliberate_null_is_dropped_without_a_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert only_job(load_units(tmp_path, SINGLE.format("args: {a: null}"))).args == ()
    assert capfd.readouterr() == ("", "")


def test_environment_variables(tmp_path: Path) -> None:
    experiment = load(
        tmp_path,
        """\
title: T
executables: {redis: {kind: container, image_path: redis, env_vars: {A: 1, B: 0.5, C: no}}}
work_units:
  u:
    job: {executable: redis, executor: {kind: local}, env_vars: {B: 1e-5, D: '', E: 'true'}}
    sweep:
      grid: {env_vars: {D: [x, 2]}}
""",
    )
    assert [unit.jobs[0].env for unit in experiment.units] == [
        {"A": "1", "B": "1e-05", "C": "no", "D": "x", "E": "true"},
        {"A": "1", "B": "1e-05", "C": "no", "D": "2", "E": "true"},
    ]


def test_dependent_units_come_after_those_they_wait_for(tmp_path: Path) -> None:
    job = "job: {executable: trainer, executor: {kind: local}}"
    experiment = load_units(
        tmp_path,
        f"""\
evaluate: {{{job}, depends_on: [train, board]}}
train: {{{job}, sweep: {{grid: {{args: {{a: [1, 2]}}}}}}, depends_on: [preprocess, preprocess]}}
board: {{{job}, role: auxiliary}}
other: {{{job}, label: mine}}
preprocess: {{{job}}}
""",
    )
    assert [(unit.jobs[0].name, unit.id, unit.role, unit.depends_on, unit.label) for unit in experiment.units] == [
        ("preprocess", 1, "work_unit", (), ""),
        ("train", 2, "work_unit", (0,), ""),
        ("train", 3, "work_unit", (0,), ""),
        ("board", 0, "auxiliary", (), ""),
        ("evaluate", 4, "work_unit", (1, 2, 3), ""),
        ("other", 5, "work_unit", (), "mine"),
    ]


def test_a_group_with_values_per_job(tmp_path: Path) -> None:
    experiment = load_units(
        tmp_path,
        """\
pair:
  jobs:
    server: {executable: trainer, executor: {kind: local}, args: {role: server}}
    worker-0: {executable: trainer, executor: {kind: local}, env_vars: {A: 0}}
  sweep:
  - zip:
      server: {args: {a: [1, 2]}}
      worker-0: {args: {a: [3, 4]}}
  - list: [{worker-0: {env_vars: {A: 5}}}]
""",
    )
    assert [[(job.name, job.args, job.env) for job in unit.jobs] for unit in experiment.units] == [
        [("server", ("--role=server", "--a=1"), {}), ("worker-0", ("--a=3",), {"A": "5"})],
        [("server", ("--role=server", "--a=2"), {}), ("worker-0", ("--a=4",), {"A": "5"})],
    ]


def test_trials_share_their_executor(tmp_path: Path) -> None:
    first, second = load_units(tmp_path, SINGLE.format("") + "  sweep: {list: [{}, {}]}").units
    assert first.jobs[0].executor is second.jobs[0].executor


def test_the_source_is_named_relative_to_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEAD + "  train: {job: {executable: trainer, executor: {kind: local}}}\n"
    expected = load(tmp_path, text)
    monkeypatch.chdir(tmp_path)
    assert spec.load(Path("experiment.yaml"), root=Path(), stack="s") == expected


def test_flags_are_for_launch_scripts(tmp_path: Path) -> None:
    (tmp_path / "experiment.yaml").write_text(HEAD)
    with pytest.raises(InputError, match="takes no flags: --rate=1"):
        spec.load(tmp_path / "experiment.yaml", root=tmp_path, stack="s", flags=["--rate=1"])


# Every text that a YAML double-quoted scalar can hold, apart from NUL, which no argument can.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


def quoted(text: str) -> str:
    """A double-quoted YAML text, with an escape for every character that is not plain ASCII."""
    return '"' + "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08X}" for c in text) + '"'


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(title=TEXTS.filter(str.strip), key=TEXTS.filter(bool), value=TEXTS, token=TEXTS)
def test_every_text_arrives_as_it_was_written(tmp_path: Path, title: str, key: str, value: str, token: str) -> None:
    experiment = load(
        tmp_path,
        f"""\
title: {quoted(title)}
executables: {{redis: {{kind: container, image_path: redis, args: [{quoted(token)}]}}}}
work_units:
  u: {{job: {{executable: redis, executor: {{kind: local}}, args: {{{quoted(key)}: {quoted(value)}}},
      env_vars: {{A: {quoted(value)}}}}}}}
""",
    )
    job = only_job(experiment)
    assert (experiment.title, job.args, job.env) == (title, (token, f"--{key}={value}"), {"A": value})


@pytest.mark.parametrize(
    ("kind", "address", "worker_name"),
    [
        ("kubernetes", "{xid}-{unit}-{job}.experiments.default.svc.cluster.local", "worker-0"),
        ("local", "{job}", "worker_0"),
    ],
)
def test_addresses_of_the_jobs_of_a_group(tmp_path: Path, kind: str, address: str, worker_name: str) -> None:
    experiment = load_units(
        tmp_path,
        f"""\
alone:
  job: {{executable: trainer, executor: {{kind: {kind}}}}}
group:
  jobs:
    worker_0:
      executable: trainer
      executor: {{kind: {kind}}}
      args: {{ps: {{address: ps-0:2222}}, all: {{address: [ps-0:2222, worker_0]}}, each: [{{address: ps-0}}, x]}}
      env_vars: {{PS: {{address: 'ps-0:1'}}}}
    ps-0: {{executable: trainer, executor: {{kind: {kind}}}, args: [{{address: worker_0:1}}]}}
  sweep:
    grid: {{worker_0: {{args: {{seed: [1, 2]}}}}}}
""",
    )

    for unit in experiment.units[1:]:
        worker, ps = unit.jobs
        xid = names.experiment_id("s")
        first, second = (address.format(xid=xid, unit=unit.id, job=job) for job in (worker_name, "ps-0"))
        assert worker.args == (
            f"--ps={second}:2222",
            f"--all={second}:2222,{first}",
            f"--each={second}",
            "--each=x",
            f"--seed={unit.id - 1}",
        )
        assert worker.env == {"PS": f"{second}:1"}
        assert ps.args == (f"{first}:1",)


def test_addresses_are_what_the_jobs_of_a_group_have_on_gke(tmp_path: Path) -> None:
    experiment = load_units(
        tmp_path,
        """\
group:
  jobs:
    Worker_0: {executable: trainer, executor: {kind: kubernetes}, args: {ps: {address: ps:2222}}}
    ps: {executable: trainer, executor: {kind: kubernetes}, args: {worker: {address: Worker_0}}}
""",
    )
    worker, ps = on_gke.manifests(experiment)
    xid = names.experiment_id("s")
    assert on_gke.container(worker)["args"] == [f"--ps={xid}-1-ps.experiments.s.svc.cluster.local:2222"]
    assert on_gke.container(ps)["args"] == [f"--worker={xid}-1-worker-0.experiments.s.svc.cluster.local"]
    assert [on_gke.pod(each)["hostname"] for each in (worker, ps)] == [f"{xid}-1-worker-0", f"{xid}-1-ps"]
