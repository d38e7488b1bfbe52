"""Credentials for Google Cloud, found where pulumi-gcp finds them.

https://www.pulumi.com/registry/packages/gcp/installation-configuration/ names the keys and variables.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any, cast

import requests
import requests.auth

from xmgen import extras
from xmgen.errors import OperationError, Problem
from xmgen.provider.settings import Settings

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_KEYS = ("GOOGLE_CREDENTIALS", "GOOGLE_CLOUD_KEYFILE_JSON", "GCLOUD_KEYFILE_JSON")
LOGIN = "`gcloud auth application-default login`, or `xmgen up STACK --secret gcp:credentials` with a key"


class NoAnswer(requests.ConnectionError):
    """Whoever gives access tokens cannot be reached, or is too busy: it may go better next time."""


class Authorization(requests.auth.AuthBase):
    """Adds the access token to a request, and gets another when it has expired. Safe among threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._credentials: Any = None
        self._transport: Any = None

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        """Raises OperationError when there are no credentials or they are refused, NoAnswer when that is not known."""
        with self._lock:
            if self._credentials is None:
                self._credentials, self._transport = _load(self._settings)
            from google.auth.exceptions import GoogleAuthError, TransportError

            try:
                self._credentials.before_request(self._transport, r.method, r.url, r.headers)
            except GoogleAuthError as error:
                message = f"Google Cloud gives no access token: {_first_line(error)}"
                if isinstance(error, TransportError) or cast("Any", error).retryable:
                    raise NoAnswer(message) from None
                raise OperationError(Problem(message, hint=LOGIN)) from None
        return r

    def forget_token(self) -> None:
        """The API refused the token: the next request gets another, where the credentials can be renewed."""
        with self._lock:
            if getattr(self._credentials, "refresh_token", "") is not None:
                self._credentials = None


def _load(settings: Settings) -> tuple[Any, Any]:
    try:
        import google.auth.transport.requests as transport
        from google.auth.exceptions import GoogleAuthError
    except ImportError:
        raise OperationError(Problem("google-auth is not installed", hint=extras.install("gcp"))) from None
    try:
        credentials = _chosen(settings)
    except (GoogleAuthError, ValueError, OSError) as error:
        raise OperationError(Problem(f"no credentials for Google Cloud: {_first_line(error)}", hint=LOGIN)) from None
    return credentials, cast("Any", transport.Request())


def _chosen(settings: Settings) -> Any:
    import google.auth

    module: Any = google.auth
    if token := settings.access_token or os.environ.get("GOOGLE_OAUTH_ACCESS_TOKEN"):
        import google.oauth2.credentials

        credentials: Any = google.oauth2.credentials.Credentials(token)  # pyright: ignore[reportUnknownMemberType]
    elif key := settings.credentials or next(filter(None, map(os.environ.get, _KEYS)), ""):
        credentials, _ = module.load_credentials_from_dict(json.loads(_key(key)), scopes=_SCOPES)
    else:
        credentials, _ = module.default(scopes=_SCOPES)
    account = settings.impersonate_service_account or os.environ.get("GOOGLE_IMPERSONATE_SERVICE_ACCOUNT")
    if account:
        import google.auth.impersonated_credentials

        impersonated: Any = google.auth.impersonated_credentials
        credentials = impersonated.Credentials(credentials, target_principal=account, target_scopes=list(_SCOPES))
    return credentials


def _key(given: str) -> str:
    """A service account's key, which is given as it is, or by the path of its file. Raises ValueError for neither."""
    if given.lstrip().startswith("{"):
        return given
    try:
        return Path(given).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        # Not by its name, which may be a key in another form, such as Base64.
        why = (error.strerror or "it cannot be read") if isinstance(error, OSError) else "it is no text"
        raise ValueError(f"what is given is neither a key nor the path of a file that holds one: {why}") from None


def _first_line(error: Exception) -> str:
    # google-auth puts the whole answer beside what it says.
    said = error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
    return said.strip().partition("\n")[0] or type(error).__name__
