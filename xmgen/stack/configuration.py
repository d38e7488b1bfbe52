"""The configuration that a stack's program reads; what of it has to be set, what is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from xmgen.errors import InputError, Problem
from xmgen.plan.resources import ConfigurationKey
from xmgen.project import PULUMI_FILE, Project
from xmgen.setting_rules import Kind
from xmgen.stack import resources


@dataclass(frozen=True, slots=True, order=True)
class Setting:
    """name: as `--set` takes it, of the project's own without a namespace. needed: whether nothing runs without it.
    kind: what the program makes of the text that is kept.
    """

    name: str
    secret: bool = False
    needed: bool = False
    kind: Kind = "text"


def of_stack(project: Project, stack: str) -> tuple[Setting, ...]:
    """What a compiled stack's program reads, by name. Raises InputError where its list of resources cannot be read."""
    return of_configuration(resources.read(project.stack(stack)).configuration)


def of_configuration(keys: Mapping[str, ConfigurationKey]) -> tuple[Setting, ...]:
    return tuple(
        Setting(name, secret=key.secret, needed=key.required, kind="boolean" if key.type == "boolean" else "text")
        for name, key in sorted(keys.items())
    )


def missing(project: Project, stack: str, settings: Iterable[Setting]) -> list[Setting]:
    """What has to be set before the stack can run. Nothing where its settings import an environment of Pulumi's, in
    which anything may be. Raises InputError when they cannot be read.
    """
    if read_settings(project.settings(stack)).get("environment"):
        return []
    there = kept(project, stack).keys() | defaulted(project)
    return [setting for setting in settings if setting.needed and setting.name not in there]


def kept(project: Project, stack: str) -> dict[str, Any]:
    """The values in a stack's settings as they stand there, by name. Raises InputError when they cannot be read."""
    config = cast("dict[str, Any]", read_settings(project.settings(stack)).get("config") or {})
    return {_name(project, key): value for key, value in config.items()}


def text(project: Project, stack: str, name: str) -> str | None:
    """A value as the stack's program reads it; None where it is no text, or where an environment of Pulumi's may say
    it. Raises InputError when the settings cannot be read.
    """
    there = kept(project, stack)
    if name not in there and read_settings(project.settings(stack)).get("environment"):
        return None
    defaults = {_name(project, key): value for key, value in declared(project).items()}
    value = there.get(name, defaults.get(name))
    if isinstance(value, dict):
        default = cast("dict[str, object]", value)
        value = default.get("value", default.get("default"))
    return value if isinstance(value, str) else None


def defaulted(project: Project) -> frozenset[str]:
    """What the project's Pulumi.yaml has a value for."""
    return frozenset(
        _name(project, key)
        for key, value in declared(project).items()
        if not isinstance(value, dict) or "default" in value or "value" in value
    )


def declared(project: Project) -> dict[str, Any]:
    """The configuration that the project's Pulumi.yaml names."""
    return cast("dict[str, Any]", read_settings(project.root / PULUMI_FILE).get("config") or {})


def read_settings(path: Path) -> dict[str, Any]:
    """The content of Pulumi.<stack>.yaml; empty when there is none yet. Raises InputError when it is not YAML, or not
    what Pulumi could read.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(Problem(f"cannot be read: {' '.join(str(error).split())}", where=str(path))) from None
    settings: object = {} if content is None else content
    if not isinstance(settings, dict):
        raise InputError(Problem("must be a mapping", where=str(path), hint="such as `config: {gcp:project: p}`"))
    if not isinstance(cast(dict[str, Any], settings).get("config"), dict | None):
        raise InputError(Problem("must be a mapping", where=f"{path} config", hint="such as `gcp:project: p`"))
    return cast(dict[str, Any], settings)


def has_secret(config: object) -> bool:
    """Whether a value of a stack's configuration is encrypted, at any depth."""
    match config:
        case dict():
            mapping = cast(dict[object, object], config)
            return "secure" in mapping or any(has_secret(value) for value in mapping.values())
        case list():
            return any(has_secret(value) for value in cast(list[object], config))
        case _:
            return False


def _name(project: Project, key: str) -> str:
    return str(key).removeprefix(f"{project.name}:")
