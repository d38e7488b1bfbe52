"""compile, check, expand: what starts from a source, and needs neither Pulumi nor a cloud."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter

from xmgen import names
from xmgen.commands import output, settings, target
from xmgen.commands import source as compiling
from xmgen.errors import InputError, Problem, XmgenError
from xmgen.experiment import Arg, Experiment, Job, JobRequirements, ShellSafeArg
from xmgen.project import Project
from xmgen.stack import configuration, lock, recompile
from xmgen.stack import folder as stack

_REQUIREMENTS = TypeAdapter[JobRequirements](JobRequirements)


def compile_(
    project: Project,
    source: Path,
    *,
    name: str | None,
    flags: Sequence[str],
    json: bool,
    cluster: str | None = None,
    replace: bool = False,
) -> None:
    """replace: whether the stack may be that of another source."""
    before = compiling.recorded_flags(project, source, name)
    others = project.stacks()
    plan, changed = compiling.write(project, source, name, flags, compiling.cluster_choice(cluster), replace=replace)
    folder = f"stacks/{plan.experiment.stack}"
    lacking = configuration.missing(
        project, plan.experiment.stack, configuration.of_stack(project, plan.experiment.stack)
    )
    if json:
        output.print_json(
            {
                "stack": plan.experiment.stack,
                "folder": folder,
                "changed": changed,
                "units": len(plan.units),
                "notes": list(plan.notes),
                "missing": [{"name": each.name, "secret": each.secret} for each in lacking],
            }
        )
        return
    output.say(f"{folder}: {target.counted(plan.experiment)}, {'written' if changed else 'unchanged'}")
    if before and not flags:
        output.say(f"  without the flags of the last compile: {output.cell(shlex.join(before))}")
    for note in plan.notes:
        output.say(f"  {note}")
    if plan.experiment.stack not in others:
        for gone in _without_source(project, others):
            problem = _gone(gone)
            output.say(f"  the stack {gone.stack}: {problem.message}; {problem.hint}")
    name = plan.experiment.stack
    options = settings.options(lacking)
    verb = "runs" if plan.units else "makes"
    output.say(f"Next: `xmgen inspect {name}` shows it, `xmgen up {' '.join([name, options]).rstrip()}` {verb} it.")


def check(project: Project, names: Sequence[str], *, json: bool) -> int:
    """Whether the stacks are what their sources compile to. Returns the exit code."""
    results: list[dict[str, Any]] = []
    problems: list[Problem] = []
    wanted = [target.of_folder(project, name) for name in names]
    target.refuse_unknown(project, wanted)
    for name in wanted or project.stacks():
        try:
            difference = _difference(project, name)
        except XmgenError as error:
            problems += [_of_stack(name, problem) for problem in error.problems]
            results.append({"stack": name, "current": False, "problems": [str(problem) for problem in error.problems]})
        else:
            results.append({"stack": name, "current": not difference, "diff": difference})
    if json:
        output.print_json({"stacks": results})
    else:
        for result in results:
            _print_diff(result.get("diff", ""))
        for result in results:
            state = "up to date" if result["current"] else "cannot be compiled" if "problems" in result else "stale"
            if state == "stale":
                state = f"stale; `{recompile.of_stack(project.root, result['stack'])}` compiles it again"
            output.say(f"{result['stack']}: {state}", error=not result["current"])
        if not results:
            output.say("no stack is compiled", error=True)
    if problems:
        output.print_error(XmgenError(*problems))
    return 0 if all(result["current"] for result in results) else 1


def expand(project: Project, source: Path, *, name: str | None, flags: Sequence[str], json: bool) -> None:
    experiment = compiling.load(project, source, name, flags)
    rows = _jobs(experiment)
    if json:
        output.print_json({"title": experiment.title, "stack": experiment.stack, "jobs": rows})
        return
    output.print_table(
        ("unit", "job", "executor", "args", "env", "requirements"),
        (
            (
                row["label"] or row["unit"],
                row["job"],
                row["executor"],
                " ".join(arg if isinstance(arg, str) else f"$({arg['shell']})" for arg in row["args"]),
                " ".join(f"{key}={value}" for key, value in row["env"].items()),
                " ".join(f"{key}={_requirement(value)}" for key, value in row["requirements"].items()),
            )
            for row in rows
        ),
    )


def _difference(project: Project, name: str) -> str:
    """A unified diff from what is committed to what the recorded source and flags compile to today."""
    recorded = lock.read(project.lock(name), name)
    source = project.root / recorded.source
    if not source.exists():
        raise InputError(_gone(recorded))
    _, files = compiling.compiled(project, source, name, recorded.flags, compiling.chosen(recorded))
    return stack.difference(project.root, name, files)


def _without_source(project: Project, stacks: Iterable[str]) -> list[Experiment]:
    """The stacks whose source is not there any more: of a file that was renamed there are two, the old one for good."""
    known = (target.recorded(project, stack) for stack in sorted(stacks))
    return [each for each in known if each is not None and not (project.root / each.source).exists()]


def _gone(recorded: Experiment) -> Problem:
    """Of a stack whose source has been renamed, or given up."""
    stack = recorded.stack
    message = f"its source {recorded.source} is not there any more"
    given_up = f"`xmgen destroy {stack}` and deleting stacks/{stack} give it up"
    if not recorded.source.endswith(names.SOURCE_SUFFIXES):
        return Problem(message, hint=given_up)
    command = recompile.of_source("NEW", stack, recorded.flags)
    return Problem(message, hint=f"if it has another name now, `{command}` compiles it from there; {given_up}")


def _of_stack(name: str, problem: Problem) -> Problem:
    return Problem(
        problem.message, where=f"stack {name}, {problem.where}" if problem.where else f"stack {name}", hint=problem.hint
    )


def _print_diff(text: str) -> None:
    target_console = output.console()
    if text and target_console.is_terminal:
        from rich.syntax import Syntax

        target_console.print(Syntax(text, "diff", background_color="default"))
    elif text:
        print(text, end="")


def _jobs(experiment: Experiment) -> list[dict[str, Any]]:
    return [
        {
            "unit": unit.id,
            "role": unit.role,
            "label": unit.label,
            "after": [experiment.units[position].id for position in unit.depends_on],
            "job": job.name,
            "executable": job.executable,
            "executor": job.executor.kind,
            "args": [_arg_json(arg) for arg in job.args],
            "env": dict(job.env),
            "requirements": _requirements(job),
        }
        for unit in experiment.units
        for job in unit.jobs
    ]


def _arg_json(arg: Arg) -> str | dict[str, str]:
    return {"shell": arg.shell} if isinstance(arg, ShellSafeArg) else arg


def _requirements(job: Job) -> dict[str, Any]:
    return _REQUIREMENTS.dump_python(job.executor.requirements, mode="json", exclude_defaults=True)


def _requirement(value: Any) -> str:
    """`4`, or of an accelerator `v5e:2x4` or `t4:1`."""
    if not isinstance(value, dict):
        return output.cell(value)
    accelerator = cast(dict[str, Any], value)
    size = accelerator.get("topology") or accelerator.get("count")
    return f"{accelerator['type']}:{output.cell(size)}" if size is not None else str(accelerator["type"])
