"""Commands of xmgen's in a rehearsal, as a user types them: they meet its cloud and its cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from xmgen.rehearsal.rehearsal import Rehearsal

SETTINGS = ("--set", "gcp:project=rehearsal", "--set", "owner=ada")


def start(rehearsal: Rehearsal, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Of stacks of the rehearsal's project."""
    return subprocess.Popen(
        [Path(sys.executable).with_name("xmgen"), *arguments],
        cwd=rehearsal.project.root,
        env={**os.environ, **rehearsal.pulumi.overrides, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def xmgen(
    rehearsal: Rehearsal, *arguments: str, code: int = 0, given: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """code: what it is to exit with. given: on standard input."""
    process = start(rehearsal, *arguments, **environment)
    output, errors = process.communicate(given)
    assert process.returncode == code, output + errors
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def status(rehearsal: Rehearsal, stack: str) -> dict[str, dict[str, Any]]:
    """The units, by their names."""
    found = json.loads(xmgen(rehearsal, "status", stack, "--json").stdout)
    assert found["current"] is True
    return {unit["unit"]: unit for unit in found["units"]}
