"""Plan -> the files of a stack. Pure: the same plan gives the same bytes."""

from __future__ import annotations

import ast
import functools
import posixpath
import re
import subprocess

from xmgen import gke, lock, manifests, names, summary
from xmgen.errors import OperationError
from xmgen.executors import kubernetes
from xmgen.plan import Plan, Value, header
from xmgen.templating import render as render_template

LOCK = "experiment.lock.json"
RUNS = "manifests/local.yaml"
JOBS = "manifests/jobs.yaml"
SERVICE = "manifests/service.yaml"


def render(plan: Plan) -> dict[str, str]:
    """The files of the stack's folder: path relative to it -> text."""
    files = {**_local_files(plan), **_cluster_files(plan), "SUMMARY.md": summary.render(plan)}
    return {**files, LOCK: lock.dumps(plan.experiment)}


def _local_files(plan: Plan) -> dict[str, str]:
    if not plan.executables:
        return {}
    files = {
        "__main__.py": _main(plan, "stack/__main__.py.j2"),
        "executables.py": _python(
            "stack/executables.py.j2",
            header=header(plan.experiment),
            executables=[
                {
                    "name": executable.name,
                    "arguments": [(_snake_case(key), value) for key, value in executable.inputs.items()],
                }
                for executable in plan.executables
            ],
        ),
        "jobs.py": _python(
            "stack/jobs.py.j2",
            header=header(plan.experiment),
            dependencies=any(unit.depends_on for unit in plan.units),
        ),
        RUNS: _manifests(plan),
    }
    for executable in plan.executables:
        if executable.dockerfile is not None:
            files[f"images/{executable.name}/Dockerfile"] = executable.dockerfile
    return files


def _cluster_files(plan: Plan) -> dict[str, str]:
    if plan.cluster is None:
        return {}
    head, name = header(plan.experiment), plan.experiment.stack
    service = any(kubernetes.needs_service(manifest) for unit in plan.units for manifest in unit.manifests)
    files = {
        "__main__.py": _main(plan, "stack/kubernetes_main.py.j2"),
        "cluster.py": _python(
            "stack/cluster.py.j2",
            header=head,
            name=name,
            label=names.gcp_label(plan.experiment.title) or name,
            location=plan.cluster.location,
            nodes_account=names.service_account(name, "nodes"),
            system_machine_type=plan.cluster.system_machine_type,
            pools=[gke.pool_arguments(pool) for pool in plan.cluster.pools],
        ),
        "jobs.py": _python(
            "stack/kubernetes_jobs.py.j2",
            header=head,
            name=name,
            namespace=name,
            images=bool(plan.images),
            jobs_account=names.service_account(name, "jobs"),
            service=service,
            waits=any(unit.depends_on for unit in plan.units),
        ),
        JOBS: _manifests(plan),
    }
    if service:
        files[SERVICE] = f"# {head}\n{manifests.dump([kubernetes.headless_service(name)])}"
    if plan.images:
        files["images.py"] = _python("stack/images.py.j2", header=head, name=name, images=_images(plan))
    for image in plan.images:
        files |= {f"images/{image.name}/{file}": text for file, text in image.files.items()}
    return files


def _main(plan: Plan, template: str) -> str:
    title = plan.experiment.title
    return _python(
        template, header=header(plan.experiment), docstring=f"{title}: {summary.overview(plan)}", title=title
    )


def _images(plan: Plan) -> list[dict[str, object]]:
    return [
        {
            "name": image.name,
            "reference": kubernetes.image_reference(image.name, image.tag),
            "tag": image.tag,
            "directory": image.directory,
            "digest": image.digest,
            "exclude": list(image.exclude),
            # Pulumi runs the program in the folder that `main` of Pulumi.yaml names.
            "context": posixpath.relpath(image.context, "stacks"),
            "dockerfile": posixpath.relpath(image.dockerfile, "stacks"),
        }
        for image in plan.images
    ]


def _manifests(plan: Plan) -> str:
    """One YAML document per resource, in the user's order."""
    documents = (manifest for unit in plan.units for manifest in unit.manifests)
    return f"# {header(plan.experiment)}\n{manifests.dump(documents)}"


def _snake_case(key: str) -> str:
    return re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", key)


def _python(template: str, **values: Value | object) -> str:
    """A module: rendered, parsed, imports sorted and unused ones dropped, formatted."""
    source = render_template(template, **values)
    ast.parse(source, filename=template)
    source = _ruff(source, "check", "--quiet", "--fix", "--select=I,F401", *_IMPORTS)
    return _ruff(source, "format", "--quiet")


# Which modules are the stack's own is said here: ruff would look for them in the current folder.
_IMPORTS = ("--config=src=[]", "--config=lint.isort.known-first-party=['cluster', 'executables', 'images', 'jobs']")


def _ruff(source: str, *arguments: str) -> str:
    # --isolated: the settings of a project that we happen to run in must not change a byte.
    command = [_ruff_program(), *arguments, "--isolated", "--config=line-length=120", "--no-cache", "-"]
    # The input is a program's text, the command a fixed list.
    done = subprocess.run(command, input=source, capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    if done.returncode != 0:
        raise OperationError(f"the generated code could not be formatted: {done.stderr.strip()}")
    return done.stdout


@functools.cache
def _ruff_program() -> str:
    from ruff import find_ruff_bin  # pyright: ignore[reportMissingTypeStubs]

    return find_ruff_bin()
