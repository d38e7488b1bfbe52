"""The cluster of a stack, asked as `up` does: by the kubeconfig that the stack gives to Pulumi's Kubernetes provider.

Only what can be read without a library of Kubernetes' own, which would be large for a few requests.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import http.client
import json
import os
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Iterator, Mapping
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

from xmgen import resource_types
from xmgen.errors import OperationError, Problem
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.state import resources

TIMEOUT_SECONDS = 20.0
PLUGIN_SECONDS = 60.0

SILENT_SECONDS = 300.0
"""For which a log that is followed may be silent: a connection that is gone unnoticed is silent, too."""

Object = dict[str, Any]


class Refused(Exception):
    """The API server's answer is no. status: HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Unreachable(OperationError):
    """The API server does not answer: it is gone, or it is not to be reached from here."""


class Connection:
    """To an API server. Safe among threads."""

    def __init__(self, server: str, authority: str, token: str, renew: Callable[[], str] | None = None) -> None:
        """authority: certificates, PEM; empty for those of the system. renew: gives another token when this one has
        expired.
        """
        self._server = server.rstrip("/")
        self._token = token
        self._renew = renew
        context = ssl.create_default_context(cadata=authority or None)
        # It heeds HTTPS_PROXY and NO_PROXY, as kubectl does.
        self._opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))

    def greet(self) -> None:
        """Raises Unreachable when there is no answer, and OperationError when it is another one than to everybody."""
        try:
            self.text("/version")
        except Refused as refused:
            raise OperationError(Problem(f"the cluster refuses to answer: {refused}")) from None

    def items(self, path: str) -> list[Object]:
        """The objects of a list. Raises Refused, and OperationError when the cluster cannot be reached."""
        return cast(list[Object], json.loads(self.text(path))["items"])

    def text(self, path: str, **query: str) -> str:
        """Raises Refused, and OperationError when the cluster cannot be reached."""
        return self._ask("GET", path, query)

    def lines(self, path: str, **query: str) -> Iterator[str]:
        """The lines of a text that may go on for long, as they come, without their ends.

        Raises as `text` does; OperationError also when the connection breaks, or nothing comes for a while.
        """
        with self._reached(), self._opened("GET", path, query, SILENT_SECONDS) as answer:
            for line in answer:
                yield line.decode(errors="replace").removesuffix("\n")

    def delete(self, path: str) -> None:
        """Whether it is there or not. What depends on it goes after it. Raises as `text` does."""
        try:
            self._ask("DELETE", path, {"propagationPolicy": "Background"})
        except Refused as refused:
            if refused.status != HTTPStatus.NOT_FOUND:
                raise

    def _ask(self, method: str, path: str, query: Mapping[str, str]) -> str:
        with self._reached(), self._opened(method, path, query, TIMEOUT_SECONDS) as answer:
            return answer.read().decode(errors="replace")

    def _opened(self, method: str, path: str, query: Mapping[str, str], seconds: float) -> http.client.HTTPResponse:
        """seconds: for which nothing may come."""
        token = self._token
        try:
            return self._open(method, path, query, seconds, token)
        except Refused as refused:
            if refused.status != HTTPStatus.UNAUTHORIZED or self._renew is None:
                raise
        # A token of Google's is good for an hour.
        self._token = self._renew()
        return self._open(method, path, query, seconds, self._token)

    def _open(
        self, method: str, path: str, query: Mapping[str, str], seconds: float, token: str
    ) -> http.client.HTTPResponse:
        url = f"{self._server}{path}?{urlencode(query)}" if query else f"{self._server}{path}"
        request = urllib.request.Request(url, method=method)  # noqa: S310 (https)
        # Of a redirection, which may lead to anybody, it is no part.
        request.add_unredirected_header("Authorization", f"Bearer {token}")
        try:
            return cast(http.client.HTTPResponse, self._opener.open(request, timeout=seconds))
        except urllib.error.HTTPError as error:
            raise Refused(error.code, _message(error)) from None

    @contextlib.contextmanager
    def _reached(self) -> Generator[None]:
        try:
            yield
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise Unreachable(_unreachable(self._server, reason)) from None


def connect(work: Session, export: str) -> Connection | None:
    """The cluster that a stack's Jobs are on; None when the stack is not up so far. export: its state.

    Raises OperationError when there are no credentials for it.
    """
    config = _kubeconfig(export)
    if isinstance(config, dict):
        # One that a secret went into; what decrypts it, `up` needs as well.
        config = _kubeconfig(work.pulumi.run("stack", "export", "--show-secrets", "--stack", work.stack))
        plaintext: object = cast(dict[str, Any], config).get("plaintext") if isinstance(config, dict) else None
        config = json.loads(plaintext) if isinstance(plaintext, str) else None
    if not isinstance(config, str):
        return None
    try:
        server, authority, user = _current(json.loads(config))
    except (ValueError, KeyError, TypeError, StopIteration):
        raise OperationError(Problem("the kubeconfig in the stack's state cannot be understood")) from None
    if urlsplit(server).scheme != "https":
        raise OperationError(Problem(f"the cluster's address is no https URL: {server}"))

    def token() -> str:
        return _token(user, work.pulumi.environment(), server, authority)

    try:
        return Connection(server, authority, token(), renew=token)
    except ssl.SSLError as error:
        raise Unreachable(_unreachable(server, error)) from None


def _kubeconfig(export: str) -> object:
    """Of the provider that the Jobs were made by; an object for one that is secret."""
    of_jobs = {
        resource.provider.rpartition("::")[0] for resource in resources(export) if resource.type == resource_types.JOB
    }
    found = [resource for resource in resources(export) if resource.type == resource_types.PROVIDER]
    found.sort(key=lambda resource: resource.urn not in of_jobs)
    return found[0].inputs.get("kubeconfig") if found else None


def _current(config: Mapping[str, Any]) -> tuple[str, str, Mapping[str, Any]]:
    """Server, authority and user of the current context."""

    def named(kind: str, name: str) -> Mapping[str, Any]:
        return next(each[kind] for each in config[f"{kind}s"] if each["name"] == name)

    context = named("context", str(config["current-context"]))
    cluster = named("cluster", str(context["cluster"]))
    try:
        authority = base64.b64decode(str(cluster.get("certificate-authority-data", "")), validate=True).decode("ascii")
    except binascii.Error as error:
        raise ValueError(error) from None
    return str(cluster["server"]), authority, named("user", str(context["user"]))


def _token(user: Mapping[str, Any], environment: Mapping[str, str], server: str, authority: str) -> str:
    """environment: that of the program which gives credentials. Raises OperationError when there are none."""
    if isinstance(token := user.get("token"), str):
        return token
    plugin: Mapping[str, Any] = user.get("exec") or {}
    name = str(plugin.get("command", ""))
    program = shutil.which(name, path=environment.get("PATH", os.defpath)) if name else None
    if program is None:
        hint = "`gcloud components install gke-gcloud-auth-plugin` installs it" if name else ""
        what = f"{name} is not on PATH, which gives credentials for the cluster" if name else "no credentials"
        raise OperationError(Problem(what, hint=hint))
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(authority.encode()).decode()}
    version = str(plugin.get("apiVersion"))
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False, "cluster": cluster}}
    command = [program, *cast(list[str], plugin.get("args") or [])]
    given = {each["name"]: each["value"] for each in cast(list[dict[str, str]], plugin.get("env") or [])}
    try:
        done = subprocess.run(  # noqa: S603 (the program that the stack's own kubeconfig names)
            command,
            env={**environment, **given, "KUBERNETES_EXEC_INFO": json.dumps(info)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PLUGIN_SECONDS,
            check=False,
        )
        if done.returncode == 0:
            return str(json.loads(done.stdout)["status"]["token"])
        said = done.stderr.strip() or f"exit code {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    except (ValueError, KeyError, TypeError):
        said = "its answer holds no token"
    raise OperationError(Problem(f"{name} gives no credentials: {said}", hint="`gcloud auth login`"))


def _message(error: urllib.error.HTTPError) -> str:
    """Why a request was refused, in the server's own words."""
    text = error.read().decode(errors="replace")
    try:
        answer: object = json.loads(text)
    except ValueError:
        return text.strip() or str(error.reason)
    return str(cast(dict[str, Any], answer).get("message", text)) if isinstance(answer, dict) else text


def _unreachable(server: str, reason: object) -> Problem:
    return Problem(
        f"the cluster at {urlsplit(server).netloc} cannot be reached: {' '.join(str(reason).split())}",
        hint="`authorizedNetworks` of the stack may keep this machine out, or the cluster is gone",
    )
