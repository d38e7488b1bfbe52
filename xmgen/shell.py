"""Arguments that a shell expands where the job runs. Without imports of ours: the provider has it too."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShellSafeArg:
    """An argument that a shell in the job's environment expands (XManager's opt-in). All others are argv."""

    shell: str


def command(entrypoint: Sequence[str], args: Sequence[str | ShellSafeArg]) -> list[str]:
    """A shell that expands the ShellSafeArgs and hands on every other word, those of the entry point included, byte for
    byte. It gives its place to the program."""
    words = ["exec", *map(shlex.quote, entrypoint)]
    plain: list[str] = []
    for arg in args:
        if isinstance(arg, ShellSafeArg):
            words.append(arg.shell)
        else:
            plain.append(arg)
            words.append(f'"${{{len(plain)}}}"')
    return ["/bin/sh", "-c", " ".join(words), "sh", *plain]
