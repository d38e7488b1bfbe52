"""What a test needs beyond Python: the `engine` tests a Pulumi CLI, the `docker` tests a Docker daemon, the
`kubernetes` tests etcd and kube-apiserver, the `rehearsal` tests all but Docker.

Where that is missing they are skipped, but in CI nothing may be: there a skipped test is a failed one.
"""

from __future__ import annotations

import functools
import os
import shutil
import signal
from pathlib import Path
from typing import TypeVar

import docker
import pytest
from docker.errors import DockerException
from hypothesis import HealthCheck, settings

from xmgen.errors import OperationError
from xmgen.rehearsal.cluster import PROGRAMS
from xmgen.rehearsal.controlplane import Binaries, find_programs

ROOT = Path(__file__).resolve().parents[1]

# What is started in the background of a shell ignores Ctrl-C, and so does all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# On a busy machine an example that takes its time is no failure. In CI the profile that it begins with is Hypothesis'
# own for that, with the same examples every time.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# What the helpers of tests assert is to be shown as what tests assert is: pytest sees to it for test modules alone.
pytest.register_assert_rewrite(*sorted(f"tests.{each.stem}" for each in (ROOT / "tests").iterdir()))

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@functools.cache
def missing(marker: str) -> str:
    """Why tests with this marker cannot run here; empty when they can."""
    if marker == "gcp":
        return "" if (ROOT / ".tools/gcp-sdk/.stamp").exists() else "`make .tools/gcp-sdk/.stamp` installs the SDKs"
    if marker == "engine":
        found = shutil.which("pulumi") or shutil.which("pulumi", path=str(ROOT / ".tools" / "bin"))
        return "" if found else "there is no Pulumi CLI; `make pulumi` gets one"
    if marker == "kubernetes":
        try:
            Binaries.find(ROOT / ".tools" / "bin")
        except OperationError as error:
            return str(error)
        return ""
    if marker == "rehearsal":
        return missing("gcp") or missing("engine") or lacking_for_rehearsal()
    try:
        client = docker.from_env()
        client.ping()
        client.images.get("xmgen-test-base")
    except DockerException as error:
        return f"no Docker daemon with the tests' base image, see tools/with_docker.py: {error}"
    return ""


def lacking_for_rehearsal() -> str:
    provider = "pulumi-resource-kubernetes"
    if not (ROOT / ".tools" / "plugins" / provider).exists():
        return f"`make .tools/plugins/{provider}` builds Pulumi's provider for Kubernetes"
    try:
        find_programs(ROOT / ".tools" / "bin", PROGRAMS)
    except OperationError as error:
        return str(error)
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in ("gcp", "engine", "docker", "kubernetes", "rehearsal"):
        if item.get_closest_marker(marker) and (reason := missing(marker)):
            pytest.skip(reason)


def failed_in_ci(report: Report) -> Report:
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which in CI is a failure: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return failed_in_ci((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return failed_in_ci((yield))
