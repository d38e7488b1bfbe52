"""inspect: what a compiled stack declares."""

from __future__ import annotations

from typing import Any

from xmgen import arguments
from xmgen.commands import output, settings, target
from xmgen.executors.base import runtime
from xmgen.project import Project
from xmgen.pulumi_cli import trials
from xmgen.stack import configuration, tree
from xmgen.stack.compiled import CompiledStack
from xmgen.stack.resource_order import in_order


def inspect(project: Project, name: str, *, manifests: bool, json: bool) -> None:
    stack = target.existing(project, name)
    if json:
        output.print_json(_as_json(stack))
    elif manifests:
        _print_manifests(project, stack)
    else:
        _print(project, stack)


def _print(project: Project, stack: CompiledStack) -> None:
    experiment = stack.experiment
    read = configuration.of_configuration(stack.declared.configuration)
    output.say(output.cell(experiment.title), style="bold")
    output.say(f"compiled from {output.cell(' '.join([experiment.source, *experiment.flags]))}")
    for note in stack.declared.notes:
        output.say(note)
    if lacking := configuration.missing(project, stack.name, read):
        output.say(f"to be set before `up`: {settings.listed(lacking)}")
    output.say("\nResources, in the order in which Pulumi creates them", style="bold")
    output.print_table(
        ("step", "type", "name", "after"),
        ((resource.step, resource.type, resource.name, ", ".join(resource.after)) for resource in in_order(stack)),
    )
    for title, columns, rows in runtime(stack).tables(stack):
        output.say(f"\n{title}", style="bold")
        output.print_table(columns, rows)
    output.say("\nWork units, with the arguments that vary", style="bold")
    rows = trials.rows(stack)
    columns = list(dict.fromkeys(key for _, varying in rows for key in varying))
    output.print_table(
        ("unit", "jobs", *columns),
        (
            (unit, ", ".join(_job_names(stack, position)), *(varying.get(column) for column in columns))
            for position, (unit, varying) in enumerate(rows)
        ),
    )


def _job_names(stack: CompiledStack, position: int) -> list[str]:
    return [job.name for job in stack.experiment.units[position].jobs]


def _as_json(stack: CompiledStack) -> dict[str, Any]:
    experiment = stack.experiment
    return {
        "stack": stack.name,
        "title": experiment.title,
        "source": experiment.source,
        "flags": list(experiment.flags),
        "notes": list(stack.declared.notes),
        "configuration": [
            {"name": each.name, "type": each.kind, "secret": each.secret, "needed": each.needed}
            for each in configuration.of_configuration(stack.declared.configuration)
        ],
        "resources": [
            {"step": resource.step, "type": resource.type, "name": resource.name, "dependsOn": list(resource.after)}
            for resource in in_order(stack)
        ],
        "units": [
            {
                "unit": unit.name,
                "jobs": _job_names(stack, unit.position),
                "varying": varying,
                "arguments": arguments.named(experiment.units[unit.position]),
                "after": list(unit.depends_on),
            }
            for unit, (_, varying) in zip(stack.units, trials.rows(stack), strict=True)
        ],
    }


def _print_manifests(project: Project, stack: CompiledStack) -> None:
    workloads = stack.declared.workloads
    if workloads is None:
        output.say(f"{stack.name} has no jobs, and so no manifests.", error=True)
        return
    files = tree.regular(tree.of_folder(project.stack(stack.name)))
    output.print_text(files[workloads.manifests].decode(errors="replace"), "yaml")
