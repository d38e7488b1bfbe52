"""Drives one operation of Pulumi's: its events in, its end out, whoever runs it and whatever for."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager

from xmgen.errors import Problem
from xmgen.pulumi_cli import pulumi as cli
from xmgen.pulumi_cli import stalls
from xmgen.pulumi_cli.events import Change, Progress
from xmgen.pulumi_cli.pulumi import Event, Operation, Pulumi


class Running:
    """An operation under way. Iterate over it for its events, each with what a user should hear of it."""

    def __init__(self, name: str, operation: Operation, progress: Progress, stall: stalls.Watch) -> None:
        self._name = name
        self._operation = operation
        self._progress = progress
        self._stall = stall

    def __iter__(self) -> Iterator[tuple[Event, Change | None]]:
        for event in self._operation:
            self._stall.hear(event)
            yield event, self._progress.apply(event)

    def interrupt(self) -> None:
        """Ask the engine to stop."""
        self._operation.interrupt()

    @property
    def code(self) -> int:
        """The exit code, once it has ended."""
        return self._operation.code

    @property
    def stuck(self) -> tuple[str, ...]:
        """URNs of what could not be deleted, where the engine waited for it without end and was interrupted."""
        return self._stall.stuck

    @property
    def interrupted(self) -> bool:
        """Whether somebody interrupted it, and not what it was stuck at."""
        return self._operation.interrupted and not self.stuck

    def failure(self) -> Problem:
        """Why it failed, in Pulumi's words."""
        said = [message.text for message in self._progress.messages if message.severity == "error"]
        return cli.failure(f"pulumi {self._name}", "\n".join([*said, *self._operation.messages]), self.code)


@contextmanager
def running(
    pulumi: Pulumi, *arguments: str, progress: Progress, when_interrupted: Callable[[], None] | None = None
) -> Generator[Running]:
    """Start an operation; its end is awaited at the end of the block.

    progress: takes what happens. when_interrupted: where it is given, Ctrl-C ends nothing here but is passed to the
    engine, and this is called.
    """
    operation = pulumi.start(*arguments)
    with ExitStack() as stack:
        if when_interrupted is not None:
            stack.enter_context(cli.forwarded_signals(operation, when_interrupted))
        stack.enter_context(operation)
        with stalls.Watch(operation.interrupt) as stall:
            yield Running(arguments[0], operation, progress, stall)
        operation.wait()
