"""inspect: what a compiled stack declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xmgen import arguments, compiler
from xmgen.commands import output, settings, target
from xmgen.plan import planner
from xmgen.plan.model import Plan
from xmgen.program import summary
from xmgen.project import Project
from xmgen.pulumi_cli import trials
from xmgen.review.resources import resources
from xmgen.stack import configuration
from xmgen.stack.compiled import CompiledStack
from xmgen.stack.configuration import Setting


def inspect(project: Project, name: str, *, manifests: bool, json: bool) -> None:
    compiled = target.existing(project, name)
    read = configuration.of_stack(project, compiled.name)
    if manifests and not json:
        _print_manifests(project, compiled.name)
        return
    experiment = compiled.experiment
    plan = planner.plan(experiment, compiler.compiled_stacks(project.root))
    if json:
        output.print_json(_as_json(compiled, plan, read))
        return
    lacking = configuration.missing(project, experiment.stack, read)
    output.say(output.cell(experiment.title), style="bold")
    output.say(f"compiled from {output.cell(' '.join([experiment.source, *experiment.flags]))}")
    for note in plan.notes:
        output.say(note)
    if lacking:
        output.say(f"to be set before `up`: {settings.listed(lacking)}")
    on_cloud = plan.cluster is not None or plan.vertex is not None
    which = "; network, accounts, rights and storage are in the program" if on_cloud else ""
    output.say(f"\nResources, in the order in which Pulumi creates them{which}", style="bold")
    output.print_table(
        ("step", "type", "name", "after"),
        ((resource.step, resource.type, resource.name, ", ".join(resource.depends_on)) for resource in resources(plan)),
    )
    if pools := summary.worker_pools(plan):
        output.say("\nWorker pools", style="bold")
        output.print_table(
            ("job", "machine", "accelerator", "provisioning", "replicas", "work units"),
            ((p.job, p.machine, p.accelerator, p.provisioning, p.replicas, p.units) for p in pools),
        )
    output.say("\nWork units, with the arguments that vary", style="bold")
    rows = trials.rows(compiled)
    columns = list(dict.fromkeys(key for _, varying in rows for key in varying))
    output.print_table(
        ("unit", "jobs", *columns),
        (
            (row_name, ", ".join(_job_names(compiled, position)), *(varying.get(column) for column in columns))
            for position, (row_name, varying) in enumerate(rows)
        ),
    )


def _job_names(compiled: CompiledStack, position: int) -> list[str]:
    return [job.name for job in compiled.experiment.units[position].jobs]


def _as_json(compiled: CompiledStack, plan: Plan, read: Sequence[Setting]) -> dict[str, Any]:
    experiment = compiled.experiment
    return {
        "stack": experiment.stack,
        "title": experiment.title,
        "source": experiment.source,
        "flags": list(experiment.flags),
        "notes": list(plan.notes),
        "configuration": [
            {"name": each.name, "type": each.kind, "secret": each.secret, "needed": each.needed} for each in read
        ],
        "resources": [
            {
                "step": resource.step,
                "type": resource.type,
                "name": resource.name,
                "dependsOn": list(resource.depends_on),
            }
            for resource in resources(plan)
        ],
        "units": [
            {
                "unit": unit.name,
                "jobs": _job_names(compiled, position),
                "varying": varying,
                "arguments": arguments.named(experiment.units[unit.position]),
                "after": list(unit.depends_on),
            }
            for position, (unit, (_, varying)) in enumerate(zip(compiled.units, trials.rows(compiled), strict=True))
        ],
    }


def _print_manifests(project: Project, name: str) -> None:
    """Those of jobs on a cluster or on this machine are in the folder, those of Vertex AI in one of their own in it."""
    folder = project.stack(name) / "manifests"
    files = sorted(folder.rglob("*.yaml"))
    if not files:
        output.say(f"{name} has no jobs, and so no manifests.", error=True)
    for file in files:
        text = file.read_text(encoding="utf-8")
        if output.console().is_terminal:
            from rich.syntax import Syntax

            output.console().print(Syntax(text, "yaml", background_color="default", word_wrap=True))
        else:
            print(text, end="")
