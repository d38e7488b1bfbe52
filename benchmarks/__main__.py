"""Runs every script of this folder: `python benchmarks [--quick]`.

With `--quick` each is small, measured once and not judged, and two run at a time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).parent
SCRIPTS = sorted(file for file in FOLDER.glob("*.py") if "__main__" in file.read_text() and file != Path(__file__))


def main(quick: bool) -> int:
    """Exit code 0 when every script met its budgets; when quick, when every script ran."""
    environment = {**os.environ, "XMGEN_BENCHMARKS": "quick" if quick else ""}

    def run(script: Path) -> bool:
        command = [sys.executable, str(script)]
        if not quick:
            print(f"==> {script.name}", flush=True)
            return subprocess.run(command, env=environment).returncode == 0
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        print(f"==> {script.name}: exit code {done.returncode}\n{done.stdout}", end="", flush=True)
        return done.returncode == 0

    with ThreadPoolExecutor(2 if quick else 1) as pool:
        results = list(pool.map(run, SCRIPTS))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["--quick"]))
