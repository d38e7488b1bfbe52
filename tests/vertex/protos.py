"""The official messages of Vertex AI: google-cloud-aiplatform's types, without its clients.

`make test` unpacks the package into `.tools/aiplatform`, beside the environment: its dependencies are many and its
own `__init__` imports every client. The messages live in a process of their own (this file, run as a program), since
Pulumi brings another definition of google.rpc.Status, of which a process can have one.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / ".tools" / "aiplatform"

_lock = threading.Lock()


class ParseError(ValueError):
    """What json_format.ParseDict says of an unknown field or enum, or a wrong type."""


def parsed(body: Any) -> dict[str, Any]:
    """A CustomJob as the official message has it, as JSON again. Raises ParseError."""
    answer = _ask({"parse": body})
    if "error" in answer:
        raise ParseError(answer["error"])
    return answer["message"]


def shape() -> dict[str, Any]:
    """Of a CustomJob, field by field: `text`, `flag`, bits of an integer, names of an enum, `labels`, and of these."""
    return _ask({"shape": True})["shape"]


def _ask(question: dict[str, Any]) -> dict[str, Any]:
    with _lock:
        process = _process()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())


@functools.cache
def _process() -> subprocess.Popen[str]:
    # It ends with its standard input, that is with us.
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


# In the process of its own


def main() -> None:
    from google.protobuf import json_format

    message = custom_job_class()
    for line in sys.stdin:
        question = json.loads(line)
        if "shape" in question:
            answer: dict[str, Any] = {"shape": _shape(message.DESCRIPTOR)}
        else:
            try:
                answer = {"message": json_format.MessageToDict(json_format.ParseDict(question["parse"], message()))}
            except json_format.ParseError as error:
                answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


def custom_job_class() -> Any:
    import importlib
    import types

    sys.path.append(str(FOLDER))
    package = "google.cloud.aiplatform_v1"
    # A bare package in place of the real one, which would import the clients.
    bare = types.ModuleType(package)
    bare.__path__ = [str(FOLDER / "google" / "cloud" / "aiplatform_v1")]
    sys.modules[package] = bare
    wrapper = importlib.import_module(f"{package}.types.custom_job").CustomJob
    return type(wrapper.pb(wrapper()))


def _shape(message: Any) -> Any:
    return {field.json_name: _field(field) for field in message.fields}


def _field(field: Any) -> Any:
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        return "labels"
    if inner is not None and inner.full_name.startswith("google.cloud"):
        found: Any = _shape(inner)
    elif inner is not None:
        found = {"google.protobuf.Duration": "text"}.get(inner.full_name, inner.full_name)
    elif field.enum_type is not None:
        found = [value.name for value in field.enum_type.values if value.number]
    else:
        kinds = {field.TYPE_STRING: "text", field.TYPE_BOOL: "flag", field.TYPE_INT32: 32, field.TYPE_INT64: 64}
        found = kinds[field.type]
    return {"many": found} if field.is_repeated else found


if __name__ == "__main__":
    main()
