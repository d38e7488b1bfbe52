"""Jobs on a Slurm cluster: an executor that lives outside the package, as CONTRIBUTING.md describes one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from xmgen.experiment import JobRequirements


@dataclass(frozen=True, slots=True, kw_only=True)
class Slurm:
    """partition: of the cluster's nodes."""

    kind: Literal["slurm"] = "slurm"
    requirements: JobRequirements = field(default_factory=JobRequirements)
    partition: str = "gpu"
