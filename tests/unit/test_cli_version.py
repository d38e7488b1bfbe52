"""The version: one number, asked for in either of the usual ways."""

from __future__ import annotations

from importlib import metadata

import pytest
from click.testing import CliRunner

from xmgen.cli import cli


@pytest.mark.parametrize("argument", ["version", "--version"])
def test_the_version_is_the_packages(argument: str) -> None:
    done = CliRunner().invoke(cli, [argument])
    assert (done.exit_code, done.stdout, done.stderr) == (0, f"xmgen {metadata.version('xmgen')}\n", "")
