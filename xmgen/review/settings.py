"""What is set of a stack in committed files, and what of it changed. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, cast

from xmgen.project import PULUMI_FILE, STACKS
from xmgen.review.commits import Side
from xmgen.review.committed import yaml_of
from xmgen.review.values import differences

_FIRST = ("gcp:project", "location", "gcp:region", "authorizedNetworks", "deleteOutputs", "network", "subnetwork")
"""What a reviewer should see before the rest."""

_CREDENTIALS = frozenset(
    {
        "gcp:accessToken",
        "gcp:credentials",
        "gcp:externalCredentials",
        "kubernetes:kubeconfig",
        "docker-build:registries",
    }
)
"""Settings of Pulumi's providers that are secrets, whoever reads them."""

_NOT_SHOWN = frozenset({"encryptionsalt", "encryptedkey"})


class Unknown(Enum):
    """The value of a setting that no committed file says."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True)
class SettingChange:
    """file: whose it is, relative to the project's folder. old, new: None where it was or is absent.

    secret: `encrypted`, or `plain` of one that should be; neither is shown.
    """

    change: Literal["added", "changed", "removed"]
    file: str
    name: str
    old: Any = None
    new: Any = None
    secret: Literal["", "encrypted", "plain"] = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """there: whether the stack's settings are committed. config: their values by name. defaults: those of Pulumi.yaml.
    rest: what else stands in the stack's file, such as an environment of Pulumi's.
    """

    there: bool = False
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    rest: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Known:
    """What one side is known to have set: nothing, where only one of both sides has the stack's settings committed.

    secrets: names of settings whose values nobody is to see, even if they stand there in plain text.
    """

    settings: Settings
    anything: bool
    secrets: frozenset[str] = frozenset()

    def get(self, name: str, *, required: bool = False) -> Any:
        """A text or Boolean; None for one that is not set; UNKNOWN. required: whether nothing runs without it."""
        settings = self.settings
        if name in self.secrets or name in _CREDENTIALS:
            return UNKNOWN
        if not self.anything or (name not in settings.config and settings.rest.get("environment")):
            return UNKNOWN
        if (required or not settings.there) and name not in settings.config and name not in settings.defaults:
            return UNKNOWN
        value = settings.config.get(name, settings.defaults.get(name))
        if isinstance(value, dict | list):
            return UNKNOWN
        return None if value in (None, "") else value


def known(old: Settings, new: Settings, *, alone: bool, secrets: Collection[str]) -> tuple[Known, Known]:
    """By side. alone: of a stack that is on one of them only, which has no other to differ from."""
    anything = alone or old.there == new.there
    return Known(old, anything, frozenset(secrets)), Known(new, anything, frozenset(secrets))


def read(side: Side, stack: str) -> Settings:
    """Raises InputError when they cannot be read."""
    project = project_file(side)
    name, path = f"{project.get('name', '')}:", f"{STACKS}/Pulumi.{stack}.yaml"
    there = stack in side.settings
    content = _mapping(side, path) if there else {}
    declared = _config(project, name)
    defaults = {key: value.get("value", value.get("default")) for key, value in declared.items() if _is_typed(value)}
    plain = {key: value for key, value in declared.items() if not _is_typed(value)}
    rest = {key: value for key, value in content.items() if key != "config"}
    return Settings(there, _config(content, name), {**plain, **defaults}, rest)


def project_file(side: Side) -> dict[str, Any]:
    """The content of Pulumi.yaml. Raises InputError when it cannot be read."""
    return _mapping(side, PULUMI_FILE)


def changes(stack: str, old: Settings, new: Settings, secrets: Collection[str]) -> tuple[SettingChange, ...]:
    """secrets: names of those that the stack's program reads as such."""
    file = f"{STACKS}/Pulumi.{stack}.yaml"
    found = [*_changes(file, old.config, new.config, secrets), *_changes(file, old.rest, new.rest, _NOT_SHOWN)]
    return tuple(sorted(found, key=lambda each: _FIRST.index(each.name) if each.name in _FIRST else len(_FIRST)))


def of_project(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[SettingChange, ...]:
    """What changed in Pulumi.yaml: the defaults of settings, and whose program it runs and how."""
    before, after = ({each.path: each for each in differences("", {}, content)} for content in (old, new))
    return tuple(
        _change(PULUMI_FILE, path, getattr(before.get(path), "new", None), getattr(after.get(path), "new", None), ())
        for path in dict.fromkeys([*after, *before])
        if not path.endswith(".description") and path != "description"
        if getattr(before.get(path), "new", None) != getattr(after.get(path), "new", None)
    )


def _changes(
    file: str, old: Mapping[str, Any], new: Mapping[str, Any], secrets: Collection[str]
) -> Iterator[SettingChange]:
    for name in dict.fromkeys([*new, *old]):
        if old.get(name) != new.get(name):
            yield _change(file, name, old.get(name), new.get(name), secrets)


def _change(file: str, name: str, old: Any, new: Any, secrets: Collection[str]) -> SettingChange:
    change = "added" if old is None else "removed" if new is None else "changed"
    encrypted = _is_encrypted(old) or _is_encrypted(new) or name.endswith(".secure") or name in _NOT_SHOWN
    if not encrypted and name not in secrets and name.removeprefix("config.").partition(".")[0] not in _CREDENTIALS:
        return SettingChange(change, file, name, old, new)
    left = old if new is None else new
    is_plain = not _is_encrypted(left) and not name.endswith(".secure") and name not in _NOT_SHOWN
    return SettingChange(change, file, name, secret="plain" if is_plain else "encrypted")


def _is_encrypted(value: object) -> bool:
    match value:
        case dict():
            mapping = cast("dict[object, object]", value)
            return "secure" in mapping or any(_is_encrypted(item) for item in mapping.values())
        case list():
            return any(_is_encrypted(item) for item in cast("list[object]", value))
        case _:
            return False


def _is_typed(value: object) -> bool:
    """Whether Pulumi.yaml declares a setting with it, and does not just set it."""
    return isinstance(value, dict) and bool({"type", "default", "value"} & cast("dict[str, object]", value).keys())


def _config(content: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    config: object = content.get("config")
    pairs = cast("dict[object, Any]", config).items() if isinstance(config, dict) else ()
    return {str(key).removeprefix(prefix): value for key, value in pairs}


def _mapping(side: Side, path: str) -> dict[str, Any]:
    """Empty where it is none: Pulumi refuses it."""
    text = side.read(path)
    content = next(iter(yaml_of(text, path)), None) if text else None
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}
