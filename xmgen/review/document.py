"""A review as JSON; docs/commands.md describes its shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from xmgen.review.compare import ProjectChange, StackChange
from xmgen.review.resources import ResourceChange
from xmgen.review.stale import Stale
from xmgen.stack.verification import Finding


def document(project: ProjectChange, changes: Sequence[StackChange], beside: Sequence[Finding] = ()) -> dict[str, Any]:
    return {
        "project": {
            "settings": [asdict(setting) for setting in project.settings],
            "files": list(project.files),
            "problems": list(project.problems),
        },
        "stacks": [_stack(change) for change in changes],
        "findings": [asdict(finding) for finding in beside],
    }


def _stack(change: StackChange) -> dict[str, Any]:
    return {
        "stack": change.stack,
        "change": change.change,
        "problem": "; ".join(change.problems),
        "stale": list(change.stale.executables) if change.stale else [],
        "files": list(dict.fromkeys([*_files(change.stale), *change.program])),
        "findings": [asdict(finding) for finding in (change.stale.findings if change.stale else ())],
        "weakerProof": bool(change.stale and change.stale.weaker),
        "lost": [
            {"change": each.change, "type": each.type, "name": each.name, "kept": each.kept} for each in change.lost
        ],
        "moves": [asdict(move) for move in change.moves],
        "grants": [
            {**asdict(grant), "on": _pair(grant.on), "role": _pair(grant.role), "member": _pair(grant.member)}
            for grant in change.grants
        ],
        "exposures": [asdict(exposure) for exposure in change.exposures],
        "secrets": list(change.secrets),
        "needs": list(change.needs),
        "settings": [asdict(setting) for setting in change.settings],
        "quantities": [asdict(quantity) for quantity in change.quantities],
        "resources": [_resource(resource) for resource in change.resources],
        "unchangedUnits": change.unchanged,
        "units": [
            {
                "change": unit.change,
                "unit": unit.unit,
                "was": unit.was or unit.unit if unit.change == "run again" else None,
                "arguments": dict(unit.arguments),
                "resources": unit.resources,
                "reasons": [asdict(reason) for reason in unit.reasons],
            }
            for unit in change.units
        ],
    }


def _files(stale: Stale | None) -> list[str]:
    if stale is None:
        return []
    return [*([stale.source] if stale.source else []), *(finding.path for finding in stale.findings)]


def _resource(resource: ResourceChange) -> dict[str, Any]:
    return {
        "change": resource.change,
        "type": resource.type,
        "name": resource.name,
        "properties": [asdict(change) for change in resource.changes],
        "forcedBy": list(resource.forced_by),
    }


def _pair(values: tuple[str | None, str | None]) -> dict[str, str | None]:
    return {"old": values[0], "new": values[1]}
