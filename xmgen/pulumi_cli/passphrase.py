"""The passphrase with which Pulumi would encrypt a stack's secrets: which one that is, and whether it protects them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xmgen.errors import InputError, Problem
from xmgen.project import Project
from xmgen.stack import configuration

VARIABLE = "PULUMI_CONFIG_PASSPHRASE"
FILE = "PULUMI_CONFIG_PASSPHRASE_FILE"


def chosen(environment: Mapping[str, str]) -> str:
    """The passphrase that Pulumi would take from the environment; empty where there is none, or an empty one.

    VARIABLE comes before FILE as soon as it is set, be it to nothing. Raises InputError when the file cannot be read.
    """
    if VARIABLE in environment:
        return environment[VARIABLE]
    if not (path := environment.get(FILE)):
        return ""
    try:
        # What is no UTF-8 is a passphrase, too.
        return Path(path).read_bytes().decode("utf-8", "surrogateescape").strip()
    except OSError as error:
        hint = f"write the passphrase into it, or `unset {FILE}`"
        raise InputError(Problem(f"cannot be read: {error.strerror}", where=f"{FILE} {path}", hint=hint)) from None


def remedy(environment: Mapping[str, str]) -> str:
    """What gives Pulumi a passphrase, in an environment whose own is empty."""
    path = environment.get(FILE)
    if VARIABLE in environment and path:
        return f"`unset {VARIABLE}`: it is set to nothing, and as long as it is set Pulumi does not read {path}"
    if path:
        return f"write the passphrase into {path}, which {FILE} names: it is empty"
    now = f" (it is set to nothing; {FILE} counts only once it is unset)" if VARIABLE in environment else ""
    return f"set {VARIABLE}, or {FILE} to a file that holds it{now}"


def overrides(project: Project, stack: str, environment: Mapping[str, str], *, default: bool) -> dict[str, str]:
    """The environment variables that give Pulumi a passphrase without a question: an empty one where the environment
    has none. default: whether the backend encrypts with a passphrase where the stack's settings do not say.

    Raises InputError when the stack has secrets and no passphrase protects them, and when there is no such file.
    """
    settings = configuration.read_settings(project.settings(stack))
    if not _is_used(settings, default=default):
        return {}
    if chosen(environment):
        path = environment.get(FILE, "")
        # Pulumi runs in the project's folder, which need not be where the user is.
        aside = VARIABLE not in environment and not Path(path).is_absolute()
        return {FILE: str(Path(path).absolute())} if aside else {}
    if configuration.has_secret(settings.get("config")):
        raise InputError(
            Problem(
                "the stack's settings hold secrets, and an empty passphrase would not protect them",
                where=str(project.settings(stack).relative_to(project.root)),
                hint=f"{remedy(environment)}. Where the passphrase was empty, `xmgen up {stack} --secret KEY` with the "
                "new one encrypts all secrets anew",
            )
        )
    # Without secrets there is nothing to protect, and Pulumi refuses to go on without a passphrase.
    return {VARIABLE: ""}


def _is_used(settings: Mapping[str, Any], *, default: bool) -> bool:
    if settings.get("secretsprovider") not in (None, "", "default", "passphrase"):
        return False
    return default or bool(settings.get("encryptionsalt"))
