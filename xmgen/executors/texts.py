"""Texts of args and env in a Kubernetes manifest: what a container receives is byte for byte what the user wrote.

Kubernetes expands `$(NAME)` and `$$` in both. Every `$` of the user's is therefore written twice, and one expansion is
made use of: a secret is an environment variable from a Secret, and stands elsewhere as `$(…)` of that variable. So no
secret is ever part of a Job.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from xmgen import names
from xmgen.experiment import Reference
from xmgen.plan.model import Manifest

SECRETS = "secrets"
"""The Secret of the stack's namespace that holds the secrets of its configuration."""


class Texts:
    """references: what stands for a value that only the cloud knows. Tokens of others are the user's own text.

    XManager runs everything in the namespace `default`, and names jobs there; here they have a namespace of their own.
    """

    def __init__(self, references: Iterable[Reference], experiment_id: int, namespace: str) -> None:
        self._secrets = {reference.token: reference for reference in references if reference.kind == "secret"}
        self._tokens = re.compile("|".join(map(re.escape, self._secrets))) if self._secrets else None
        self._xid = str(experiment_id)
        self._address = re.compile(rf"(?<![\w.-])({experiment_id}-[\w-]+\.{names.SERVICE})\.{names.NAMESPACE}(?![\w-])")
        self._namespace = namespace

    def secrets(self, texts: Iterable[str]) -> list[Reference]:
        """The secrets that stand in any of the texts, in order."""
        if self._tokens is None:
            return []
        found = (token for text in texts for token in self._tokens.findall(text))
        return [self._secrets[token] for token in dict.fromkeys(found)]

    def is_secret(self, text: str) -> bool:
        """Whether the text is a secret and nothing else."""
        return text in self._secrets

    def variable(self, name: str, value: str) -> Manifest:
        """One entry of a container's env."""
        if value in self._secrets:
            return from_secret(name, self._secrets[value])
        return {"name": name, "value": self.literal(value)}

    def literal(self, text: str) -> str:
        """What Kubernetes expands to the text."""
        if self._xid in text:
            text = self._address.sub(self._here, text)
        text = escaped(text)
        if self._tokens is None:
            return text
        return self._tokens.sub(lambda match: f"$({secret_variable(self._secrets[match[0]])})", text)

    def _here(self, match: re.Match[str]) -> str:
        host, _, service = match[1].partition(".")
        # No DNS name has an underscore: the job's own host name has hyphens instead.
        return f"{names.slug(host)}.{service}.{self._namespace}"


def escaped(text: str) -> str:
    """What Kubernetes expands to the text, which holds no reference."""
    return text.replace("$", "$$")


def from_secret(name: str, reference: Reference) -> Manifest:
    return {
        "name": name,
        "valueFrom": {"secretKeyRef": {"name": SECRETS, "key": secret_key(reference)}},
    }


def secret_variable(reference: Reference) -> str:
    """The variable that holds a secret which is only part of a text."""
    word = re.sub(r"[^_A-Za-z0-9]", "_", reference.name)
    return f"XMGEN_SECRET_{word if word == reference.name else f'{word}_{names.short_hash(reference.name)}'}"


def secret_key(reference: Reference) -> str:
    """A secret's key in the Secret: letters, digits, `-`, `_` and `.`."""
    key = re.sub(r"[^-._A-Za-z0-9]+", "-", reference.name)
    return key if key == reference.name else f"{key}-{names.short_hash(reference.name)}"
