"""An executor is one folder: one that lives in the tests is planned, printed, read and asked, and no file of the
package is touched for it.

The fixture stands for the one line beside the folder: its options in the union `Executor` of `xmgen/experiment.py`,
which says what a user may ask for, and by which lock files and identities are made.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml
from pydantic import Field, TypeAdapter

from tests.builders import experiment, job
from xmgen import executors
from xmgen import experiment as asked
from xmgen.commands import logs
from xmgen.errors import InputError
from xmgen.executors import base
from xmgen.experiment import Container, Executable, Experiment, JobRequirements, Local, WorkUnit
from xmgen.plan import identity, planner
from xmgen.program import render
from xmgen.project import Project
from xmgen.pulumi_cli import trials
from xmgen.stack import compiled, init, lock
from xmgen.stack import folder as stack_folder

IMAGE = Container(name="trainer", image="python:3.12")


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The class of its options, with the folder beside those of the package."""
    folder = str(Path(__file__).parents[1] / "executors")
    monkeypatch.setattr(executors, "__path__", [*executors.__path__, folder])
    from xmgen.executors.slurm import Slurm

    others = asked.Local | asked.Kubernetes | asked.Vertex
    monkeypatch.setattr(asked, "Executor", Annotated[others | Slurm, Field(discriminator="kind")])
    for name, type in (("_EXPERIMENT", Experiment), ("_EXECUTABLE", Executable), ("_UNIT", WorkUnit)):
        monkeypatch.setattr(lock, name, TypeAdapter(type))
    monkeypatch.setattr(identity, "_EXECUTOR", TypeAdapter(asked.Executor))
    yield Slurm
    for name in [name for name in sys.modules if name.startswith("xmgen.executors.slurm")]:
        del sys.modules[name]


def sweep(slurm: Any, **requirements: Any) -> Experiment:
    on = slurm(requirements=JobRequirements(**requirements), partition="a100")
    jobs = [job(f"--n={number}", executor=on, executable=IMAGE.name) for number in range(2)]
    return experiment(*jobs, after={1: [0]}, executables=(IMAGE,))


def test_a_stack_is_printed(slurm: Any) -> None:
    made = planner.plan(sweep(slurm))
    files = render.render(made)
    first, second = (unit.name for unit in made.units)
    assert list(yaml.safe_load_all(files["manifests/slurm.yaml"])) == [
        {
            "name": first,
            "submit": f"sbatch --wait --job-name={first} --partition=a100"
            " --wrap 'srun --container-image=python:3.12 --n=0'",
        },
        {
            "name": second,
            "submit": f"sbatch --wait --job-name={second} --partition=a100"
            " --wrap 'srun --container-image=python:3.12 --n=1'",
            "dependsOn": [first],
        },
    ]
    assert yaml.safe_load(files["resources.yaml"]) == {
        "format": 1,
        "runs": "slurm",
        "workloads": {"type": "command:local:Command", "manifests": "manifests/slurm.yaml"},
    }
    assert '"""A sweep: 2 work units on Slurm"""' in files["__main__.py"]
    compile(files["__main__.py"], "__main__.py", "exec")
    assert "| `command:local:Command` | 2 |" in files["SUMMARY.md"]
    assert lock.loads(files["experiment.lock.json"], "lock") == sweep(slurm)


def test_what_it_cannot_run_is_refused_with_all_else(slurm: Any) -> None:
    with pytest.raises(InputError) as refused:
        planner.plan(sweep(slurm, location="europe-west4"))
    said = {problem.message for problem in refused.value.problems}
    assert said == {"has a location, and a Slurm cluster is where it is"}
    both = experiment(
        job(executor=slurm(), executable=IMAGE.name), job(executor=Local(), executable=IMAGE.name), executables=(IMAGE,)
    )
    with pytest.raises(InputError, match="some work units run on this machine and others on Slurm"):
        planner.plan(both)


def test_a_compiled_stack_is_asked_where_it_runs(
    slurm: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init.init(tmp_path)
    project = Project(tmp_path)
    made = planner.plan(sweep(slurm))
    stack_folder.write(tmp_path, "sweep", render.render(made))
    stack = compiled.read(project, "sweep")
    first, second = (unit.name for unit in made.units)
    urn = f"urn:pulumi:sweep::experiments::command:local:Command::{first}"
    resource = {"urn": urn, "type": "command:local:Command", "custom": True, "id": "1", "outputs": {}}
    export = json.dumps({"deployment": {"resources": [resource]}})
    known = base.runtime(stack).status(None, stack, export, active=False)  # type: ignore[arg-type]
    assert known.units == trials.recorded(stack, export)
    assert [unit.name for unit in known.units] == [first, second]
    (tmp_path / f"slurm-{first}.out").write_text("loss: 0.5\n")
    logs.logs(project, "sweep", [], follow=False, tail=None, since=None)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("loss: 0.5\n", f"{second}: has printed nothing\n")
