"""Jobs, groups, generators and units: what `add` records."""

import asyncio
import threading

import attrs
import pytest

from tests.unit import launching
from tests.unit.launching import job
from xmgen.errors import InputError
from xmgen.experiment import DockerOptions, Kubernetes, Local, TensorboardCapability, Vertex
from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api import xm, xm_local
from xmgen.frontends.xmanager.api.xm import job_operators, loops


@pytest.fixture
def active(tmp_path):
    return launching.project(tmp_path)


def names(experiment):
    return [(unit.role, unit.id, [each.name for each in unit.jobs]) for unit in experiment.units]


def group(**jobs):
    return xm.JobGroup(**jobs)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: job(), ["trainer"]),
        (lambda: job("mine"), ["mine"]),
        (lambda: job("constraints"), ["constraints"]),
        (lambda: group(a=job(), b=job()), ["a", "b"]),
        (lambda: group(a=job("mine"), b=group(c=job(), d=job())), ["mine", "b_c", "b_d"]),
        (lambda: group(a=group(b=group(c=job())), z=job()), ["a_b_c", "z"]),
        (lambda: group(**{"worker-0": job(), "worker-1": job()}), ["worker-0", "worker-1"]),
        (lambda: group(constraints=[], a=job()), ["a"]),
    ],
)
def test_names_of_jobs(active, make, expected):
    experiment = launching.launch(active, lambda experiment: experiment.add(make()))
    assert names(experiment) == [("work_unit", 1, expected)]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("//:arg_printer", "_arg_printer"),
        ("//server:image.tar", "server_image_tar"),
        ("gcr.io/p/redis:latest", "redis_latest"),
        ("redis", "redis"),
        ("/home/user/project/", "project"),
        ("./binary", "binary"),
    ],
)
def test_names_of_executables(path, name):
    assert xm.executables.name_from_path(path) == name


def test_a_group_filled_after_construction(active):
    def body(experiment):
        jobs = xm.JobGroup()
        for worker in range(2):
            jobs.jobs[f"worker-{worker}"] = job()
        experiment.add(jobs)
        jobs.jobs["late"] = job()

    assert names(launching.launch(active, body)) == [("work_unit", 1, ["worker-0", "worker-1"])]


def test_args_at_add_reach_the_jobs_they_name_and_change_no_job(active):
    def body(experiment):
        inner = job(args={"x": 1, "y": 2}, env_vars={"A": "1"})
        jobs = group(a=inner, b=group(c=job(args=["p"])))
        experiment.add(jobs, args={"a": {"args": {"x": 3}, "env_vars": {"B": 2}}, "b": {"c": {"args": ["q"]}}})
        experiment.add(jobs)
        assert inner.name == ""

    with_args, without = launching.launch(active, body).units
    assert [(each.args, each.env) for each in with_args.jobs] == [
        (("--x=3", "--y=2"), {"A": "1", "B": "2"}),
        (("p", "q"), {}),
    ]
    assert [(each.args, each.env) for each in without.jobs] == [(("--x=1", "--y=2"), {"A": "1"}), (("p",), {})]


@pytest.mark.parametrize(
    ("make", "args", "problem"),
    [
        (job, {"learning_rate": 1}, "add() got args 'learning_rate', which an xm.Job does not take"),
        (lambda: group(a=job()), {"b": {}}, "add() got args 'b', which an xm.JobGroup does not take"),
        (lambda: group(a=job()), {"a": {"x": 1}}, "add() got args 'x', which an xm.Job does not take"),
        (job, {"args": "--x"}, "Tried to construct xm.SequentialArgs from string: '--x'"),
        (lambda: lambda work_unit: None, {}, "a job generator must be an async function"),
    ],
)
def test_wrong_args_at_add(active, make, args, problem):
    with pytest.raises(ValueError) as error:
        launching.launch(active, lambda experiment: experiment.add(make(), args=args))
    assert isinstance(error.value, InputError)
    assert problem in str(error.value)


@pytest.mark.parametrize("wrong", [None, "job", xm.JobConfig()])
def test_what_is_no_job(active, wrong):
    with pytest.raises(TypeError):
        launching.launch(active, lambda experiment: experiment.add(wrong))


def test_a_generator_gets_the_args_and_may_await_nothing(active):
    async def generator(work_unit, lr, *, layers=1):
        work_unit.add(job(args={"lr": lr, "layers": layers, "me": work_unit.get_full_job_name("trainer")}))

    async def returning(work_unit):
        return work_unit.add(job("returned"))

    class Callable:
        async def __call__(self, work_unit):
            await work_unit.add(job("called"))

    def body(experiment):
        experiment.add(generator, args={"lr": 0.1})
        experiment.add(generator, args={"lr": 0.2, "layers": 3})
        experiment.add(returning)
        experiment.add(Callable())

    first, second, third, fourth = launching.launch(active, body).units
    assert first.jobs[0].args == ("--lr=0.1", "--layers=1", "--me=7_1_trainer")
    assert second.jobs[0].args == ("--lr=0.2", "--layers=3", "--me=7_2_trainer")
    assert (third.jobs[0].name, fourth.jobs[0].name) == ("returned", "called")


def test_units_are_numbered_in_the_order_of_the_calls(active):
    async def adding(work_unit):
        work_unit.experiment.add(job("from_generator"))
        await asyncio.sleep(0)
        work_unit.add(job("own"))

    def body(experiment):
        experiment.add(job("first"))
        experiment.add(adding)
        experiment.add(xm.AuxiliaryUnitJob(job("board"), termination_delay_secs=0))
        experiment.add(job("last"))

    for attempt in range(20):
        active.experiments.clear()
        assert names(launching.launch(active, body)) == [
            ("work_unit", 1, ["first"]),
            ("work_unit", 2, ["own"]),
            ("work_unit", 3, ["from_generator"]),
            ("auxiliary", 0, ["board"]),
            ("work_unit", 4, ["last"]),
        ], attempt


def test_a_unit_without_jobs_is_none(active):
    async def nothing(work_unit):
        del work_unit

    def body(experiment):
        experiment.add(nothing)
        experiment.add(job("second"))

    assert names(launching.launch(active, body)) == [("work_unit", 2, ["second"])]


def test_auxiliary_units(active):
    async def generator(unit, port):
        unit.add(job("generated", args={"port": port, "me": unit.get_full_job_name("generated")}))

    def body(experiment):
        experiment.add(xm.AuxiliaryUnitJob(job("board"), termination_delay_secs=60))
        experiment.add(xm.AuxiliaryUnitJob(generator, termination_delay_secs=60), args={"port": 1})
        experiment.add(job("role"), role=xm.AuxiliaryUnitRole(termination_delay_secs=0))

    experiment = launching.launch(active, body)
    assert names(experiment) == [
        ("auxiliary", 0, ["board"]),
        ("auxiliary", 0, ["generated"]),
        ("auxiliary", 0, ["role"]),
    ]
    assert experiment.units[1].jobs[0].args == ("--port=1", "--me=7_auxiliary_generated")


def test_identity_becomes_the_units_label(active):
    def body(experiment):
        experiment.add(job(), identity="baseline")
        experiment.add(job(), role=xm.WorkUnitRole(tags=["x"], importance=xm.Importance.HIGH))

    assert [unit.label for unit in launching.launch(active, body).units] == ["baseline", ""]


def test_the_future_of_add_is_the_unit(active):
    async def generator(work_unit):
        await asyncio.sleep(0)
        work_unit.add(job())

    async def body(experiment):
        first = experiment.add(job())
        assert first.done()
        assert (await first).work_unit_id == 1
        assert (await experiment.add(generator)).work_unit_id == 2
        third, fourth = await asyncio.gather(experiment.add(job()), experiment.add(generator))
        assert (third.work_unit_id, fourth.work_unit_id) == (3, 4)
        assert (await third.add(job("more"))) is None
        assert [each.name for each in third.launched_jobs] == ["trainer", "more"]
        assert list(experiment.work_units) == [1, 2, 3, 4]
        assert experiment.work_unit_count == 4

    launching.launch_async(active, body)


def test_a_generators_exception_ends_the_context(active):
    async def failing(work_unit):
        del work_unit
        await asyncio.sleep(0)
        raise RuntimeError("no such data set")

    with pytest.raises(RuntimeError, match="no such data set"):
        launching.launch(active, lambda experiment: experiment.add(failing))


def test_the_scripts_own_exception_is_not_hidden_by_a_generators(active):
    async def endless(work_unit):
        del work_unit
        await asyncio.Event().wait()

    def body(experiment):
        experiment.add(endless)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        launching.launch(active, body)


def test_add_needs_the_context(active):
    experiment = xm_local.create_experiment("not entered")
    with pytest.raises(RuntimeError, match="context is not entered"):
        experiment.add(job())


def test_a_synchronous_context_in_a_coroutine(active):
    async def body():
        with xm_local.create_experiment("wrong"):
            pass

    with pytest.raises(RuntimeError, match="async with"):
        asyncio.run(body())


def test_package_before_the_context_and_for_later(active):
    async def body(experiment):
        later = experiment.package_async(xm.container(xm_local.Local.Spec(), "redis"))
        with pytest.raises(xm.async_packager.PackageHasNotBeenCalledError):
            await later
        [now] = experiment.package([xm.container(xm_local.Local.Spec(), "nginx")])
        assert ((await later).name, now.name) == ("redis", "nginx")
        experiment.add(xm.Job(await later, xm_local.Local()))

    experiment = launching.launch_async(active, body)
    assert [executable.name for executable in experiment.executables] == ["redis", "nginx"]


def test_two_jobs_of_one_name_in_a_unit(active):
    with pytest.raises(InputError) as error:
        launching.launch(active, lambda experiment: experiment.add(group(a=job("same"), b=job("same"))))
    assert [(problem.where.partition(", ")[2], problem.message) for problem in error.value.problems] == [
        ("work unit 1", "two jobs are called 'same'")
    ]


def test_executors_keep_what_a_script_gave_them(active):
    requirements = xm.JobRequirements(cpu=2, ram=4 * xm.GiB)
    given = [
        xm_local.Local(requirements, xm_local.DockerOptions(ports={8080: 80}, volumes={"/a": "/b"}, interactive=True)),
        xm_local.Local(experimental_stream_output=False, service=True),
        xm_local.Kubernetes(requirements, tpu_capability=xm_local.TpuCapability("nightly"), service=True),
        xm_local.Vertex(requirements, xm_local.TensorboardCapability("board", "gs://bucket")),
        xm_local.Caip(),
    ]

    def body(experiment):
        for executor in given:
            experiment.add(xm.Job(launching.trainer(), executor))

    experiment = launching.launch(active, body)
    asked = experiment.units[2].jobs[0].executor.requirements
    assert (asked.cpu, asked.ram) == (2.0, 4 * 2**30)
    assert [unit.jobs[0].executor for unit in experiment.units] == [
        Local(
            requirements=asked,
            docker_options=DockerOptions(ports={8080: 80}, volumes={"/a": "/b"}, interactive=True),
        ),
        Local(stream_output=False, service=True),
        Kubernetes(requirements=asked, tpu_runtime_version="nightly", service=True),
        Vertex(
            requirements=asked, tensorboard=TensorboardCapability(name="board", base_output_directory="gs://bucket")
        ),
        Vertex(),
    ]


@pytest.mark.parametrize("executor", [None, "local", xm_local.Local.Spec()])
def test_an_executor_that_nobody_knows(active, executor):
    with pytest.raises(TypeError, match="job 'trainer' has the executor"):
        launching.launch(active, lambda experiment: experiment.add(xm.Job(launching.trainer(), executor)))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: xm_local.Local({"cpu": 1}), "Local.requirements must be a JobRequirements, got {'cpu': 1}"),
        (lambda: xm_local.Local(None), "Local.requirements must be a JobRequirements, got None"),
        (lambda: xm_local.Local(docker_options={}), "Local.docker_options must be a DockerOptions or None, got {}"),
        (
            lambda: xm_local.Vertex(tensorboard="x"),
            "Vertex.tensorboard must be a TensorboardCapability or None",
        ),
        (lambda: xm_local.Kubernetes(tpu_capability="x"), "Kubernetes.tpu_capability must be a TpuCapability or None"),
        (lambda: xm.PythonContainer("train"), "PythonContainer.entrypoint must be a ModuleName or a CommandList"),
        (
            lambda: xm.PythonContainer(xm.ModuleName("m"), docker_instructions="RUN x"),
            "PythonContainer.docker_instructions must be a list or a tuple or None, got 'RUN x'",
        ),
        (lambda: xm.Container(None), "Container.image_path must be a text, got None"),
    ],
)
def test_wrong_types(active, make, problem):
    with recording.use(active), pytest.raises(TypeError) as error:
        make()
    assert isinstance(error.value, InputError)
    assert problem in str(error.value)


def test_the_list_that_package_returns_is_no_executable(active):
    def body(experiment):
        executable = experiment.package([xm.container(xm_local.Local.Spec(), "redis")])
        experiment.add(xm.Job(executable, xm_local.Local()))

    with pytest.raises(TypeError, match=r"package\(\) returns a list: \[executable\] = experiment"):
        launching.launch(active, body)


@pytest.mark.parametrize("ports", [{0: 80}, {80: 70000}, {"x": 80}, {80: None}, {"53/udp": 53}, {80: True}])
def test_ports_that_are_none(active, ports):
    executor = xm_local.Local(docker_options=xm_local.DockerOptions(ports=ports))
    with pytest.raises(InputError, match=r"work unit 1, job trainer: docker_options\.ports has"):
        launching.launch(active, lambda experiment: experiment.add(xm.Job(launching.trainer(), executor)))


@pytest.mark.parametrize("executor", [xm_local.Local, xm_local.Kubernetes, xm_local.Vertex])
def test_the_spec_of_an_executor_and_of_its_class(executor):
    assert executor.Spec() == executor().Spec()


def test_a_job_copied_with_attrs():
    original = xm.Job(None, xm_local.Local(), args={"a": 1})
    copied = attrs.evolve(original, name="copy", args={"a": 2})
    assert (original.args.to_argv(), copied.args.to_argv(), copied.name) == (("--a=1",), ("--a=2",), "copy")
    copied.args = {"b": 3}
    assert copied.args.to_argv() == ("--b=3",)


def test_jobs_of_a_group_by_name():
    jobs = group(a=xm.Job(None, None, name="x"), b=group(c=xm.Job(None, None, name="y")))
    assert list(job_operators.get_jobs(jobs)) == ["x", "y"]
    with pytest.raises(ValueError, match="x is duplicated"):
        job_operators.get_jobs(group(a=xm.Job(None, None, name="x"), b=xm.Job(None, None, name="x")))
    with pytest.raises(TypeError, match="a JobGroup consists of"):
        job_operators.flatten_jobs(group(a=lambda: None))


def test_a_generator_that_blocks_until_the_script_goes_on(active, monkeypatch):
    monkeypatch.setattr(loops, "_PATIENCE", 0.05)
    go_on = threading.Event()

    async def blocking(work_unit):
        assert go_on.wait(30)
        work_unit.add(job("blocked"))

    def body(experiment):
        experiment.add(blocking)
        go_on.set()

    assert names(launching.launch(active, body)) == [("work_unit", 1, ["blocked"])]


def test_cancelling_a_generator(active, caplog):
    async def endless(work_unit):
        del work_unit
        await asyncio.Event().wait()

    async def body(experiment):
        future = experiment.add(endless)
        future.cancel()
        with pytest.raises(asyncio.CancelledError):
            await future
        experiment.add(job("kept"))

    assert names(launching.launch_async(active, body)) == [("work_unit", 2, ["kept"])]
    assert "Ignored 1 cancelled tasks." in caplog.text
