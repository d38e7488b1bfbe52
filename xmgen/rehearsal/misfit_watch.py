"""When there is nothing more to wait for: an `up` whose pods find no node is ended, and pods are looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xmgen.pulumi_cli import watches
from xmgen.pulumi_cli.events import Change, ResourceStep
from xmgen.rehearsal.observer import Observer, Pod
from xmgen.resource_types import JOB

STUCK_SECONDS = 8.0
"""How long nothing may change, while pods find no node, until the rehearsal takes it that they never will."""


def settled(pods: Sequence[Pod], still: float, unfinished: Callable[[], set[str]]) -> bool:
    """Whether every pod has ended, or hangs, or has found no node for so long that it never will.

    still: for how many seconds nothing has changed. unfinished: the Jobs that have yet to end; the controller may let
    some time pass before it makes a pod of one again.
    """
    open_pods = [pod for pod in pods if not pod.gone and pod.phase not in ("Succeeded", "Failed")]
    if open_pods and (still <= STUCK_SECONDS or not all(pod.node or pod.reasons for pod in open_pods)):
        return False
    return not unfinished() - {pod.job for pod in open_pods}


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
        if isinstance(change, ResourceStep):
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
