"""`xmgen caliban`: a command of Caliban's, compiled to a stack; and `xmgen expand` of an experiment.json."""

from __future__ import annotations

import json
import os
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from xmgen import names, sources
from xmgen.commands import output, target
from xmgen.commands import source as compiling
from xmgen.errors import InputError, OperationError, Problem
from xmgen.executors import images
from xmgen.experiment import Dockerfile, PythonContainer
from xmgen.frontends.caliban import expansion, flags, jobs, machines, options
from xmgen.frontends.caliban import source as frontend
from xmgen.frontends.caliban.options import Options
from xmgen.frontends.caliban.project import Project as CalibanProject
from xmgen.frontends.caliban.project import exported
from xmgen.plan.model import Plan, PlannedImage
from xmgen.project import Project

NO_IMAGE_YET = "dry_run_tag"
"""What Caliban calls the image that a dry run does not build."""


def caliban(find: Callable[[], Project], arguments: Sequence[str], *, stack: str | None) -> int:
    """Returns the exit code. find: finds the xmgen project; the working directory is the Caliban project."""
    folder = Path.cwd()
    arguments = _self_contained(arguments, folder)
    chosen = options.parse(arguments)
    name = target.stack_of(_root(folder), folder, stack or frontend.stack_of(folder, arguments))
    if chosen.export is not None:
        return _export(_found(find, folder), folder, name, arguments, chosen)
    project = find()
    if chosen.command == "delete":
        from xmgen.commands import operate

        return operate.destroy(project, name, stack=None, remove=False, keep_outputs=True, options=operate.Options())
    if chosen.dry_run:
        _dry_run(project, folder, name, arguments, chosen)
        return 0
    from xmgen.commands.compile import compile_

    compile_(project, folder, name=name, flags=arguments, json=False)
    return 0


def _root(folder: Path) -> Project:
    return Project(root=folder)


def _found(find: Callable[[], Project], folder: Path) -> Project:
    """Manifests alone need no project of xmgen's."""
    try:
        return find()
    except InputError:
        return _root(folder)


def _self_contained(arguments: Sequence[str], folder: Path) -> list[str]:
    """The command line with what it takes from around it, so that the stack can be compiled again anywhere."""
    words = list(arguments)
    chosen = options.parse(words)
    if (sweep := chosen.experiment_config) is not None and not expansion.is_inline(sweep):
        path = None if expansion.is_stdin(sweep) else _within(folder, sweep)
        content = path or json.dumps(expansion.load(sweep), ensure_ascii=False)
        words = options.with_option(words, "--experiment_config", content)
    if chosen.cloud_key is not None and Path(chosen.cloud_key).is_absolute():
        home = _within(Path.home(), chosen.cloud_key)
        key = _within(folder, chosen.cloud_key) or (f"~/{home}" if home else chosen.cloud_key)
        words = options.with_option(words, "--cloud_key", key)
    region = os.environ.get("REGION")
    if chosen.command == "cloud" and chosen.region is None and region:
        words = options.with_option(words, "--region", machines.parse_region(region))
    return words


def _within(folder: Path, path: str) -> str | None:
    """The path relative to a folder; None when it is not in there."""
    resolved = (folder / path).resolve()
    inside = resolved.is_relative_to(folder.resolve())
    return resolved.relative_to(folder.resolve()).as_posix() if inside else None


def _dry_run(project: Project, folder: Path, stack: str, arguments: Sequence[str], chosen: Options) -> None:
    """Print what would be done. Compiles, so that whatever would be refused is refused here, too."""
    plan, _ = compiling.compiled(project, folder, stack, arguments)
    if chosen.command == "create":
        location = plan.cluster.location if plan.cluster else None
        output.say(
            f"stacks/{stack} would be compiled: a GKE cluster in {location}; `xmgen up {stack}` would create it."
        )
        return
    caliban_project = CalibanProject.of(folder, project.root, stack, chosen)
    image = chosen.image or NO_IMAGE_YET
    for number, text in enumerate(_descriptions(caliban_project, plan, image), start=1):
        output.say(f"Job {number}: {text}")
    count = len(plan.units)
    output.say(
        f"stacks/{stack} would be compiled with {count} work unit{'' if count == 1 else 's'}; nothing is written."
    )


def _descriptions(project: CalibanProject, plan: Plan, image: str) -> Iterable[str]:
    if project.options.command != "run":
        for unit in plan.units:
            for manifest in unit.manifests:
                yield json.dumps(manifest.get("spec", manifest), indent=2, ensure_ascii=False)
        return
    terminal = jobs.window_size(*os.get_terminal_size()) if sys.stdout.isatty() else []
    for index, run in enumerate(project.runs()):
        job = jobs.local_job(
            run, project.mode, image, index, project.options.docker_run_args, terminal, mlflow=project.uses_mlflow
        )
        yield f"Running command: {shlex.join(job['command'])}"


def _export(project: Project, folder: Path, stack: str, arguments: Sequence[str], chosen: Options) -> int:
    """Write the Jobs as files: `f.yaml`, or `f_0.yaml`, `f_1.yaml` and so on when there are several."""
    caliban_project = CalibanProject.of(folder, project.root, stack, chosen)
    image = chosen.image or _image_to_push(caliban_project, arguments, chosen)
    documents = list(exported(caliban_project, image))
    stem, _, extension = (chosen.export or "").rpartition(".")
    paths = [Path(f"{stem}.{extension}")]
    if len(documents) != 1:
        paths = [Path(f"{stem}_{number}.{extension}") for number in range(len(documents))]
    _refuse_code(project, paths)
    for path, document in zip(paths, documents, strict=True):
        try:
            path.write_text(_serialised(document, extension), encoding="utf-8")
        except OSError as error:
            raise OperationError(Problem(f"cannot be written: {error.strerror}", str(path))) from None
        output.say(f"wrote {path}")
    if chosen.image is None:
        output.say(f"They run the image {image}, which is neither built nor pushed by this.")
    return 0


def _refuse_code(project: Project, paths: Sequence[Path]) -> None:
    """What is written into the code of a compiled stack is changed code: its next `up` would refuse it."""
    for stack in project.stacks():
        experiment = target.recorded(project, stack)
        for executable in experiment.executables if experiment else ():
            if not isinstance(executable, PythonContainer | Dockerfile):
                continue
            if any(sources.counts(project.root / executable.path, path) for path in paths):
                hint = "write it to another folder, such as --export ../jobs.yaml, or name it in .dockerignore first"
                message = f"{executable.path} is the code of the stack {stack}, which another file in it would change"
                raise InputError(Problem(message, f"--export {paths[0]}", hint))


def _serialised(document: dict[str, Any], extension: str) -> str:
    if extension == "json":
        return json.dumps(document, indent=4, ensure_ascii=False) + "\n"
    import yaml

    return yaml.safe_dump(document, allow_unicode=True)


def _image_to_push(project: CalibanProject, arguments: Sequence[str], chosen: Options) -> str:
    """The name in the project's registry; its id is the hash of what it holds."""
    cloud_project = chosen.project_id or os.environ.get("PROJECT_ID")
    if not cloud_project:
        hint = "--project_id (or $PROJECT_ID) says whose registry it is in, --image_tag names one that is there"
        raise InputError(Problem("which image the Jobs run is not known", "--export", hint))
    experiment = frontend.load(project.folder, root=project.root, stack=project.stack, flags=arguments)
    [executable] = experiment.executables
    planned = images.image(executable, names.slug(executable.name) or "image", experiment)
    if not isinstance(planned, PlannedImage):
        raise InputError(planned if isinstance(planned, Problem) else Problem(planned))
    return jobs.image_tag(cloud_project, planned.tag)


def expand(source: str, *, pprint: bool, print_flags: bool) -> None:
    """Print the experiments of an experiment.json, one at a time: 100,000 take no more memory than one."""
    experiments = expansion.read(source)
    if print_flags:
        for experiment in experiments:
            print(shlex.join(flags.experiment_to_args(experiment)))
        return
    indent = 2 if pprint else None
    opening, separator = ("[\n", ",\n") if pprint else ("[", ", ")
    first = True
    for experiment in experiments:
        text = json.dumps(experiment, indent=indent)
        sys.stdout.write(opening if first else separator)
        sys.stdout.write(textwrap.indent(text, "  ") if pprint else text)
        first = False
    print("[]" if first else "\n]" if pprint else "]")
