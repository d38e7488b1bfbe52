"""How an experiment is planned for Slurm: one `sbatch` for each work unit of one job."""

from __future__ import annotations

import shlex

from xmgen.executors.slurm import Slurm

from xmgen.errors import Problem
from xmgen.executors.planning import ExecutorPlanner, PackagedCode, UnitToPlan
from xmgen.experiment import Container, Executable, Experiment
from xmgen.plan import places
from xmgen.plan.model import Manifest, Plan, header
from xmgen.plan.resources import Declared, Workloads
from xmgen.program import summary

MANIFESTS = "manifests/slurm.yaml"
PROGRAM = '''\
# {header}
"""{docstring}"""

from pathlib import Path

import pulumi
import pulumi_command as command
import yaml

runs = {{}}
for unit in yaml.safe_load_all((Path(__file__).parent / "{manifests}").read_text()):
    after = [runs[name] for name in unit.get("dependsOn", [])]
    runs[unit["name"]] = command.local.Command(
        unit["name"], create=unit["submit"], opts=pulumi.ResourceOptions(depends_on=after)
    )
'''


class SlurmPlanner(ExecutorPlanner):
    kind, place, executor = "slurm", "on Slurm", Slurm

    def __init__(self, experiment: Experiment, shared: Plan | None) -> None:
        super().__init__(experiment, shared)
        for where, executor in places.executors(experiment, Slurm):
            if executor.requirements.location is not None:
                self.problems.append(Problem("has a location, and a Slurm cluster is where it is", where=where))

    def package(self, executable: Executable, name: str) -> str | Problem:
        if isinstance(executable, Container):
            return executable.image
        return Problem("is built, and Slurm runs images that are there", hint="push it, and name the image")

    def manifests(self, unit: UnitToPlan, code: PackagedCode) -> tuple[Manifest, ...]:
        [job] = unit.unit.jobs
        program = ["srun", f"--container-image={code.of_jobs[job.executable].reference}", *map(str, job.args)]
        options = ["--wait", f"--job-name={unit.name}", f"--partition={job.executor.partition}"]  # type: ignore[union-attr]
        submit = shlex.join(["sbatch", *options, "--wrap", shlex.join(program)])
        manifest: Manifest = {"name": unit.name, "submit": submit}
        if unit.predecessors:
            manifest["dependsOn"] = [each.name for each in unit.predecessors]
        return (manifest,)

    def declared(self, plan: Plan) -> Declared:
        return Declared(runs="slurm", workloads=Workloads(type="command:local:Command", manifests=MANIFESTS))

    @classmethod
    def modules(cls, plan: Plan) -> dict[str, str]:
        text = PROGRAM.format(header=header(plan.experiment), docstring=summary.docstring(plan), manifests=MANIFESTS)
        return {"__main__.py": text}


PLANNER = SlurmPlanner
