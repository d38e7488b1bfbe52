"""What a command works on: a compiled stack, or a source that is compiled first."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from xmgen import compiler, names, rules
from xmgen.commands import output
from xmgen.commands.output import standard_output_kept_clean
from xmgen.errors import InputError, Problem, did_you_mean
from xmgen.experiment import ClusterChoice, Experiment
from xmgen.frontends import launchable
from xmgen.plan import planner
from xmgen.plan.model import Plan
from xmgen.project import STACKS, Project
from xmgen.review import commits
from xmgen.stack import folder as stacks
from xmgen.stack import lock, recompile

_aside = partial(output.say, error=True)

SUFFIXES = (".py", ".yaml", ".yml")


def default_stack(project: Project, source: Path) -> str:
    """`examples/quickstart/launcher.py` -> `quickstart`, `sweeps/resnet.yaml` -> `resnet`."""
    folder = _real(source).parent
    return names.stack_of_source(source.name, "" if folder == project.root else folder.name)


def stack_of(project: Project, source: Path, stack: str | None) -> str:
    """The stack that a source is compiled to. stack: the user's choice. Raises InputError when it is no such name."""
    if stack is None:
        return default_stack(project, source)
    if hint := rules.not_a_stack_name(stack):
        raise InputError(Problem(f"{stack!r} cannot be the name of a stack", where="--stack", hint=hint))
    return stack


def load(project: Project, source: Path, stack: str | None, flags: Sequence[str]) -> Experiment:
    """The experiment of a source; nothing is written."""
    with standard_output_kept_clean():
        return compiler.load(source, root=project.root, stack=stack_of(project, source, stack), flags=flags)


def compiled(
    project: Project, source: Path, stack: str, flags: Sequence[str], cluster: ClusterChoice | None = None
) -> tuple[Plan, dict[str, str]]:
    """The plan and the files of a source; nothing is written."""
    with standard_output_kept_clean():
        return compiler.compile_source(source, root=project.root, stack=stack, flags=flags, cluster=cluster)


def write(
    project: Project,
    source: Path,
    stack: str | None,
    flags: Sequence[str],
    cluster: ClusterChoice | None = None,
    *,
    replace: bool = False,
) -> tuple[Plan, bool]:
    """Compile a source into its stack's folder. Returns the plan, and whether the folder changed.

    cluster: what the command line chose; else what it chose when this source was last compiled into this stack.
    replace: whether the stack may be that of another source, which is there still.
    """
    name = stack_of(project, source, stack)
    earlier = recorded(project, name)
    before = chosen(earlier) if earlier is not None and _is_source_of(project, source, earlier) else None
    plan, files = compiled(project, source, name, flags, cluster or before)
    if not replace:
        refuse_taken(project, source, name, flags)
    return plan, stacks.write(project.root, name, files)


def refuse_taken(project: Project, source: Path, stack: str, flags: Sequence[str] = ()) -> None:
    """Raise InputError for the stack of another source, which is there still."""
    earlier = recorded(project, stack)
    if earlier is None or _is_source_of(project, source, earlier):
        return
    place = Path(os.path.relpath(source.absolute(), project.root)).as_posix()
    command = recompile.of_source(place, stack, flags, "--replace")
    raise InputError(
        Problem(
            f"the stack {stack!r} is that of {earlier.source}, all of which the next `up` would remove",
            where=place,
            hint=f"name another with --stack, or give this one to {place} with `{command}`",
        )
    )


def _is_source_of(project: Project, source: Path, experiment: Experiment) -> bool:
    """Whether it is what the experiment was compiled from, or has taken its place: as a renamed file does."""
    before = project.root / experiment.source
    return not before.exists() or _real(before) == _real(source)


def _real(path: Path) -> Path:
    """Without links; of a link that leads to itself, the link: what reads it says what is wrong with it."""
    return Path(os.path.realpath(path))


def recorded(project: Project, stack: str) -> Experiment | None:
    """What the stack was compiled from the last time; None when it was not, or by another version of xmgen."""
    try:
        return lock.read(project.lock(stack), stack)
    except InputError:
        return None


def _comes_from(project: Project, stack: str, source: Path) -> bool:
    earlier = recorded(project, stack)
    return earlier is not None and _real(project.root / earlier.source) == _real(source)


def recorded_flags(project: Project, source: Path, stack: str | None) -> tuple[str, ...]:
    """With which a source was compiled into its stack the last time; none when it was not."""
    earlier = recorded(project, stack_of(project, source, stack))
    return earlier.flags if earlier is not None and _is_source_of(project, source, earlier) else ()


def chosen(experiment: Experiment) -> ClusterChoice | None:
    """The cluster that the command line chose when the experiment was compiled."""
    return experiment.cluster if experiment.cluster and experiment.cluster.by_option else None


def cluster_choice(text: str | None) -> ClusterChoice | None:
    """`own`, `stack:NAME`, `existing:NAME` or `existing:NAME@LOCATION`. Raises InputError for anything else."""
    if text is None:
        return None
    kind, _, rest = text.partition(":")
    name, at, location = rest.partition("@")
    match kind:
        case "own" if not rest:
            return ClusterChoice(kind="own", by_option=True)
        case "stack" if name and not at:
            return ClusterChoice(kind="stack", name=name, by_option=True)
        case "existing" if name and bool(at) == bool(location):
            return ClusterChoice(kind="existing", name=name, location=location or None, by_option=True)
        case _:
            hint = "own, stack:NAME or existing:NAME@LOCATION"
            raise InputError(Problem(f"{text!r} chooses no cluster", where="--cluster", hint=hint))


def existing(project: Project, stack: str) -> Plan:
    """The plan of a compiled stack, by its name or folder. Raises InputError when there is none."""
    stack = of_folder(project, stack)
    refuse_unknown(project, [stack])
    return planner.plan(lock.read(project.lock(stack), stack), compiler.compiled_stacks(project.root))


def plan_of(
    project: Project, target: str, stack: str | None, flags: Sequence[str], say: Callable[[str], None] = _aside
) -> Plan:
    """The plan of a compiled stack, or of a source, which is compiled into its stack first: with the flags of the last
    compile where none are given, as the trials would be others without. say: takes what is done beyond that.
    """
    target = of_folder(project, target)
    if not _is_source(target):
        if flags or stack:
            raise InputError(
                Problem(
                    f"{target!r} is a compiled stack: only a source takes --stack or flags after `--`",
                    hint="name the launch script",
                )
            )
        plan = existing(project, target)
        if commits.is_not_compiled(project, plan.experiment):
            source = os.path.relpath(project.root / plan.experiment.source)
            say(
                f"{source} differs from its last commit, and what is compiled of it does not: this is the stack as it "
                f"is compiled. With {shlex.quote(source)} in place of {target} it is compiled first."
            )
        return plan
    source = Path(target)
    if not flags and (flags := recorded_flags(project, source, stack)):
        words = ["xmgen", "compile", target, *(["--stack", stack] if stack else [])]
        say(f"With the flags of the last compile: {shlex.join(flags)}. `{shlex.join(words)}` compiles without them.")
    plan, changed = write(project, source, stack, flags)
    if changed:
        say(f"stacks/{plan.experiment.stack}: {counted(plan)}, written")
    return plan


def counted(plan: Plan) -> str:
    """`1 work unit`, `8 work units`; of a cluster that has none, what it is."""
    if not plan.units:
        return "a cluster without jobs of its own" if plan.experiment.pools is not None else "no work units"
    return f"{len(plan.units)} work unit{'' if len(plan.units) == 1 else 's'}"


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
    folder = _real(Path(target))
    return folder.name if "/" in target and folder.parent == project.root / STACKS else target


def _is_source(target: str) -> bool:
    return target.endswith(SUFFIXES) or "/" in target


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


def _hint(project: Project, stack: str, known: Sequence[str]) -> str:
    """Of a stack that is not compiled. One that has settings may be up, though its folder is gone."""
    if not rules.not_a_stack_name(stack) and project.settings(stack).exists():
        return f"`xmgen compile SOURCE --stack {stack}` makes it; where it is up, `xmgen destroy {stack}` removes it"
    if meant := launchable.meant_by(Path(stack)):
        return meant
    if Path(stack).is_file() and (own := [name for name in known if _comes_from(project, name, Path(stack))]):
        return f"it was compiled to {' and to '.join(own)}"
    return did_you_mean(stack, known) if known else "`xmgen compile SOURCE` makes one"
