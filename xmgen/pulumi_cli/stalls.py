"""Ends an engine that waits for ever.

Measured with Pulumi 3.274: when the deletion of a resource that is to be replaced fails, `--continue-on-error` lets the
engine go on, and what waits for the new resource waits without end: the engine says nothing more and does not return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from xmgen.pulumi_cli import watches
from xmgen.pulumi_cli.events import EVENTS, OPERATIONS
from xmgen.pulumi_cli.pulumi import Event
from xmgen.urns import Urn

SECONDS = 15.0
"""How long an engine may be silent, with nothing under way, after such a deletion has failed."""

DELETION = "delete-replaced"


class Watch(watches.Watch):
    """Hears every event of an operation.

    stuck: URNs of what could not be deleted, once the engine has been interrupted because of it.
    """

    def __init__(self, interrupt: Callable[[], None]) -> None:
        super().__init__(interrupt, every=0.5)
        self._under_way: set[tuple[str, str]] = set()
        self._failed: list[str] = []
        self.stuck: tuple[str, ...] = ()

    def hear(self, event: Event) -> None:
        self.heard()
        for kind, status in EVENTS.items():
            if kind in event:
                metadata: dict[str, Any] = event[kind]["metadata"]
                step = str(metadata["urn"]), str(metadata["op"])
                if step[1] not in OPERATIONS:
                    # What stays as it is takes no time, and the stack itself ends with its program.
                    continue
                if status == "started":
                    self._under_way.add(step)
                    continue
                self._under_way.discard(step)
                if status == "failed" and step[1] == DELETION:
                    self._failed.append(step[0])

    def hopeless(self) -> bool:
        return bool(self._failed) and not self._under_way and self.silent() >= SECONDS

    def give_up(self) -> None:
        self.stuck = tuple(self._failed)


def messages(stuck: Iterable[str]) -> list[str]:
    """What a user is to know of what could not be deleted, and do."""
    return [
        f"{name} could not be deleted, so that nothing could take its place; Pulumi waited for it and was stopped. "
        "Remove what keeps it, or it itself, then run the command again."
        for name in (Urn(urn).name for urn in stuck)
    ]
