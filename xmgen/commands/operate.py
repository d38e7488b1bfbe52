"""up, preview, destroy, refresh: an operation of Pulumi's on a stack, with its progress and its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from xmgen.commands import confirmation, output, packages, target
from xmgen.commands import settings as configured
from xmgen.commands.operation import Options, Outcome, asks, confirmed, exit_code, run, say
from xmgen.commands.progress import result
from xmgen.commands.results import print_failures, print_results
from xmgen.errors import InputError, OperationError, Problem, did_you_mean
from xmgen.executors.base import GONE, runtime, runtimes
from xmgen.project import Project
from xmgen.pulumi_cli import events, session, trials
from xmgen.pulumi_cli.events import Progress
from xmgen.pulumi_cli.session import Session
from xmgen.stack import configuration
from xmgen.stack.compiled import CompiledStack


def up(project: Project, name: str, *, stack: str | None, flags: Sequence[str], options: Options) -> int:
    compiled = target.compiled_stack(project, name, stack, flags, partial(say, options))
    stack = compiled.name
    shown = project.lock(stack).read_bytes()
    arguments = ["up", "--stack", stack, "--yes", "--skip-preview", "--continue-on-error", *options.arguments()]
    work = _begun(project, compiled, options)
    if asks(options) and not _wanted(work, compiled, options):
        return 1
    # Now, before anything is kept of it, and at the last moment.
    _refuse_other(project, stack, shown)
    _create(work, options)
    progress = events.progress(trials.rows(compiled), trials.jobs(compiled))
    say(options, *work.recover())
    executor = runtime(compiled)
    executor.refuse_move(work, compiled, options.settings)
    reruns = executor.reruns(work, compiled)
    if reruns.forgets is not None:
        say(options, GONE)
        if (told := _refreshed(reruns.forgets, options)) != "succeeded":
            if options.json:
                output.print_json_line(result("up", stack, progress, told))
            return exit_code(told)
    on_event = reruns.prepare()
    say(options, *reruns.sentences())
    _refuse_other(project, stack, shown)
    outcome = run(work, [*arguments, *reruns.arguments()], progress, options, on_event)
    say(options, *executor.finish(work, compiled, progress, failed=outcome == "failed"))
    units = list(progress.units.values())
    if options.json:
        output.print_json_line(result("up", stack, progress, outcome))
    elif progress.result:
        if any(unit.status != "waiting" for unit in units):
            output.say("")
            print_results(units)
            print_failures(units)
        output.say(closing(stack, outcome, progress))
    return exit_code(outcome)


def preview(project: Project, name: str, *, stack: str | None, flags: Sequence[str], options: Options) -> int:
    compiled = target.compiled_stack(project, name, stack, flags, partial(say, options))
    stack = compiled.name
    arguments = ["preview", "--stack", stack, *options.arguments()]
    work = _begun(project, compiled, options)
    _create(work, options)
    executor = runtime(compiled)
    executor.refuse_move(work, compiled, options.settings)
    progress = events.progress(trials.rows(compiled), trials.jobs(compiled))
    reruns = executor.reruns(work, compiled)
    arguments += reruns.arguments()
    progress.reasons = reruns.reasons
    if reruns.unknown:
        say(options, reruns.unknown)
    if reruns.forgets is not None:
        # Nothing of it is kept.
        say(options, f"{GONE} All of it is made again.")
        arguments.append("--refresh")
        work, progress.forgets = reruns.forgets, True
    outcome = run(work, arguments, progress, options)
    if options.json:
        output.print_json_line(
            {
                "event": "result",
                "operation": "preview",
                "stack": stack,
                "result": outcome,
                "changes": progress.changes,
                "steps": [
                    {
                        "operation": step.operation,
                        "type": step.type,
                        "name": step.name,
                        "changed": list(step.changed),
                        "reason": step.reason,
                    }
                    for step in progress.steps
                ],
            }
        )
    elif outcome == "succeeded":
        _print_steps(progress)
    return exit_code(outcome)


def destroy(
    project: Project, name: str, *, stack: str | None, remove: bool, keep_outputs: bool, options: Options
) -> int:
    """Works on any stack of the backend, compiled or not: what runs must be stoppable whatever became of its folder."""
    stack = target.stack_name(project, name, stack)
    work = session.begin(project, stack)
    _refuse_absent(project, work)
    arguments = ["destroy", "--stack", stack, "--yes", "--skip-preview", "--continue-on-error", *options.arguments()]
    if remove:
        arguments.append("--remove")
    if not confirmed(f"Destroy everything that {stack} created?", options):
        say(options, "Nothing was removed.")
        return 1
    say(options, *work.recover())
    work, forgets = _able(work, "destroy", options)
    progress = Progress(units={}, forgets=forgets)
    outcome = run(work, arguments, progress, options)
    if outcome == "succeeded":
        _clear_runs(project, stack, keep_outputs=keep_outputs)
    kept = _kept_outputs(project, stack)
    if options.json:
        report = result("destroy", stack, progress, outcome)
        left = [{"type": each.type, "name": each.name, "id": each.id} for each in progress.kept]
        removed = remove and outcome == "succeeded"
        output.print_json_line({**report, "removed": removed, "keptOutputs": kept, "kept": left})
        return exit_code(outcome)
    count = progress.deleted
    output.say(f"\n{stack}: {count} resource{'' if count == 1 else 's'} removed.")
    for each in progress.kept:
        output.say(f"Kept: {each.type} {each.name}, which is {each.id}.")
    match outcome:
        case "succeeded":
            if remove:
                output.say("The stack and its settings are removed, too.")
            if kept:
                trial = "trial" if len(kept) == 1 else "trials"
                output.say(f"Kept: what {len(kept)} {trial} wrote, below {_runs(project, stack)}.")
        case "failed":
            output.say(f"Not everything could be removed; `xmgen destroy {stack}` tries again.", style="bold red")
        case "interrupted":
            output.say(f"Interrupted; `xmgen destroy {stack}` goes on from here.")
    return exit_code(outcome)


def refresh(project: Project, name: str, *, stack: str | None, options: Options) -> int:
    """Works on any stack of the backend, as `destroy` does."""
    stack = target.stack_name(project, name, stack)
    work = session.begin(project, stack)
    _refuse_absent(project, work)
    say(options, *work.recover())
    work, forgets = _able(work, "refresh", options)
    progress = Progress(units={}, forgets=forgets)
    outcome = run(work, _refreshing(stack, options), progress, options)
    if options.json:
        output.print_json_line(result("refresh", stack, progress, outcome))
    elif outcome == "succeeded":
        counts = [f"{count} {_FOUND[what]}" for what, count in progress.changes.items() if what in _FOUND]
        output.say(f"{stack}: {', '.join(counts) or 'nothing was changed from outside'}.")
    return exit_code(outcome)


_FOUND = {"update": "changed", "delete": "gone"}


def _refreshed(work: Session, options: Options) -> Outcome:
    """For an operation that follows."""
    return run(work, _refreshing(work.stack, Options()), Progress(units={}, forgets=True), options)


def _refreshing(stack: str, options: Options) -> list[str]:
    return ["refresh", "--stack", stack, "--yes", "--skip-preview", *options.arguments()]


def _able(work: Session, command: str, options: Options) -> tuple[Session, bool]:
    """The session in which an operation can do something with what is there, and whether it forgets some of it."""
    export, forgets = work.export(), False
    for executor in runtimes():
        work, said = executor.before_removal(work, export, command)
        say(options, *said)
        forgets = forgets or bool(said)
    return work, forgets


def _refuse_absent(project: Project, work: Session) -> None:
    """Raise InputError for a stack that the backend does not have."""
    if work.exists():
        return
    known = {*project.stacks(), *work.stacks()}
    hint = f"`xmgen up {work.stack}` makes it" if work.stack in known else did_you_mean(work.stack, known)
    raise InputError(Problem(f"the backend has no stack {work.stack!r}", hint=hint))


def _begun(project: Project, compiled: CompiledStack, options: Options) -> Session:
    """A session on a compiled stack; raises InputError where its configuration would not do."""
    stack = compiled.name
    read = configuration.of_configuration(compiled.declared.configuration)
    configured.refuse_wrong(project, stack, read, options.settings, options.secrets)
    packages.refuse_missing(project, stack)
    runtime(compiled).refuse_undecided(project, compiled, options.settings)
    work = session.begin(project, stack)
    if options.secrets:
        configured.refuse_unprotected(work)
    return work


def _refuse_other(project: Project, stack: str, shown: bytes) -> None:
    """Raise OperationError for a stack that somebody compiled since it was shown: nobody has agreed to that.

    shown: its lock file, as it was then.
    """
    file = project.lock(stack)
    if not file.exists() or file.read_bytes() != shown:
        hint = f"`xmgen up {stack}` shows what it would run now"
        raise OperationError(Problem("it was compiled again meanwhile", where=f"stacks/{stack}", hint=hint))


def _wanted(work: Session, compiled: CompiledStack, options: Options) -> bool:
    """Ask whether to bring the stack up, with what that would run, create and remove."""
    question, note = confirmation.question_of_up(compiled, work.export() if work.exists() else None)
    if note:
        say(options, note)
    if agreed := confirmed(question, options):
        return agreed
    say(options, "Nothing was run, created or removed.")
    return False


def _create(work: Session, options: Options) -> None:
    """Create the stack unless it is there, and keep the secrets that the user gives."""
    secrets = configured.ask(options.secrets)
    work.create_stack()
    for said in configured.keep(work, secrets):
        say(options, said)


def _print_steps(progress: Progress) -> None:
    steps = [
        step
        for step in progress.steps
        if step.operation not in ("same", "refresh") and step.type != "pulumi:pulumi:Stack"
    ]
    # A replacement is three steps of the engine's, of which the one called so has the reason.
    replaced = {(step.type, step.name) for step in steps if step.operation == "replace"}
    rows = [step for step in steps if step.operation == "replace" or (step.type, step.name) not in replaced]
    if rows:
        output.print_table(
            ("operation", "type", "name", "because of"),
            ((step.operation, step.type, step.name, step.reason or ", ".join(step.changed)) for step in rows),
        )
        output.say("")
    counts = ", ".join(f"{count} to {name}" for name, count in progress.changes.items() if name != "same")
    same = progress.changes.get("same", 0)
    output.say(f"{counts or 'nothing to do'}; {same} unchanged")


def closing(stack: str, outcome: Outcome, progress: Progress) -> str:
    """The last words of `up`: how the work units stand, and what goes on from there."""
    counts = Counter(unit.status for unit in progress.units.values())
    summary = ", ".join(f"{count} {status}" for status, count in counts.items())
    if not summary:
        return _closing_of_cluster(stack, outcome)
    match outcome:
        case "succeeded":
            again = f"`xmgen up {stack}` runs again what failed, " if counts["failed"] else ""
            return f"\n{stack}: {summary}. {again}`xmgen destroy {stack}` removes it."
        case "failed":
            return f"\n{stack}: {summary}. `xmgen up {stack}` runs again what did not finish."
        case "interrupted":
            return f"\n{stack}: interrupted; {summary}. `xmgen up {stack}` goes on from here."


def _closing_of_cluster(stack: str, outcome: Outcome) -> str:
    """Of a stack without work units, which is a cluster for those of others."""
    match outcome:
        case "succeeded":
            return f"\n{stack} is up. `xmgen destroy {stack}` removes it."
        case "failed":
            return f"\n{stack} is not up, or not all of it. `xmgen up {stack}` tries again."
        case "interrupted":
            return f"\n{stack}: interrupted. `xmgen up {stack}` goes on from here."


def _clear_runs(project: Project, stack: str, *, keep_outputs: bool) -> None:
    """Remove what is left of the runs of a stack without resources: journals of trials of which Pulumi does not know,
    because a kill came before it was told, what still runs of them, and outputs unless they are to be kept.
    """
    from xmgen.provider import runs

    for folder in sorted(project.runs(stack).glob("*")):
        runs.delete(project.root, stack, folder.name, keep_outputs=keep_outputs)


def _kept_outputs(project: Project, stack: str) -> list[str]:
    """The folders of a stack's trials that hold outputs, relative to the project's root."""
    folders = sorted(project.runs(stack).glob("*"))
    return [
        folder.relative_to(project.root).as_posix()
        for folder in folders
        if any(path.is_file() for kept in ("output", "earlier") for path in (folder / kept).rglob("*"))
    ]


def _runs(project: Project, stack: str) -> str:
    return project.runs(stack).relative_to(project.root).as_posix()
