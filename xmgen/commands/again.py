"""What an `up` runs again, though for Pulumi it is as good as what runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Again:
    """kind: what they are. reasons: URN -> why. unknown: why they, or others, cannot be known, in a sentence."""

    kind: str
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    unknown: str = ""

    def arguments(self) -> list[str]:
        """For Pulumi."""
        return [argument for urn in self.reasons for argument in ("--replace", urn)]

    def said(self) -> list[str]:
        """What is found, in sentences."""
        unknown = [self.unknown] if self.unknown else []
        if not self.reasons:
            return unknown
        why = ", ".join(f"{count} {reason}" for reason, count in sorted(Counter(self.reasons.values()).items()))
        several = "" if len(self.reasons) == 1 else "s"
        return [*unknown, f"{len(self.reasons)} {self.kind}{several} will run again: {why}."]
