"""What does not fit is named, in the scheduler's words, with what to change; what a second `up` changes; and the exit
code says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import experiment, job
from tests.rehearsal.conftest import write as write_files
from tests.rehearsal.stacks import IMAGE, T4, tamper, write
from xmgen.experiment import Accelerator, JobRequirements, Kubernetes
from xmgen.project import Project
from xmgen.rehearsal.rehearsal import Rehearsal
from xmgen.rehearsal.report import sentences
from xmgen.resource_types import NODE_POOL

pytestmark = pytest.mark.rehearsal

SLICE = Kubernetes(requirements=JobRequirements(accelerator=Accelerator(type="tpu_v5e", topology="4x4")))


def test_pods_that_no_pool_can_take(in_scratch: Rehearsal, scratch: Project) -> None:
    jobs = [job(f"--n={number}", executor=T4, executable=IMAGE.name) for number in range(4)]
    plan = write(
        scratch, experiment(*jobs, job(executor=SLICE, executable=IMAGE.name), stack="misfits", executables=(IMAGE,))
    )
    names = [manifest["metadata"]["name"] for unit in plan.units for manifest in unit.manifests]  # type: ignore[index, call-overload]
    template = plan.units[3].manifests[0]["spec"]["template"]["spec"]  # type: ignore[index, call-overload]
    (container,) = template["containers"]
    large = {**container, "image": IMAGE.image, "resources": {"requests": {"cpu": "64"}}}
    tamper(
        scratch,
        plan,
        {
            "1": {"nodeSelector": {"xmgen/nodes": "others"}},
            "2": {"tolerations": []},
            "3": {"containers": [large]},
        },
    )
    # Nor is a second `up` empty: GKE turns multithreading off on hosts of TPUs, and this program does not ignore it.
    cluster = scratch.stack("misfits") / "cluster.py"
    text = cluster.read_text(encoding="utf-8")
    ignored = '            ignore_changes=["nodeConfig.advancedMachineFeatures"],\n'
    assert text.count(ignored) == 1
    cluster.write_text(text.replace(ignored, ""), encoding="utf-8")
    write_files(scratch.root, {plan.experiment.source: ""})
    report = in_scratch.run(plan)
    assert not report.fits
    found = {each.job: (each.scheduler, each.reasons, each.change) for each in report.misfits}
    assert {(each.unit, each.job) for each in report.landings} == {
        (plan.units[position].name, names[position]) for position in (0, 4)
    }
    assert found.keys() == {names[1], names[2], names[3]}
    scheduler, reasons, change = found[names[1]]
    assert "didn't match Pod's node affinity/selector" in scheduler
    assert all("label xmgen/nodes is" in reason for reason in reasons)
    again = "`xmgen compile code/launcher.py --stack misfits` compiles the stack again"
    assert change == f"no pool has nodes of the kind that the job selects: {again}"
    scheduler, reasons, change = found[names[2]]
    assert "untolerated taint" in scheduler
    assert any("taint cloud.google.com/gke-spot=true is not tolerated" in reason for reason in reasons)
    scheduler, reasons, change = found[names[3]]
    assert any("cpu: 64.1 needed, " in reason for reason in reasons)
    assert change.startswith("ask for less")
    (slice,) = (f"{NODE_POOL} {pool.name}" for pool in plan.pools if pool.tpu)
    assert (report.second_up, report.changed) == ({"replace": 1}, [slice])
    assert f"a second `up` is not empty: 1 to replace ({slice})" in sentences(report)
    assert (report.left, report.failures) == ([], [])


def test_what_google_refuses_is_a_failure(in_scratch: Rehearsal, scratch: Project) -> None:
    plan = write(scratch, experiment(job(executor=SLICE, executable=IMAGE.name), stack="refused", executables=(IMAGE,)))
    cluster = scratch.stack("refused") / "cluster.py"
    text = cluster.read_text(encoding="utf-8")
    assert '"max_node_count": 4' in text
    cluster.write_text(text.replace('"max_node_count": 4', '"max_node_count": 3'), encoding="utf-8")
    report = in_scratch.run(plan)
    assert [failure.message.count("needs 4 nodes, got 3") for failure in report.failures] == [1]
    assert (report.fits, report.left) == (False, [])


def test_a_job_that_others_wait_for_does_not_hold_the_rehearsal_for_ever(
    in_scratch: Rehearsal, scratch: Project
) -> None:
    jobs = [job(f"--n={number}", executor=T4, executable=IMAGE.name) for number in range(2)]
    plan = write(scratch, experiment(*jobs, after={1: [0]}, stack="stuck", executables=(IMAGE,)))
    tamper(scratch, plan, {"0": {"nodeSelector": {"xmgen/nodes": "others"}}})
    report = in_scratch.run(plan)
    assert [failure.message for failure in report.failures] == ["stopped: it waited for Jobs whose pods find no node"]
    assert len(report.misfits) == 1
    assert report.left == []


@pytest.mark.parametrize("limits", [{"PREEMPTIBLE_NVIDIA_T4_GPUS": 1}])
def test_the_command_line(limits: dict[str, int], scratch: Project, google_sdks: None, tmp_path: Path) -> None:
    jobs = [job(f"--n={number}", executor=T4, executable=IMAGE.name) for number in range(2)]
    write(scratch, experiment(*jobs, stack="quota", executables=(IMAGE,)))
    quota = tmp_path / "quota.json"
    quota.write_text(json.dumps(limits), encoding="utf-8")
    # The pods that run hold the quota all the time.
    command = ["rehearse", "quota", "--quota", str(quota), "--pod-seconds", "600", "--json"]
    xmgen = Path(sys.executable).with_name("xmgen")
    done = subprocess.run([xmgen, *command], cwd=scratch.root, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    (misfit,) = json.loads(done.stdout)["misfits"]
    assert any("Quota 'PREEMPTIBLE_NVIDIA_T4_GPUS' exceeded. Limit: 1.0" in reason for reason in misfit["reasons"])
    assert misfit["change"] == "ask for more quota, or run fewer of these jobs at once"
