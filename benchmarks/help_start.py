"""`xmgen --help` against importing click."""

from __future__ import annotations

import sys
from pathlib import Path

from ratio import command, exit_with, report

XMGEN = str(Path(sys.executable).with_name("xmgen"))

if __name__ == "__main__":
    exit_with(
        report(
            "xmgen --help <= 1.5 x importing click + 50 ms",
            command("xmgen --help", [XMGEN, "--help"]),
            command("import click", [sys.executable, "-c", "import click"]),
            lambda click: 1.5 * click + 0.050,
        )
    )
