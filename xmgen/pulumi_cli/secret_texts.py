"""What must not be shown of what jobs print: the secrets of their stack."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from xmgen import resource_types
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.state import StateResource, resources
from xmgen.pulumi_values import SECRET, SIGNATURE


def of_stack(work: Session, export: str) -> frozenset[str]:
    """Those in the inputs of the stack's resources. export: its state, secrets encrypted.

    Raises OperationError when there are any, and they cannot be decrypted.
    """
    found = resources(export)
    # Decrypting takes the stack's passphrase, which nobody needs where nothing is encrypted.
    if any(SECRET in json.dumps(each.inputs) for each in found):
        found = resources(work.pulumi.run("stack", "export", "--show-secrets", "--stack", work.stack))
    return frozenset(of_resources(found))


def of_resources(found: Iterable[StateResource]) -> Iterator[str]:
    """found: with their secrets in plain text. Of a text of several lines each line too: logs are read by the line,
    and maybe not from its beginning.
    """
    for text in _of_resources(found):
        yield from dict.fromkeys(line.strip() for line in (text, *text.splitlines()) if line.strip())


def _of_resources(found: Iterable[StateResource]) -> Iterator[str]:
    for resource in found:
        # All that a Kubernetes Secret holds is secret, however it came there.
        whole = resource.type == resource_types.SECRET
        for key, value in resource.inputs.items():
            encoded = whole and key == "data"
            for text in _secret(value, inside=encoded or (whole and key == "stringData")):
                yield text
                if encoded:
                    yield from _decoded(text)


def _secret(value: Any, *, inside: bool) -> Iterator[str]:
    """The secret texts in a value of the state, which has each secret as JSON. inside: whether all of it is one."""
    match value:
        case {"plaintext": str(content)} if cast(Mapping[str, Any], value).get(SIGNATURE) == SECRET:
            yield from _secret(json.loads(content), inside=True)
        case dict():
            for key, item in cast(dict[str, Any], value).items():
                if key != SIGNATURE:
                    yield from _secret(item, inside=inside)
        case list():
            for item in cast(list[Any], value):
                yield from _secret(item, inside=inside)
        case str() if inside:
            yield value
        case _:
            pass


def _decoded(text: str) -> Iterator[str]:
    """What base64 stands for, if it is text."""
    try:
        yield base64.b64decode(text, validate=True).decode()
    except ValueError:
        # Not what a job would print.
        return
