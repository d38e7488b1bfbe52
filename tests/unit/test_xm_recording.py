"""Recordings: what belongs to one, what two do not share, and what of it becomes the experiment."""

import asyncio
import getpass
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.unit import launching
from tests.unit.launching import job
from xmgen import names, sources
from xmgen.errors import InputError, Problem
from xmgen.experiment import (
    BazelBinary,
    BazelContainer,
    Binary,
    CommandList,
    Container,
    Dockerfile,
    ModuleName,
    PythonContainer,
    Reference,
)
from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api import xm, xm_local
from xmgen.frontends.xmanager.api.xm.core import get_xid_from_context
from xmgen.frontends.xmanager.api.xm_local import conversion, executables
from xmgen.frontends.xmanager.api.xm_local.experiment import LocalExperiment
from xmgen.frontends.xmanager.recording import Recording

LOCAL = xm_local.Local.Spec()


@pytest.fixture
def active(tmp_path):
    return launching.project(tmp_path)


def packaged(active, *make):
    """The experiment's executables, and those that the script got."""
    with recording.use(active):
        got = LocalExperiment.package([each() for each in make])
    return launching.converted(active).executables, got


def test_the_experiments_id_is_that_of_the_stack():
    assert Recording(stack="sweep").experiment_id == names.experiment_id("sweep")
    assert Recording(stack="sweep", experiment_id=7).experiment_id == 7


def test_ids_that_a_script_sees(active):
    seen = []

    async def generator(work_unit):
        seen.append((get_xid_from_context(), work_unit.experiment_id, work_unit.experiment_unit_name, str(work_unit)))
        work_unit.add(job())

    def body(experiment):
        assert (get_xid_from_context(), experiment.experiment_id) == (7, 7)
        experiment.add(generator)

    launching.launch(active, body)
    assert seen == [(7, 7, "7_1", "WorkUnit(experiment_id=7, work_unit_id=1)")]
    assert get_xid_from_context() == -1


def test_two_recordings_at_once_do_not_disturb_each_other(tmp_path):
    """Each runs in a thread of its own, with generators in the thread of its event loop, in step with the other."""
    both = threading.Barrier(2, timeout=30)

    def run(stack):
        active = Recording(stack=stack, root=tmp_path, script=launching.project(tmp_path / stack).script)

        def body(experiment):
            async def generator(work_unit, number):
                assert recording.current() is active
                await asyncio.sleep(0)
                work_unit.add(job(f"{stack}{number}"))

            for number in range(20):
                both.wait()
                experiment.add(generator, args={"number": number})

        return launching.launch(active, body)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(run, ["first", "second"])
    for stack, experiment in (("first", first), ("second", second)):
        assert [unit.jobs[0].name for unit in experiment.units] == [f"{stack}{number}" for number in range(20)]
        assert [executable.path for executable in experiment.executables] == [f"{stack}/launch/trainer"]


def test_a_thread_that_a_script_starts_records_where_the_script_does(active):
    def body(experiment):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lambda: experiment.add(job())).result()

    assert len(launching.launch(active, body).units) == 1


def test_what_was_queued_for_packaging_in_one_recording_is_not_packaged_in_another(tmp_path):
    first, second = launching.project(tmp_path / "a"), launching.project(tmp_path / "b")
    with recording.use(first):
        LocalExperiment.package_async(xm.container(LOCAL, "redis"))
    with recording.use(second):
        assert LocalExperiment.package([]) == []
    assert second.packageables == []


def test_paths_are_relative_to_the_launch_script_not_to_the_working_directory(active, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    executables_, _ = packaged(active, lambda: xm.python_container(LOCAL, xm.ModuleName("train"), path="trainer"))
    assert [executable.path for executable in executables_] == ["launch/trainer"]
    with recording.use(active):
        assert xm.PythonContainer(xm.ModuleName("m"), "..").path == str(tmp_path)
        assert xm.utils.find_launch_script_path() == str(active.script)
    other = launching.project(tmp_path / "other")
    with recording.use(other):
        assert xm.PythonContainer(xm.ModuleName("m"), "..").path == str(tmp_path / "other")


def test_every_kind_of_executable(active):
    folder = active.script.parent / "trainer"
    (folder / "Dockerfile").write_text("FROM scratch\n")
    (folder / "Dockerfile.gpu").write_text("FROM scratch\n")
    (folder / "requirements.txt").write_text("numpy\n")
    digest = sources.digest(folder)
    vertex = xm_local.Vertex.Spec("gcr.io/p/image:tag")
    defined, got = packaged(
        active,
        lambda: xm.python_container(LOCAL, xm.ModuleName("train"), "trainer"),
        lambda: xm.python_container(
            vertex, xm.CommandList(["a", "b"]), "trainer", "python:3.11", ["COPY trainer .", "RUN x"], True
        ),
        lambda: xm.dockerfile_container(LOCAL, "trainer"),
        lambda: xm.dockerfile_container(LOCAL, "trainer", "trainer/Dockerfile.gpu"),
        lambda: xm.container(vertex, "redis:7"),
        lambda: xm.binary(LOCAL, "trainer/train.py", args={"a": 1}),
        lambda: xm.bazel_binary(LOCAL, "//:prog", bazel_args=["-c", "opt"]),
        lambda: xm.bazel_container(vertex, "//:image.tar"),
    )
    assert [executable.name for executable in got] == [
        "trainer",
        "trainer",
        "trainer",
        "trainer",
        "redis_7",
        "train_py",
        "_prog",
        "_image_tar",
    ]
    path = "launch/trainer"
    assert defined == (
        PythonContainer(name="trainer", path=path, entrypoint=ModuleName("train"), digest=digest, requirements=True),
        PythonContainer(
            name="trainer-2",
            path=path,
            entrypoint=CommandList(("a", "b")),
            digest=digest,
            requirements=True,
            base_image="python:3.11",
            docker_instructions=("COPY trainer .", "RUN x"),
            use_deep_module=True,
            push_image_tag="gcr.io/p/image:tag",
        ),
        Dockerfile(name="trainer-3", path=path, dockerfile=f"{path}/Dockerfile", digest=digest),
        Dockerfile(name="trainer-4", path=path, dockerfile=f"{path}/Dockerfile.gpu", digest=digest),
        Container(name="redis_7", image="redis:7", push_image_tag="gcr.io/p/image:tag"),
        Binary(name="train_py", path=f"{path}/train.py", digest=sources.digest(folder / "train.py")),
        BazelBinary(name="_prog", label="//:prog", bazel_args=("-c", "opt")),
        BazelContainer(name="_image_tar", label="//:image.tar", push_image_tag="gcr.io/p/image:tag"),
    )


def test_equal_executables_are_one(active):
    def body(experiment):
        for number in range(3):
            experiment.add(xm.Job(launching.trainer(args={"number": number}), xm_local.Local()))

    experiment = launching.launch(active, body)
    assert [executable.name for executable in experiment.executables] == ["trainer"]
    assert [unit.jobs[0].args for unit in experiment.units] == [("--number=0",), ("--number=1",), ("--number=2",)]


def test_executables_that_a_script_makes_itself(active):
    given = [
        executables.GoogleContainerRegistryImage("redis", "gcr.io/p/redis:7"),
        executables.LoadedContainerImage("nginx", "sha256:1234"),
        executables.LocalBinary("prog", "trainer/train.py", args=xm.merge_args({"own": 1})),
    ]

    def body(experiment):
        experiment.add(xm.JobGroup(**{each.name: xm.Job(each, xm_local.Local(), args={"a": 2}) for each in given}))

    experiment = launching.launch(active, body)
    assert experiment.executables == (
        Container(name="redis", image="gcr.io/p/redis:7"),
        Container(name="nginx", image="sha256:1234"),
        Binary(
            name="prog",
            path="launch/trainer/train.py",
            digest=sources.digest(active.script.parent / "trainer" / "train.py"),
        ),
    )
    assert [each.args for each in experiment.units[0].jobs] == [("--a=2",), ("--a=2",), ("--own=1", "--a=2")]


@pytest.mark.parametrize(
    ("files", "packageable", "exclude"),
    [
        ({}, lambda: xm.python_container(LOCAL, xm.ModuleName("train")), ("launcher.py",)),
        ({}, lambda: xm.python_container(LOCAL, xm.ModuleName("launcher")), ()),
        ({}, lambda: xm.python_container(LOCAL, xm.CommandList(["python launcher.py"])), ()),
        ({}, lambda: xm.python_container(LOCAL, xm.CommandList(["python train.py"])), ("launcher.py",)),
        ({}, lambda: xm.python_container(LOCAL, xm.ModuleName("m"), docker_instructions=["COPY launcher.py ."]), ()),
        ({"a.py": "from launcher import grid"}, lambda: xm.python_container(LOCAL, xm.ModuleName("a")), ()),
        ({"a.py": "x = 'launcher'"}, lambda: xm.python_container(LOCAL, xm.ModuleName("a")), ("launcher.py",)),
        ({"Dockerfile": "COPY . /app"}, lambda: xm.dockerfile_container(LOCAL), ("launcher.py",)),
        ({"Dockerfile": "COPY launcher.py /app"}, lambda: xm.dockerfile_container(LOCAL), ()),
        ({}, lambda: xm.python_container(LOCAL, xm.ModuleName("train"), "trainer"), ()),
    ],
)
def test_the_launch_script_beside_the_code_is_no_code(active, files, packageable, exclude):
    for name, text in files.items():
        (active.script.parent / name).write_text(text)
    [executable], _ = packaged(active, packageable)
    assert executable.exclude == exclude
    before = executable.digest
    active.script.write_text("changed = True\n")
    assert (launching.converted(active).executables[0].digest == before) == (
        bool(exclude) or executable.path != "launch"
    )


def test_every_problem_of_the_executables_at_once(active):
    (active.script.parent / "file").write_text("")

    class Unknown(xm.ExecutableSpec):
        name = "unknown"

        def __repr__(self):
            return "Unknown()"

    with pytest.raises(InputError) as error:
        packaged(
            active,
            lambda: xm.python_container(LOCAL, xm.ModuleName("train"), "missing"),
            lambda: xm.python_container(LOCAL, xm.ModuleName("train"), "file"),
            lambda: xm.dockerfile_container(LOCAL, "trainer"),
            lambda: xm.binary(LOCAL, "missing"),
            lambda: xm.binary(LOCAL, "trainer"),
            lambda: xm.Packageable(Unknown(), LOCAL),
        )
    assert [(re.sub(r":\d+ ", ":N ", problem.where), problem.message) for problem in error.value.problems] == [
        ("test_xm_recording.py:N launch/missing", "no such file or folder"),
        ("test_xm_recording.py:N launch/file", "is a file, not a folder"),
        ("test_xm_recording.py:N launch/trainer/Dockerfile", "cannot be read: No such file or directory"),
        ("test_xm_recording.py:N launch/missing", "no such file or folder"),
        ("test_xm_recording.py:N launch/trainer", "is a folder, not a program"),
        ("", "Unknown() is no kind of executable that can be compiled"),
    ]


def test_a_job_of_something_that_was_not_packaged(active):
    with pytest.raises(InputError, match=r"work unit 1, job x: Executable\(name='x'\) was not packaged"):
        launching.launch(active, lambda experiment: experiment.add(xm.Job(xm.Executable("x"), xm_local.Local())))


def test_a_title_that_is_given_takes_the_place_of_the_scripts(active):
    def body(experiment):
        experiment.context.annotations.set_title("renamed")
        assert experiment.context.annotations.title == "renamed"
        experiment.add(job())

    assert launching.launch(active, body).title == "renamed"
    assert conversion.to_experiment(active, title="given", stack="s", source="x.py").title == "given"
    assert active.titles == ["renamed"]


def test_annotations_of_units_are_kept_for_the_run(active):
    def body(experiment):
        unit = experiment.add(job()).result()
        unit.context.annotations.set_title("mine")
        assert unit.context.annotations.title == "mine"
        assert unit.context.creator == getpass.getuser()

    launching.launch(active, body)


def test_units_in_two_experiments(active):
    with recording.use(active):
        for title in ("one", "two"):
            with xm_local.create_experiment(title) as experiment:
                experiment.add(job())
    with pytest.raises(InputError, match="the script adds to 2 experiments: 'one', 'two'"):
        launching.converted(active)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda unit: unit.get_status(), "ExperimentUnit.get_status()"),
        (lambda unit: unit.stop(), "ExperimentUnit.stop()"),
        (lambda unit: xm_local.get_experiment(12), "xm_local.get_experiment(12)"),
        (lambda unit: xm_local.list_experiments(), "xm_local.list_experiments()"),
    ],
)
def test_what_only_a_running_experiment_can_answer(active, call, named):
    def body(experiment):
        call(experiment.add(job()).result())

    with pytest.raises(NotImplementedError) as error:
        launching.launch(active, body)
    assert isinstance(error.value, InputError)
    [problem] = error.value.problems
    assert problem.message == f"{named} has no answer at compile time: nothing runs yet"
    assert problem.where.startswith(f"{Path(__file__).name}:")
    assert problem.hint


def test_a_refusal_that_the_script_catches_still_fails_the_compile(active):
    def body(experiment):
        unit = experiment.add(job()).result()
        for _ in range(3):
            try:
                unit.get_status()
            except Exception:  # noqa: BLE001 - as a polling loop might
                continue

    with pytest.raises(InputError) as error:
        launching.launch(active, body)
    assert len(error.value.problems) == 1


def test_the_place_of_a_problem_is_a_line_of_the_launch_script(active):
    source = (
        "\nfrom xmgen.frontends.xmanager.api import xm\ndef helper():\n    xm.JobRequirements(ram='4GiB')\nhelper()\n"
    )
    active.script.write_text(source)
    with recording.use(active), pytest.raises(ValueError, match="cannot understand") as error:
        exec(compile(source, str(active.script), "exec"), {})
    assert [problem.where for problem in error.value.problems] == ["launch/launcher.py:4"]


def test_references_are_noted(active):
    bucket = Reference(kind="bucket", name="staging")

    def body(experiment):
        token = recording.current().reference(bucket)
        experiment.add(job(args={"out": f"gs://{token}/x"}))

    experiment = launching.launch(active, body)
    assert experiment.references == (bucket,)
    assert experiment.units[0].jobs[0].args == ("--out=gs://<xmgen:bucket:staging>/x",)


def test_outside_a_recording_the_api_works_too():
    assert recording.current() is recording.current()
    with xm_local.create_experiment("notebook") as experiment:
        [executable] = experiment.package([xm.container(LOCAL, "redis")])
        assert experiment.add(xm.Job(executable, xm_local.Local())).result().work_unit_id == 1


def test_the_same_script_gives_the_same_experiment(active):
    def body(experiment):
        async def generator(work_unit, number):
            unit = await experiment.add(job(f"prepare{number}"))
            await unit.wait_until_complete()
            work_unit.add(job(f"train{number}"))

        for number in range(5):
            experiment.add(generator, args={"number": number})
            experiment.add(job(f"plain{number}"))

    first = launching.launch(active, body)
    for _ in range(10):
        again = Recording(stack="sweep", root=active.root, script=active.script, experiment_id=7)
        assert launching.launch(again, body) == first


def test_problems_noted_by_hand(active):
    active.note(Problem("first"))
    active.note(Problem("second"))
    active.note(Problem("first"))
    with pytest.raises(InputError) as error:
        launching.converted(active)
    assert [problem.message for problem in error.value.problems] == ["first", "second"]
