"""Arguments that a shell expands where a job runs, beside those that it must not touch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from xmgen import shell
from xmgen.shell import ShellSafeArg

SHOW = [sys.executable, "-c", "import sys; print('\\n'.join(sys.argv[1:]))"]


@pytest.mark.parametrize(
    ("entrypoint", "args", "script", "plain"),
    [
        (["python", "-m", "train"], [], "exec python -m train", []),
        (["/run"], ["a b", ShellSafeArg("$A/x"), "$B"], 'exec /run "${1}" $A/x "${2}"', ["a b", "$B"]),
        (["./a b", "$HOME"], [ShellSafeArg("$A")], "exec './a b' '$HOME' $A", []),
        # The entry point of an image that has none: the first argument is the program.
        ([], ["/run", ShellSafeArg("$A")], 'exec "${1}" $A', ["/run"]),
    ],
)
def test_the_shell_gets_the_program_in_its_script_and_plain_arguments_beside_it(
    entrypoint: list[str], args: list[str | ShellSafeArg], script: str, plain: list[str]
) -> None:
    assert shell.command(entrypoint, args) == ["/bin/sh", "-c", script, "sh", *plain]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([ShellSafeArg("$A")], ["b", "c"]),
        ([ShellSafeArg('"$A"')], ["b  c"]),
        (["$A", ShellSafeArg("$(echo x)"), "'"], ["$A", "x", "'"]),
        ([*map(str, range(12)), ShellSafeArg("$A"), "last one"], [*map(str, range(12)), "b", "c", "last one"]),
    ],
)
def test_only_shell_arguments_are_expanded(args: Sequence[str | ShellSafeArg], expected: list[str]) -> None:
    environment = {"A": "b  c", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(shell.command(SHOW, args), env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == expected
