"""Credentials for Google Cloud are found where pulumi-gcp finds them, and used where the regions' own APIs are."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import google.auth.iam
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.vertex.job_service import TOKEN, JobService
from tests.vertex.requests import REQUEST, inputs
from xmgen.errors import OperationError
from xmgen.provider import custom_job_api
from xmgen.provider.custom_job import CustomJobResource
from xmgen.provider.settings import Settings

MINE, THEIRS = "mine@acme.iam.gserviceaccount.com", "theirs@acme.iam.gserviceaccount.com"
VARIABLES = (
    "GOOGLE_OAUTH_ACCESS_TOKEN",
    "GOOGLE_CREDENTIALS",
    "GOOGLE_CLOUD_KEYFILE_JSON",
    "GCLOUD_KEYFILE_JSON",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT",
)


@dataclass
class Tokens:
    """Google's token server. given: who got a token. coming: the tokens; the last one again and again.
    refuses: statuses that are answered first.
    """

    address: str = ""
    coming: list[str] = field(default_factory=lambda: [TOKEN])
    refuses: list[int] = field(default_factory=list[int])
    given: list[str] = field(default_factory=list[str])

    def next(self) -> str:
        return self.coming.pop(0) if len(self.coming) > 1 else self.coming[0]

    def answer(self, path: str, body: str) -> dict[str, Any]:
        if path == "/token":
            payload = parse_qs(body)["assertion"][0].split(".")[1]
            self.given.append(json.loads(base64.urlsafe_b64decode(payload + "==="))["iss"])
            return {"access_token": self.next(), "expires_in": 3600, "token_type": "Bearer"}
        self.given.append(path.removeprefix("/impersonate/"))
        return {"accessToken": self.next(), "expireTime": "2999-01-01T00:00:00Z"}


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tokens]:
    tokens = Tokens()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status = tokens.refuses.pop(0) if tokens.refuses else 200
            refusal = {"error": "invalid_grant", "error_description": "the key has expired"}
            text = json.dumps(tokens.answer(self.path, body) if status == 200 else refusal).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:
            """A test looks at `given`."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    tokens.address = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(google.auth.iam, "_IAM_ENDPOINT", f"{tokens.address}/impersonate/{{}}")
    yield tokens
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


@pytest.fixture
def key(private_key: str, tokens: Tokens) -> str:
    """The key of a service account."""
    return json.dumps(
        {
            "type": "service_account",
            "project_id": "acme",
            "private_key_id": "1",
            "private_key": private_key,
            "client_email": MINE,
            "client_id": "1",
            "token_uri": f"{tokens.address}/token",
        }
    )


def submit(service: JobService, **settings: str) -> None:
    async def create() -> None:
        configured = Settings(vertex_endpoint=service.address, **settings)  # type: ignore[arg-type]
        await CustomJobResource(configured).create(REQUEST, inputs())

    asyncio.run(create())


@pytest.mark.parametrize(
    ("setting", "variable", "as_file"),
    [
        ("credentials", "", False),
        ("credentials", "", True),
        ("", "GOOGLE_CREDENTIALS", False),
        ("", "GOOGLE_CREDENTIALS", True),
        ("", "GOOGLE_CLOUD_KEYFILE_JSON", False),
        ("", "GCLOUD_KEYFILE_JSON", True),
        ("", "GOOGLE_APPLICATION_CREDENTIALS", True),
    ],
)
def test_a_service_accounts_key(
    service: JobService,
    tokens: Tokens,
    key: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    variable: str,
    as_file: bool,
) -> None:
    file = tmp_path / "key.json"
    file.write_text(key)
    value = str(file) if as_file else key
    if variable:
        monkeypatch.setenv(variable, value)
    submit(service, **({setting: value} if setting else {}))
    assert (len(service.jobs), tokens.given) == (1, [MINE])


@pytest.mark.parametrize("configured", [True, False])
def test_a_service_account_that_is_impersonated(
    service: JobService, tokens: Tokens, key: str, monkeypatch: pytest.MonkeyPatch, configured: bool
) -> None:
    if not configured:
        monkeypatch.setenv("GOOGLE_IMPERSONATE_SERVICE_ACCOUNT", THEIRS)
    submit(service, credentials=key, **({"impersonate_service_account": THEIRS} if configured else {}))
    assert (len(service.jobs), tokens.given) == (1, [MINE, THEIRS])


def test_the_configuration_comes_before_the_environment(
    service: JobService, tokens: Tokens, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "of the environment")
    submit(service, access_token=TOKEN, credentials=key)
    assert (len(service.jobs), tokens.given) == (1, [])


def test_a_token_that_the_api_no_longer_takes_is_renewed_once(service: JobService, tokens: Tokens, key: str) -> None:
    tokens.coming = ["expired", TOKEN]
    submit(service, credentials=key)
    assert (len(service.jobs), tokens.given) == (1, [MINE, MINE])
    tokens.coming = ["expired"]
    with pytest.raises(OperationError, match="Vertex AI answers 401") as caught:
        submit(service, credentials=key)
    assert tokens.given == [MINE] * 4
    assert "gcloud auth application-default login" in str(caught.value)


def test_credentials_that_are_refused_are_told_of_with_what_to_do(
    service: JobService, tokens: Tokens, key: str
) -> None:
    tokens.refuses = [400]
    with pytest.raises(OperationError) as caught:
        submit(service, credentials=key)
    message, hint = str(caught.value).split("\n")
    assert message == "Google Cloud gives no access token: invalid_grant: the key has expired"
    assert "gcloud auth application-default login" in hint


def test_who_gives_tokens_may_be_busy(
    service: JobService, tokens: Tokens, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(custom_job_api, "_FIRST_DELAY", 0.01)
    monkeypatch.setattr(google.auth._exponential_backoff.time, "sleep", lambda seconds: None)
    tokens.refuses = [503] * 5
    submit(service, credentials=key)
    assert (len(service.jobs), tokens.refuses) == (1, [])


def test_requests_go_by_the_proxy_that_the_environment_names(
    service: JobService, tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", service.address)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)

    async def create() -> None:
        elsewhere = Settings(vertex_endpoint="http://localhost:9", access_token=TOKEN)
        await CustomJobResource(elsewhere).create(REQUEST, inputs())

    asyncio.run(create())
    assert len(service.jobs) == 1


@pytest.mark.parametrize("wrong", ['{"type": "service_account"}', "{", '{"type": "x"}', "/no/such/file"])
def test_what_is_no_key_is_said_in_words(service: JobService, tokens: Tokens, wrong: str) -> None:
    with pytest.raises(OperationError, match="no credentials for Google Cloud") as caught:
        submit(service, credentials=wrong)
    assert "gcloud auth application-default login" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (base64.b64encode(b'{"type": "service_account", "private_key": "' + b"x" * 300).decode(), "File name too long"),
        ("nowhere", "No such file or directory"),
        ("key.p12", "it is no text"),
    ],
    ids=["Base64", "no file", "PKCS #12"],
)
def test_what_may_be_a_key_is_not_shown(
    service: JobService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "key.p12").write_bytes(b"\xff")
    with pytest.raises(OperationError) as caught:
        submit(service, credentials=given)
    neither = "what is given is neither a key nor the path of a file that holds one"
    assert caught.value.problems[0].message == f"no credentials for Google Cloud: {neither}: {why}"


def test_without_another_address_the_regions_own_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    class Nobody:
        def __init__(self, settings: Settings) -> None:
            pass

        def send(self, method: str, url: str, body: object) -> dict[str, Any]:
            asked.append((method, url.partition("?")[0]))
            return {} if "?" in url else {"name": "projects/1/locations/europe-west4/customJobs/2"}

    monkeypatch.setattr(custom_job_api, "_Http", Nobody)

    async def create_and_read() -> None:
        resource = CustomJobResource(Settings())
        state = await resource.create(REQUEST, inputs(region="europe-west4"))
        await resource.read(REQUEST, state.id, inputs(region="europe-west4"), state.outputs)

    asyncio.run(create_and_read())
    host = "https://europe-west4-aiplatform.googleapis.com/v1"
    assert asked == [
        ("GET", f"{host}/projects/acme/locations/europe-west4/customJobs"),
        ("POST", f"{host}/projects/acme/locations/europe-west4/customJobs"),
        ("GET", f"{host}/projects/1/locations/europe-west4/customJobs/2"),
    ]
