"""Finds the Pulumi CLI and calls it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from xmgen import git
from xmgen.errors import OperationError, Problem
from xmgen.project import TOOLS, Project
from xmgen.pulumi_cli import wording

MINIMUM_VERSION = (3, 207)
"""The first with everything a stack uses (the Python SDK's own lower bound in our dependencies is the same)."""

CHECKOUT = Path(__file__).parents[2]
"""Of xmgen, when it runs from one: `tools/` builds into it."""

GLOBAL_OPTIONS = ("--non-interactive", "--color", "never")

Event = dict[str, Any]
"""One of the engine's events, as its `--json` output has them."""


@dataclass(frozen=True, slots=True)
class Pulumi:
    """A Pulumi CLI, called in a project's folder.

    overrides: the environment variables it needs beyond the user's own.
    """

    project: Project
    executable: Path
    overrides: Mapping[str, str] = field(default_factory=dict[str, str])

    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.overrides, "PULUMI_SKIP_UPDATE_CHECK": "true"}

    def run(self, *arguments: str, stdin: str | None = None) -> str:
        """The standard output of a short command. Raises OperationError with what Pulumi says when it fails."""
        done = subprocess.run(  # noqa: S603 (a list of arguments, no shell)
            [str(self.executable), *arguments, *GLOBAL_OPTIONS],
            cwd=self.project.root,
            env=self.environment(),
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        if done.returncode != 0:
            raise OperationError(failure(f"pulumi {arguments[0]}", done.stderr or done.stdout, done.returncode))
        return done.stdout

    def start(self, *arguments: str) -> Operation:
        """Start a command that reports events: `up`, `preview` or `destroy`."""
        environment = self.environment()
        # Without it a preview reports its steps in one document at its end.
        environment["PULUMI_ENABLE_STREAMING_JSON_PREVIEW"] = "true"
        return Operation([str(self.executable), *arguments, "--json", *GLOBAL_OPTIONS], self.project.root, environment)

    def shell_command(self, *arguments: str) -> str:
        """The command as a user would type it in a shell, its environment included."""
        # A terminal shows Pulumi's own display, hence none of the options with which we call it.
        backend = os.environ.get("PULUMI_BACKEND_URL", "")
        # What called xmgen may have chosen it, as `make quickstart` does. Other kinds of URLs may hold a password.
        chosen = {"PULUMI_BACKEND_URL": backend} if backend.startswith("file:") else {}
        assignments = [f"{name}={_quoted(name, value)}" for name, value in {**chosen, **self.overrides}.items()]
        words = [_program(self.executable, self.overrides.get("PATH")), *arguments]
        if Path.cwd() != self.project.root:
            words += ["--cwd", str(self.project.root)]
        return " ".join([*assignments, *(shlex.quote(word) for word in words)])


class Operation:
    """A running `pulumi up`, `preview` or `destroy`. Iterate over it for its events, then `wait` for its exit code.

    As a context it ends in order whatever happens inside: with nobody to read what it says it would be killed in the
    midst of its work when it says the next thing.

    It has a process group of its own, so that Ctrl-C in a terminal reaches it once, through `interrupt`: the engine
    takes a second signal as the order to abandon what is in flight.
    """

    def __init__(self, command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        self.messages: list[str] = []
        """Lines that are no event: what Pulumi says before it starts, such as that the stack is locked."""
        self.interrupted = False
        self._process = subprocess.Popen(  # noqa: S603 (a list of arguments, no shell)
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            process_group=0,
        )
        # Read beside the events: a full pipe would stop the engine.
        self._stderr = threading.Thread(target=self._collect, daemon=True)
        self._stderr.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            return
        self.interrupt()
        for _ in self:
            pass
        self.wait()

    def __iter__(self) -> Iterator[Event]:
        assert self._process.stdout is not None  # noqa: S101 (for the type checker)
        for line in self._process.stdout:
            event = _event(line)
            if event is None:
                self.messages.append(line.rstrip("\n"))
            else:
                yield event

    def interrupt(self) -> None:
        """Ask the engine to stop: it tells the providers, waits for what is in flight and saves its state."""
        self.interrupted = True
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    @property
    def code(self) -> int:
        """Its exit code, -N where the signal N ended it; 0 while it runs."""
        return self._process.returncode or 0

    def wait(self) -> int:
        code = self._process.wait()
        self._stderr.join()
        return code

    def _collect(self) -> None:
        assert self._process.stderr is not None  # noqa: S101 (for the type checker)
        self.messages.extend(line.rstrip("\n") for line in self._process.stderr)


@contextlib.contextmanager
def forwarded_signals(operation: Operation, when_interrupted: Callable[[], None]) -> Generator[None]:
    """While inside, Ctrl-C (and SIGTERM, SIGHUP) is passed to the engine, for which the caller goes on waiting."""
    telling: list[threading.Thread] = []

    def forward(signum: int, frame: object) -> None:
        operation.interrupt()
        # On a thread: the signal may have come in the midst of a write to the same stream.
        telling.append(threading.Thread(target=when_interrupted))
        telling[-1].start()

    previous = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        for thread in telling:
            thread.join()


def find(project: Project) -> Pulumi:
    """The first usable Pulumi CLI: on PATH, one that `tools/` built, where Pulumi's installer puts it.

    Raises OperationError when there is none, with what is wrong with the first.
    """
    path = os.environ.get("PATH", os.defpath)
    problems: list[Problem] = []
    for elsewhere in _places(project):
        if elsewhere is not None and elsewhere.parent.name == TOOLS and is_committed(elsewhere.parent):
            problems.append(
                Problem("is tracked by Git, and so not run: a commit brought it", where=str(elsewhere.parent))
            )
            continue
        executable = shutil.which("pulumi", path=path if elsewhere is None else str(elsewhere))
        if executable is None:
            continue
        pulumi = Pulumi(project=project, executable=Path(executable), overrides=_overrides(path, elsewhere))
        problem = _unusable(pulumi)
        if problem is None:
            return pulumi
        problems.append(problem)
    missing = Problem(
        "the Pulumi CLI is not installed",
        hint="`make quickstart` in xmgen's checkout installs or builds it; "
        "https://www.pulumi.com/docs/install/ says how to get it otherwise",
    )
    raise OperationError(problems[0] if problems else missing)


def failure(command: str, output: str, code: int) -> Problem:
    """What Pulumi says when a command fails, without its frame. code: with which it ended, -N by the signal N."""
    # A panic of the engine's is followed by what each of its threads did.
    said = wording.brief(output.partition("\ngoroutine ")[0])
    lines = [line.removeprefix("error: ").strip() for line in said.splitlines()]
    text = "\n  ".join(line for line in lines if line)
    hint = next((hint for said, hint in _HINTS.items() if said in text), "") if text else wording.UNSAID
    return Problem(f"{command} failed: {text or wording.ended(code)}", hint=hint)


_LOGIN = "`gcloud auth application-default login`"

_HINTS = {
    "incorrect passphrase": "it has to be the one with which the stack was made, in PULUMI_CONFIG_PASSPHRASE or, where "
    "that is not set, in the file that PULUMI_CONFIG_PASSPHRASE_FILE names",
    "could not find default credentials": _LOGIN,
    # Google's word for a login that has expired.
    "invalid_grant": _LOGIN,
    "unable to open state directory": "make the folder, or name another backend in PULUMI_BACKEND_URL",
    "invalid access token": "`pulumi login`, or another token in PULUMI_ACCESS_TOKEN",
}
"""What helps, by what Pulumi says."""


def tools(project: Project) -> list[Path]:
    """The folders that `tools/` builds into: programs of these are run."""
    return [folder for folder in (project.tools, CHECKOUT / TOOLS) if not is_committed(folder)]


def is_committed(folder: Path) -> bool:
    """Whether Git tracks anything of a folder that belongs to one machine: then whoever commits chose what is in it."""
    return os.path.lexists(folder) and bool(git.tracked(folder.parent, folder.name))


def _places(project: Project) -> list[Path | None]:
    """The folders that may hold the CLI: those on PATH (None), those `tools/` builds into, and the installer's."""
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    return [None, project.tools / "bin", CHECKOUT / TOOLS / "bin", home / "bin"]


def _overrides(path: str, elsewhere: Path | None) -> dict[str, str]:
    """What the environment of a CLI in `elsewhere` (None: on PATH) needs."""
    # The language host runs the `python3` on PATH, and it must be the one that has xmgen.
    first = [] if _same_python(path) else [Path(sys.executable).parent]
    if elsewhere is not None:
        first.append(elsewhere)
    overrides: dict[str, str] = {}
    if first:
        overrides["PATH"] = os.pathsep.join([*(str(folder) for folder in first), path])
    # A user's own installation keeps its plugins and logins in the user's own folder; ours must not touch those.
    if elsewhere is not None and elsewhere.parent.name == TOOLS and not os.environ.get("PULUMI_HOME"):
        overrides["PULUMI_HOME"] = str(elsewhere.parent / "pulumi-home")
    return overrides


def _same_python(path: str) -> bool:
    found = shutil.which("python3", path=path)
    return found is not None and Path(found).parent == Path(sys.executable).parent


def _unusable(pulumi: Pulumi) -> Problem | None:
    """Why it cannot be used, as tools/get_pulumi.py sees it too: too old, or without its Python language host."""
    text = pulumi.run("version").strip()
    match = re.match(r"v?(\d+)\.(\d+)", text)
    # A development build has no number; whoever builds one knows what it is.
    if match and (int(match[1]), int(match[2])) < MINIMUM_VERSION:
        wanted = ".".join(str(part) for part in MINIMUM_VERSION)
        return Problem(
            f"Pulumi {text} is too old",
            where=str(pulumi.executable),
            hint=f"at least {wanted} is needed; https://www.pulumi.com/docs/install/",
        )
    # The engine looks for it on PATH and beside itself.
    path = f"{pulumi.environment().get('PATH', os.defpath)}{os.pathsep}{pulumi.executable.resolve().parent}"
    if shutil.which("pulumi-language-python", path=path) is None:
        return Problem(
            "Pulumi's Python language host is not installed",
            where=str(pulumi.executable),
            hint="the official package has both; https://www.pulumi.com/docs/install/",
        )
    return None


def _event(line: str) -> Event | None:
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "sequence" in event else None  # pyright: ignore


def _quoted(name: str, value: str) -> str:
    if name == "PATH":
        user = os.environ.get("PATH", os.defpath)
        return f"{shlex.quote(value.removesuffix(user))}$PATH" if value.endswith(user) else shlex.quote(value)
    return shlex.quote(value) if value else '""'


def _program(executable: Path, path: str | None) -> str:
    """`pulumi` where the command's own PATH finds this one, else its full path."""
    found = shutil.which("pulumi", path=path)
    return "pulumi" if found == str(executable) else str(executable)
