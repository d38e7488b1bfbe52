"""A Caliban project: a command of Caliban's, in the project's folder, is what a stack is compiled from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from xmgen import experiment as ir
from xmgen import names
from xmgen.errors import InputError, Problem
from xmgen.frontends import launchable
from xmgen.frontends.caliban import machines
from xmgen.frontends.caliban.options import Options, parse
from xmgen.frontends.caliban.project import DATABASE_PASSWORD, Project
from xmgen.project import Project as XmgenProject

DEFAULT_CLUSTER = "blueshift"
_SUFFIX = {"run": "local", "cloud": "vertex", "submit": "gke"}


def stack_of(folder: Path, arguments: Sequence[str]) -> str:
    """The stack that a command compiles to: the folder's name and the target, or the cluster's name."""
    options = parse(arguments)
    if options.command in ("create", "delete"):
        return names.stack_name(options.cluster_name or DEFAULT_CLUSTER)
    return names.stack_name(f"{folder.resolve().name}-{_SUFFIX[options.command]}")


def _no_command(source: Path) -> InputError:
    """Of a folder alone, by which a launch script or an experiment in it may be meant."""
    if meant := launchable.meant_by(source):
        hint = f"{meant} A Caliban project is compiled with `xmgen caliban run …` in its folder"
        return InputError(Problem("is a folder", str(source), hint))
    hint = "`xmgen caliban run …` there, or the command after `--`: `xmgen compile FOLDER -- run --nogpu train.py`"
    return InputError(Problem("a Caliban project is compiled from a command of Caliban's", str(source), hint))


def load(source: Path, *, root: Path, stack: str, flags: Sequence[str] = ()) -> ir.Experiment:
    """The experiment of a command. source: the Caliban project's folder, in `root`. flags: the command line after
    `caliban`."""
    root, folder = root.resolve(), source.resolve()
    if not flags:
        raise _no_command(source)
    options = parse(flags)
    experiment = ir.Experiment(
        title=options.xgroup or options.name or folder.name,
        stack=stack,
        source=folder.relative_to(root).as_posix(),
        flags=tuple(flags),
        experiment_id=names.experiment_id(stack),
        executables=(),
        units=(),
    )
    if options.command == "delete":
        raise InputError(Problem("`cluster delete` compiles to nothing", hint=f"`xmgen destroy {stack}`"))
    if options.command == "create":
        return _cluster(experiment, options)
    command = Project.of(folder, root, stack, options)
    return replace(
        experiment,
        executables=(command.executable(),),
        units=tuple(command.units()),
        references=(DATABASE_PASSWORD,) if command.hands_on_password else (),
        cluster=_cluster_choice(root, options),
    )


def _cluster_choice(root: Path, options: Options) -> ir.ClusterChoice | None:
    """Another stack's cluster where there is one of that name, else one that exists; None for the stack's own."""
    if options.cluster_name is None:
        return None
    stack = names.stack_name(options.cluster_name)
    if stack in XmgenProject(root=root).stacks():
        return ir.ClusterChoice(kind="stack", name=stack)
    return ir.ClusterChoice(kind="existing", name=options.cluster_name)


def _cluster(experiment: ir.Experiment, options: Options) -> ir.Experiment:
    if options.zone is None:
        raise InputError(Problem("a cluster needs a zone", "--zone", "such as us-central1-a"))
    found = machines.parse_zone(options.zone)
    location = options.zone if options.single_zone or found is None else found[0]
    title = options.cluster_name or DEFAULT_CLUSTER
    return replace(experiment, title=title, cluster=ir.ClusterChoice(kind="own", location=location), pools=())
