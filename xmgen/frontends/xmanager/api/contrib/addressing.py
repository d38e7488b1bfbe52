"""Host names of jobs, known at compile time because the experiment id is."""

from __future__ import annotations

from xmgen import names

PORT = 2222


def k8s_pod_domain(
    job_name: str,
    experiment_id: int,
    work_unit_id: int,
    service: str = names.SERVICE,
    namespace: str = names.NAMESPACE,
) -> str:
    """`host:port` of a job of a work unit inside the cluster."""
    return f"{names.address(f'{experiment_id}-{work_unit_id}-{job_name}', service, namespace)}:{PORT}"
