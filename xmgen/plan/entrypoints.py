"""Whether the module that a PythonContainer starts is one of its folder's."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence

from xmgen.errors import Problem, did_you_mean


def elsewhere(
    module: str, files: Sequence[str], *, path: str, deep: bool, installs: bool
) -> tuple[str | None, Problem | None]:
    """(None, None) for a module of the folder or of Python's own. For one that may be installed, the folder's module
    that is called most like it (empty: none is); else the problem.

    files:    of the folder, relative to it. path: the folder, relative to the project.
    deep:     whether modules are imported under the folder's name.
    installs: whether the image has more than Python and the folder.
    """
    folder = path.rpartition("/")[2]
    prefix = f"{folder}." if deep and folder != "." else ""
    dotted = [f"{prefix}{file[:-3].replace('/', '.')}" for file in files if file.endswith(".py")]
    runnable = {name.removesuffix(".__main__") for name in dotted if not name.endswith("__init__")}
    if module in runnable or module.partition(".")[0] in sys.stdlib_module_names:
        return None, None
    meant = next((each for each in (module.removeprefix(f"{folder}."), f"{folder}.{module}") if each in runnable), "")
    close = meant or next(iter(difflib.get_close_matches(module, sorted(runnable), n=1, cutoff=0.6)), "")
    # A package of the folder hides one that is installed.
    hidden = module.partition(".")[0] in {name.partition(".")[0] for name in dotted}
    if hidden or (close and not installs):
        hint = f"did you mean {close!r}?" if close else did_you_mean(module, runnable)
        return None, Problem(f"there is no module {module!r} in {path}", hint=hint)
    return close, None


def note(executable: str, module: str, path: str, close: str) -> str:
    """What is said of a module that has to be installed. close: as `elsewhere` gives it."""
    suggestion = f" Did you mean {close!r}?" if close else ""
    return f"{executable} runs the module {module}, which is not in {path}: something has to install it.{suggestion}"
