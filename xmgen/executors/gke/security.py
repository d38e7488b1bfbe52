"""What no pod of a stack may do. Neither GPUs nor TPUs need more: GKE's Autopilot, which has both, starts every pod
with this profile, and device files come from the device plugins. Images may run as root, as most do."""

from __future__ import annotations

from xmgen.plan.model import Manifest

POD: Manifest = {"seccompProfile": {"type": "RuntimeDefault"}}
CONTAINER: Manifest = {"allowPrivilegeEscalation": False}
