"""CPUs and GPU slots: who gets them, in which order, and never twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from xmgen.errors import OperationError
from xmgen.provider.scheduler import Need, Scheduler, gpu_slots, need, runtime_folder
from xmgen.provider.unit import Job, Packaged, Unit

PACKAGED = Packaged(name="train", runner="process")


def unit(*jobs: tuple[float | None, int]) -> Unit:
    return Unit(
        name="one",
        identity="1",
        jobs=tuple(
            Job(name=str(index), executable=PACKAGED, cpu=cpu, gpus=gpus) for index, (cpu, gpus) in enumerate(jobs)
        ),
    )


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        ([(None, 0)], Need(cpus=1, gpus=0)),
        ([(2, 0)], Need(cpus=2, gpus=0)),
        ([(0.5, 0), (None, 1)], Need(cpus=1.5, gpus=1)),
        ([(4, 2)], Need(cpus=4, gpus=2)),
        # Nobody asked for eight CPUs.
        ([(None, 0)] * 8, Need(cpus=4, gpus=0)),
        ([(3, 0), (None, 0), (None, 0)], Need(cpus=4, gpus=0)),
    ],
)
def test_what_a_unit_takes_of_a_machine_with_four_cpus_and_two_gpus(
    jobs: list[tuple[float | None, int]], expected: Need
):
    assert need(unit(*jobs), 4, 2) == expected


def test_a_unit_that_asks_for_more_than_the_machine_has_is_told_what_it_has():
    with pytest.raises(OperationError) as caught:
        need(unit((5, 1), (None, 2)), 4, 2)
    assert [(problem.where, problem.message) for problem in caught.value.problems] == [
        ("work unit one", "asks for 5 CPUs, this machine has 4"),
        ("work unit one", "asks for 3 GPUs, this machine has 2"),
    ]


def in_turn(cpus: float, gpus: int, runtime: Path, requests: list[tuple[str, float, int]], steps: str) -> list[str]:
    """Who holds slots at first and after each step. All ask at once, in order; a step names the one that is done."""

    async def play() -> list[str]:
        scheduler = Scheduler(cpus, [str(index) for index in range(gpus)], runtime)
        held: dict[str, AsyncExitStack] = {}

        async def hold(name: str, wanted: Need) -> None:
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(scheduler.admitted(wanted))
                held[name] = stack.pop_all()

        tasks = [asyncio.create_task(hold(name, Need(cpus=c, gpus=g))) for name, c, g in requests]
        await settle()
        seen = ["".join(sorted(held))]
        for name in steps:
            await held.pop(name).aclose()
            await settle()
            seen.append("".join(sorted(held)))
        for task in tasks:
            task.cancel()
        return seen

    return asyncio.run(play())


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("requests", "steps", "expected"),
    [
        # As many as there are CPUs, in order.
        ([("a", 1, 0), ("b", 1, 0), ("c", 1, 0), ("d", 1, 0)], "ba", ["ab", "ac", "cd"]),
        # All of a unit at once: b waits for both, and c, which came later, does not delay it.
        ([("a", 1, 0), ("b", 2, 0), ("c", 1, 0)], "ab", ["a", "b", "c"]),
        # Whoever waits for a GPU keeps a CPU for itself, and the rest goes on.
        ([("a", 0.5, 2), ("b", 0.5, 1), ("c", 1, 0), ("d", 1, 0)], "ca", ["ac", "ad", "bd"]),
        ([("a", 1, 2), ("b", 1, 1), ("c", 1, 0)], "a", ["a", "bc"]),
        # GPUs too are all or nothing.
        ([("a", 0.1, 1), ("b", 0.1, 2), ("c", 0.1, 1)], "ab", ["a", "b", "c"]),
        # Fractions add up.
        ([(name, 0.2, 0) for name in "abcdefghijk"], "a", ["abcdefghij", "bcdefghijk"]),
    ],
)
def test_first_come_first_served(
    tmp_path: Path, requests: list[tuple[str, float, int]], steps: str, expected: list[str]
):
    assert in_turn(2, 2, tmp_path, requests, steps) == expected


def on_a_loop(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # pyright: ignore[reportArgumentType]


def test_a_gpu_that_another_provider_holds_is_not_handed_out(tmp_path: Path):
    async def test() -> None:
        ours, theirs = (Scheduler(8, ["0", "1"], tmp_path) for _ in range(2))
        async with theirs.admitted(Need(cpus=1, gpus=1)) as first, ours.admitted(Need(cpus=1, gpus=1)) as second:
            assert sorted([*first.gpus, *second.gpus]) == ["0", "1"]
            assert len(second.locks) == 1
        async with ours.admitted(Need(cpus=1, gpus=2)) as both:
            assert both.gpus == ("0", "1")

    on_a_loop(test)


def test_one_that_is_cancelled_while_it_waits_takes_nothing(tmp_path: Path):
    async def test() -> None:
        scheduler = Scheduler(1, [], tmp_path)
        async with scheduler.admitted(Need(cpus=1, gpus=0)):
            waiting = asyncio.create_task(scheduler.admitted(Need(cpus=1, gpus=0)).__aenter__())
            await settle()
            assert scheduler.must_wait(Need(cpus=0.1, gpus=0))
            waiting.cancel()
            await settle()
        assert not scheduler.must_wait(Need(cpus=1, gpus=0))

    on_a_loop(test)


@pytest.mark.parametrize(
    ("visible", "count", "expected"),
    [
        (None, 2, ("0", "1")),
        (None, 0, ()),
        ("2,3", None, ("2", "3")),
        ("2,3", 1, ("2",)),
        ("GPU-1a2b", None, ("GPU-1a2b",)),
        ("", None, ()),
    ],
)
def test_gpu_slots_are_what_the_user_may_see(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, count: int | None, expected: tuple[str, ...]
):
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpu_slots(count) == expected


def test_without_a_driver_there_are_no_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpu_slots(None) == ()

    driver = tmp_path / "nvidia-smi"
    driver.write_text("#!/bin/sh\necho 'GPU 0: Tesla T4 (UUID: GPU-1)'\necho 'GPU 1: Tesla T4 (UUID: GPU-2)'\n")
    driver.chmod(0o755)
    assert gpu_slots(None) == ("0", "1")


def test_the_runtime_folder_is_the_users_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XMGEN_RUNTIME_DIR", str(tmp_path / "runtime"))
    assert runtime_folder().stat().st_mode & 0o777 == 0o700

    monkeypatch.setenv("XMGEN_RUNTIME_DIR", str(tmp_path / "link"))
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(OperationError, match="belongs to somebody else"):
        runtime_folder()
