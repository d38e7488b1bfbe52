"""`pulumi up` of 300 CustomJobs, against an API on this machine, and of the same 300 when creating them does nothing.

What counts is the comparison with resources of the same inputs and outputs: Pulumi saves the whole state at each step,
which takes most of the time, grows with the square of what there is to save, and says nothing of the provider. What is
left are two requests a job, those of the tests' API on the same machine included. The two sides take turns in going
first, so that a load that grows or falls meanwhile weighs on both. Told beside it: the same of processor time, which
others on the machine change less; and, as how much of the whole is due to the size of a job, the same number of
resources that do nothing and have nothing, neither inputs nor outputs. Also the provider's memory, from its start to
its end.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ratio import exit_with, judge, size, verdict  # noqa: E402

from tests.engine.harness import Project  # noqa: E402
from tests.vertex import protos  # noqa: E402
from tests.vertex.job_service import TOKEN, JobService  # noqa: E402

JOBS = size(300, 4)
ROUNDS = size(5, 1)
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
    return State(id=name, outputs=custom_job.outputs_of(job, Place("acme", "us-central1"), frozenset()))


real = custom_job.CustomJobResource.check


async def check(self, request, news, olds):
    return await real(self, request, news, olds) if news else {}


custom_job.CustomJobResource.check = check
custom_job.CustomJobResource.create = create
__main__.main()
"""


@dataclass(frozen=True)
class Took:
    """seconds: of the `up` in a new project. processor: those of the engine, the program and the provider.
    memory: the most megabytes that the provider had.
    """

    seconds: float
    processor: float
    memory: float


def up(service: JobService, *, program: str = CUSTOM_JOBS, nothing: bool = False) -> Took:
    """nothing: that is what creating does."""
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
            started, used = time.perf_counter(), processor()
            outcome = project.pulumi("up", "--yes", "--skip-preview", "--stack", "dev", "--suppress-progress")
            seconds, used = time.perf_counter() - started, processor() - used
        assert outcome.ok, outcome.output
        assert len(project.state()) == JOBS
        project.close()
        return Took(seconds, used, memory[0])


def processor() -> float:
    """Seconds of processes that we have started and that have ended."""
    times = resource.getrusage(resource.RUSAGE_CHILDREN)
    return times.ru_utime + times.ru_stime


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
    protos.shape()  # The API's messages are loaded before anything is measured.
    jobs, nothing, empty = list[Took](), list[Took](), list[Took]()
    for number in range(ROUNDS):
        for first in (number % 2 == 0, number % 2 != 0):
            with JobService() as service:
                (jobs if first else nothing).append(up(service, nothing=not first))
                assert (len(service.jobs), service.peak <= 16) == (JOBS if first else 0, True)
        with JobService() as service:
            empty.append(up(service, program=EMPTY, nothing=True))
    names = (f"{JOBS} CustomJobs", f"{JOBS} that do nothing")
    pairs = [(one.seconds, other.seconds) for one, other in zip(jobs, nothing, strict=True)]
    quick = judge("CustomJobs `up` in <= 1.3 x resources that do nothing", names, pairs, lambda nothing: 1.3 * nothing)
    processors = statistics.median(one.processor / other.processor for one, other in zip(jobs, nothing, strict=True))
    sizes = statistics.median(one.seconds / other.seconds for one, other in zip(jobs, empty, strict=True))
    print(f"  of processor time: ratio {processors:.2f}")
    print(f"  beside {JOBS} that do nothing and have nothing: ratio {sizes:.2f}")
    memory = max(each.memory for each in jobs)
    small, word = verdict(memory <= MEMORY_MB)
    print(f"the provider takes <= {MEMORY_MB} MB\n  {memory:.0f} MB   {word}")
    exit_with(quick, small)


if __name__ == "__main__":
    main()
