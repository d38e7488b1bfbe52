"""What a command works on: a compiled stack, or a source that is compiled first."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from xmgen import git, names, rules
from xmgen.commands import output
from xmgen.errors import InputError, Problem, did_you_mean
from xmgen.experiment import Experiment
from xmgen.project import LOCK_FILE, STACKS, Project
from xmgen.stack import compiled, lock, staging
from xmgen.stack.compiled import CompiledStack

_aside = partial(output.say, error=True)


def default_stack(project: Project, source: Path) -> str:
    """`examples/quickstart/launcher.py` -> `quickstart`, `sweeps/resnet.yaml` -> `resnet`."""
    folder = real(source).parent
    return names.stack_of_source(source.name, "" if folder == project.root else folder.name)


def stack_of(project: Project, source: Path, stack: str | None) -> str:
    """The stack that a source is compiled to. stack: the user's choice. Raises InputError when it is no such name."""
    if stack is None:
        return default_stack(project, source)
    if hint := rules.not_a_stack_name(stack):
        raise InputError(Problem(f"{stack!r} cannot be the name of a stack", where="--stack", hint=hint))
    return stack


def recover(project: Project, say: Callable[[str], None] = _aside) -> None:
    """Put back what compiles that were killed moved away, before what is there is read and written."""
    for stack in staging.recover(project.root / STACKS):
        say(f"stacks/{stack}: put back, as it was before a compile that was killed")


def recorded(project: Project, stack: str) -> Experiment | None:
    """What the stack was compiled from the last time; None when it was not, or by another version of xmgen."""
    try:
        return lock.read(project.lock(stack), stack)
    except InputError:
        return None


def existing(project: Project, stack: str) -> CompiledStack:
    """A compiled stack, by its name or folder. Raises InputError when there is none, or it cannot be read."""
    stack = of_folder(project, stack)
    refuse_unknown(project, [stack])
    return compiled.read(project, stack)


def compiled_stack(
    project: Project, target: str, stack: str | None, flags: Sequence[str], say: Callable[[str], None] = _aside
) -> CompiledStack:
    """A compiled stack, or that of a source, which is compiled into it first: with the flags of the last compile where
    none are given, as the trials would be others without. say: takes what is done beyond that.
    """
    target = of_folder(project, target)
    if _is_source(target):
        return _compiled_now(project, target, stack, flags, say)
    if flags or stack:
        raise InputError(
            Problem(
                f"{target!r} is a compiled stack: only a source takes --stack or flags after `--`",
                hint="name the launch script",
            )
        )
    found = existing(project, target)
    if _is_not_compiled(project, found.experiment):
        source = os.path.relpath(project.root / found.experiment.source)
        say(
            f"{source} differs from its last commit, and what is compiled of it does not: this is the stack as it "
            f"is compiled. With {shlex.quote(source)} in place of {target} it is compiled first."
        )
    return found


def _is_not_compiled(project: Project, experiment: Experiment) -> bool:
    """Whether the source differs from its last commit, while what is compiled of it, which is committed, does not.

    As far as Git says: False where there is none, or no commit.
    """
    lock_file = f"{STACKS}/{experiment.stack}/{LOCK_FILE}"
    if not git.tracked(project.root, lock_file):
        return False
    changed = git.changed(project.root, "HEAD")
    return experiment.source in changed and lock_file not in changed


def _compiled_now(
    project: Project, target: str, stack: str | None, flags: Sequence[str], say: Callable[[str], None]
) -> CompiledStack:
    # It brings the front ends and the planner, which a compiled stack does without.
    from xmgen.commands import source as sources

    source = Path(target)
    recover(project, say)
    if not flags and (flags := sources.recorded_flags(project, source, stack)):
        words = ["xmgen", "compile", target, *(["--stack", stack] if stack else [])]
        say(f"With the flags of the last compile: {shlex.join(flags)}. `{shlex.join(words)}` compiles without them.")
    plan, changed = sources.write(project, source, stack, flags)
    if changed:
        say(f"stacks/{plan.experiment.stack}: {counted(plan.experiment)}, written")
    return compiled.read(project, plan.experiment.stack)


def counted(experiment: Experiment) -> str:
    """`1 work unit`, `8 work units`; of a cluster that has none, what it is."""
    if not experiment.units:
        return "a cluster without jobs of its own" if experiment.pools is not None else "no work units"
    return f"{len(experiment.units)} work unit{'' if len(experiment.units) == 1 else 's'}"


def stack_name(project: Project, target: str, stack: str | None) -> str:
    """The name of the stack that is meant: the target itself, or the one that a source would be compiled to.

    Raises InputError for a source that is not there: a slip of the pen must not name another stack.
    """
    target = of_folder(project, target)
    if not target:
        raise InputError(Problem("an empty text is the name of no stack"))
    if not _is_source(target):
        if stack is not None:
            raise InputError(Problem(f"{target!r} is a stack: only a source takes --stack"))
        return target
    name = stack_of(project, Path(target), stack)
    if not Path(target).exists():
        raise InputError(Problem("no such file", where=target, hint=f"name the stack itself: {name}"))
    return name


def of_folder(project: Project, target: str) -> str:
    """`stacks/resnet/`, as a shell completes it, is the stack `resnet`; anything else is itself."""
    folder = real(Path(target))
    return folder.name if "/" in target and folder.parent == project.root / STACKS else target


def real(path: Path) -> Path:
    """Without links; of a link that leads to itself, the link: what reads it says what is wrong with it."""
    return Path(os.path.realpath(path))


def _is_source(target: str) -> bool:
    return target.endswith(names.SOURCE_SUFFIXES) or "/" in target


def refuse_unknown(project: Project, stacks: Sequence[str]) -> None:
    """Raise InputError for those that are not compiled."""
    known = project.stacks()
    problems = [
        Problem(f"no stack {stack!r} is compiled", hint=_hint(project, stack, known))
        for stack in stacks
        if stack not in known
    ]
    if problems:
        raise InputError(*problems)


def _comes_from(project: Project, stack: str, source: Path) -> bool:
    earlier = recorded(project, stack)
    return earlier is not None and real(project.root / earlier.source) == real(source)


def _hint(project: Project, stack: str, known: Sequence[str]) -> str:
    """Of a stack that is not compiled. One that has settings may be up, though its folder is gone."""
    if left := staging.of_stack(project.root / STACKS, stack):
        return f"a compile of it was killed and left {left}: `xmgen compile SOURCE` puts it back"
    if not rules.not_a_stack_name(stack) and project.settings(stack).exists():
        return f"`xmgen compile SOURCE --stack {stack}` makes it; where it is up, `xmgen destroy {stack}` removes it"
    from xmgen.frontends import launchable

    if meant := launchable.meant_by(Path(stack)):
        return meant
    if Path(stack).is_file() and (own := [name for name in known if _comes_from(project, name, Path(stack))]):
        return f"it was compiled to {' and to '.join(own)}"
    return did_you_mean(stack, known) if known else "`xmgen compile SOURCE` makes one"
