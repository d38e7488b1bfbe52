"""What an error about a launch script's jobs names: the line that asks for what is wrong."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.builders import XID
from xmgen.errors import InputError
from xmgen.frontends.xmanager import loader as xmanager
from xmgen.plan import planner


def test_what_no_machine_has_is_said_of_the_line_that_asks_for_it(tmp_path: Path) -> None:
    script = tmp_path / "launcher.py"
    script.write_text(
        textwrap.dedent("""\
            from xmanager import xm, xm_local
            GPUS = xm_local.Kubernetes(xm.JobRequirements(a100=3))
            with xm_local.create_experiment('x') as experiment:
                [image] = experiment.package([
                    xm.container(xm_local.Kubernetes.Spec(), 'gcr.io/acme/x'),
                    xm.binary(xm_local.Local.Spec(), 'launcher.py')])
                experiment.add(xm.Job(image, GPUS))
                experiment.add(xm.Job(image, xm_local.Kubernetes(xm.JobRequirements(tpu_v5e='3x5')), name='tpu',
                    args=[f'{experiment.experiment_id}_2_tpu:1']))
        """).replace("[image] = experiment.package([", "image, program = experiment.package([")
        + "    experiment.add(xm.Job(program, xm_local.Kubernetes()))\n"
    )
    made = xmanager.load(script, root=tmp_path, stack="sweep")
    with pytest.raises(InputError) as caught:
        planner.plan(made)
    assert [(each.where, each.message) for each in caught.value.problems] == [
        ("launcher.py:2, work unit 1, job x", "a100=3: no machine has 3 of these GPUs"),
        (
            "launcher.py:8, work unit 2, job tpu",
            f"holds the address {XID}_2_tpu:1, which does not resolve on GKE",
        ),
        ("launcher.py:8, work unit 2, job tpu", "tpu_v5e has no topology '3x5'"),
        ("launcher.py:6", "executable 'launcher_py' is a program of this machine, which a cluster cannot run"),
    ]


@pytest.mark.parametrize(
    ("trials", "places"),
    [
        (3, ["work unit 1, job x", "work unit 2, job x", "work unit 3, job x"]),
        # Each with an executor of its own: once will do.
        (60, ["work unit 1, job x, and 59 others"]),
    ],
)
def test_a_mistake_of_a_sweep_is_said_once(tmp_path: Path, trials: int, places: list[str]) -> None:
    script = tmp_path / "launcher.py"
    script.write_text(
        textwrap.dedent(f"""\
            from xmanager import xm, xm_local
            with xm_local.create_experiment('x') as experiment:
                [image] = experiment.package([xm.container(xm_local.Kubernetes.Spec(), 'gcr.io/acme/x')])
                for rate in range({trials}):
                    experiment.add(xm.Job(image, xm_local.Kubernetes(xm.JobRequirements(t4=3)), args={{'rate': rate}}))
                experiment.add(xm.Job(image, xm_local.Kubernetes(xm.JobRequirements(a100=3))))
        """)
    )
    with pytest.raises(InputError) as caught:
        planner.plan(xmanager.load(script, root=tmp_path, stack="sweep"))
    assert [(each.where, each.message) for each in caught.value.problems] == [
        *((f"launcher.py:5, {place}", "t4=3: no machine has 3 of these GPUs") for place in places),
        (f"launcher.py:6, work unit {trials + 1}, job x", "a100=3: no machine has 3 of these GPUs"),
    ]
