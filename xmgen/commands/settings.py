"""What the command line sets of a stack's configuration: `--set KEY=VALUE`, and secrets with `--secret KEY`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

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

_ENDPOINT = "CustomEndpoint"
_PASSPHRASE = "PULUMI_CONFIG_PASSPHRASE"  # noqa: S105 — the name of a variable
_ALWAYS_SECRET = frozenset({"gcp:accessToken", "xmgen:accessToken"})
_KEYS_OF_ACCOUNTS = frozenset({"gcp:credentials", "xmgen:credentials"})
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
    problems = [
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
        text = sys.stdin.read() if secrets and sys.stdin is not None else ""  # pyright: ignore[reportUnnecessaryComparison]
        values = [text.removesuffix("\n")] if len(secrets) == 1 else text.splitlines()
    given = dict(zip(secrets, values, strict=False))
    lacking = [key for key in secrets if not given.get(key)]
    if lacking:
        hint = f"such as `printenv WANDB_API_KEY | xmgen up STACK --secret {shlex.quote(lacking[0])}`"
        raise InputError(
            *(Problem(f"no value for {key} on standard input", where="--secret", hint=hint) for key in lacking)
        )
    return given


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
        command = ("config", "set", "--secret", key, "--stack", work.stack)
        try:
            # On standard input: a command line can be seen by everybody on the machine.
            work.pulumi.run(*command, stdin=value)
        except OperationError as error:
            if "incorrect passphrase" not in str(error) or not _encrypted_anew(work):
                raise
            yield "The stack had an empty passphrase; now it has yours."
            work.pulumi.run(*command, stdin=value)
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
    return key.removeprefix(f"{project.name}:")


def _wrong(
    project: Project, stack: str, read: Sequence[Setting], name: str, value: str | None, where: str
) -> Iterator[Problem]:
    """What is wrong with a key. value: None of a secret's. None is ever shown: it may be secret after all."""
    namespace, colon, key = name.rpartition(":")
    if not colon:
        known = {each.name for each in read if ":" not in each.name} | {
            key for key in configuration.declared(project) if ":" not in key
        }
        if name not in known:
            hint = f"write gcp:{name}" if name in GCP else did_you_mean(name, known)
            yield Problem(f"{stack} reads no setting {name!r}", where=where, hint=hint)
    elif namespace == "gcp" and key not in GCP and not key.endswith(_ENDPOINT):
        close = did_you_mean(key, GCP)
        yield Problem(f"pulumi-gcp has no setting {name!r}", where=where, hint=close.replace("'", "'gcp:", 1))
    elif namespace == "xmgen" and value is None and key not in provider_settings.KEYS:
        yield Problem(f"xmgen has no setting {key!r}", where=where, hint=did_you_mean(key, provider_settings.KEYS))
    secret = name in _ALWAYS_SECRET or any(each.secret for each in read if each.name == name)
    if value is not None and (secret or (name in _KEYS_OF_ACCOUNTS and value.lstrip().startswith("{"))):
        yield Problem(
            f"{name!r} is a secret, which --set would keep in plain text",
            where=where,
            hint=f"`--secret {shlex.quote(name)}` asks for its value, or reads it from standard input, and encrypts it",
        )
