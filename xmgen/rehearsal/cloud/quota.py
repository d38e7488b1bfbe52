"""Quotas of a project, as far as a file says what they are."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from xmgen.errors import InputError, Problem, did_you_mean
from xmgen.rehearsal.cloud.nodes import Template

# Compute Engine documentation, Allocation quotas: the names of the metrics.
METRICS = {
    "nvidia-tesla-t4": "NVIDIA_T4_GPUS",
    "nvidia-tesla-p4": "NVIDIA_P4_GPUS",
    "nvidia-tesla-v100": "NVIDIA_V100_GPUS",
    "nvidia-tesla-p100": "NVIDIA_P100_GPUS",
    "nvidia-l4": "NVIDIA_L4_GPUS",
    "nvidia-tesla-a100": "NVIDIA_A100_GPUS",
    "nvidia-a100-80gb": "NVIDIA_A100_80GB_GPUS",
    "nvidia-h100-80gb": "NVIDIA_H100_GPUS",
    "nvidia-h100-mega-80gb": "NVIDIA_H100_MEGA_GPUS",
    "nvidia-h200-141gb": "NVIDIA_H200_GPUS",
    "nvidia-b200": "NVIDIA_B200_GPUS",
}

KNOWN = ("CPUS", *METRICS.values(), *(f"PREEMPTIBLE_{metric}" for metric in METRICS.values()))


class Quota:
    """limits: metric -> limit, such as {"NVIDIA_T4_GPUS": 4, "PREEMPTIBLE_NVIDIA_T4_GPUS": 8, "CPUS": 72}; a metric
    that is not in it has no limit.
    """

    def __init__(self, limits: dict[str, float]) -> None:
        self._limits = limits
        self._used: Counter[str] = Counter()

    @classmethod
    def read(cls, file: Path | None) -> Quota:
        """Raises InputError when the file is not what it should be."""
        if file is None:
            return cls({})
        try:
            content: object = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(Problem(f"cannot be read: {error}", where=str(file))) from None
        if not isinstance(content, dict) or not all(map(_is_limit, content.values())):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            hint = 'metrics and their limits, such as {"NVIDIA_T4_GPUS": 4, "CPUS": 72}'
            raise InputError(Problem("is no quota file", where=str(file), hint=hint))
        if problems := [_unknown(str(metric), file) for metric in content if metric not in KNOWN]:  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            raise InputError(*problems)
        return cls(content)  # pyright: ignore[reportUnknownArgumentType]

    def exceeded(self, kind: Template, nodes: int) -> str:
        """Google's words when so many nodes more would be too many; empty when they would not."""
        for metric, amount in self._needs(kind).items():
            limit = self._limits.get(metric)
            if limit is not None and self._used[metric] + amount * nodes > limit:
                return f"Quota '{metric}' exceeded. Limit: {limit:.1f}"
        return ""

    def short(self, kind: Template, nodes: int) -> str:
        """Google's words when so many nodes, which a pool has from the start, are too many; empty when they are not."""
        for metric, amount in self._needs(kind).items():
            limit = self._limits.get(metric)
            free = (limit or 0) - self._used[metric]
            if limit is not None and amount * nodes > free:
                needed = float(amount * nodes)
                return (
                    f'Insufficient regional quota to satisfy request: resource "{metric}": request requires '
                    f"'{needed}' and is short '{needed - free}'. project has a quota of '{limit:.1f}' with "
                    f"'{free:.1f}' available"
                )
        return ""

    def count(self, nodes: Iterable[tuple[Template, int]]) -> None:
        """These nodes use it now, and no others: what was used before a restart is found again."""
        self._used.clear()
        for kind, number in nodes:
            self.take(kind, number)

    def take(self, kind: Template, nodes: int) -> None:
        """So many nodes more use it, which are still on their way."""
        for metric, amount in self._needs(kind).items():
            self._used[metric] += amount * nodes

    @staticmethod
    def _needs(kind: Template) -> dict[str, int]:
        spot = "PREEMPTIBLE_" if kind.labels.get("cloud.google.com/gke-spot") else ""
        gpus = METRICS.get(kind.labels.get("cloud.google.com/gke-accelerator", ""))
        # CPUs of machines that come with accelerators have quotas of their own, which no page lists.
        if gpus:
            return {f"{spot}{gpus}": int(kind.allocatable["nvidia.com/gpu"])}
        return {} if kind.kind == "tpu" else {"CPUS": kind.vcpus}


def _is_limit(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _unknown(metric: str, file: Path) -> Problem:
    """A slip of the pen must not look like a quota that is large enough."""
    return Problem(
        f"nothing in a rehearsal uses the quota {metric!r}", where=str(file), hint=did_you_mean(metric, KNOWN)
    )
