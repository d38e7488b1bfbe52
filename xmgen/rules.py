"""What a text of a user's must be where it is used: each function says it of one that is not."""

from __future__ import annotations

import re

from xmgen import setting_rules
from xmgen.locations import is_location
from xmgen.names import NO_STACKS, STACK_LENGTH, shortened, slug, stack_name

_RESOURCE = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
_REFERENCE = r"<xmgen:[^<>\s]+>"
"""Stands for a value that only the cloud knows, such as the project's name."""
_RESERVATION = re.compile(
    rf"(projects/([a-z0-9.:-]+|{_REFERENCE})/reservations/)?{_RESOURCE}"
    rf"(/reservationBlocks/{_RESOURCE}(/reservationSubBlocks/{_RESOURCE})?)?"
)
_RESERVATION_RULE = (
    "its name, such as our-gpus, or projects/<project>/reservations/<name> for one that a project shares"
)
_ACCOUNT = re.compile(rf"{_REFERENCE}|([A-Za-z0-9._-]|{_REFERENCE})+@([A-Za-z0-9.-]|{_REFERENCE})+")
_SECRET = re.compile(r"(?:(?P<namespace>[A-Za-z_][A-Za-z0-9_-]*):)?(?P<key>[A-Za-z0-9_][A-Za-z0-9_.-]*)")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.:~=/_*-]*")


def not_a_stack_name(text: str) -> str:
    """What a stack's name must be that `text` is not, and the nearest that would do; empty when it is one."""
    name = stack_name(text)
    if text == name:
        return ""
    if len(text) > STACK_LENGTH and slug(text, limit=len(text)) == text:
        name = shortened(text, STACK_LENGTH)
        return f"it has {len(text)} characters, and at most {STACK_LENGTH} will do, such as {name!r}"
    if text in NO_STACKS:
        return f"it stands for something else, so {name!r} will do"
    return f"at most {STACK_LENGTH} lower-case letters, digits and hyphens, such as {name!r}"


def not_a_debian_package(text: str) -> str:
    """What the name of a package for apt must be that `text` is not; empty when it is one. `name=version`,
    `name:architecture` and `name/release` are apt's as well; what begins with a hyphen would be an option of it."""
    return "" if _PACKAGE.fullmatch(text) else "letters, digits, + . - and no hyphen first, such as libgl1 or git=1:2.*"


def not_a_reservation(text: str) -> str:
    """As GKE names one of Compute Engine: by its name, and with the project that shares it, or a block of it."""
    return "" if _RESERVATION.fullmatch(text) else _RESERVATION_RULE


def not_a_service_account(text: str) -> str:
    """What the address of a service account must be that `text` is not."""
    return "" if _ACCOUNT.fullmatch(text) else "its address, such as trainer@project.iam.gserviceaccount.com"


def not_a_location(text: str) -> str:
    """What a zone or region must look like that `text` does not."""
    return "" if is_location(text) else "a zone or region, such as us-central1-a or us-central1"


def not_a_mount_path(text: str) -> str:
    """Where a volume can be mounted in a container, if not at `text`."""
    absolute = text.startswith("/") and text.strip("/") and text.isprintable() and ":" not in text
    return "" if absolute and ".." not in text.split("/") else "an absolute path without `..` and `:`, such as /data"


def not_a_secret(text: str) -> str:
    """What the name of a secret, a key of the stack's configuration, must be that `text` is not."""
    found = _SECRET.fullmatch(text)
    if found is None:
        return "letters, digits, `.`, `_` and `-`, such as apiKey"
    plain = text in setting_rules.NAMES or found["namespace"] in setting_rules.NAMESPACES
    return "that is configuration in plain text: call the secret otherwise, such as apiKey" if plain else ""
