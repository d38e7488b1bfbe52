"""The clusters that experiments share."""

from __future__ import annotations

import sys
from typing import Any

import click

from xmgen.cli.options import (
    json_option,
    parallel_option,
    settings_option,
    yes_option,
)


@click.group()
def cluster() -> None:
    """Clusters that experiments share.

    `xmgen compile SOURCE --cluster stack:NAME` runs an experiment's jobs on one.
    """


@cluster.command("create")
@click.argument("name")
@click.option("--location", help="Zone or region (default: the stack's configuration).")
@click.option("--pool", "pools", multiple=True, metavar="t4=1,jobs=8", help="Machines that it offers; repeatable.")
@click.option("--filestore", is_flag=True, help="With the driver of Filestore, for claims of its classes.")
@settings_option
@parallel_option
@yes_option
@json_option
def cluster_create(
    name: str, location: str | None, pools: tuple[str, ...], filestore: bool, as_json: bool, **options: Any
) -> None:
    """Write clusters/NAME.cluster.yaml unless it is there, and bring the cluster up."""
    from xmgen import project
    from xmgen.commands import operate
    from xmgen.commands.cluster import create as run

    chosen = operate.Options(json=as_json, **options)
    sys.exit(run(project.find(), name, location=location, pools=pools, filestore=filestore, options=chosen))


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
