"""`pulumi up` of 300 CustomJobs, against an API on this machine, and of the same 300 when creating them does nothing.

What counts is the comparison with resources of the same inputs and outputs: Pulumi saves the whole state at each step,
which takes most of the time, grows with the square of what there is to save, and says nothing of the provider. What is
left are two requests a job, those of the tests' API on the same machine included. Told beside it, as how much of the
whole is due to the size of a job: the same number of resources that do nothing and have nothing, neither inputs nor
outputs. Also the provider's memory, from its start to its end.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ratio import exit_with, judge  # noqa: E402

from tests.engine.harness import Project  # noqa: E402
from tests.vertex.job_service import TOKEN, JobService  # noqa: E402

JOBS = 300
ROUNDS = 3
MEMORY_MB = 150

CUSTOM_JOBS = """\
import pulumi
from xmgen.provider.vertex import CustomJob, Provider

vertex = Provider("vertex")
for number in range({count}):
    container = {{"imageUri": "docker.io/library/python:3.12", "args": ["--trial", str(number)]}}
    pool = {{"machineSpec": {{"machineType": "n1-standard-4"}}, "replicaCount": 1, "containerSpec": container}}
    CustomJob(
        f"trial-{{number}}",
        display_name=f"trial {{number}}",
        job_spec={{"workerPoolSpecs": [pool]}},
        project="acme",
        region="us-central1",
        opts=pulumi.ResourceOptions(provider=vertex),
    )
"""

EMPTY = """\
import pulumi
from xmgen.provider.vertex import Provider

vertex = Provider("vertex")
for number in range({count}):
    pulumi.CustomResource("xmgen:vertex:CustomJob", f"trial-{{number}}", {{}}, pulumi.ResourceOptions(provider=vertex))
"""

PYTHON = """\
#!/bin/sh
# In place of the provider's Python, whose arguments are -P -m xmgen.provider and the engine's.
shift 3
exec {python} -P {folder}/provider.py "$@"
"""

PROVIDER = """\
# The provider, but for what CustomJobs do: they are there at once.
from xmgen.provider import __main__, custom_job
from xmgen.provider.custom_job_api import Place
from xmgen.provider.resource import State


async def create(self, request, news):
    if not news:
        return State(id=request.urn.name, outputs={})
    name = f"projects/123456789012/locations/us-central1/customJobs/{request.urn.name.rpartition('-')[2]}"
    job = {"name": name, "state": "JOB_STATE_PENDING", "createTime": "2026-01-01T00:00:00Z"}
    return State(id=name, outputs=custom_job._outputs(job, Place("acme", "us-central1"), frozenset()))


real = custom_job.CustomJobResource.check


async def check(self, request, news, olds):
    return await real(self, request, news, olds) if news else {}


custom_job.CustomJobResource.check = check
custom_job.CustomJobResource.create = create
__main__.main()
"""


def up(service: JobService, *, program: str = CUSTOM_JOBS, nothing: bool = False) -> tuple[float, float]:
    """Seconds of the `up` in a new project, and the most megabytes that the provider had. nothing: creating does it."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project.create(Path(folder), {"vertexEndpoint": service.address})
        project.env["GOOGLE_OAUTH_ACCESS_TOKEN"] = TOKEN
        (project.root / "stacks" / "__main__.py").write_text(program.format(count=JOBS))
        if nothing:
            python = Path(folder) / "python"
            python.write_text(PYTHON.format(python=sys.executable, folder=folder))
            (Path(folder) / "provider.py").write_text(PROVIDER)
            python.chmod(0o755)
            project.env["XMGEN_PYTHON"] = str(python)
        with peak_memory(project) as memory:
            started = time.perf_counter()
            outcome = project.pulumi("up", "--yes", "--skip-preview", "--stack", "dev", "--suppress-progress")
            seconds = time.perf_counter() - started
        assert outcome.ok, outcome.output
        assert len(project.state()) == JOBS
        project.close()
        return seconds, memory[0]


@contextmanager
def peak_memory(project: Project) -> Iterator[list[float]]:
    """The provider's peak of resident memory, in megabytes, as Linux notes it."""
    peak, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            for pid in project.processes():
                with_name = Path(f"/proc/{pid}")
                try:
                    if b"xmgen.provider" not in (with_name / "cmdline").read_bytes():
                        continue
                    status = (with_name / "status").read_text()
                except OSError:
                    continue
                for line in status.splitlines():
                    if line.startswith("VmHWM:"):
                        peak[0] = max(peak[0], int(line.split()[1]) / 1000)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def main() -> None:
    pairs, memory = list[tuple[float, float]](), 0.0
    empty: list[float] = []
    for _ in range(ROUNDS):
        with JobService() as service:
            jobs, used = up(service)
            assert (len(service.jobs), service.peak <= 16) == (JOBS, True)
            pairs.append((jobs, up(service, nothing=True)[0]))
            empty.append(jobs / up(service, program=EMPTY, nothing=True)[0])
        memory = max(memory, used)
    names = (f"{JOBS} CustomJobs", f"{JOBS} that do nothing")
    quick = judge("CustomJobs `up` in <= 1.3 x resources that do nothing", names, pairs, lambda nothing: 1.3 * nothing)
    print(f"  beside {JOBS} that do nothing and have nothing: ratio {statistics.median(empty):.2f}")
    small = memory <= MEMORY_MB
    print(f"the provider takes <= {MEMORY_MB} MB\n  {memory:.0f} MB   {'met' if small else 'MISSED'}")
    exit_with(quick, small)


if __name__ == "__main__":
    main()
