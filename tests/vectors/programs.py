"""Compiles the examples of an XManager checkout; programs of stacks on Google Cloud run under Pulumi's mocks."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests import gcp_programs, programs
from tests.gcp_programs import Play, Program
from tests.vectors.invocation import ENVIRONMENT
from tests.vectors.xmanager import FLAGS_OF_OTHERS, REFUSED, copied
from xmgen import compiler, names
from xmgen.errors import XmgenError
from xmgen.plan.model import Plan

FLAGS: Mapping[str, tuple[str, ...]] = {
    **FLAGS_OF_OTHERS,
    # The name of the flag in its script's docstring is an old one.
    "parameter_controller": ("--xm_db_yaml_config_path=db_config.yaml",),
}
MAY_BE_REFUSED = REFUSED | {"local_arg_printer", "local_container_links"}
"""Examples that cannot be stacks: their trials are chosen while they run, or Bazel builds them."""


@dataclass(frozen=True)
class Compiled:
    plan: Plan
    folder: Path


def run(source: Path) -> bool:
    """Print how each example came out. Whether every one is as it should be: its program declares its plan with inputs
    that pulumi_gcp takes, or it is refused in words and is one of those that may be.
    """
    good: list[bool] = []
    with copied(source) as root, tempfile.TemporaryDirectory() as stacks:
        compiled: dict[str, Compiled] = {}
        for script in sorted((root / "examples").glob("*/launcher.py")):
            name = script.parent.name
            try:
                compiled[name] = _compiled(script, root, Path(stacks))
            except XmgenError as error:
                good.append(name in MAY_BE_REFUSED)
                print(f"{'ok  ' if good[-1] else 'FAIL'} {name}: refused: {error}")
        on_google = {name: each for name, each in compiled.items() if each.plan.cluster or each.plan.vertex}
        played = gcp_programs.run({name: Play(each.folder) for name, each in on_google.items()})
        for name in sorted(compiled.keys() - played.keys()):
            print(f"ok   {name}: {len(compiled[name].plan.units)} work units on this machine; not run")
            good.append(True)
        good += [_report(name, program) for name, program in sorted(played.items())]
    print(f"{sum(good)} of {len(good)} examples are as they should be")
    return bool(good) and all(good)


def _compiled(script: Path, root: Path, stacks: Path) -> Compiled:
    name = script.parent.name
    stack = names.stack_name(name)
    with mock.patch.dict(os.environ, ENVIRONMENT):
        plan, files = compiler.compile_source(script, root=root, stack=stack, flags=FLAGS.get(name, ()))
    programs.write(stacks / stack, files)
    return Compiled(plan, stacks / stack)


def _report(name: str, program: Program) -> bool:
    problems = [problem for resource in program.resources for problem in resource.problems]
    problems += [program.error] if program.error else []
    print(f"{'FAIL' if problems else 'ok  '} {name}")
    for problem in problems:
        print(f"       {problem}")
    for kind, count in sorted(Counter(resource.type for resource in program.resources).items()):
        print(f"       {count:4} {kind}")
    return not problems
