"""The command line: what each command takes. What it does is in `xmgen.commands`, imported when it is called."""

from __future__ import annotations

import click

from xmgen import __version__
from xmgen.cli import clusters, compiling, facts, running
from xmgen.cli.program import Program


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="xmgen", message="%(prog)s %(version)s")
def cli() -> None:
    """Compile machine-learning experiments into Pulumi programs, and run them."""


# In the order in which they are used.
for command in (
    compiling.init,
    compiling.compile_,
    compiling.check,
    compiling.expand,
    compiling.caliban,
    compiling.inspect,
    compiling.review,
    running.preview,
    running.rehearse,
    running.up,
    running.destroy,
    running.refresh,
    running.status,
    running.logs,
    clusters.cluster,
    facts.accelerators,
    facts.schema,
    facts.version,
):
    cli.add_command(command)


def main() -> None:
    cli(prog_name="xmgen")
