"""The storage classes of claims: which of GKE's are disks, and which a stack replaces by its own.

Sources: GKE documentation, "Persistent volumes and dynamic provisioning" and "Access Filestore instances with the
Filestore CSI driver"; the driver's own documentation for its parameters.
"""

from __future__ import annotations

from xmgen import names
from xmgen.errors import Problem
from xmgen.experiment import Experiment, Volume
from xmgen.plan.model import Manifest

KIND = "StorageClass"

_DRIVER = "filestore.csi.storage.gke.io"
_TIERS = {
    "standard-rwx": "standard",
    "zonal-rwx": "zonal",
    "premium-rwx": "premium",
    "enterprise-rwx": "enterprise",
}
"""GKE's classes of Filestore, and the driver's names of their tiers. All put their instances into the network that is
called `default`, which is never that of a stack's cluster: there a class of the stack's own takes the place of each."""

_UNSUPPORTED = "enterprise-multishare-rwx"
"""Its volumes share instances, which the driver looks up by more than the parameters of one class."""

_DISKS = frozenset({"standard", "standard-rwo", "premium-rwo"})


def of_claim(experiment: Experiment, volume: Volume) -> str | None:
    """The class that the claim names on the experiment's cluster. None: the cluster's default."""
    asked = volume.storage_class
    return _name(experiment.stack, asked) if asked in _TIERS and _network_known(experiment) else asked


def is_filestore(volume: Volume) -> bool:
    """Whether the claim needs the driver of Filestore."""
    return volume.storage_class in _TIERS or volume.storage_class == _UNSUPPORTED


def own(experiment: Experiment, claims: list[Volume]) -> list[Manifest]:
    """The classes of the stack's own, but for the network, which has no name before there is one."""
    if not _network_known(experiment):
        return []
    wanted = {volume.storage_class for volume in claims}
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": KIND,
            "metadata": {"name": _name(experiment.stack, storage_class)},
            "provisioner": _DRIVER,
            "parameters": {"tier": tier},
            # The instance is made where the first pod is.
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": True,
        }
        for storage_class, tier in _TIERS.items()
        if storage_class in wanted
    ]


def problem(experiment: Experiment, volume: Volume) -> Problem | None:
    """What is wrong with the class of a claim that the stack makes."""
    if volume.shared and (volume.storage_class is None or volume.storage_class in _DISKS):
        named = f"storage class {volume.storage_class!r}" if volume.storage_class else "the default storage class"
        return Problem(
            f"the claim {volume.claim!r} is shared, but a disk ({named}) cannot be written from several nodes",
            hint="a storage class of Filestore, such as standard-rwx, or a bucket instead of the claim",
        )
    if volume.storage_class == _UNSUPPORTED and _network_known(experiment):
        return Problem(
            f"the claim {volume.claim!r} has the storage class {_UNSUPPORTED!r}, "
            "whose instances are not in the network of a stack's cluster",
            hint=f"another one of Filestore: {', '.join(_TIERS)}",
        )
    return None


def _network_known(experiment: Experiment) -> bool:
    """Whether the program can name the cluster's network: its own, or what the cluster's stack says of it."""
    return experiment.cluster is None or experiment.cluster.kind != "existing"


def _name(stack: str, storage_class: str) -> str:
    """Classes belong to the whole cluster, which others may share."""
    return names.slug(f"{stack}-{storage_class}")
