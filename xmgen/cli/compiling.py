"""From a source to a stack, and what to know of it before it runs: init, compile, check, expand, inspect, review."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from xmgen.cli.options import flags_argument, json_option, source_argument, stack_argument, stack_names, stack_option


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=".")
@json_option
def init(folder: Path, as_json: bool) -> None:
    """Make a folder a project.

    FOLDER is the working directory unless you name one. Nothing in it is overwritten.
    """
    from xmgen.commands.project import init as run

    run(folder, json=as_json)


@click.command("compile")
@source_argument
@flags_argument
@stack_option
@click.option(
    "--cluster", metavar="CHOICE", help="own, stack:NAME or existing:NAME@LOCATION (default: what the source says)."
)
@click.option("--replace", is_flag=True, help="Take the stack even if it is that of another source.")
@json_option
def compile_(
    source: Path, flags: tuple[str, ...], stack: str | None, cluster: str | None, replace: bool, as_json: bool
) -> None:
    """Compile an experiment into a stack.

    SOURCE is a launch script (.py) or an experiment in YAML; its stack is written to stacks/NAME. FLAGS after `--` go
    to the launch script.
    """
    from xmgen import project
    from xmgen.commands.compile import compile_ as run

    run(project.find(), source, name=stack, flags=flags, json=as_json, cluster=cluster, replace=replace)


@click.command()
@click.argument("stacks", nargs=-1, shell_complete=stack_names)
@json_option
def check(stacks: tuple[str, ...], as_json: bool) -> None:
    """Are stacks up to date with their sources?

    Compiles STACKS (default: all) again and shows how they differ from what is there; nothing is written.
    """
    from xmgen import project
    from xmgen.commands.compile import check as run

    sys.exit(run(project.find(), stacks, json=as_json))


@click.command()
@source_argument
@flags_argument
@stack_option
@click.option("--pprint", is_flag=True, help="Of an experiment.json: print JSON with line breaks.")
@click.option("--print_flags", is_flag=True, help="Of an experiment.json: print the flags, a line per experiment.")
@json_option
def expand(
    source: Path, flags: tuple[str, ...], stack: str | None, pprint: bool, print_flags: bool, as_json: bool
) -> None:
    """List the jobs of an experiment's work units.

    With arguments, environment and requirements. FLAGS after `--` go to the launch script. Nothing is written.
    Of Caliban's experiment.json, or `stdin`, the experiments that it expands to are listed.
    """
    if source.suffix == ".json" or str(source).lower() == "stdin":
        from xmgen.commands.caliban import expand as run_expansion

        run_expansion(str(source), pprint=pprint or as_json, print_flags=print_flags)
        return
    if pprint or print_flags:
        raise click.UsageError("--pprint and --print_flags are for an experiment.json")
    from xmgen import project
    from xmgen.commands.compile import expand as run

    run(project.find(), source, name=stack, flags=flags, json=as_json)


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="[--stack NAME]",
)
@stack_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def caliban(stack: str | None, command: tuple[str, ...]) -> None:
    """Compile a command of Caliban's.

    In the folder of a Caliban project: `run`, `cloud`, `cluster job submit`, `cluster create`, `cluster delete`, with
    Caliban's own options (`xmgen caliban run --help`). --stack comes before the command.
    """
    from xmgen import project
    from xmgen.commands.caliban import caliban as run

    sys.exit(run(project.find, command, stack=stack))


@click.command()
@stack_argument
@click.option("--manifests", is_flag=True, help="Print the manifests that the program applies.")
@json_option
def inspect(stack: str, manifests: bool, as_json: bool) -> None:
    """Show what a compiled stack declares.

    Its resources in their order, and its work units with the arguments that vary.
    """
    from xmgen import project
    from xmgen.commands.inspect import inspect as run

    run(project.find(), stack, manifests=manifests, json=as_json)


@click.command()
@click.option("--base", required=True, metavar="REF", help="The commit to compare with.")
@click.option("--head", metavar="REF", help="The commit to compare (default: the working tree).")
@json_option
def review(base: str, head: str | None, as_json: bool) -> None:
    """Say what a change means for the stacks.

    As Markdown for a pull request, most dangerous first: what is lost, rights, network, settings, quantities,
    resources, and work units that are added, removed or run again, and why. Needs Git, and neither Pulumi nor
    credentials.
    """
    from xmgen import project
    from xmgen.commands.review import review as run

    run(project.find(), base, head, json=as_json)
