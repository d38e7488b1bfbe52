"""cluster create, delete and credentials: a cluster that experiments share, as a stack of its own."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from xmgen import compiler, names, rules
from xmgen.commands import operate, output, settings, target
from xmgen.commands import source as compiling
from xmgen.errors import InputError, OperationError, Problem, did_you_mean
from xmgen.frontends import cluster as frontend
from xmgen.frontends.spec import document
from xmgen.plan import planner
from xmgen.project import Project
from xmgen.pulumi_cli import session, trials
from xmgen.stack import configuration, lock
from xmgen.stack import folder as stacks

FOLDER = "clusters"
_OF_POOL = ("jobs", "reservation")
"""What a pool says beside what its jobs require."""


def create(
    project: Project,
    name: str,
    *,
    location: str | None,
    pools: Sequence[str],
    filestore: bool = False,
    options: operate.Options,
) -> int:
    """Writes `clusters/<name>.cluster.yaml` unless it is there, compiles it and brings the cluster up.

    Nothing is written unless all of it is right; the same command may be given again.
    """
    source = source_of(project, name)
    place = source.relative_to(project.root).as_posix()
    _refuse_place(project, source, place)
    text = yaml.safe_dump(_content(name, location, pools, filestore), sort_keys=False, default_flow_style=None)
    if not source.exists():
        options.arguments()
        _refuse_taken(project, source, name)
        given = ["--location", location] if location else []
        given += [word for pool in pools for word in ("--pool", pool)] + ["--filestore"] * filestore
        _refuse_wrong(project, text, place, name, pools, given, options)
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text, encoding="utf-8")
        output.say(f"wrote {place}", error=options.json)
    elif (location or pools or filestore) and source.read_text(encoding="utf-8", errors="replace") != text:
        raise InputError(
            Problem(
                "is there already, and says where the cluster is and what it offers",
                where=place,
                hint="edit it, and leave --location, --pool and --filestore out",
            )
        )
    return operate.up(project, os.path.relpath(source), stack=name, flags=(), options=options)


def delete(project: Project, name: str, *, options: operate.Options) -> int:
    """Destroys the stack, unless it is that of an experiment: a name mistaken here would cost its results. Nor while
    others are up on the cluster: what they have there could not be removed any more.

    Takes a name alone: of a path or a source, the checks and the destruction could mean different stacks.
    """
    _refuse_no_name(name)
    _refuse_experiments(project, name)
    if guests := [stack for stack in _users(project, name) if _is_up(project, stack)]:
        commands = ", ".join(f"`xmgen destroy {stack}`" for stack in guests)
        raise InputError(Problem(f"{', '.join(guests)} run on the cluster {name!r}", hint=f"before: {commands}"))
    return operate.destroy(project, name, stack=None, remove=False, keep_outputs=True, options=options)


def _refuse_experiments(project: Project, name: str) -> None:
    """Raise InputError for the stack of an experiment, and for one that does not say which it is."""
    if os.path.lexists(project.lock(name)) and lock.read(project.lock(name), name).pools is None:
        hint = f"`xmgen destroy {name}` removes it"
        raise InputError(Problem(f"the stack {name!r} is an experiment's, not a cluster's", hint=hint))


def _refuse_place(project: Project, source: Path, place: str) -> None:
    """Raise InputError where no file of the project's can be."""
    real = Path(os.path.realpath(source))
    if not real.is_relative_to(os.path.realpath(project.root)):
        raise InputError(Problem("leads out of the project", where=place, hint="a cluster's file lies in the project"))
    if os.path.lexists(source) and not source.is_file():
        raise InputError(Problem("is no file", where=place, hint="move it away, or give the cluster another name"))
    if os.path.lexists(source.parent) and not source.parent.is_dir():
        raise InputError(Problem("is not a folder", where=FOLDER))


def _refuse_taken(project: Project, source: Path, name: str) -> None:
    """Raise InputError, or OperationError, where the stack of this name is somebody else's already."""
    _refuse_experiments(project, name)
    compiling.refuse_taken(project, source, name)
    stacks.refuse_foreign(project.root, name)


def _users(project: Project, name: str) -> list[str]:
    """The project's stacks that use the cluster of this one."""
    choices = {stack: compiled.cluster for stack in project.stacks() if (compiled := target.recorded(project, stack))}
    return [stack for stack, choice in choices.items() if choice and (choice.kind, choice.name) == ("stack", name)]


def _is_up(project: Project, stack: str) -> bool:
    """Whether the backend has anything of a stack."""
    work = session.begin(project, stack)
    return work.exists() and trials.is_up(work.export())


def credentials(project: Project, name: str, *, json_: bool) -> int:
    """Lets kubectl talk to the cluster of a stack; says how where gcloud is not there."""
    _refuse_no_name(name)
    work = session.begin(project, name)
    if not work.exists():
        raise InputError(Problem(f"the backend has no stack {name!r}", hint=f"`xmgen cluster create {name}` makes it"))
    outputs: dict[str, Any] = json.loads(work.pulumi.run("stack", "output", "--json", "--stack", name))
    cluster = outputs.get("cluster")
    if not isinstance(cluster, dict) or "location" not in cluster:
        raise OperationError(Problem(f"the stack {name!r} has no cluster of its own, or is not up"))
    project_id = work.pulumi.run("config", "get", "gcp:project", "--stack", name).strip()
    command = ["gcloud", "container", "clusters", "get-credentials", str(cluster["name"])]  # pyright: ignore
    command += ["--location", str(cluster["location"]), "--project", project_id]  # pyright: ignore
    if json_:
        output.print_json({"command": command})
        return 0
    if shutil.which("gcloud") is None:
        output.say("gcloud is not installed here; where it is:")
        output.say(f"  {' '.join(command)}")
        return 0
    # A fixed program; its arguments come from the stack's own outputs.
    return subprocess.run(command, check=False).returncode  # noqa: S603


def source_of(project: Project, name: str) -> Path:
    """Where a cluster's file is. Raises InputError for a name that no stack can have."""
    _refuse_no_name(name)
    return project.root / FOLDER / f"{name}.cluster.yaml"


def _refuse_no_name(name: str) -> None:
    """Raise InputError for what no stack can be called, such as the path of its folder or of its source."""
    if not (hint := rules.not_a_stack_name(name)):
        return
    if not name or "/" in name or name.endswith(names.SOURCE_SUFFIXES):
        hint = "the name of the stack, such as team"
    raise InputError(Problem(f"{name!r} cannot be the name of a cluster's stack", hint=hint))


def _refuse_wrong(
    project: Project,
    text: str,
    place: str,
    name: str,
    pools: Sequence[str],
    given: Sequence[str],
    options: operate.Options,
) -> None:
    """Raise InputError for what would not compile or run, in the words of the command line. text: of the file to be,
    made of the options that are given.
    """
    try:
        plan = planner.plan(frontend.build(document.parse(text, place), name), compiler.compiled_stacks(project.root))
    except InputError as error:
        raise InputError(*(_of_option(problem, place, pools) for problem in error.problems)) from None
    read = configuration.of_configuration(plan.declared.configuration)
    settings.refuse_wrong(project, name, read, options.settings, options.secrets, ["cluster", "create", name, *given])


def _of_option(problem: Problem, place: str, pools: Sequence[str]) -> Problem:
    found = re.fullmatch(rf"{re.escape(place)}:\d+ pools\[(\d+)\](?:\.\w+)?(.*)", problem.where)
    if found is None:
        return problem
    unknown = re.fullmatch(r"unknown key '(.*)'", problem.message)
    if unknown and (meant := difflib.get_close_matches(unknown[1], _OF_POOL, n=1)):
        # The file has them one level above what the jobs require.
        problem = replace(problem, hint=did_you_mean(unknown[1], meant))
    return replace(problem, where=" ".join(["--pool", pools[int(found[1])], found[2].lstrip(".")]).rstrip())


def _content(name: str, location: str | None, pools: Sequence[str], filestore: bool) -> dict[str, Any]:
    content: dict[str, Any] = {"title": f"Cluster {name}"}
    if location:
        content["location"] = location
    if filestore:
        content["filestore"] = True
    return {**content, "pools": [_pool(pool) for pool in pools]} if pools else content


def _pool(text: str) -> dict[str, Any]:
    """`t4=1,service_tier=freebie,jobs=8` as the file has it. What is wrong in it, the file's own check says."""
    values: dict[str, Any] = {}
    for part in text.split(","):
        key, separator, value = part.partition("=")
        if not key or not separator:
            raise InputError(Problem(f"{text!r} is no pool", where="--pool", hint="such as t4=1,jobs=8"))
        if (key := key.strip()) in values:
            raise InputError(Problem(f"{text!r} says {key!r} twice", where="--pool"))
        try:
            values[key] = yaml.safe_load(value)
        except (yaml.YAMLError, ValueError, RecursionError):
            # ValueError: a date that there is not, a number of thousands of digits.
            raise InputError(Problem(f"{value!r} is no value", where=f"--pool {text}", hint="such as t4=1")) from None
    own = {key: values.pop(key) for key in _OF_POOL if key in values}
    return {"requirements": values, **own}
