"""Runs a generated program under Pulumi's mocks and says what it declares."""

from __future__ import annotations

import asyncio
import runpy
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime import mocks


@dataclass(frozen=True)
class Declared:
    type: str
    name: str
    inputs: Mapping[str, Any]


@dataclass
class Program(mocks.Mocks):
    """resources: in the order in which they were declared."""

    resources: list[Declared] = field(default_factory=list[Declared])

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:
        raise AssertionError(f"the program calls {args.token}")

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.resources.append(Declared(args.typ, args.name, args.inputs))
        outputs: dict[str, Any] = dict(args.inputs)
        match args.typ:
            case "xmgen:local:Executable":
                outputs |= {"runner": "process", "imageId": "", "packaged": {"packaged": args.name}}
            case "xmgen:local:Run":
                outputs |= {"attempt": f"attempt of {args.name}", "exitCode": 0, "metrics": {"unit": args.name}}
            case _:
                pass
        return f"{args.name}-id", outputs


def write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())


def run(folder: Path) -> Program:
    """What the program of a stack's folder declares. Its modules are loaded afresh and forgotten again."""
    program = Program()

    def execute() -> None:
        # Pulumi would wait for what it gives back, and that is the module with all that it names.
        runpy.run_path(str(folder / "__main__.py"), run_name="__main__")

    # Pulumi uses the thread's event loop, which other tests may have closed and which newer Pythons do not make.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    mocks.set_mocks(program, preview=False)
    before = sys.path[:]
    sys.path.insert(0, str(folder))
    try:
        pulumi.runtime.test(execute)()
    finally:
        asyncio.set_event_loop(None)
        loop.close()
        sys.path[:] = before
        for name in {module.stem for module in folder.glob("*.py")} - {"__main__"}:
            sys.modules.pop(name, None)
    return program
