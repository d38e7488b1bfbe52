"""The table: a row of facts for every type that generated programs declare."""

from __future__ import annotations

from collections.abc import Mapping

from xmgen.resource_types.google import GOOGLE
from xmgen.resource_types.kubernetes import KUBERNETES
from xmgen.resource_types.model import ResourceType
from xmgen.resource_types.own import OWN

TABLE: Mapping[str, ResourceType] = {row.token: row for row in (*GOOGLE, *KUBERNETES, *OWN)}


def lookup(token: str) -> ResourceType:
    """The row of a type; of one that is not in the table, such as another version's, what holds for most."""
    return TABLE.get(token) or ResourceType(
        token=token,
        noun=token.rpartition(":")[2],
        replaces=("location", "metadata.name", "metadata.namespace", "name", "project", "region"),
    )
