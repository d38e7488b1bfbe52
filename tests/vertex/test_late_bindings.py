"""Addresses of worker pools in arguments: how they reach the container, and what puts them in there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.vertex.manifests import WORKERPOOL0, experiment, job, spec
from xmgen.executors.vertex import custom_jobs, late_bindings
from xmgen.experiment import ShellSafeArg
from xmgen.plan import planner


def test_a_late_binding_goes_through_the_wrapper_and_plain_arguments_around_it() -> None:
    compiled = experiment(
        (job("--a=$5", WORKERPOOL0, "b c", name="chief"), job(name="worker", env={"X": "%objectname(workerpool1)%"}))
    )
    chief, worker = (pool["containerSpec"] for pool in spec(compiled)["workerPoolSpecs"])
    script = 'exec python -m train "${1}" --chief=%objectname(workerpool0)% "${2}"'
    assert chief["command"] == ["python3", custom_jobs.WRAPPER, script, "--a=$5", "b c"]
    assert worker["command"] == ["python3", custom_jobs.WRAPPER, "exec python -m train"]
    assert "args" not in chief
    [image] = planner.plan(compiled).images
    dockerfile = image.files["Dockerfile"]
    text = Path(late_bindings.__file__).read_text(encoding="utf-8")
    assert f"COPY <<'XMGEN' {custom_jobs.WRAPPER}\n{text}XMGEN\n\nENTRYPOINT" in dockerfile
    [plain] = planner.plan(experiment(job())).images
    assert (plain.tag != image.tag, "XMGEN" in plain.files["Dockerfile"]) == (True, False)


def test_a_shell_without_addresses_needs_no_wrapper() -> None:
    [pool] = spec(experiment(job(ShellSafeArg("$HOME"), "x")))["workerPoolSpecs"]
    assert pool["containerSpec"]["command"] == ["/bin/sh", "-c", 'exec python -m train $HOME "${1}"', "sh", "x"]


CLUSTER = {"cluster": {"workerpool0": ["chief-0:2222"], "workerpool1": ["w-0:2222", "w-1:2222"]}, "task": {}}
PRINTER = f"exec {sys.executable} -c \"import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('X')]))\""


def wrapped(script: str, *arguments: str, cluster: object = CLUSTER, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs the wrapper as the container does, without any other package."""
    environment = {**os.environ, **env, **({"CLUSTER_SPEC": json.dumps(cluster)} if cluster else {})}
    command = [sys.executable, "-I", "-S", late_bindings.__file__, script, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


NASTY = ["", " ", "$HOME", "`id`", "'", '"', "\\", "*", "a\nb", "%objectname(workerpool0)%", "é🎉", "-n", "--", ";ls"]


def test_in_the_container_addresses_are_put_in_and_every_other_argument_is_left_alone() -> None:
    places = " ".join(f'"${{{number}}}"' for number in range(1, len(NASTY) + 1))
    script = f"{PRINTER} --chief=%objectname(workerpool0)% {places} --all=%objectname(workerpool1)%,x"
    done = wrapped(script, *NASTY, X="tcp://%objectname(workerpool1)%")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        ["--chief=chief-0:2222", *NASTY, "--all=w-0:2222,x"],
        "tcp://w-0:2222",
    ]


def test_a_machine_of_its_own_is_its_own_chief() -> None:
    done = wrapped(f"{PRINTER} %objectname(workerpool0)%", cluster=None)
    assert json.loads(done.stdout)[0] == ["127.0.0.1:29500"]


def test_a_worker_pool_that_is_not_there_ends_the_job_with_a_word() -> None:
    done = wrapped(f"{PRINTER} %objectname(workerpool7)%")
    assert done.returncode == 1
    assert done.stderr == ("%objectname(workerpool7)%: there is no such worker pool, only workerpool0, workerpool1\n")


def test_plain_text_that_looks_like_an_address_is_left_alone_and_noted() -> None:
    compiled = experiment(job("%objectname(workerpool0)%"))
    assert spec(compiled)["workerPoolSpecs"][0]["containerSpec"]["args"] == ["%objectname(workerpool0)%"]
    assert planner.plan(compiled).notes == (
        "Some arguments hold %objectname(…)% as plain text and keep it; "
        "xm.ShellSafeArg(utils.get_workerpool_address(…)) becomes the address.",
    )
