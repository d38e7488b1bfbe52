"""Ratios measured in one run: machines are noisy, so the two sides take turns and the median of the pairs counts.

Where XMGEN_BENCHMARKS is `quick` everything is small, measured once and not judged: it only shows that each runs.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

QUICK = os.environ.get("XMGEN_BENCHMARKS") == "quick"


def size(full: int, quick: int) -> int:
    """How many there are of something that is measured."""
    return quick if QUICK else full


ROUNDS = size(7, 1)


@dataclass(frozen=True)
class Side:
    name: str
    run: Callable[[], object]


def command(name: str, argv: Sequence[str], **options: object) -> Side:
    """A whole process, its start included."""
    return Side(name, lambda: subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, **options))  # type: ignore[call-overload]


def measure(side: Side, other: Side, rounds: int = ROUNDS) -> list[tuple[float, float]]:
    """Seconds of both sides, in turn, after one round of warming up."""
    if not QUICK:
        side.run()
        other.run()
    return [(_seconds(side), _seconds(other)) for _ in range(rounds)]


def report(budget: str, side: Side, other: Side, allowed: Callable[[float], float]) -> bool:
    """Measure both sides and judge. `allowed`: the budget in seconds, from the other side's seconds."""
    return judge(budget, (side.name, other.name), measure(side, other), allowed)


def judge(
    budget: str,
    names: tuple[str, str],
    pairs: Sequence[tuple[float, float]],
    allowed: Callable[[float], float],
) -> bool:
    """Print the medians of measured pairs of seconds and their ratio.

    Returns whether the budget is met: the median of what each pair leaves of it is not negative. See also `verdict`.
    """
    mine, its = (statistics.median(column) for column in zip(*pairs, strict=True))
    left = statistics.median(allowed(b) - a for a, b in pairs)
    ratio = statistics.median(a / b for a, b in pairs)
    met, word = verdict(left >= 0)
    print(f"{budget}\n  {names[0]}: {mine:.3f} s   {names[1]}: {its:.3f} s   ratio {ratio:.2f}   {word}")
    return met


def verdict(met: bool) -> tuple[bool, str]:
    """Whether a budget counts as met, and the word for it."""
    if QUICK:
        return True, "not judged"
    return met, "met" if met else "MISSED"


def _seconds(side: Side) -> float:
    start = time.perf_counter()
    side.run()
    return time.perf_counter() - start


def exit_with(*met: bool) -> None:
    sys.exit(0 if all(met) else 1)
