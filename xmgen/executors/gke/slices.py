"""TPU slices of several hosts, as pods: where they may run, and how TPU workers learn of each other.

A slice is a node pool of its own. The pods of a Job have to land on one pool together, and on no pool where another's
are: else two Jobs, each with half of two slices, would wait for each other for ever. JobSet's exclusive placement is
the same rule: affinity to the Job's own pods and anti-affinity to all others' by the label of the node pool.

The runtime of TPU workers reads TPU_WORKER_ID and TPU_WORKER_HOSTNAMES; several slices find each other through the
MEGASCALE variables, as JobSet's users and Ray set them. GKE's webhook sets the first two on Indexed Jobs with a
subdomain, but not everywhere where a manifest may be applied, so they are written out.
"""

from __future__ import annotations

from xmgen.catalog.placement import POOL_LABEL
from xmgen.plan.model import Manifest, Value

SLICE_LABEL = "xmgen/slice"
"""On the pods of a slice: the Job that they are of."""

INDEX_ANNOTATION = "batch.kubernetes.io/job-completion-index"


def affinity(job_name: str) -> Manifest:
    """The pods of this Job share a node pool, with nobody else's. Also not with those of other namespaces: a cluster
    may be shared."""
    others: list[Value] = [
        {"key": SLICE_LABEL, "operator": "Exists"},
        {"key": SLICE_LABEL, "operator": "NotIn", "values": [job_name]},
    ]
    together: Manifest = {"labelSelector": {"matchLabels": {SLICE_LABEL: job_name}}, "topologyKey": POOL_LABEL}
    apart: Manifest = {
        "labelSelector": {"matchExpressions": others},
        "namespaceSelector": {},
        "topologyKey": POOL_LABEL,
    }
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"podAffinity": {required: [together]}, "podAntiAffinity": {required: [apart]}}


def worker_environment(job_name: str, hosts: int, subdomain: str) -> list[Value]:
    """The variables of TPU workers. The pods of an Indexed Job have the Job's name and their index as host name."""
    hostnames = ",".join(f"{job_name}-{index}.{subdomain}" for index in range(hosts))
    worker: Manifest = {
        "name": "TPU_WORKER_ID",
        "valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{INDEX_ANNOTATION}']"}},
    }
    return [worker, {"name": "TPU_WORKER_HOSTNAMES", "value": hostnames}]


def slice_environment(first_job_name: str, slices: int, index: int, subdomain: str) -> list[Value]:
    """The variables by which several slices find each other: at the first pod of the first."""
    return [
        {"name": "MEGASCALE_NUM_SLICES", "value": str(slices)},
        {"name": "MEGASCALE_SLICE_ID", "value": str(index)},
        {"name": "MEGASCALE_COORDINATOR_ADDRESS", "value": f"{first_job_name}-0.{subdomain}"},
    ]
