"""What happens to the pods and nodes while a rehearsal goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from xmgen.executors.gke.jobs import UNIT_LABEL
from xmgen.executors.gke.pods import how_it_failed, refused
from xmgen.rehearsal.cloud.nodes import POOL_LABEL
from xmgen.rehearsal.cloud.pools import Pools, View, ended
from xmgen.rehearsal.cloud.scheduling import Amounts, Object, amounts, requests
from xmgen.rehearsal.director import Director

POLL_SECONDS = 0.4


@dataclass(slots=True)
class Pod:
    """namespace, name: of the pod. job: the Job that made it. node, pool: where it landed; empty until it does.
    phase: Kubernetes' own word. why: how one that failed did. started, ended: RFC 3339, empty while it has not.
    refused: why the scheduler found no node, in its words. unit: the logical name of its work unit. reasons: why no
    pool can help.
    """

    namespace: str
    name: str
    job: str
    node: str = ""
    pool: str = ""
    phase: str = "Pending"
    why: str = ""
    refused: str = ""
    unit: str = ""
    reasons: list[str] = field(default_factory=list[str])
    requests: Amounts = field(default_factory=dict[str, int])
    started: str = ""
    ended: str = ""
    gone: bool = False


@dataclass(slots=True)
class Node:
    """allocatable: what it has. gone: whether it has been taken away again."""

    name: str
    pool: str
    machine: str
    allocatable: Amounts
    gone: bool = False


class Observer:
    """Watches the cluster, has its pools grow and shrink and its pods told how to end, and remembers what it saw."""

    def __init__(self, pools: Pools, director: Director) -> None:
        self._pools = pools
        self._director = director
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._lock = threading.Lock()
        self._pods: dict[str, Pod] = {}
        self._nodes: dict[str, Node] = {}
        self._changed = self._looked = time.monotonic()
        self._defect: Exception | None = None
        self.steps = 0
        """How often it has looked."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def pods(self, namespaces: set[str]) -> list[Pod]:
        with self._lock:
            return [pod for pod in self._pods.values() if pod.namespace in namespaces]

    def nodes(self) -> list[Node]:
        with self._lock:
            return list(self._nodes.values())

    def forget(self) -> None:
        """Begin anew, for another stack."""
        with self._lock:
            self._pods.clear()
            self._nodes.clear()

    def look(self) -> None:
        """Returns when the cluster has been looked at once more, from the begin to the end."""
        before = self.steps
        while self.steps < before + 2 and not self._stop.is_set():
            if self._defect is not None:
                # Of ours. Nobody would ever look again.
                raise self._defect
            time.sleep(POLL_SECONDS / 4)

    def wait(self, done: Callable[[], bool], seconds: float) -> bool:
        """Until it is done; False when that takes longer."""
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                return False
            self.look()
        return True

    def wait_for_none(self, left: Callable[[], Collection[object]], seconds: float) -> None:
        """Until nothing is left, or none of it has gone for so many seconds: a slow machine may take its time."""
        fewest = len(left())
        deadline = time.monotonic() + seconds
        while fewest and time.monotonic() <= deadline:
            self.look()
            if (now := len(left())) < fewest:
                fewest = now
                deadline = time.monotonic() + seconds

    def still(self) -> float:
        """For how many seconds nothing has changed, as far as it has looked: a machine may be slow, or its API server
        gone for a while.
        """
        return self._looked - self._changed

    def _run(self) -> None:
        try:
            while not self._stop.wait(POLL_SECONDS):
                self._step()
        except Exception as defect:  # noqa: BLE001 — told to whoever waits
            self._defect = defect

    def _step(self) -> None:
        try:
            view = self._pools.view()
            self._pools.step(view)
            self._director.step(view)
        except OSError:
            # The API server is being started again.
            return
        with self._lock:
            self._note(view)
        self.steps += 1

    def _note(self, view: View) -> None:
        self._looked = time.monotonic()
        before = [(pod.node, pod.phase, pod.gone) for pod in self._pods.values()], len(self._nodes)
        for node in view.nodes:
            self._note_node(node)
        names = {str(node["metadata"]["name"]) for node in view.nodes}
        for node in self._nodes.values():
            node.gone = node.name not in names
        present = {str(pod["metadata"]["uid"]) for pod in view.pods}
        for uid, pod in self._pods.items():
            pod.gone = uid not in present
        for pod in view.pods:
            self._note_pod(pod)
        if before != ([(pod.node, pod.phase, pod.gone) for pod in self._pods.values()], len(self._nodes)):
            self._changed = self._looked

    def _note_node(self, node: Object) -> None:
        labels, name = node["metadata"]["labels"], str(node["metadata"]["name"])
        if name not in self._nodes:
            self._nodes[name] = Node(
                name=name,
                pool=str(labels.get(POOL_LABEL, "")),
                machine=str(labels.get("node.kubernetes.io/instance-type", "")),
                allocatable=amounts(node["status"]["allocatable"]),
            )

    def _note_pod(self, pod: Object) -> None:
        metadata = pod["metadata"]
        labels: dict[str, str] = metadata.get("labels", {})
        seen = self._pods.setdefault(
            str(metadata["uid"]),
            Pod(
                str(metadata["namespace"]),
                str(metadata["name"]),
                str(labels.get("batch.kubernetes.io/job-name", "")),
                unit=str(labels.get(UNIT_LABEL, "")),
            ),
        )
        seen.phase = str(pod["status"].get("phase", "Pending"))
        seen.why = how_it_failed(pod) if seen.phase == "Failed" else ""
        seen.node = str(pod["spec"].get("nodeName") or "")
        seen.requests = requests(pod)
        seen.started = str(pod["status"].get("startTime", ""))
        seen.ended = _end(pod)
        if seen.node in self._nodes:
            seen.pool = self._nodes[seen.node].pool
        waits = not seen.node and not ended(pod)
        seen.refused = refused(pod) if waits else ""
        seen.reasons = self._pools.helpless.get(seen.name, []) if waits else []


def _end(pod: Object) -> str:
    """When the last of its containers ended; empty while one has not."""
    states: list[Object] = [each.get("state", {}) for each in pod["status"].get("containerStatuses", [])]
    ends = [str(state.get("terminated", {}).get("finishedAt", "")) for state in states]
    return max(ends) if ends and all(ends) else ""
