"""XManager's own unit tests of its launch API, run against ours.

They come with its package, which `make test` unpacks into `.tools/upstream`. Each file is loaded with `xmanager`
meaning xmgen; `expected.py` says which tests are not to pass, and why.
"""

from __future__ import annotations

import importlib.util
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.upstream.expected import NOT_TO_PASS
from xmgen.frontends.xmanager import aliasing

UPSTREAM = Path(__file__).parents[2] / ".tools" / "upstream" / "xmanager"
FILES = (
    "xm/resources_test.py",
    "xm/job_blocks_test.py",
    "xm/job_operators_test.py",
    "xm/core_test.py",
    "xm/executables_test.py",
    "xm/packagables_test.py",
    "xm/utils_test.py",
    "contrib/addressing_test.py",
    "contrib/framework_defaults_test.py",
    "contrib/xm_tensorflow_test.py",
    "contrib/tensorboard_test.py",
)
HOW_MANY = 174
"""In xmanager 0.8.5.post1. With XManager itself 151 of them pass where its flags are not parsed."""


def _cases(file: str) -> Iterator[unittest.TestCase]:
    spec = importlib.util.spec_from_file_location(f"upstream.{file.removesuffix('.py')}", UPSTREAM / file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    with aliasing.aliased():
        spec.loader.exec_module(module)
    pending = [unittest.defaultTestLoader.loadTestsFromModule(module)]
    while pending:
        for test in pending.pop():
            if isinstance(test, unittest.TestCase):
                yield test
            else:
                pending.append(test)


def _parameters() -> Iterator[object]:
    for file in FILES if UPSTREAM.is_dir() else ():
        for case in _cases(file):
            name = f"{file}::{type(case).__name__}.{case._testMethodName}"
            reason = NOT_TO_PASS.get(name)
            yield pytest.param(case, id=name, marks=[pytest.mark.xfail(reason=reason, strict=True)] if reason else [])


PARAMETERS = list(_parameters())


def test_all_of_xmanagers_tests_are_there():
    assert len(PARAMETERS) == HOW_MANY, f"unpack xmanager 0.8.5.post1 into {UPSTREAM.parent}: `make test` does"
    assert set(NOT_TO_PASS) <= {parameter.id for parameter in PARAMETERS}


@pytest.mark.parametrize("name", NOT_TO_PASS)
def test_the_documentation_says_what_is_not_to_pass(name):
    assert f"`{name}`" in (Path(__file__).parents[2] / "docs" / "xmanager.md").read_text()


@pytest.mark.parametrize("case", PARAMETERS)
def test_upstream(case: unittest.TestCase):
    result = unittest.TestResult()
    with aliasing.aliased():
        case.run(result)
    assert not [trace for _, trace in result.errors + result.failures + result.skipped]
    assert result.testsRun == 1
