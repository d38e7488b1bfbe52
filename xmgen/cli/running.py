"""A stack that runs: preview, rehearse, up, destroy, refresh, status, logs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from xmgen.cli.options import (
    flags_argument,
    json_option,
    parallel_option,
    setting_options,
    stack_argument,
    stack_option,
    target_argument,
    yes_option,
)


@click.command()
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


@click.command()
@stack_argument
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


@click.command()
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


@click.command()
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


@click.command()
@target_argument
@stack_option
@parallel_option
@json_option
def refresh(target: str, stack: str | None, as_json: bool, **options: Any) -> None:
    """Look at what a stack has in the cloud.

    Pulumi's state is then as things are: what somebody deleted or changed by hand, how jobs have ended. Nothing is
    created or removed.
    """
    from xmgen import project
    from xmgen.commands import operate

    chosen = operate.Options(json=as_json, **options)
    sys.exit(operate.refresh(project.find(), target, stack=stack, options=chosen))


@click.command()
@stack_argument
@json_option
def status(stack: str, as_json: bool) -> None:
    """Show how the trials of a stack stand."""
    from xmgen import project
    from xmgen.commands.status import status as run

    run(project.find(), stack, json=as_json)


def _unit_names(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    from xmgen import project
    from xmgen.commands import target
    from xmgen.errors import XmgenError

    try:
        units = target.existing(project.find(), context.params["stack"]).units
    except (XmgenError, OSError):
        return []
    return [unit.name for unit in units if unit.name.startswith(begun)]


@click.command()
@stack_argument
@click.argument("units", nargs=-1, metavar="[UNIT]...", shell_complete=_unit_names)
@click.option("-f", "--follow", is_flag=True, help="Go on until the trials end.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Begin with the last N lines of each log.")
@click.option("--since", metavar="TIME", help="Only the last 90s, 10m, 2h or 1d; not of local trials.")
def logs(stack: str, units: tuple[str, ...], follow: bool, tail: int | None, since: str | None) -> None:
    """Print what trials printed.

    UNIT: a trial's name, the beginning of it, or its number in `status`; all trials when left out. Where there are
    several logs, each line begins with the name of its trial, on GKE of its pod.
    """
    from xmgen import project
    from xmgen.commands.logs import logs as run

    run(project.find(), stack, units, follow=follow, tail=tail, since=since)
