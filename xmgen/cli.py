"""The command line: what each command takes. What it does is in `xmgen.commands`, imported when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from xmgen import __version__
from xmgen.errors import XmgenError

Command = Callable[..., Any]


def _is_text(argument: str) -> bool:
    """Whether it is one, and no bytes that Python made surrogates of."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Program(click.Group):
    """Turns errors into what a user can act on: no traceback, exit code 2 for bad input, 1 for a failed operation."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        # In the order in which they are used.
        return list(self.commands)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        wrong = next((each for each in given if not _is_text(each)), None)
        if wrong is not None:
            # Nothing that names or records it could be written.
            click.echo(f"error: {wrong!a}: an argument is text in UTF-8", err=True)
            sys.exit(2)
        return super().main(given, *rest, **options)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except XmgenError as error:
            from xmgen.commands.output import print_error

            print_error(error)
            ctx.exit(error.exit_code)
        except (click.exceptions.Exit, click.ClickException, BrokenPipeError):
            raise
        except (KeyboardInterrupt, click.Abort):
            click.echo("Interrupted.", err=True)
            ctx.exit(130)
        except OSError as error:
            # A disk that is full, a folder that may not be written: the machine's state, which only its user can mend.
            if os.environ.get("XMGEN_DEBUG"):
                raise
            from xmgen.commands.output import shown

            place = f"{error.filename}: " if error.filename else ""
            click.echo(shown(f"error: {place}{error.strerror or error}"), err=True)
            ctx.exit(1)
        except Exception as error:
            if os.environ.get("XMGEN_DEBUG"):
                raise
            click.echo(f"This is a defect in xmgen: {type(error).__name__}: {error}", err=True)
            click.echo(
                "Please report it with the command you ran; XMGEN_DEBUG=1 in the environment shows the traceback.",
                err=True,
            )
            ctx.exit(70)


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Compile machine-learning experiments into Pulumi programs, and run them."""


def main() -> None:
    cli(prog_name="xmgen")


# Options that several commands have.
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON; docs/commands.md describes it.")
stack_option = click.option("--stack", metavar="NAME", help="The stack to compile to (default: the source's name).")
source_argument = click.argument("source", type=click.Path(path_type=Path))
flags_argument = click.argument("flags", nargs=-1, type=click.UNPROCESSED)
target_argument = click.argument("target", metavar="STACK|SOURCE")


settings_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Configuration of the stack."
)


secrets_option = click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="KEY",
    help="A secret of the stack, asked for or read from standard input; kept encrypted.",
)


def setting_options(command: Command) -> Command:
    """Options that become configuration of the stack, which Pulumi keeps in its settings."""
    runner = click.option("--runner", type=click.Choice(["process", "container", "auto"]), help="Where local jobs run.")
    return runner(settings_option(secrets_option(command)))


parallel_option = click.option("--parallel", type=click.IntRange(min=1), help="Resources that are worked on at a time.")
yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path), default=".")
@json_option
def init(folder: Path, as_json: bool) -> None:
    """Make a folder a project.

    FOLDER is the working directory unless you name one. Nothing in it is overwritten.
    """
    from xmgen.commands.project import init as run

    run(folder, json=as_json)


@cli.command("compile")
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


@cli.command()
@click.argument("stacks", nargs=-1)
@json_option
def check(stacks: tuple[str, ...], as_json: bool) -> None:
    """Are stacks up to date with their sources?

    Compiles STACKS (default: all) again and shows how they differ from what is there; nothing is written.
    """
    from xmgen import project
    from xmgen.commands.compile import check as run

    sys.exit(run(project.find(), stacks, json=as_json))


@cli.command()
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


@cli.command(
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


@cli.command()
@click.argument("stack")
@click.option("--manifests", is_flag=True, help="Print the manifests that the program applies.")
@json_option
def inspect(stack: str, manifests: bool, as_json: bool) -> None:
    """Show what a compiled stack declares.

    Its resources in their order, and its work units with the arguments that vary.
    """
    from xmgen import project
    from xmgen.commands.compile import inspect as run

    run(project.find(), stack, manifests=manifests, json=as_json)


@cli.command()
@click.option("--base", required=True, metavar="REF", help="The commit to compare with.")
@click.option("--head", metavar="REF", help="The commit to compare (default: the working tree).")
@json_option
def review(base: str, head: str | None, as_json: bool) -> None:
    """Say what a change means for the stacks.

    As Markdown for a pull request: work units added, removed and run again, and why. Needs Git, and neither Pulumi
    nor credentials.
    """
    from xmgen import project
    from xmgen.review.command import review as run

    run(project.find(), base, head, json=as_json)


@cli.command()
@target_argument
@flags_argument
@stack_option
@setting_options
@parallel_option
@json_option
def preview(target: str, flags: tuple[str, ...], stack: str | None, as_json: bool, **options: Any) -> None:
    """Show what `up` would do.

    A SOURCE is compiled first; FLAGS after `--` go to the launch script.
    """
    from xmgen import project
    from xmgen.commands import operate

    chosen = operate.Options(json=as_json, **options)
    sys.exit(operate.preview(project.find(), target, stack=stack, flags=flags, options=chosen))


@cli.command()
@click.argument("stack")
@click.option("--pod-seconds", type=click.FloatRange(min=0), default=3.0, show_default=True, help="How long jobs run.")
@click.option(
    "--pods",
    type=click.Path(path_type=Path),
    help="A JSON file of what becomes of pods; docs/rehearsal.md describes it.",
)
@click.option("--quota", type=click.Path(path_type=Path), help="A JSON file of quotas; docs/rehearsal.md describes it.")
@click.option(
    "--registry",
    metavar="HOST:PORT",
    help="Build the images, and push them to this registry on a loopback address. Else their digests are computed.",
)
@click.option("--folder", type=click.Path(path_type=Path), help="Keep everything in this folder, to look at or go on.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown for a pull request.")
@parallel_option
@json_option
def rehearse(
    stack: str,
    pod_seconds: float,
    pods: Path | None,
    quota: Path | None,
    registry: str | None,
    folder: Path | None,
    parallel: int | None,
    as_markdown: bool,
    as_json: bool,
) -> None:
    """Try a stack on GKE without Google Cloud.

    The unchanged stack runs against a real Kubernetes control plane on this machine and a simulated Google Cloud: does
    every job fit the node pools, is a second `up` empty, does `destroy` leave nothing?
    """
    from xmgen import project
    from xmgen.commands.rehearse import rehearse as run
    from xmgen.rehearsal.rehearsal import Options

    options = Options(pod_seconds=pod_seconds, pods=pods, quota=quota, parallel=parallel, registry=registry)
    sys.exit(run(project.find(), stack, options=options, folder=folder, json=as_json, as_markdown=as_markdown))


@cli.command()
@target_argument
@flags_argument
@stack_option
@setting_options
@click.option(
    "--keep-outputs/--no-keep-outputs", default=None, help="Whether `destroy` keeps what the trials wrote (it does)."
)
@click.option("--logs", is_flag=True, help="Also show what the trials print.")
@parallel_option
@yes_option
@json_option
def up(target: str, flags: tuple[str, ...], stack: str | None, as_json: bool, **options: Any) -> None:
    """Run an experiment.

    A SOURCE is compiled first; FLAGS after `--` go to the launch script. What is finished stays finished; what failed,
    changed or was stopped runs again.
    """
    from xmgen import project
    from xmgen.commands import operate

    chosen = operate.Options(json=as_json, **options)
    sys.exit(operate.up(project.find(), target, stack=stack, flags=flags, options=chosen))


@cli.command()
@target_argument
@stack_option
@click.option("--remove", is_flag=True, help="Also remove the stack itself and its settings.")
@click.option("--no-keep-outputs", "forget", is_flag=True, help="Also remove what the trials wrote.")
@parallel_option
@yes_option
@json_option
def destroy(target: str, stack: str | None, remove: bool, forget: bool, as_json: bool, **options: Any) -> None:
    """Remove what `up` created.

    What the trials wrote is kept unless you say otherwise.
    """
    from xmgen import project
    from xmgen.commands import operate

    chosen = operate.Options(json=as_json, **options)
    sys.exit(
        operate.destroy(project.find(), target, stack=stack, remove=remove, keep_outputs=not forget, options=chosen)
    )


@cli.command()
@click.argument("stack")
@json_option
def status(stack: str, as_json: bool) -> None:
    """Show how the trials of a stack stand."""
    from xmgen import project
    from xmgen.commands.observe import status as run

    run(project.find(), stack, json=as_json)


@cli.command()
@click.argument("stack")
@click.argument("unit", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on until the trial ends.")
def logs(stack: str, unit: str | None, follow: bool) -> None:
    """Print what trials printed.

    UNIT: a trial's name, the beginning of it, or its number in `status`; all trials when left out.
    """
    from xmgen import project
    from xmgen.commands.observe import logs as run

    run(project.find(), stack, unit, follow=follow)


@cli.group()
def cluster() -> None:
    """Clusters that experiments share.

    `xmgen compile SOURCE --cluster stack:NAME` runs an experiment's jobs on one.
    """


@cluster.command("create")
@click.argument("name")
@click.option("--location", help="Zone or region (default: the stack's configuration).")
@click.option("--pool", "pools", multiple=True, metavar="t4=1,jobs=8", help="Machines that it offers; repeatable.")
@settings_option
@parallel_option
@yes_option
@json_option
def cluster_create(name: str, location: str | None, pools: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Write clusters/NAME.cluster.yaml unless it is there, and bring the cluster up."""
    from xmgen import project
    from xmgen.commands import operate
    from xmgen.commands.cluster import create as run

    chosen = operate.Options(json=as_json, **options)
    sys.exit(run(project.find(), name, location=location, pools=pools, options=chosen))


@cluster.command("delete")
@click.argument("name")
@parallel_option
@yes_option
@json_option
def cluster_delete(name: str, as_json: bool, **options: Any) -> None:
    """Remove a cluster and all that belongs to its stack."""
    from xmgen import project
    from xmgen.commands import operate
    from xmgen.commands.cluster import delete as run

    sys.exit(run(project.find(), name, options=operate.Options(json=as_json, **options)))


@cluster.command("credentials")
@click.argument("name")
@json_option
def cluster_credentials(name: str, as_json: bool) -> None:
    """Let kubectl talk to the cluster of a stack."""
    from xmgen import project
    from xmgen.commands.cluster import credentials as run

    sys.exit(run(project.find(), name, json_=as_json))


@cli.command()
@json_option
def accelerators(as_json: bool) -> None:
    """List the accelerators that jobs can ask for."""
    from xmgen.commands.accelerators import accelerators as run

    run(json=as_json)


@cli.command()
def schema() -> None:
    """Print the JSON Schema of experiment.yaml."""
    from xmgen.commands.project import schema as run

    run()


@cli.command()
def version() -> None:
    """Print the version."""
    click.echo(f"xmgen {__version__}")
