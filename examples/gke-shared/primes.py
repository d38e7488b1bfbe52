"""Counts primes on all cores."""

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path


def count(first: int, last: int) -> int:
    """Primes in [first, last)."""
    return sum(
        all(number % divisor for divisor in range(2, int(number**0.5) + 1)) for number in range(max(first, 2), last)
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--below", type=int, default=10_000)
    below = parser.parse_args().below
    edges = [*range(0, below, max(1, below // 64)), below]
    with ProcessPoolExecutor() as pool:
        found = sum(pool.map(count, edges[:-1], edges[1:]))
    print(f"{found} primes below {below}", flush=True)
    (Path(os.environ.get("XMGEN_OUTPUT_DIR", ".")) / "metrics.json").write_text(json.dumps({"primes": found}))


if __name__ == "__main__":
    main()
