"""The configuration that a stack's program reads, from the program itself; what of it has to be set, what is kept."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from xmgen.errors import InputError, Problem
from xmgen.project import PULUMI_FILE, Project
from xmgen.setting_rules import Kind

_KINDS: Mapping[str, Kind] = {"": "text", "_bool": "boolean", "_int": "integer", "_float": "number", "_object": "JSON"}
"""By the end of a method's name."""

_METHODS: Mapping[str, tuple[bool, bool, Kind]] = {
    f"{verb}{secret}{end}": (verb == "require", bool(secret), kind)
    for verb in ("require", "get")
    for secret in ("", "_secret")
    for end, kind in _KINDS.items()
}
"""Of `pulumi.Config`: whether the program cannot do without the value, whether it is a secret, and what it must be."""


@dataclass(frozen=True, slots=True, order=True)
class Setting:
    """name: as `--set` takes it, of the project's own without a namespace. needed: whether nothing runs without it.
    kind: what the program makes of the text that is kept.
    """

    name: str
    secret: bool = False
    needed: bool = False
    kind: Kind = "text"


def read_by(texts: Iterable[str]) -> tuple[Setting, ...]:
    """What a stack's modules read, as far as they say so in plain words, by name."""
    return _read_by(ast.parse(text) for text in texts)


def _read_by(modules: Iterable[ast.Module]) -> tuple[Setting, ...]:
    found: dict[str, Setting] = {}
    for tree in modules:
        always = {id(node) for node in _always(tree)}
        for node in ast.walk(tree):
            if setting := _setting(node, needed=id(node) in always):
                before = found.get(setting.name, setting)
                found[setting.name] = Setting(
                    setting.name,
                    secret=before.secret or setting.secret,
                    needed=before.needed or setting.needed,
                    kind=setting.kind if before.kind == "text" else before.kind,
                )
    return tuple(sorted(found.values()))


def of_files(files: Mapping[str, str]) -> tuple[Setting, ...]:
    """Of the files of a stack's folder: path -> text."""
    return read_by(files[path] for path in sorted(files) if path.endswith(".py") and "/" not in path)


def of_stack(project: Project, stack: str) -> tuple[Setting, ...]:
    """Of a compiled stack. Raises InputError where a module of its program is no Python."""
    return _read_by(_module(project, stack, file) for file in sorted(project.stack(stack).glob("*.py")))


def _module(project: Project, stack: str, file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError) as error:
        # It brings what reads lock files.
        from xmgen.stack import recompile

        # As a merge leaves it that nobody has settled. ValueError: of a NUL.
        where = file.relative_to(project.root).as_posix()
        where += f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        hint = f"`{recompile.of_stack(project.root, stack)}` writes it again"
        raise InputError(Problem("is no Python, so it is not as it was compiled", where=where, hint=hint)) from None


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


def _setting(node: ast.AST, *, needed: bool) -> Setting | None:
    match node:
        case ast.Call(func=ast.Attribute(value=of, attr=method), args=[ast.Constant(value=str(key)), *_]) if (
            method in _METHODS and (namespace := _namespace(of)) is not None
        ):
            required, secret, kind = _METHODS[method]
            name = f"{namespace}:{key}" if namespace else key
            return Setting(name, secret=secret, needed=needed and required, kind=kind)
        case _:
            return None


def _namespace(of: ast.expr) -> str | None:
    """Of `pulumi.Config("gcp")` `gcp`, of `config`, the project's own, empty; None of anything else."""
    match of:
        case ast.Name(id="config"):
            return ""
        case ast.Call(func=ast.Attribute(attr="Config"), args=[]):
            return ""
        case ast.Call(func=ast.Attribute(attr="Config"), args=[ast.Constant(value=str(namespace))]):
            return namespace
        case _:
            return None


def _always(node: ast.AST) -> Iterator[ast.AST]:
    """What runs whatever the configuration says: of a condition, only its test; of `a or b`, only `a`."""
    yield node
    match node:
        case ast.If(test=test) | ast.IfExp(test=test):
            inside: Iterable[ast.AST] = [test]
        case ast.BoolOp(values=[first, *_]):
            inside = [first]
        case _:
            inside = ast.iter_child_nodes(node)
    for each in inside:
        yield from _always(each)
