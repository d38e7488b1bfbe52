"""What the command line sets of a stack's configuration: `--set KEY=VALUE`, and secrets with `--secret KEY`."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from xmgen import setting_rules
from xmgen.errors import InputError, OperationError, Problem, did_you_mean
from xmgen.project import Project
from xmgen.provider import settings as provider_settings
from xmgen.pulumi_cli import passphrase
from xmgen.pulumi_cli.session import Session
from xmgen.setting_rules import PROVIDERS
from xmgen.stack import configuration
from xmgen.stack.configuration import Setting

if TYPE_CHECKING:
    from xmgen.provider.wire import Properties

_ALWAYS_SECRET = frozenset(
    {"docker-build:registries", "gcp:accessToken", "gcp:externalCredentials", "xmgen:accessToken"}
)
_KEYS_OF_ACCOUNTS = frozenset({"gcp:credentials", "kubernetes:kubeconfig", "xmgen:credentials"})
"""The path of a file, which is no secret, or what is in it."""


def refuse_malformed(settings: Sequence[str], secrets: Sequence[str] = ()) -> None:
    """Before Pulumi keeps them: with a wrong one in the stack's settings every later operation would fail, too."""
    problems: list[Problem] = []
    values: Properties = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not key or not equals:
            problems.append(Problem(f"{setting!r} is no setting", hint="write key=value, such as xmgen:cpus=4"))
        elif key in provider_settings.KEYS:
            problems.append(Problem(f"{key!r} is a setting of xmgen's", hint=f"write xmgen:{key}=…"))
        elif key.startswith("xmgen:") and key.removeprefix("xmgen:") not in provider_settings.KEYS:
            # Also what Pulumi itself tells a provider, such as `version`: kept, it would be told it ever after.
            problems.append(_not_xmgens(key.removeprefix("xmgen:")))
        elif key.startswith("xmgen:"):
            values[key.removeprefix("xmgen:")] = value
    problems += provider_settings.read(values)[1].values()
    problems = [replace(problem, where="--set") for problem in problems]
    for secret in secrets:
        key, equals, _ = secret.partition("=")
        if not key or equals:
            hint = f"`--secret {key or 'KEY'}` alone: its value is asked for, or read from standard input"
            problems.append(Problem("a secret's value is no part of a command line", where="--secret", hint=hint))
    if problems:
        raise InputError(*problems)


def refuse_wrong(
    project: Project,
    stack: str,
    read: Sequence[Setting],
    settings: Sequence[str],
    secrets: Sequence[str],
    command: Sequence[str] = (),
) -> None:
    """Raise InputError for what the stack does not read, for values that nothing could use, given or kept, for secrets
    that would be or are kept in plain text, and for what would still be missing. read: by the stack's program.
    command: the arguments of xmgen, to which options are to be added: of `up` where there are none.
    """
    rules = _Rules.of(project, stack, read)
    pairs = [(_name(project, key), value) for key, _, value in (setting.partition("=") for setting in settings)]
    names = [_name(project, key) for key in secrets]
    given = {*(name for name, _ in pairs), *names}
    kept = {name: value for name, value in configuration.kept(project, stack).items() if name not in given}
    file = f"stacks/{project.settings(stack).name}"
    problems = [
        *(Problem(f"{name!r} is given twice", where="--secret") for name, count in Counter(names).items() if count > 1),
        *(problem for name, value in pairs for problem in rules.wrong(name, value, where="--set")),
        *(problem for name in names for problem in rules.wrong(name, None, where="--secret")),
        *(problem for name, value in kept.items() for problem in rules.wrong_there(name, value, where=file)),
    ]
    lacking = [each for each in configuration.missing(project, stack, read) if each.name not in given]
    if lacking and not problems:
        what = "it" if len(lacking) == 1 else "them"
        words = [*(command or ["up", stack]), *(word for setting in settings for word in ("--set", setting))]
        words += [word for key in secrets for word in ("--secret", key)]
        problems.append(
            Problem(
                f"{stack} cannot run without {listed(lacking)}",
                where=file,
                hint=f"`xmgen {shlex.join(words)} {options(lacking)}` sets {what} for good",
            )
        )
    if problems:
        raise InputError(*problems)


def listed(settings: Iterable[Setting]) -> str:
    """`gcp:project, the secret wandbKey`."""
    return ", ".join(f"the secret {each.name}" if each.secret else each.name for each in settings)


def options(settings: Iterable[Setting]) -> str:
    """The options that set them: `--set gcp:project=… --secret wandbKey`."""
    return " ".join(
        f"--secret {shlex.quote(each.name)}" if each.secret else f"--set {shlex.quote(each.name)}=…"
        for each in settings
    )


def ask(secrets: Sequence[str]) -> dict[str, str]:
    """The values of secrets: typed at a terminal, else from standard input, a line for each if there are several.

    Raises InputError where there is none.
    """
    # A stream that is closed is None.
    if sys.stdin is not None and sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        values = [click.prompt(key, hide_input=True, err=True) for key in secrets]
    else:
        values = _from_input(len(secrets)) if secrets and sys.stdin is not None else []  # pyright: ignore[reportUnnecessaryComparison]
    if any(not _is_text(value) for value in values):
        hint = "it is UTF-8 without NUL; what is none can be given as Base64"
        raise InputError(Problem("the value of a secret is no text", where="--secret", hint=hint))
    given = dict(zip(secrets, values, strict=False))
    lacking = [key for key in secrets if not given.get(key)]
    if lacking:
        hint = f"such as `printenv WANDB_API_KEY | xmgen up STACK --secret {shlex.quote(lacking[0])}`"
        raise InputError(
            *(Problem(f"no value for {key} on standard input", where="--secret", hint=hint) for key in lacking)
        )
    return given


def _from_input(count: int) -> list[str]:
    """What standard input holds for so many secrets: all of it is the value of one, and a line each that of several.

    Raises InputError for more lines than secrets: which of them is a part of which value, nobody could say.
    """
    # Not as text, of which Python would make other line breaks.
    text = re.sub(r"\r?\n\Z", "", sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))
    if count == 1:
        return [text]
    lines = re.split(r"\r?\n", text)
    if len(lines) > count:
        hint = "a value of several lines is given alone, in a command with one --secret"
        raise InputError(
            Problem(f"{len(lines)} lines on standard input for {count} secrets", where="--secret", hint=hint)
        )
    return lines


def _is_text(value: str) -> bool:
    return "\0" not in value and not re.search("[\ud800-\udfff]", value)


def refuse_unprotected(work: Session) -> None:
    """Raise InputError where secrets would be encrypted with an empty passphrase."""
    if work.pulumi.overrides.get(passphrase.VARIABLE) == "":
        raise InputError(
            Problem(
                "no passphrase protects the secrets of the stack",
                where="--secret",
                hint=f"{passphrase.remedy(os.environ)}. Every later command needs it",
            )
        )


def keep(work: Session, secrets: Mapping[str, str]) -> Iterator[str]:
    """Keep secrets in the settings of a stack that is there, encrypted. Says what was done.

    One that was made without a passphrase is given the user's first. Raises OperationError.
    """
    for key, value in secrets.items():
        # Of what it reads, Pulumi takes off one line break.
        line = f"{value}\n"
        command = ("config", "set", "--secret", key, "--stack", work.stack)
        try:
            # On standard input: a command line can be seen by everybody on the machine.
            work.pulumi.run(*command, stdin=line)
        except OperationError as error:
            if "incorrect passphrase" not in str(error) or not _encrypted_anew(work):
                raise
            yield "The stack had an empty passphrase; now it has yours."
            work.pulumi.run(*command, stdin=line)
        yield f"Kept the secret {key}, encrypted."


def _encrypted_anew(work: Session) -> bool:
    """Give a stack with an empty passphrase the one in the environment; whether it was such a stack."""
    chosen = passphrase.chosen(work.pulumi.environment())
    # Pulumi would take the first line of it, without blanks around it, for the whole.
    if chosen != chosen.partition("\n")[0].strip() or not _is_text(chosen):
        hint = "choose one of a single line, without blanks around it"
        raise OperationError(Problem("the stack has another passphrase, which this one cannot replace", hint=hint))
    empty = replace(work.pulumi, overrides={**work.pulumi.overrides, passphrase.VARIABLE: ""})
    try:
        empty.run("stack", "change-secrets-provider", "passphrase", "--stack", work.stack, stdin=f"{chosen}\n")
    except OperationError:
        return False
    return True


def _name(project: Project, key: str) -> str:
    """Of the project's own without its namespace."""
    name = key.removeprefix(f"{project.name}:")
    return key if ":" in name else name


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """What a stack's settings must be. read: by its program. declared: what Pulumi.yaml says, by name."""

    project: Project
    stack: str
    read: Mapping[str, Setting]
    declared: Mapping[str, object]

    @classmethod
    def of(cls, project: Project, stack: str, read: Sequence[Setting]) -> _Rules:
        declared = {_name(project, key): what for key, what in configuration.declared(project).items()}
        return cls(project=project, stack=stack, read={each.name: each for each in read}, declared=declared)

    def wrong(self, name: str, value: str | None, where: str) -> Iterator[Problem]:
        """What is wrong with a key and its value. value: None of a secret's. None is ever shown that may be secret."""
        if problem := self._unknown(name):
            yield replace(problem, where=where)
        elif value is not None and not self._is_secret(name, value) and (expected := self._expected(name, value)):
            yield Problem(f"{name} must be {expected}, not {value!r}", where=where)
        if value is not None and self._is_secret(name, value):
            yield Problem(f"{name!r} is a secret, which --set would keep in plain text", where=where, hint=_asks(name))

    def wrong_there(self, name: str, value: object, where: str) -> Iterator[Problem]:
        """What is wrong with what the stack's settings hold already, and with no more than that: what nothing reads
        does no harm there, and Pulumi knows what a list or an object is.
        """
        text = _text(value)
        namespace, _, key = name.rpartition(":")
        if text is None:
            return
        if namespace == "xmgen":
            found = provider_settings.read({key: text})[1].values()
            yield from (replace(problem, where=where) for problem in found)
        if self._is_secret(name, text):
            hint = f"{_asks(name)}. It can be read in whatever holds the file, such as Git's history: get another one"
            yield Problem(f"the secret {name!r} is there in plain text", where=where, hint=hint)
        elif self._unknown(name) is None and (expected := self._expected(name, text)):
            hint = f"`xmgen up {self.stack} --set {shlex.quote(name)}=…` sets another one"
            yield Problem(f"{name} must be {expected}, not {text!r}", where=where, hint=hint)

    def _is_secret(self, name: str, value: str) -> bool:
        return (
            name in _ALWAYS_SECRET
            or (name in self.read and self.read[name].secret)
            or (name in _KEYS_OF_ACCOUNTS and _is_content(value))
        )

    def _expected(self, name: str, value: str) -> str:
        """What the value must be that it is not; empty where it will do."""
        kind = self.read[name].kind if name in self.read else "text"
        return setting_rules.expected(name, value, kind, self.declared.get(name))

    def _unknown(self, name: str) -> Problem | None:
        """Why nothing would read a key, if so."""
        known = self.read.keys() | self.declared.keys()
        namespace, colon, key = name.rpartition(":")
        own = {each for each in known if ":" not in each}
        if name in known:
            return None
        if not colon:
            hint = f"write gcp:{name}" if name in PROVIDERS["gcp"] else did_you_mean(name, own)
            return Problem(f"{self.stack} reads no setting {name!r}", hint=hint)
        if namespace == "xmgen":
            return None if key in provider_settings.KEYS else _not_xmgens(key)
        if (keys := PROVIDERS.get(namespace)) is not None:
            if key in keys or (namespace == "gcp" and key.endswith(setting_rules.ENDPOINT)):
                return None
            close = did_you_mean(key, keys)
            return Problem(f"pulumi-{namespace} has no setting {name!r}", hint=close.replace("'", f"'{namespace}:", 1))
        if key in own:
            return Problem(f"{self.stack} reads no setting {name!r}", hint=f"write {key}")
        namespaces = {self.project.name, "xmgen", *PROVIDERS, *(each.rpartition(":")[0] for each in known - own)}
        return Problem(f"nothing reads a setting of {namespace!r}", hint=did_you_mean(namespace, namespaces))


def _asks(name: str) -> str:
    return f"`--secret {shlex.quote(name)}` asks for its value, or reads it from standard input, and encrypts it"


def _text(value: object) -> str | None:
    """What Pulumi makes of a plain value in a stack's settings; None of what is no text, such as an encrypted one."""
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return str(value)
        case _:
            return None


def _not_xmgens(key: str) -> Problem:
    return Problem(f"xmgen has no setting {key!r}", hint=did_you_mean(key, provider_settings.KEYS))


def _is_content(value: str) -> bool:
    """Of a file, instead of its path."""
    return value.lstrip().startswith("{") or "\n" in value
