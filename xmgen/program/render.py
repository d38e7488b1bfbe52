"""Plan -> the files of a stack. Pure: the same plan gives the same bytes."""

from __future__ import annotations

from xmgen import __version__
from xmgen.executors import planning
from xmgen.plan.model import Plan, header
from xmgen.program import manifests, resources_yaml, summary
from xmgen.project import LOCK_FILE
from xmgen.stack import lock, recompile, resources


def render(plan: Plan, version: str = __version__) -> dict[str, str]:
    """The files of the stack's folder: path relative to it -> text. version: of xmgen, which the lock file records."""
    head = f"# {header(plan.experiment)}\n"
    files = planning.planner_of(plan).modules(plan)
    files[resources.FILE] = head + resources_yaml.dump(plan.declared, plan.notes)
    if plan.declared.workloads is not None:
        # One YAML document per resource, in the user's order.
        documents = (manifest for unit in plan.units for manifest in unit.manifests)
        files[plan.declared.workloads.manifests] = head + manifests.dump(documents)
    for image in plan.images:
        files |= {f"images/{image.name}/{file}": text for file, text in image.files.items()}
    for executable in plan.executables:
        if executable.dockerfile is not None:
            files[f"images/{executable.name}/Dockerfile"] = executable.dockerfile
    files["SUMMARY.md"] = summary.render(plan)
    command = recompile.recorded(plan.experiment)
    return {**files, LOCK_FILE: lock.dumps(plan.experiment, files, command, version)}
