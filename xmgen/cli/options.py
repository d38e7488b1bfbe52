"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Command = Callable[..., Any]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON; docs/commands.md describes it.")
stack_option = click.option("--stack", metavar="NAME", help="The stack to compile to (default: the source's name).")
source_argument = click.argument("source", type=click.Path(path_type=Path))
flags_argument = click.argument("flags", nargs=-1, type=click.UNPROCESSED, metavar="[-- FLAGS...]")


def stack_names(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """For a shell that completes the name of a compiled stack."""
    from xmgen import project
    from xmgen.errors import XmgenError

    try:
        known = project.find().stacks()
    except (XmgenError, OSError):
        # A shell asks anywhere.
        return []
    return [name for name in known if name.startswith(begun)]


def _stacks_or_files(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[str] | list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return stack_names(context, parameter, begun) or [CompletionItem(begun, type="file")]


stack_argument = click.argument("stack", shell_complete=stack_names)
target_argument = click.argument("target", metavar="STACK|SOURCE", shell_complete=_stacks_or_files)


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
