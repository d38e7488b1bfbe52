"""The file that says what goes wrong in a rehearsal's cloud."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from xmgen.errors import InputError
from xmgen.rehearsal.cloud.cloud import Cloud
from xmgen.rehearsal.cloud.dials import Dials
from xmgen.rehearsal.cloud.kinds import Endpoint
from xmgen.rehearsal.cloud.store import Store
from xmgen.resource_types import API, NETWORK


def written(folder: Path, content: object) -> Path:
    file = folder / "dials.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "content",
    [
        [],
        [{"type": NETWORK, "operation": "create", "name": "net", "fault": "503", "times": 2}, {"seconds": 0.5}],
        [{"fault": fault} for fault in ("400", "404", "429", "500", "503", "half", "lost", "unsent")],
    ],
)
def test_dials_are_read(content: list[object], tmp_path: Path) -> None:
    assert Dials(written(tmp_path, content)).read() == content


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        ("[", ["cannot be read: Expecting value: line 1 column 2 (char 1)"]),
        ({"fault": "503"}, ["does not say what goes wrong"]),
        (["503"], ["dial 1: is no object"]),
        ([{"seconds": 1}, {"faults": "503"}], ["dial 2: unknown key 'faults'\n  did you mean 'fault'?"]),
        (
            [{"fault": 503, "operation": "up", "seconds": -1, "times": 0, "name": 1}, {"fault": "200", "times": True}],
            [
                "dial 1: fault is one of 400, 403, 404, 409, 429, 500, 503, half, lost, unsent, not 503",
                'dial 1: operation is one of create, read, update, delete, not "up"',
                "dial 1: seconds is a number of seconds, not -1",
                "dial 1: times is a number, from 1, not 0",
                "dial 1: name is the logical name of a resource, not 1",
                'dial 2: fault is one of 400, 403, 404, 409, 429, 500, 503, half, lost, unsent, not "200"',
                "dial 2: times is a number, from 1, not true",
            ],
        ),
    ],
)
def test_all_that_is_wrong_is_told_together(content: object, problems: list[str], tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        Dials(written(tmp_path, content)).read()
    found = [str(each).removeprefix(f"{tmp_path / 'dials.json'}")[2:] for each in error.value.problems]
    assert [text[: len(wanted)] for text, wanted in zip(found, problems, strict=True)] == problems


def test_an_operation_takes_its_time_and_what_it_began_is_there_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, [{"type": NETWORK, "seconds": 90, "times": 2}])
    cloud = Cloud(Store(tmp_path / "cloud.json"), file, Endpoint("127.0.0.1:1", "authority"), lambda pool: None)
    waited: list[tuple[float, list[str]]] = []

    def sleep(seconds: float) -> None:
        waited.append((seconds, [item.id.rpartition("/")[2] for item in cloud.store.of(NETWORK)]))

    def create(type: str, **inputs: str) -> None:
        request = {"operation": "create", "type": type, "urn": f"urn::{inputs}", "project": "acme", "inputs": inputs}
        assert "error" not in cloud.answer(request)

    monkeypatch.setattr(time, "sleep", sleep)
    create(API, service="compute.googleapis.com")
    for name in ("one", "two", "three"):
        create(NETWORK, name=name)
    assert waited == [(0, []), (90, ["one"]), (90, ["one", "two"]), (0, ["one", "two", "three"])]


def test_a_slip_while_it_runs_is_an_answer(tmp_path: Path) -> None:
    cloud = Cloud(
        Store(tmp_path / "cloud.json"),
        written(tmp_path, [{"fault": "5o3"}]),
        Endpoint("127.0.0.1:1", "authority"),
        lambda pool: None,
    )
    request = {"operation": "create", "type": NETWORK, "urn": "urn::net", "project": "acme", "inputs": {"name": "net"}}
    assert (
        'dial 1: fault is one of 400, 403, 404, 409, 429, 500, 503, half, lost, unsent, not "5o3"'
        in (cloud.answer(request)["error"])
    )


def test_every_status_is_answered_in_googles_shape(tmp_path: Path) -> None:
    cloud = Cloud(
        Store(tmp_path / "cloud.json"),
        written(tmp_path, [{"fault": "500"}]),
        Endpoint("127.0.0.1:1", "authority"),
        lambda pool: None,
    )
    request = {"operation": "create", "type": NETWORK, "urn": "urn::net", "project": "acme", "inputs": {"name": "net"}}
    assert cloud.answer(request) == {
        "error": "googleapi: Error 500: refused by a dial of the rehearsal, internalError",
    }
