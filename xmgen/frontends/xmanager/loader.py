"""Runs an unmodified XManager launch script and takes the experiment it asks for.

The script runs in this process, with `xmanager` meaning our launch API, as `python script.py` or `xmanager launch`
would run it. Nothing of it stays behind, and what it prints goes to stderr.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import os
import types
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from xmgen.errors import InputError, Problem, XmgenError
from xmgen.experiment import Experiment
from xmgen.frontends.xmanager import aliasing, isolation, recording, script_errors, stall
from xmgen.frontends.xmanager.api.vizier import study_messages
from xmgen.frontends.xmanager.api.xm_local import conversion
from xmgen.frontends.xmanager.recording import Recording
from xmgen.frontends.xmanager.script_flags import ScriptFlags


def load(source: Path, *, root: Path, stack: str, flags: Sequence[str] = ()) -> Experiment:
    """The experiment of a launch script.

    root:  the project's folder. stack: the stack it is compiled for, which decides the experiment's id.
    flags: the script's command line.
    Raises InputError: no such file, a syntax error, an exception of the script's (with its traceback), unknown flags,
    no experiment, several, or one without work units.
    """
    recorded = record(source, root=root, stack=stack, flags=flags)
    place = _name(source, root)
    try:
        return conversion.to_experiment(recorded, stack=stack, source=place)
    except InputError as error:
        raise script_errors.at(error, place) from error


def record(source: Path, *, root: Path, stack: str, flags: Sequence[str] = ()) -> Recording:
    """What the launch script asked for; raises as `load` does."""
    script, place = source.resolve(), _name(source, root)
    code, is_main = _compiled(script, place)
    recorded = Recording(stack=stack, root=root, script=script)
    module = types.ModuleType("__main__" if is_main else script.stem)
    module.__file__ = str(script)
    with (
        recording.use(recorded),
        aliasing.aliased(),
        study_messages.where_absent(),
        isolation.isolated(script, flags) as command_line,
        isolation.main_module(module),
    ):
        script_flags = ScriptFlags(place, lambda name: name == str(script) or isolation.is_users(name))
        with script_flags.active(), stall.noticed(script, place), _errors(recorded, script, place):
            exec(code, module.__dict__)  # noqa: S102
            main = getattr(module, "main", None)
            if not script_flags.mains and not recorded.experiments and callable(main):
                _launch(main, command_line, script_flags)
    _check(recorded, place)
    if flags and not command_line.read:
        raise InputError(Problem(f"the launch script does not read its command line: {' '.join(flags)}", where=place))
    return recorded


def _name(source: Path, root: Path) -> str:
    """The script as its user would name it: relative to the project's folder."""
    return Path(os.path.relpath(source.resolve(), root.resolve())).as_posix()


def _compiled(script: Path, place: str) -> tuple[types.CodeType, bool]:
    """The script's code, and whether it has a part that runs only as a program (`if __name__ == "__main__"`)."""
    try:
        # Bytes, so that Python reads the encoding from the file as usual.
        text = script.read_bytes()
        tree = ast.parse(text, filename=str(script))
        code = compile(text, str(script), "exec", dont_inherit=True)
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror}", where=place)) from None
    except SyntaxError as error:
        raise script_errors.syntax_error(error, place) from None
    except ValueError as error:  # null bytes, before Python 3.12
        raise InputError(Problem(f"is not Python: {error}", where=place)) from None
    return code, any(isinstance(node, ast.If) and _tests_for_main(node.test) for node in tree.body)


def _tests_for_main(test: ast.expr) -> bool:
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    texts = {node.value for node in ast.walk(test) if isinstance(node, ast.Constant)}
    return "__name__" in names and "__main__" in texts


def _launch(main: Callable[..., Any], argv: Sequence[str], script_flags: ScriptFlags) -> None:
    """Call the main that the script defines and leaves to `xmanager launch`."""
    try:
        takes_argv = bool(inspect.signature(main).parameters)
    except (TypeError, ValueError):
        takes_argv = True
    script_flags.call(main if takes_argv else _without_argv(main), argv)


def _without_argv(main: Callable[..., Any]) -> Callable[[list[str]], Any]:
    return lambda _argv: main()


@contextlib.contextmanager
def _errors(recorded: Recording, script: Path, place: str) -> Generator[None]:
    try:
        yield
    except SystemExit as error:
        # `sys.exit(main())` and `sys.exit(0)` end a program that went well.
        if error.code:
            raise _with_noted(recorded, script_errors.raised(error, script, place)) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _with_noted(recorded, script_errors.raised(error, script, place)) from error


def _with_noted(recorded: Recording, error: XmgenError) -> XmgenError:
    """Put what went wrong before, and which the script passed over, before what it failed of."""
    noted = [problem for problem in recorded.problems if problem not in error.problems]
    return InputError(*noted, *error.problems) if noted else error


def _check(recorded: Recording, place: str) -> None:
    if recorded.problems:
        raise InputError(*recorded.problems)
    if not recorded.experiments:
        raise InputError(
            Problem(
                "the launch script creates no experiment",
                where=place,
                hint="call xm_local.create_experiment(...) in main, or at the top of the script",
            )
        )
    if not any(unit.jobs for unit in recorded.units):
        raise InputError(
            Problem("the experiment has no work unit", where=place, hint="add jobs with experiment.add(xm.Job(...))")
        )
