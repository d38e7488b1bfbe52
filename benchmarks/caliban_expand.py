"""Expanding an experiment.json of 100,000 combinations against itertools.product writing the same dictionaries.

Each measurement is made in a process of its own; the start of Python and imports do not count.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ratio import ROUNDS, judge, size, verdict

from xmgen.commands import caliban

AXES = {"learning_rate": size(100, 10), "width": size(100, 10), "seed": 10}


def config(axes: dict[str, int]) -> dict[str, list[float]]:
    return {name: [index / 8 for index in range(count)] for name, count in axes.items()}


def expand(file: Path) -> None:
    caliban.expand(str(file), pprint=False, print_flags=False)


def product(file: Path) -> None:
    """The plainest way to the same text."""
    axes = json.loads(file.read_text())
    sys.stdout.write("[")
    separator = ""
    for values in itertools.product(*reversed(axes.values())):
        sys.stdout.write(separator + json.dumps(dict(zip(axes, reversed(values), strict=True))))
        separator = ", "
    print("]")


def child(task: str, file: Path) -> None:
    """On stderr: the seconds that the task took, and the peak of this process's memory in megabytes."""
    start = time.perf_counter()
    {"expand": expand, "product": product}[task](file)
    seconds = time.perf_counter() - start
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert peak is not None
    print(seconds, int(peak[1]) / 1024, file=sys.stderr)


def measure(task: str, file: Path) -> tuple[float, float, bytes]:
    done = subprocess.run([sys.executable, __file__, task, str(file)], check=True, capture_output=True)
    seconds, megabytes = done.stderr.split()
    return float(seconds), float(megabytes), done.stdout


def main() -> bool:
    with tempfile.TemporaryDirectory() as name:
        file, small = Path(name) / "experiment.json", Path(name) / "small.json"
        file.write_text(json.dumps(config(AXES)))
        small.write_text(json.dumps(config({**AXES, "seed": 1})))
        assert measure("expand", file)[2] == measure("product", file)[2], "not the same dictionaries"
        pairs = [(measure("expand", file)[0], measure("product", file)[0]) for _ in range(ROUNDS)]
        fast = judge(
            f"expand {math.prod(AXES.values()):,} combinations <= 2 x itertools.product writing the same dictionaries",
            ("expand", "product"),
            pairs,
            lambda product: 2 * product,
        )
        growth = measure("expand", file)[1] - measure("expand", small)[1]
        constant, word = verdict(growth < 2)
        print(
            f"memory of {math.prod(AXES.values()):,} combinations over that of a tenth: less than 2 MB\n"
            f"  {growth:.1f} MB   {word}"
        )
        return fast and constant


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(sys.argv[1], Path(sys.argv[2]))
    else:
        sys.exit(0 if main() else 1)
