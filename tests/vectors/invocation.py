"""How a recorded example was run: its command line and environment, which a vector does not say.

By rule: the bucket's name is `bkt`, and a flag without a default (of the script, or XManager's own) that is also the
name of a recorded argument had that argument's value, up to the experiment id that the script appended. What no rule
can find stands in the table.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.vectors import canonical

ENVIRONMENT = {"GOOGLE_CLOUD_BUCKET_NAME": "bkt"}
FLAGS: dict[str, tuple[str, ...]] = {
    # Its vector asks for T4s; without the flag the script asks for none.
    "cifar10_torch_xla": ("--platform=gpu",),
}
"""Example -> flags."""

_XM_FLAGS_WITHOUT_DEFAULT = {"xm_db_yaml_config_path", "xm_gcs_path"}


@dataclass(frozen=True)
class Invocation:
    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: dict(ENVIRONMENT))


def invocation(name: str, script: Path, vector: Mapping[str, Any]) -> Invocation:
    """A vector may also say itself: `"invocation": {"flags": ["--nodes=2"], "env": {"NAME": "value"}}`."""
    own: Mapping[str, Any] = vector.get("invocation", {})
    flags = own.get("flags") or FLAGS.get(name) or _derived(script, vector)
    return Invocation(flags=tuple(flags), env={**ENVIRONMENT, **own.get("env", {})})


def _derived(script: Path, vector: Mapping[str, Any]) -> Iterator[str]:
    values: dict[str, set[str]] = {}
    for launch in vector.get("launches", []):
        for job in launch.get("jobs", []):
            for token in job.get("args", []):
                if match := re.fullmatch(r"--(\w+)=(.*)", token, re.DOTALL):
                    values.setdefault(match.group(1), set()).add(match.group(2).partition(f"/{canonical.XID}")[0])
    for name in sorted(_without_default(script) | _XM_FLAGS_WITHOUT_DEFAULT):
        if len(values.get(name, ())) == 1:
            yield f"--{name}={values[name].pop()}"


def _without_default(script: Path) -> set[str]:
    """The flags that the script defines with None as default."""
    return {
        str(node.args[0].value)
        for node in ast.walk(ast.parse(script.read_bytes()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2].startswith("DEFINE_")
        and len(node.args) > 1
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[1], ast.Constant)
        and node.args[1].value is None
    }
