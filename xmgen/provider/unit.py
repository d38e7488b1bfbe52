"""A Run's inputs as typed data, and the rules by which two of them mean the same run."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, cast

from xmgen.errors import Problem, did_you_mean
from xmgen.provider.settings import Runner
from xmgen.provider.wire import UNKNOWN, Properties, Value, plain
from xmgen.pulumi_values import camel
from xmgen.shell import ShellSafeArg


@dataclass(frozen=True, slots=True, kw_only=True)
class Packaged:
    """What an Executable hands to the jobs that run it; `packaged` on the wire. Paths are relative to the project root.

    image: the tag of the image built from `dockerfile`, or a prebuilt image; empty when there is neither.
    """

    name: str
    runner: Runner
    directory: str = ""
    digest: str = ""
    command: tuple[str, ...] = ()
    working_directory: str = ""
    dockerfile: str = ""
    image: str = ""
    context_path: str = ""
    exclude: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, runner: Runner, inputs: Properties) -> Packaged:
        """From inputs of the right shape, of an Executable or of Code."""
        given: dict[str, Any] = {
            INPUTS[key].name: tuple(map(str, value)) if isinstance(value, list) else value
            for key, value in inputs.items()
            if key in INPUTS and value
        }
        return cls(name=name, runner=runner, **given)

    def wire(self) -> Properties:
        values: dict[str, Any] = {camel(field.name): getattr(self, field.name) for field in fields(self)}
        lists: Properties = {
            key: [*cast("tuple[str, ...]", value)] for key, value in values.items() if isinstance(value, tuple)
        }
        return {key: value for key, value in {**values, **lists}.items() if value}


INPUTS = {camel(field.name): field for field in fields(Packaged) if field.name not in ("name", "runner")}
"""What an Executable takes, by its name on the wire. Lists of texts are empty where they are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Docker:
    """ports: port in the container -> port on the host. volumes: path on the host -> path in the container."""

    ports: Mapping[int, int] = field(default_factory=dict[int, int])
    volumes: Mapping[str, str] = field(default_factory=dict[str, str])
    interactive: bool = False
    mount_gcs_path: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """cpu: CPUs asked for; None when the user left it open. service: is stopped when the other jobs have ended."""

    name: str
    executable: Packaged
    hostname: str = ""
    args: tuple[str | ShellSafeArg, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cpu: float | None = None
    gpus: int = 0
    docker: Docker = field(default_factory=Docker)
    service: bool = False
    stream_output: bool = True

    @property
    def texts(self) -> tuple[str, ...]:
        """Of its args and env."""
        return (*(arg if isinstance(arg, str) else arg.shell for arg in self.args), *self.env.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """after: the attempts of the runs that this one waited for, by name."""

    name: str
    identity: str
    jobs: tuple[Job, ...]
    after: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def runner(self) -> Literal["process", "container", "mixed"]:
        first = self.jobs[0].executable.runner
        return first if all(job.executable.runner == first for job in self.jobs) else "mixed"

    def unresolved(self) -> list[str]:
        """Addresses such as `ps:2222` in the jobs' args and env that lead to nobody: only containers of a unit know
        each other by name."""
        runners = {job.name: job.executable.runner for job in self.jobs}
        if len(runners) < 2 or "process" not in runners.values():
            return []
        address = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, runners))}):\d+(?!\w)")
        found = (
            match[0]
            for job in self.jobs
            for text in job.texts
            for match in address.finditer(text)
            if match[1] != job.name and "process" in (job.executable.runner, runners[match[1]])
        )
        return list(dict.fromkeys(found))


def fingerprint(inputs: Properties) -> str:
    """Hash of what makes a run another run: who it is, what it follows, and the code.

    Args and env are part of `identity`, apart from positional names in them, which may move without being a change.
    Where it takes place is no part of it.
    """
    jobs = inputs.get("jobs")
    executables = [_executable(job) for job in jobs] if isinstance(jobs, list) else jobs
    essence = {"identity": inputs.get("identity"), "after": inputs.get("after") or {}, "executables": executables}
    return hashlib.sha256(json.dumps(essence, sort_keys=True).encode()).hexdigest()


def _executable(job: Value) -> Value:
    """A job's executable as far as it decides what runs: not where, and what is left out of the code is no part of it.

    What a preview does not know yet stands for itself.
    """
    executable = job.get("executable") if isinstance(job, dict) else job
    return {**executable, "runner": "", "exclude": []} if isinstance(executable, dict) else executable


def parse(inputs: Properties) -> tuple[Unit | None, dict[str, Problem]]:
    """The unit, or what is wrong by property path. Secrets must be unwrapped and everything be known."""
    reader = _Reader(inputs)
    name, identity = reader.text("name"), reader.text("identity")
    after = reader.texts_by_name("after")
    jobs = tuple(_job(job) for job in reader.objects("jobs"))
    reader.no_more()
    names = [job.name for job in jobs]
    if not jobs:
        reader.problem("jobs", "a work unit needs at least one job")
    elif all(job.service for job in jobs):
        reader.problem("jobs", "a work unit needs a job that is no service: services end when the others do")
    for duplicate in sorted({name for name in names if names.count(name) > 1}):
        reader.problem("jobs", f"two jobs are called {duplicate!r}")
    if reader.problems:
        return None, reader.problems
    return Unit(name=name, identity=identity, jobs=jobs, after=after), {}


def _job(reader: _Reader) -> Job:
    requirements = reader.object("requirements")
    job = Job(
        name=reader.text("name"),
        hostname=reader.text("hostname", ""),
        executable=packaged(reader.object("executable", required=True)),
        args=reader.arguments("args"),
        env=reader.texts_by_name("env"),
        cpu=requirements.number("cpu"),
        gpus=int(requirements.number("gpus") or 0),
        docker=_docker(reader.object("docker")),
        service=reader.flag("service", False),
        stream_output=reader.flag("streamOutput", True),
    )
    requirements.no_more()
    reader.no_more()
    return job


def _docker(reader: _Reader) -> Docker:
    docker = Docker(
        ports={reader.port(inside): reader.port(outside) for inside, outside in reader.mapping("ports").items()},
        volumes=reader.texts_by_name("volumes"),
        interactive=reader.flag("interactive", False),
        mount_gcs_path=reader.flag("mountGcsPath", True),
    )
    reader.no_more()
    return docker


def malformed(news: Properties, keys: Collection[str], required: Collection[str] = ()) -> dict[str, Problem]:
    """What is wrong with inputs of an Executable or of Code, each by itself. keys: those that there are."""
    problems = {key: Problem(f"unknown key {key!r}", hint=did_you_mean(key, keys)) for key in news if key not in keys}
    inputs = cast("Properties", plain(news))
    for key in keys:
        value = inputs.get(key)
        if value == UNKNOWN or (value is None and key not in required):
            continue
        if INPUTS[key].default == ():
            if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
                problems[key] = Problem("must be a list of texts that is not empty")
        elif not isinstance(value, str) or not value:
            problems[key] = Problem("must be a text that is not empty")
    return problems


def packaged(reader: _Reader) -> Packaged:
    result = Packaged.of(
        reader.text("name"),
        "container" if reader.text("runner") == "container" else "process",
        {key: reader.texts(key) if field.default == () else reader.text(key, "") for key, field in INPUTS.items()},
    )
    reader.no_more()
    return result


class _Reader:
    """Reads one object of the inputs; collects every problem instead of stopping at the first."""

    def __init__(self, values: Properties, path: str = "", problems: dict[str, Problem] | None = None) -> None:
        self._values = values
        self._path = path
        self._known: set[str] = set()
        self.problems: dict[str, Problem] = {} if problems is None else problems

    def problem(self, key: str, message: str, hint: str = "") -> None:
        self.problems.setdefault(f"{self._path}{key}", Problem(message, hint=hint))

    def _get(self, key: str) -> Value:
        self._known.add(key)
        return self._values.get(key)

    def text(self, key: str, default: str | None = None) -> str:
        value = self._get(key)
        if value is None and default is not None:
            return default
        if isinstance(value, str) and "\0" not in value:
            return value
        self.problem(key, "must be a text without NUL characters")
        return ""

    def flag(self, key: str, default: bool) -> bool:
        value = self._get(key)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.problem(key, "must be true or false")
        return default

    def number(self, key: str) -> float | None:
        value = self._get(key)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and value >= 0):
            return value
        self.problem(key, "must be a number, 0 or more")
        return None

    def mapping(self, key: str) -> Properties:
        value = self._get(key)
        if value is None or isinstance(value, dict):
            return value or {}
        self.problem(key, "must be a mapping")
        return {}

    def texts_by_name(self, key: str) -> dict[str, str]:
        values = self.mapping(key)
        result = {name: value for name, value in values.items() if isinstance(value, str)}
        for name in values.keys() - result.keys():
            self.problem(f"{key}.{name}", "must be a text")
        for name, value in result.items():
            if not name or "\0" in name + value or (key == "env" and "=" in name):
                self.problem(f"{key}.{name}", "is not a name and a value that a process can be given")
        return result

    def port(self, value: Value) -> int:
        if isinstance(value, int | str) and str(value).isdecimal() and 0 < int(value) < 65536:
            return int(value)
        self.problem("ports", f"{value!r} is no port number")
        return 0

    def arguments(self, key: str) -> tuple[str | ShellSafeArg, ...]:
        values = self._get(key)
        if values is None:
            return ()
        if not isinstance(values, list):
            self.problem(key, "must be a list")
            return ()
        result: list[str | ShellSafeArg] = []
        for index, value in enumerate(values):
            shell = value.get("shell") if isinstance(value, dict) and len(value) == 1 else None
            text = value if isinstance(value, str) else shell
            if isinstance(text, str) and "\0" not in text:
                result.append(text if isinstance(value, str) else ShellSafeArg(text))
            else:
                self.problem(f"{key}[{index}]", "must be a text without NUL characters, or {shell: text}")
        return tuple(result)

    def texts(self, key: str) -> list[Value]:
        return [value for value in self.arguments(key) if isinstance(value, str)]

    def object(self, key: str, *, required: bool = False) -> _Reader:
        value = self._get(key)
        if not isinstance(value, dict) and (required or value is not None):
            self.problem(key, "must be a mapping")
        return self._below(key, value)

    def objects(self, key: str) -> list[_Reader]:
        values = self._get(key)
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            self.problem(key, "must be a list of mappings")
            return []
        return [self._below(f"{key}[{index}]", value) for index, value in enumerate(values)]

    def _below(self, key: str, value: Value) -> _Reader:
        return _Reader(value if isinstance(value, dict) else {}, f"{self._path}{key}.", self.problems)

    def no_more(self) -> None:
        for key in sorted(self._values.keys() - self._known):
            self.problem(key, f"unknown key {key!r}", did_you_mean(key, self._known))
