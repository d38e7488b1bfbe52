"""Ends an `up` that would wait for ever for pods which find no node."""

from __future__ import annotations

from collections.abc import Callable

from xmgen.engine import watches
from xmgen.engine.events import Change, Resource
from xmgen.rehearsal.observer import Observer
from xmgen.resource_types import JOB

STUCK_SECONDS = 8.0
"""How long nothing may change, while pods find no node, until the rehearsal takes it that they never will."""


class MisfitWatch(watches.Watch):
    """Stops the engine when all that it still does is to wait for Jobs whose pods will never find a node."""

    def __init__(self, observer: Observer, namespaces: set[str], interrupt: Callable[[], None]) -> None:
        super().__init__(interrupt, every=1.0)
        self._observer = observer
        self._namespaces = namespaces
        self._under_way: dict[str, str] = {}
        self.gave_up = False

    def hear(self, change: Change) -> None:
        self.heard()
        if isinstance(change, Resource):
            key = f"{change.type} {change.name}"
            if change.status == "started":
                self._under_way[key] = change.type
            else:
                self._under_way.pop(key, None)

    def hopeless(self) -> bool:
        types = list(self._under_way.values())
        if set(types) != {JOB} or min(self._observer.still(), self.silent()) < STUCK_SECONDS:
            return False
        waiting = [pod for pod in self._observer.pods(self._namespaces) if not pod.node and not pod.gone]
        return bool(waiting) and all(pod.reasons for pod in waiting)

    def give_up(self) -> None:
        self.gave_up = True
