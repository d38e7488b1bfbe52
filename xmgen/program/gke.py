"""Plan -> the modules of a program that runs on GKE: cluster, images, jobs."""

from __future__ import annotations

from xmgen.executors.gke import resources
from xmgen.plan.model import Cluster, Plan, header
from xmgen.program import summary
from xmgen.program.google import images_module
from xmgen.program.python import python


def modules(plan: Plan) -> dict[str, str]:
    """File -> text."""
    cluster = plan.cluster
    assert cluster is not None  # noqa: S101 — the caller asks for GKE's modules of stacks on GKE
    result = {
        "__main__.py": python(
            "stack/kubernetes_main.py.j2",
            header=header(plan.experiment),
            docstring=summary.docstring(plan),
            title=plan.experiment.title,
            own=cluster.kind == "own",
            jobs=bool(plan.units),
            filestore=cluster.filestore,
        ),
        "cluster.py": _cluster(plan, cluster),
    }
    if plan.images:
        result["images.py"] = images_module(plan, settings="cluster")
    if plan.units:
        result["jobs.py"] = _jobs(plan)
    return result


def _cluster(plan: Plan, cluster: Cluster) -> str:
    declared = plan.declared
    own = cluster.kind == "own"
    return python(
        "stack/cluster.py.j2" if own else "stack/shared_cluster.py.j2",
        header=header(plan.experiment),
        kind=cluster.kind,
        jobs=bool(plan.units),
        cluster_name=cluster.name,
        location=cluster.location,
        filestore=cluster.filestore,
        # A slice of several hosts lies in one zone, which only the pool of a zone's jobs says itself.
        whole_slices=any(pool.tpu and pool.tpu.multi_host and not pool.zones for pool in cluster.pools),
        labels=declared.variables["labels"],
        network=[each for each in declared.resources if each.unless == "subnetwork"],
        policies=[each for each in declared.resources if each.variable.endswith("_policy")],
        **{name: declared.of(name) for name in ("services", "nodes", "node_roles", "cluster", "system", "pools")},
        provider=declared.of("provider"),
    )


def _jobs(plan: Plan) -> str:
    declared = plan.declared
    workloads = declared.workloads
    assert workloads is not None  # noqa: S101 — there are units
    variables = [each.variable for each in declared.resources]
    beside = dict.fromkeys(variables[variables.index("output") + 1 :])
    return python(
        "stack/kubernetes_jobs.py.j2",
        header=header(plan.experiment),
        images=bool(plan.images),
        filestore=any(each.type.endswith(":StorageClass") for each in declared.of("objects")),
        namespace=declared.of("namespace"),
        output=declared.of("output"),
        beside=[declared.of(variable) for variable in beside],
        references=list(resources.references(plan).items()),
        manifests=workloads.manifests,
        needed=workloads.options.depends_on,
        waits=any(unit.depends_on for unit in plan.units),
    )
