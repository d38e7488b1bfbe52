"""What the cluster autoscaler knows of pods: whether one could run on a node of a kind. Pure.

It is no second scheduler: the real one decides where pods go. This only says for which pool a node more would help.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

Object = dict[str, Any]
Amounts = dict[str, int]
"""Resources in thousandths: of cores, bytes, GPUs."""

_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}


def quantity(text: str) -> int:
    """A quantity of Kubernetes, in thousandths; what is smaller is rounded up, as its scheduler does it."""
    for length in (2, 1):
        if text[-length:] in _SUFFIXES:
            return math.ceil(Decimal(text[:-length]) * _SUFFIXES[text[-length:]] * 1000)
    return math.ceil(Decimal(text) * 1000)


def amounts(quantities: Mapping[str, Any]) -> Amounts:
    return {name: quantity(str(value)) for name, value in quantities.items()}


def requests(pod: Object) -> Amounts:
    """What a pod takes of its node: its containers and sidecars together, and one of a node's pods."""
    spec: Object = pod["spec"]
    sidecars = [each for each in spec.get("initContainers", []) if each.get("restartPolicy") == "Always"]
    total: Amounts = {"pods": 1000}
    for container in [*spec["containers"], *sidecars]:
        resources: Object = container.get("resources", {})
        # Where only a limit is set, the API server has made it the request, too.
        for name, amount in amounts(resources.get("requests", {})).items():
            total[name] = total.get(name, 0) + amount
    return total


def added(amounts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for each in amounts:
        for name, amount in each.items():
            total[name] = total.get(name, 0) + amount
    return total


def less(amounts: Amounts, taken: Amounts) -> Amounts:
    return {name: amount - taken.get(name, 0) for name, amount in amounts.items()}


def has_room(free: Amounts, wanted: Amounts) -> bool:
    return all(free.get(name, 0) >= amount for name, amount in wanted.items() if amount)


def obstacles(pod: Object, labels: Mapping[str, str], taints: Iterable[Mapping[str, str]]) -> list[str]:
    """Why a pod may not run on nodes with these labels and taints; empty when it may."""
    spec: Object = pod["spec"]
    found = [
        f"label {key} is {labels.get(key, 'missing')}, not {value}"
        for key, value in _inside(spec, "nodeSelector").items()
        if labels.get(key) != value
    ]
    if not _affine(spec, labels):
        found.append("node affinity does not match")
    for taint in taints:
        if taint["effect"] != "PreferNoSchedule" and not any(
            _tolerates(each, taint) for each in spec.get("tolerations", [])
        ):
            found.append(f"taint {taint['key']}={taint.get('value', '')} is not tolerated")
    return found


def _inside(value: Object, key: str) -> Object:
    return value.get(key) or {}


def _tolerates(toleration: Object, taint: Mapping[str, str]) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    return toleration.get("key") == taint["key"] and toleration.get("value", "") == taint.get("value", "")


def _affine(spec: Object, labels: Mapping[str, str]) -> bool:
    affinity = _inside(_inside(spec, "affinity"), "nodeAffinity")
    required = _inside(affinity, "requiredDuringSchedulingIgnoredDuringExecution")
    terms: list[Object] = required.get("nodeSelectorTerms", [])
    return not terms or any(all(_matches(each, labels) for each in term.get("matchExpressions", [])) for term in terms)


def _matches(expression: Object, labels: Mapping[str, str]) -> bool:
    value = labels.get(expression["key"])
    match expression["operator"]:
        case "In":
            return value in expression["values"]
        case "NotIn":
            return value not in expression["values"]
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False
