"""Texts that mean something of their own to Pulumi, from its published provider protocol and its Go SDK."""

from __future__ import annotations


def camel(name: str) -> str:
    """A property's name on the wire: `working_directory` -> `workingDirectory`."""
    first, *rest = name.split("_")
    return "".join([first, *map(str.capitalize, rest)])


UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""Stands, in a preview, for a value that is not known yet."""

UNKNOWNS = frozenset(
    {
        UNKNOWN,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
"""The same of strings, booleans, numbers, lists, assets, archives and objects."""

SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The key by which an object is marked as something other than a plain object."""

SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 — the mark of a secret under `SIGNATURE`, not one
