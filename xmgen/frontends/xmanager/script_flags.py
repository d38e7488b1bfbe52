"""The absl flags of a launch script: parsed from its command line, forgotten afterwards."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Sequence
from typing import Any

from absl import app, flags
from absl.testing import flagsaver

from xmgen.errors import InputError, Problem, did_you_mean

Main = Callable[..., Any]
Parser = Callable[[list[str]], Any]

_HELP = frozenset({"help", "helpfull", "helpshort", "helpxml"})
# absl reads these two itself; they are not in its table of flags.
_BUILT_IN = frozenset({"flagfile", "undefok"})


class ScriptFlags:
    """The flags that one script and its helper modules define, in absl's one global table.

    script:   the script's path, for messages.
    is_users: whether a module, by the name absl knows it, is the user's own. A flag of an installed library outlives
              the script, since its module stays imported and would not define it again.
    """

    def __init__(self, script: str, is_users: Callable[[str], bool]) -> None:
        self._script = script
        self._is_users = is_users
        self._saved: dict[str, dict[str, Any]] = {}
        self.mains: list[Main] = []
        """What the script passed to `absl.app.run`."""

    @contextlib.contextmanager
    def active(self) -> Generator[None]:
        """Flags defined meanwhile are forgotten, values are restored, and `absl.app.run` returns when main does."""
        values: Any = flags.FLAGS
        parsed = values.is_parsed()
        self._saved = flagsaver.save_flag_values(values)
        original, app.run = app.run, self._run
        try:
            yield
        finally:
            app.run = original
            for flag in self._defined(users=False):
                flag.unparse()
                self._saved |= {name: dict(flag.__dict__) for name in (flag.name, flag.short_name) if name}
            flagsaver.restore_flag_values(self._saved, values)
            if not parsed:
                values.unparse_flags()

    def call(self, main: Main, argv: Sequence[str], parser: Parser | None = None) -> None:
        """Parse `argv` (the script's name first) and call main with the words that are no flags.

        Raises InputError for unknown flags, bad values and what main calls a mistake in its usage.
        """
        words = list(argv)
        rest = parser(words) if parser else self._parse(words)
        try:
            main(rest)
        except app.UsageError as error:
            raise self._problem(str(error)) from error

    def _run(self, main: Main, argv: Sequence[str] | None = None, flags_parser: Parser | None = None) -> None:
        self.mains.append(main)
        self.call(main, sys.argv if argv is None else argv, flags_parser)

    def _parse(self, argv: list[str]) -> list[str]:
        values: Any = flags.FLAGS
        if unknown := self._unknown(argv):
            if help_flag := next((name for name in unknown if name in _HELP), None):
                raise self._problem(f"--{help_flag} starts no experiment")
            raise InputError(*(problem for name in unknown for problem in self._unknown_flag(name).problems))
        try:
            return values(argv)
        except (flags.Error, ValueError) as error:
            raise self._problem(str(error)) from error

    def _unknown(self, argv: Sequence[str]) -> list[str]:
        """Flags that nobody defined, read as absl reads them; absl itself stops at the first."""
        values: Any = flags.FLAGS
        result: list[str] = []
        allowed: set[str] = set()
        words = iter(argv[1:])
        for word in words:
            if word == "--":
                break
            name, equals, value = word.lstrip("-").partition("=")
            if not word.startswith("-") or not name:
                continue
            if name in values or name in _BUILT_IN:
                if not equals and not (name in values and values[name].boolean):
                    value = next(words, "")
                if name == "undefok":
                    allowed.update(value.split(","))
            elif not (name.startswith("no") and name[2:] in values and values[name[2:]].boolean):
                result.append(name)
        return [name for name in result if name not in allowed]

    def _unknown_flag(self, name: str) -> InputError:
        values: Any = flags.FLAGS
        own = {flag.name for flag in self._defined(users=True)}
        similar = did_you_mean(f"--{name}", [f"--{known}" for known in values if known in own or known[:3] == "xm_"])
        return self._problem(f"unknown flag --{name}", similar if similar.startswith("did you mean") else "")

    def _problem(self, message: str, *hints: str) -> InputError:
        own = sorted({f"--{flag.name}" for flag in self._defined(users=True)})
        known = f"its flags: {', '.join(own)}" if own else "it defines no flags of its own"
        return InputError(Problem(message, where=self._script, hint=" ".join(filter(None, [*hints, known]))))

    def _defined(self, *, users: bool) -> list[Any]:
        """Flags defined since the start, by the user's modules or by installed ones."""
        values: Any = flags.FLAGS
        return [
            flag
            for module, defined in values.flags_by_module_dict().items()
            if self._is_users(module) is users
            for flag in defined
            if flag.name not in self._saved
        ]
