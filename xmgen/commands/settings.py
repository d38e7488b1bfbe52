"""What the command line sets of a stack's configuration: `--set KEY=VALUE`, and secrets with `--secret KEY`."""

from __future__ import annotations

import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from xmgen import configuration
from xmgen.configuration import Setting
from xmgen.engine.session import Session
from xmgen.errors import InputError, OperationError, Problem, did_you_mean
from xmgen.project import Project
from xmgen.provider import settings as provider_settings

if TYPE_CHECKING:
    from xmgen.provider.wire import Properties

GCP = frozenset(
    {
        "accessToken",
        "addPulumiAttributionLabel",
        "batching",
        "billingProject",
        "credentials",
        "defaultLabels",
        "deletionPolicy",
        "disableGlobalProjectWarning",
        "disableGooglePartnerName",
        "externalCredentials",
        "googlePartnerName",
        "impersonateServiceAccount",
        "impersonateServiceAccountDelegates",
        "pollInterval",
        "preferGlobalEndpoints",
        "preferRegionalEndpoints",
        "project",
        "pulumiAttributionLabelAdditionStrategy",
        "region",
        "requestReason",
        "requestTimeout",
        "scopes",
        "skipRegionValidation",
        "universeDomain",
        "userProjectOverride",
        "zone",
    }
)
"""What pulumi-gcp reads, beside the address of each of Google's services (`computeCustomEndpoint`)."""

KUBERNETES = frozenset(
    {
        "cluster",
        "clusterIdentifier",
        "context",
        "deleteUnreachable",
        "enableConfigMapMutable",
        "enableSecretMutable",
        "enableServerSideApply",
        "helmReleaseSettings",
        "kubeClientSettings",
        "kubeconfig",
        "namespace",
        "renderYamlToDirectory",
        "skipUpdateUnreachable",
        "suppressDeprecationWarnings",
        "suppressHelmHookWarnings",
    }
)
"""What pulumi-kubernetes reads."""

DOCKER_BUILD = frozenset({"host", "registries"})
"""What pulumi-docker-build reads."""

_PROVIDERS = {"gcp": GCP, "kubernetes": KUBERNETES, "docker-build": DOCKER_BUILD}
_ENDPOINT = "CustomEndpoint"
_PASSPHRASE = "PULUMI_CONFIG_PASSPHRASE"  # noqa: S105 — the name of a variable
_ALWAYS_SECRET = frozenset(
    {"docker-build:registries", "gcp:accessToken", "gcp:externalCredentials", "xmgen:accessToken"}
)
_KEYS_OF_ACCOUNTS = frozenset({"gcp:credentials", "kubernetes:kubeconfig", "xmgen:credentials"})
"""The path of a file, which is no secret, or what is in it."""

_VALUES = {
    "gcp:project": (re.compile(r"[a-z0-9][a-z0-9.:-]*"), "the id of a project, such as my-project"),
    "gcp:region": (re.compile(r"[a-z0-9-]*"), "a region, such as us-central1"),
    "gcp:zone": (re.compile(r"[a-z0-9-]*"), "a zone, such as us-central1-a"),
    "location": (re.compile(r"[a-z0-9-]+"), "a zone or region, such as us-central1-a"),
    "owner": (re.compile(r"[a-z0-9_-]{0,63}"), "a label's value: at most 63 lower-case letters, digits, - and _"),
}
"""What Google Cloud would refuse half-way through an operation."""

_TYPES = {
    "boolean": (re.compile(r"true|false"), "true or false"),
    "integer": (re.compile(r"[+-]?[0-9]+"), "a whole number"),
    # Neither is a text, which is all that a command line can say.
    "array": (re.compile(r"(?!)"), "a list: `pulumi config set --path` makes one"),
    "object": (re.compile(r"(?!)"), "an object: `pulumi config set --path` makes one"),
}
"""Of the `type` of a key in Pulumi.yaml. Once one of another type is kept, every operation fails."""


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
    command: str = "up",
) -> None:
    """Raise InputError for what the stack does not read, for secrets that would be kept in plain text, and for what
    would still be missing. read: by the stack's program. command: of xmgen's, to which options are to be added.
    """
    pairs = [setting.partition("=") for setting in settings]
    twice = [name for name, count in Counter(_name(project, key) for key in secrets).items() if count > 1]
    problems = [
        *(Problem(f"{name!r} is given twice", where="--secret") for name in twice),
        *(
            problem
            for key, _, value in pairs
            for problem in _wrong(project, stack, read, _name(project, key), value, where="--set")
        ),
        *(
            problem
            for key in secrets
            for problem in _wrong(project, stack, read, _name(project, key), None, where="--secret")
        ),
    ]
    given = {_name(project, key) for key in (*(key for key, _, _ in pairs), *secrets)}
    lacking = [each for each in configuration.missing(project, stack, read) if each.name not in given]
    if lacking and not problems:
        what = "it" if len(lacking) == 1 else "them"
        problems.append(
            Problem(
                f"{stack} cannot run without {listed(lacking)}",
                where=f"stacks/{project.settings(stack).name}",
                hint=f"`xmgen {command} {stack} {options(lacking)}` sets {what} for good",
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
    if work.pulumi.overrides.get(_PASSPHRASE) == "":
        raise InputError(
            Problem(
                "no passphrase protects the secrets of the stack",
                where="--secret",
                hint=f"set {_PASSPHRASE}, or {_PASSPHRASE}_FILE to a file that holds it; every later command needs it",
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
    environment = work.pulumi.environment()
    chosen = environment.get(_PASSPHRASE) or _content(environment.get(f"{_PASSPHRASE}_FILE", ""))
    empty = replace(work.pulumi, overrides={**work.pulumi.overrides, _PASSPHRASE: ""})
    try:
        empty.run("stack", "change-secrets-provider", "passphrase", "--stack", work.stack, stdin=f"{chosen}\n")
    except OperationError:
        return False
    return True


def _content(path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip() if path else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _name(project: Project, key: str) -> str:
    """Of the project's own without its namespace."""
    name = key.removeprefix(f"{project.name}:")
    return key if ":" in name else name


def _wrong(
    project: Project, stack: str, read: Sequence[Setting], name: str, value: str | None, where: str
) -> Iterator[Problem]:
    """What is wrong with a key and its value. value: None of a secret's. None is ever shown that may be secret."""
    declared = {_name(project, key): what for key, what in configuration.declared(project).items()}
    known = {*(each.name for each in read), *declared}
    secret = name in _ALWAYS_SECRET or any(each.secret for each in read if each.name == name)
    secret = secret or (name in _KEYS_OF_ACCOUNTS and value is not None and _is_content(value))
    if problem := _unknown(project, stack, name, known):
        yield replace(problem, where=where)
    elif value is not None and not secret and (expected := _expected(name, value, declared.get(name))):
        yield Problem(f"{name} must be {expected}, not {value!r}", where=where)
    if value is not None and secret:
        yield Problem(
            f"{name!r} is a secret, which --set would keep in plain text",
            where=where,
            hint=f"`--secret {shlex.quote(name)}` asks for its value, or reads it from standard input, and encrypts it",
        )


def _unknown(project: Project, stack: str, name: str, known: set[str]) -> Problem | None:
    """Why nothing would read a key, if so. known: what the stack reads and Pulumi.yaml names."""
    namespace, colon, key = name.rpartition(":")
    own = {each for each in known if ":" not in each}
    if name in known:
        return None
    if not colon:
        hint = f"write gcp:{name}" if name in _PROVIDERS["gcp"] else did_you_mean(name, own)
        return Problem(f"{stack} reads no setting {name!r}", hint=hint)
    if namespace == "xmgen":
        return None if key in provider_settings.KEYS else _not_xmgens(key)
    if (keys := _PROVIDERS.get(namespace)) is not None:
        if key in keys or (namespace == "gcp" and key.endswith(_ENDPOINT)):
            return None
        close = did_you_mean(key, keys)
        return Problem(f"pulumi-{namespace} has no setting {name!r}", hint=close.replace("'", f"'{namespace}:", 1))
    if key in own:
        return Problem(f"{stack} reads no setting {name!r}", hint=f"write {key}")
    namespaces = {project.name, "xmgen", *_PROVIDERS, *(each.rpartition(":")[0] for each in known - own)}
    return Problem(f"nothing reads a setting of {namespace!r}", hint=did_you_mean(namespace, namespaces))


def _not_xmgens(key: str) -> Problem:
    return Problem(f"xmgen has no setting {key!r}", hint=did_you_mean(key, provider_settings.KEYS))


def _expected(name: str, value: str, declared: object) -> str:
    """What a value must be that it is not; empty where it will do. declared: what Pulumi.yaml says of the key."""
    kind = cast("dict[str, object]", declared).get("type") if isinstance(declared, dict) else None
    for pattern, expected in filter(None, (_VALUES.get(name), _TYPES.get(str(kind)))):
        if not pattern.fullmatch(value):
            return expected
    namespace = name.rpartition(":")[0]
    return "text that can be printed" if namespace in _PROVIDERS and not value.isprintable() else ""


def _is_content(value: str) -> bool:
    """Of a file, instead of its path."""
    return value.lstrip().startswith("{") or "\n" in value
