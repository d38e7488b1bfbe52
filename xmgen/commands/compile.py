"""compile, check, expand: what starts from a source, and needs neither Pulumi nor a cloud."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter

from xmgen import compiler, names
from xmgen.commands import output, settings, target
from xmgen.commands import source as compiling
from xmgen.errors import InputError, Problem, XmgenError
from xmgen.experiment import Arg, Experiment, Job, JobRequirements, ShellSafeArg
from xmgen.frontends.xmanager.process import Unfinished
from xmgen.project import LOCK_FILE, Project
from xmgen.stack import configuration, lock, recompile, tree, verification
from xmgen.stack import folder as stack
from xmgen.stack.tree import Tree
from xmgen.stack.verification import Finding

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
    target.recover(project)
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
    """Whether the stacks are what their sources compile to, and xmgen wrote all that runs. Returns the exit code."""
    wanted = [target.of_folder(project, name) for name in names]
    target.refuse_unknown(project, wanted)
    # All that is judged is read before the first launch script runs.
    files = tree.of_working_tree(project.root)
    folders = tree.stacks(files)
    beside = verification.of_project(files)
    results = _checked(project, {name: folders[name] for name in wanted or folders}, folders)
    if json:
        told = {"findings": [asdict(finding) for finding in beside]} if beside else {}
        output.print_json({"stacks": [_check_json(result) for result in results], **told})
    else:
        _print_checked(project, results, beside)
    failed = [(result.stack, result.error) for result in results if result.error is not None]
    if failed:
        output.print_error(XmgenError(*(_of_stack(name, fault) for name, error in failed for fault in error.problems)))
    if any(isinstance(error, Unfinished) for _, error in failed):
        return Unfinished.exit_code
    return 0 if not beside and all(result.current for result in results) else 1


@dataclass(frozen=True, slots=True)
class _Checked:
    """A stack that was compiled again. current: whether its folder holds what that gave, and nothing else.
    diff: from what it holds to that. error: why it could not be compiled.
    """

    stack: str
    findings: tuple[Finding, ...]
    current: bool = False
    diff: str = ""
    error: XmgenError | None = None


def _checked(project: Project, wanted: Mapping[str, Tree], folders: Mapping[str, Tree]) -> list[_Checked]:
    others = compiler.stacks_in(folders)
    verdicts = {
        name: verification.of_stack(name, folder, lambda experiment: compiler.rendered(experiment, others))
        for name, folder in wanted.items()
    }
    # Launch scripts run at the same time, each in a process of its own.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        loading = {name: pool.submit(_load, project, name, folder) for name, folder in wanted.items()}
    results: list[_Checked] = []
    for name, folder in wanted.items():
        findings = verdicts[name].findings
        try:
            files = compiler.rendered(loading[name].result(), others, verdicts[name].version)
        except XmgenError as error:
            results.append(_Checked(name, findings, error=error))
            continue
        present = tree.regular(folder)
        current = not findings and present == {path: text.encode() for path, text in files.items()}
        shown = {path: content for path, content in present.items() if not tree.is_bytecode(path)}
        results.append(_Checked(name, findings, current, stack.difference(name, shown, files)))
    return results


def _load(project: Project, name: str, folder: Tree) -> Experiment:
    """What the recorded source and flags of a stack give today, on the cluster that was chosen for it."""
    recorded = lock.loads(folder[LOCK_FILE][1], str(project.lock(name)), name)
    source = project.root / recorded.source
    if not source.exists():
        raise InputError(_gone(recorded))
    experiment = compiler.load(source, root=project.root, stack=name, flags=recorded.flags, apart=_say_printed)
    cluster = compiling.chosen(recorded)
    return experiment if cluster is None else replace(experiment, cluster=cluster)


def _say_printed(text: str) -> None:
    output.say(output.readable(text), error=True)


def _check_json(result: _Checked) -> dict[str, Any]:
    told: dict[str, Any] = {"stack": result.stack, "current": result.current}
    if result.error is not None:
        told["problems"] = [str(problem) for problem in result.error.problems]
    else:
        told["diff"] = result.diff
    if result.findings:
        told["findings"] = [asdict(finding) for finding in result.findings]
    return told


def _print_checked(project: Project, results: Sequence[_Checked], beside: Sequence[Finding]) -> None:
    for result in results:
        output.print_text(result.diff, "diff")
    for finding in [*beside, *(finding for result in results for finding in result.findings)]:
        output.say(output.cell(str(finding)), error=True)
    for result in results:
        command = f"`{recompile.of_stack(project.root, result.stack)}` compiles it again"
        state = "up to date" if result.current else f"stale; {command}"
        if result.error is not None:
            state = "cannot be compiled"
        elif result.findings:
            state = f"not as it was compiled; {command}"
        output.say(f"{result.stack}: {output.cell(state)}", error=not result.current)
    if not results:
        output.say("no stack is compiled", error=True)


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
