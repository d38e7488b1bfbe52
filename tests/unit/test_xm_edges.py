"""What a launch script waits for becomes edges between units."""

import asyncio

import pytest

from tests.unit import launching
from tests.unit.launching import edges, job
from xmgen.errors import InputError
from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api import xm, xm_local


@pytest.fixture
def active(tmp_path):
    return launching.project(tmp_path)


def in_coroutine(active, body):
    return edges(launching.launch_async(active, body))


async def added(experiment, name):
    return await experiment.add(job(name))


async def done(experiment, name):
    await (await added(experiment, name)).wait_until_complete()


def test_what_follows_a_wait_depends_on_the_unit(active):
    async def body(experiment):
        await added(experiment, "before")
        await done(experiment, "prepare")
        await added(experiment, "train")
        await added(experiment, "also")

    assert in_coroutine(active, body) == {"before": [], "prepare": [], "train": ["prepare"], "also": ["prepare"]}


def test_a_chain_stays_a_chain(active):
    async def body(experiment):
        for name in "abcd":
            await done(experiment, name)

    assert in_coroutine(active, body) == {"a": [], "b": ["a"], "c": ["b"], "d": ["c"]}


async def gathered(units):
    await asyncio.gather(*[unit.wait_until_complete() for unit in units])


async def waited(units):
    await asyncio.wait([asyncio.ensure_future(unit.wait_until_complete()) for unit in units])


async def each_in_turn(units):
    for unit in units:
        await unit.wait_until_complete()


async def as_completed(units):
    for finished in asyncio.as_completed([unit.wait_until_complete() for unit in units]):
        await finished


async def with_a_limit(units):
    for unit in units:
        await asyncio.wait_for(unit.wait_until_complete(), timeout=60)


async def in_a_task_group(units):
    async with asyncio.TaskGroup() as tasks:
        for unit in units:
            tasks.create_task(unit.wait_until_complete())


async def as_results(units):
    tasks = [asyncio.create_task(unit.wait_until_complete()) for unit in units]
    await asyncio.sleep(0.01)
    assert [task.result() for task in tasks] == units


@pytest.mark.parametrize(
    "wait", [gathered, waited, each_in_turn, as_completed, with_a_limit, in_a_task_group, as_results]
)
def test_every_way_to_wait_for_several(active, wait):
    async def body(experiment):
        await done(experiment, "prepare")
        trained = [await added(experiment, f"train{number}") for number in range(3)]
        await wait(trained)
        await added(experiment, "evaluate")

    assert in_coroutine(active, body) == {
        "prepare": [],
        "train0": ["prepare"],
        "train1": ["prepare"],
        "train2": ["prepare"],
        "evaluate": ["train0", "train1", "train2"],
    }


def test_tasks_do_not_inherit_what_others_wait_for(active):
    async def body(experiment):
        async def pipeline(number):
            await done(experiment, f"prepare{number}")
            await asyncio.sleep(0)
            await done(experiment, f"train{number}")

        await done(experiment, "download")
        await asyncio.gather(pipeline(0), pipeline(1))
        await added(experiment, "compare")

    assert in_coroutine(active, body) == {
        "download": [],
        "prepare0": ["download"],
        "train0": ["prepare0"],
        "prepare1": ["download"],
        "train1": ["prepare1"],
        "compare": ["train0", "train1"],
    }


def test_a_task_that_nobody_awaits_orders_nothing(active):
    async def body(experiment):
        async def background():
            await done(experiment, "background")

        task = asyncio.create_task(background())
        await asyncio.sleep(0.01)
        await added(experiment, "foreground")
        await task
        await added(experiment, "after")

    assert in_coroutine(active, body) == {"background": [], "foreground": [], "after": ["background"]}


def test_helpers_called_in_tasks_of_tasks(active):
    async def body(experiment):
        async def outer():
            await asyncio.gather(done(experiment, "a"), done(experiment, "b"))
            await added(experiment, "after_both")

        await asyncio.create_task(outer())
        await added(experiment, "last")

    assert in_coroutine(active, body) == {"a": [], "b": [], "after_both": ["a", "b"], "last": ["a", "b"]}


def generators(experiment):
    async def pipeline(work_unit, number):
        prepared = await experiment.add(job(f"prepare{number}"))
        await prepared.wait_until_complete()
        work_unit.add(job(f"train{number}"))

    return pipeline


def test_a_generators_waits_hold_for_its_own_unit(active):
    def body(experiment):
        pipeline = generators(experiment)
        for number in range(2):
            experiment.add(pipeline, args={"number": number})
        experiment.add(job("beside"))

    assert edges(launching.launch(active, body)) == {
        "prepare0": [],
        "train0": ["prepare0"],
        "prepare1": [],
        "train1": ["prepare1"],
        "beside": [],
    }


@pytest.mark.parametrize("together", [True, False])
def test_what_a_generator_waited_for_holds_for_whoever_awaits_its_add(active, together):
    async def body(experiment):
        pipeline = generators(experiment)
        futures = [experiment.add(pipeline, args={"number": number}) for number in range(2)]
        if together:
            await asyncio.gather(*futures)
        else:
            for future in futures:
                await future
        await added(experiment, "after")

    assert in_coroutine(active, body) == {
        "prepare0": [],
        "train0": ["prepare0"],
        "prepare1": [],
        "train1": ["prepare1"],
        "after": ["prepare0", "prepare1"],
    }


def test_waiting_for_a_generators_unit_waits_for_its_jobs(active):
    async def body(experiment):
        async def slow(work_unit):
            await asyncio.sleep(0.01)
            work_unit.add(job("generated"))

        experiment.add(slow)
        await experiment.work_units[1].wait_until_complete()
        await added(experiment, "after")

    assert in_coroutine(active, body) == {"generated": [], "after": ["generated"]}


def test_a_unit_without_jobs_hands_on_what_it_waited_for(active):
    async def body(experiment):
        async def only_waits(work_unit, other):
            del work_unit
            await other.wait_until_complete()

        first = await added(experiment, "first")
        middle = await experiment.add(only_waits, args={"other": first})
        await middle.wait_until_complete()
        await added(experiment, "last")

    assert in_coroutine(active, body) == {"first": [], "last": ["first"]}


def test_units_stand_behind_those_they_wait_for(active):
    def body(experiment):
        async def late(work_unit):
            unit = await experiment.add(job("second"))
            await unit.wait_until_complete()
            work_unit.add(job("first"))

        experiment.add(late)

    experiment = launching.launch(active, body)
    assert [(unit.id, unit.jobs[0].name, unit.depends_on) for unit in experiment.units] == [
        (2, "second", ()),
        (1, "first", (0,)),
    ]


def test_waiting_in_synchronous_code(active):
    def body(experiment):
        unit = experiment.add(job("prepare")).result()
        asyncio.run(gathered([unit]))
        experiment.add(job("train"))
        xm.run_in_asyncio_loop(lambda: gathered([experiment.work_units[2]]))()
        experiment.add(job("evaluate"))

    assert edges(launching.launch(active, body)) == {"prepare": [], "train": ["prepare"], "evaluate": ["train"]}


def test_waiting_after_the_context_was_left(active):
    async def run():
        async with xm_local.create_experiment("a sweep") as experiment:
            unit = await added(experiment, "train")
        assert await unit.wait_until_complete() is unit

    with recording.use(active):
        asyncio.run(run())
    assert edges(launching.converted(active)) == {"train": []}


def test_waiting_for_an_auxiliary_unit(active):
    async def body(experiment):
        board = await experiment.add(xm.AuxiliaryUnitJob(job("board"), termination_delay_secs=0))
        assert await board.wait_until_complete() is board
        await added(experiment, "train")

    assert in_coroutine(active, body) == {"board": [], "train": ["board"]}


def test_the_unit_of_a_completion(active):
    async def body(experiment):
        unit = await added(experiment, "train")
        completion = unit.wait_until_complete()
        assert completion.work_unit is unit
        assert await completion is unit

    launching.launch_async(active, body)


def test_a_unit_whose_generator_failed_did_not_complete(active):
    async def failing(work_unit):
        del work_unit
        raise LookupError("no data")

    async def body(experiment):
        experiment.add(failing)
        with pytest.raises(xm.ExperimentUnitError) as error:
            await experiment.work_units[1].wait_until_complete()
        assert error.value.work_unit is experiment.work_units[1]

    with pytest.raises(LookupError, match="no data"):
        launching.launch_async(active, body)


def test_generators_that_wait_for_each_other(active):
    async def body(experiment):
        async def waiting(work_unit, other):
            await experiment.work_units[other].wait_until_complete()
            work_unit.add(job())

        for other in (2, 3, 1):
            experiment.add(waiting, args={"other": other})

    with pytest.raises(InputError, match="work unit 3 waits for work unit 1, which would never end"):
        launching.launch_async(active, body)


def test_a_generator_that_waits_for_its_own_unit(active):
    def body(experiment):
        async def waiting(work_unit):
            await work_unit.wait_until_complete()

        experiment.add(waiting)

    with pytest.raises(InputError, match="work unit 1 waits for itself, which would never end"):
        launching.launch(active, body)
