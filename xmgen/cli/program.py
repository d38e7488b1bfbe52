"""The program that all commands belong to, and what becomes of their errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from xmgen.errors import XmgenError


def _is_text(argument: str) -> bool:
    """Whether it is one, and no bytes that Python made surrogates of."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


class Program(click.Group):
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
        except click.NoSuchOption as error:
            if error.ctx is None or all(parameter.name != "flags" for parameter in error.ctx.command.params):
                raise
            name = error.option_name
            said = f"{error.message} A flag of the launch script's comes after `--`, as in `-- {name}=…`."
            raise click.NoSuchOption(name, said, error.possibilities, error.ctx) from None
        except (click.exceptions.Exit, click.ClickException, BrokenPipeError):
            raise
        except (KeyboardInterrupt, click.Abort):
            click.echo("Interrupted.", err=True)
            ctx.exit(130)
        except OSError as error:
            # A disk that is full, a folder that may not be written: the machine's state, which only its user can mend.
            if os.environ.get("XMGEN_DEBUG"):
                raise
            from xmgen.commands.output import escaped

            place = f"{error.filename}: " if error.filename else ""
            click.echo(escaped(f"error: {place}{error.strerror or error}"), err=True)
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
