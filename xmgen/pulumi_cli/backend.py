"""Where a stack's state lives: the backend Pulumi is logged in to, else a folder of the project's own."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from xmgen.errors import OperationError, Problem
from xmgen.project import Project
from xmgen.pulumi_cli import passphrase
from xmgen.pulumi_cli.processes import is_pulumi


@dataclass(frozen=True, slots=True)
class Backend:
    """url: as Pulumi takes it; empty when it is Pulumi's own choice (a login in the cloud by access token).
    own: made by xmgen, because the user has none.
    """

    url: str
    own: bool

    @property
    def folder(self) -> Path | None:
        """The folder of a backend of files; None for every other kind."""
        parts = urlsplit(self.url)
        if parts.scheme != "file":
            return None
        return Path(unquote(parts.netloc + parts.path)).expanduser()

    @property
    def encrypts_with_passphrase(self) -> bool:
        """Whether secrets are encrypted here, with a passphrase, and not by Pulumi's service, unless a stack's settings
        say otherwise.
        """
        return urlsplit(self.url).scheme not in ("", "http", "https")


def choose(project: Project, environment: Mapping[str, str]) -> Backend:
    """The backend that Pulumi would use with this environment, else a local one, whose folder is made."""
    if environment.get("PULUMI_BACKEND_URL"):
        return Backend(environment["PULUMI_BACKEND_URL"], own=False)
    if project.backend:
        return Backend(project.backend, own=False)
    if current := _logged_in(environment):
        return Backend(current, own=False)
    if environment.get("PULUMI_ACCESS_TOKEN"):
        return Backend("", own=False)
    try:
        project.local_backend.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OperationError(Problem(f"cannot be made: {error.strerror}", where=str(project.local_backend))) from None
    return Backend(project.local_backend.as_uri(), own=True)


def overrides(project: Project, stack: str, backend: Backend, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that make Pulumi use `backend` for `stack` without a question.

    Raises InputError when the stack has secrets and no passphrase protects them, and when it cannot be read.
    """
    own = {"PULUMI_BACKEND_URL": backend.url} if backend.own else {}
    return own | passphrase.overrides(project, stack, environment, default=backend.encrypts_with_passphrase)


def clear_dead_locks(backend: Backend, project: Project, stack: str) -> list[datetime]:
    """Remove the locks that killed processes of this machine left in a backend of files. Returns when they were taken.

    Raises OperationError while the stack is locked by a process that lives, or by one of another machine, of which
    nobody here can say. Other backends expire their locks themselves.
    """
    dead: list[Path] = []
    taken: list[datetime] = []
    problems: list[Problem] = []
    for file, host, pid, since in _locks(backend, project, stack):
        if host != socket.gethostname():
            problems.append(
                Problem(
                    f"the stack is locked by process {pid} on {host}",
                    where=stack,
                    hint=f"if it no longer runs there, `pulumi cancel --stack {stack}` removes the lock",
                )
            )
        elif is_pulumi(pid):
            problems.append(
                Problem(
                    f"process {pid} is working on the stack",
                    where=stack,
                    hint=f"wait for it, or stop it with `kill -INT {pid}`",
                )
            )
        else:
            dead.append(file)
            taken.append(since)
    if problems:
        raise OperationError(*problems)
    for file in dead:
        file.unlink(missing_ok=True)
        file.with_name(f"{file.name}.attrs").unlink(missing_ok=True)
    return taken


def repair(backend: Backend, project: Project, stack: str) -> None:
    """Remove half-written attributes that an engine killed while it saved the stack left in a backend of files.

    Beside each file lies one with its attributes, which is not replaced atomically; with half of one Pulumi refuses to
    read the state ("failed to load checkpoint: EOF"), without it nothing is missing. Does nothing while the stack is
    locked.
    """
    if backend.folder is None or is_locked(backend, project, stack):
        return
    stacks = backend.folder / ".pulumi" / "stacks" / project.name
    for attributes in stacks.glob(f"{stack}.json*.attrs"):
        try:
            json.loads(attributes.read_text(encoding="utf-8"))
        except ValueError:
            attributes.unlink(missing_ok=True)
        except OSError:
            continue


def is_locked(backend: Backend, project: Project, stack: str) -> bool | None:
    """Whether somebody works on the stack; None where that cannot be known (not a backend of files)."""
    if backend.folder is None:
        return None
    locks = _locks(backend, project, stack)
    return any(host != socket.gethostname() or is_pulumi(pid) for _, host, pid, _ in locks)


def _logged_in(environment: Mapping[str, str]) -> str | None:
    """The backend of `pulumi login`."""
    home = environment.get("PULUMI_CREDENTIALS_PATH") or environment.get("PULUMI_HOME") or Path.home() / ".pulumi"
    with contextlib.suppress(OSError, ValueError):
        content = json.loads((Path(home) / "credentials.json").read_text(encoding="utf-8"))
        if isinstance(content, dict):
            return str(cast(dict[str, Any], content).get("current") or "") or None
    return None


def _locks(backend: Backend, project: Project, stack: str) -> list[tuple[Path, str, int, datetime]]:
    """The locks of a stack in a backend of files: file, host, process and when it was taken."""
    if backend.folder is None:
        return []
    folder = backend.folder / ".pulumi" / "locks" / "organization" / project.name / stack
    locks: list[tuple[Path, str, int, datetime]] = []
    for file in sorted(folder.glob("*.json")):
        # One that is gone or half written belongs to a process that is just starting or ending.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            content = json.loads(file.read_text(encoding="utf-8"))
            since = datetime.fromtimestamp(file.stat().st_mtime, UTC)
            locks.append((file, str(content["hostname"]), int(content["pid"]), since))
    return locks
