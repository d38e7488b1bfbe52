"""What xmgen knows without a project: accelerators, schema, version."""

from __future__ import annotations

import click

from xmgen import __version__
from xmgen.cli.options import json_option


@click.command()
@json_option
def accelerators(as_json: bool) -> None:
    """List the accelerators that jobs can ask for."""
    from xmgen.commands.accelerators import accelerators as run

    run(json=as_json)


@click.command()
def schema() -> None:
    """Print the JSON Schema of experiment.yaml."""
    from xmgen.commands.project import schema as run

    run()


@click.command()
def version() -> None:
    """Print the version."""
    click.echo(f"xmgen {__version__}")
