"""What of an executor changed, in the words in which it was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from xmgen.experiment import Accelerator, Executor

_BYTES = ("ram", "disk", "shared_memory")


def difference(old: Executor, new: Executor) -> tuple[str, str]:
    """`t4=2 cpu=4` and `t4=4 cpu=8`: what the one says and the other does not, without what both say or leave out."""
    before, after = _words(old), _words(new)
    names = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    return _joined(before, names), _joined(after, names)


def _joined(words: Mapping[str, str], names: Sequence[str]) -> str:
    return " ".join(words[name] for name in names if name in words)


def _words(executor: Executor) -> dict[str, str]:
    """What is not as it is by default."""
    said, usual = _fields(executor), _fields(type(executor)())
    words = {"kind": f"kind={executor.kind}"}
    if executor.requirements.accelerator is not None:
        words["accelerator"] = _accelerator(executor.requirements.accelerator)
    for name, value in said.items():
        if name != "accelerator" and value != usual[name]:
            words[name] = f"{name}={_text(name, value)}"
    return words


def _fields(executor: Executor) -> dict[str, Any]:
    fields: dict[str, Any] = asdict(executor)
    return {**fields.pop("requirements"), **fields}


def _accelerator(asked: Accelerator) -> str:
    size = asked.topology or f"{asked.count or 0:g}"
    return f"{asked.type}={size}" + (f"*{asked.slices}" if asked.slices > 1 else "")


def _text(name: str, value: Any) -> str:
    if name in _BYTES:
        return f"{value / 2**30:g}GiB"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
