"""How Pulumi names a resource across stacks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Urn:
    """`urn:pulumi:<stack>::<project>::<parent type>$<type>::<name>`; a name may contain `::` itself."""

    text: str

    @property
    def stack(self) -> str:
        return self.text.removeprefix("urn:pulumi:").split("::", 3)[0]

    @property
    def type(self) -> str:
        return self.text.split("::", 3)[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        """The logical name. Empty for an empty text, which events about no resource have."""
        return self.text.split("::", 3)[-1]
