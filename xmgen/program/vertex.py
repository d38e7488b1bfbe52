"""Plan -> the modules of a program that runs on Vertex AI: project, images, jobs."""

from __future__ import annotations

from xmgen.executors.vertex import resources
from xmgen.executors.vertex.resources import given_accounts, reports
from xmgen.plan.model import Plan, header
from xmgen.program import summary
from xmgen.program.google import images_module
from xmgen.program.python import python


def modules(plan: Plan) -> dict[str, str]:
    """File -> text."""
    assert plan.vertex is not None  # noqa: S101 — the caller asks for Vertex AI's modules of stacks there
    head, title = header(plan.experiment), plan.experiment.title
    result = {
        "__main__.py": python("stack/vertex_main.py.j2", header=head, docstring=summary.docstring(plan), title=title),
        "project.py": python(
            "stack/vertex_project.py.j2",
            header=head,
            labels=plan.declared.variables["labels"],
            region=plan.vertex.region,
            services=plan.declared.of("services"),
        ),
        "jobs.py": _jobs(plan),
    }
    if plan.images:
        result["images.py"] = images_module(plan, settings="project")
    return result


def _jobs(plan: Plan) -> str:
    declared = plan.declared
    workloads = declared.workloads
    assert workloads is not None  # noqa: S101 — a stack on Vertex AI has units
    variables = dict.fromkeys(each.variable for each in declared.resources)
    beside = [name for name in variables if name == "account" or name.startswith("tensorboard_")]
    return python(
        "stack/vertex_jobs.py.j2",
        header=header(plan.experiment),
        images=bool(plan.images),
        output_bucket=declared.of("output_bucket"),
        beside=[declared.of(variable) for variable in beside],
        references=list(resources.references(plan).items()),
        of_ours=list(resources.references_of_ours(plan).items()),
        rights=declared.of("rights"),
        other_rights=declared.of("other_rights"),
        reports=reports(plan),
        given=bool(given_accounts(plan)),
        vertex=declared.of("vertex"),
        manifests=workloads.manifests,
        needed=workloads.options.depends_on,
        after=[(unit.name, list(unit.depends_on)) for unit in plan.units if unit.depends_on],
    )
