"""Tells the pods of a rehearsal what becomes of them, and takes the nodes away of those that are to be evicted."""

from __future__ import annotations

import sys
import threading
import time
from collections import defaultdict
from collections.abc import Sequence

from xmgen.executors.gke.jobs import JOB_LABEL, UNIT_LABEL
from xmgen.executors.gke.slices import SLICE_LABEL
from xmgen.rehearsal.api import Api
from xmgen.rehearsal.cloud.pools import Pools, View, ended, group
from xmgen.rehearsal.cloud.scheduling import Object
from xmgen.rehearsal.cluster import SimulatedCluster
from xmgen.rehearsal.outcomes import USUAL, Rule
from xmgen.rehearsal.stages import EXIT_CODE, LOG, OUTCOME, SECONDS, SHUT_DOWN, UNTOLD

INDEX_LABEL = "batch.kubernetes.io/job-completion-index"


class Director:
    """usual: for how many seconds pods run that no rule means."""

    def __init__(self, cluster: SimulatedCluster, pools: Pools, api: Api, usual: float) -> None:
        self._cluster = cluster
        self._pools = pools
        self._api = api
        self._usual = usual
        self._rules: list[Rule] = []
        self._attempts: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        """The pods of a Job, and of an index of it, in the order in which they were told."""
        self._hosts: dict[str, int] = {}
        """How many pods the Job of a slice has."""
        self._due: dict[str, float] = {}
        """Pods whose node is to be reclaimed, and when."""
        self._leaving: set[str] = set()
        """Nodes that are being reclaimed."""
        self._lock = threading.Lock()

    def tell(self, rules: Sequence[Rule]) -> None:
        """Replace all rules. Returns when they hold for every pod that is made from now on."""
        with self._lock:
            self._rules = list(rules)
        if rules:
            self._cluster.hold_pods()
        else:
            self._cluster.release_pods()

    def step(self, view: View) -> None:
        """Raises OSError when the API server does not answer."""
        self._take_away(view)
        with self._lock:
            rules = self._rules
        come = _come(view)
        for pod in view.pods:
            annotations = pod["metadata"].get("annotations", {})
            if annotations.get(OUTCOME) == UNTOLD and not ended(pod):
                if SLICE_LABEL not in pod["metadata"]["labels"] or len(come[_owner(pod)]) >= self._hosts_of(pod):
                    self._tell(pod, rules)
            elif annotations.get(OUTCOME) == "evict" and pod["status"].get("phase") == "Running":
                self._evict_when_due(view, pod, float(annotations[SECONDS].removesuffix("s")))

    def _tell(self, pod: Object, rules: Sequence[Rule]) -> None:
        metadata = pod["metadata"]
        labels: dict[str, str] = metadata["labels"]
        index = _index(pod)
        owner = _owner(pod)
        told = self._attempts[owner, index]
        if metadata["uid"] not in told:
            told.append(str(metadata["uid"]))
        attempt = told.index(str(metadata["uid"])) + 1
        unit, job = labels[UNIT_LABEL], labels.get(JOB_LABEL, "")
        rule = next((rule for rule in rules if rule.means(unit, job, index, attempt)), USUAL)
        annotations = {
            OUTCOME: rule.outcome,
            SECONDS: f"{self._usual if rule.seconds is None else rule.seconds}s",
            EXIT_CODE: str(rule.exit_code),
            **({LOG: "\n".join(rule.log)} if rule.log else {}),
        }
        self._api.request("PATCH", _path(pod), {"metadata": {"annotations": annotations}})

    def _hosts_of(self, pod: Object) -> int:
        """How many pods the slice of this one has. Until all have come its program waits; one that ended alone would
        also let the others go to another slice, which is nobody's by then.
        """
        owner = _owner(pod)
        if owner not in self._hosts:
            metadata = pod["metadata"]
            path = f"/apis/batch/v1/namespaces/{metadata['namespace']}/jobs/{group(pod)}"
            answer = self._api.request("GET", path)
            if not answer.ok:
                # Its Job has just been deleted, and it goes too.
                return sys.maxsize
            self._hosts[owner] = int(answer.body["spec"]["completions"])
        return self._hosts[owner]

    def _evict_when_due(self, view: View, pod: Object, seconds: float) -> None:
        uid, now = str(pod["metadata"]["uid"]), time.monotonic()
        node = str(pod["spec"]["nodeName"])
        if now < self._due.setdefault(uid, now + seconds) or node in self._leaving:
            return
        self._leaving |= (going := self._pools.with_its_slice(view, node))
        for each in going:
            self._api.request("PATCH", f"/api/v1/nodes/{each}", {"spec": {"unschedulable": True}})
        told = {"metadata": {"annotations": {OUTCOME: SHUT_DOWN}}}
        running = view.by_node()
        for other in [other for each in going for other in running.get(each, [])]:
            self._api.request("PATCH", _path(other), told)

    def _take_away(self, view: View) -> None:
        """The nodes that leave, once all of their pods have ended."""
        running = view.by_node()
        gone = {node for node in self._leaving if not running.get(node)}
        self._pools.reclaim(sorted(gone))
        self._leaving -= gone


def _owner(pod: Object) -> str:
    """The Job's uid; the pod's own where it has none."""
    metadata = pod["metadata"]
    return str((metadata.get("ownerReferences") or [metadata])[0]["uid"])


def _index(pod: Object) -> int:
    return int(pod["metadata"]["labels"].get(INDEX_LABEL, "0"))


def _come(view: View) -> defaultdict[str, set[int]]:
    """The indices of each Job whose pods run, or have succeeded."""
    result: defaultdict[str, set[int]] = defaultdict(set)
    for pod in view.pods:
        if pod["status"].get("phase") in ("Running", "Succeeded"):
            result[_owner(pod)].add(_index(pod))
    return result


def _path(pod: Object) -> str:
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
