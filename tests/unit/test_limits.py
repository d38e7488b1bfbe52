"""What an executor takes: types, ranges and names, and that a launch script's mistake is said with its line."""

# ruff: noqa: E501 - a row of a table reads best on one line

from __future__ import annotations

from pathlib import Path

import pytest

from xmgen.errors import InputError
from xmgen.frontends.xmanager import loader as xmanager
from xmgen.plan import planner

SCRIPT = """\
from xmanager import xm, xm_local
with xm_local.create_experiment("x") as experiment:
    [image] = experiment.package([xm.container(xm_local.Local.Spec(), "busybox")])
    executor = {executor}
    experiment.add(xm.Job(image, executor, name="train"))
"""


def refused(folder: Path, executor: str) -> list[tuple[str, str]]:
    """(where, message) of everything that is wrong with a script's executor, which is on the fourth line."""
    (folder / "launcher.py").write_text(SCRIPT.format(executor=executor), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        planner.plan(xmanager.load(folder / "launcher.py", root=folder, stack="sweep"))
    return [(each.where, each.message) for each in caught.value.problems]


@pytest.mark.parametrize(
    ("executor", "message"),
    [
        ("Kubernetes(retries=1.5)", "Kubernetes.retries must be a whole number or None, got 1.5"),
        ("Kubernetes(retries=True)", "Kubernetes.retries must be a whole number or None, got True"),
        ("Kubernetes(retries='3')", "Kubernetes.retries must be a whole number or None, got '3'"),
        ("Kubernetes(priority='x')", "Kubernetes.priority must be a whole number or None, got 'x'"),
        ("Kubernetes(reservation=5)", "Kubernetes.reservation must be a text or None, got 5"),
        ("Kubernetes(shared_memory='8GiB')", "Kubernetes.shared_memory must be a number or None, got '8GiB'"),
        ("Kubernetes(volumes='x')", "Kubernetes.volumes must be a list of Volume, got 'x'"),
        ("Kubernetes(volumes=[1])", "Kubernetes.volumes must be a list of Volume, got [1]"),
        ("xm_local.TpuCapability(3)", "TpuCapability.tpu_runtime_version must be a text, got 3"),
        ("xm_local.Volume(path='/a', claim='c', size='x')", "Volume.size must be a number or None, got 'x'"),
        ("xm_local.Volume(path='/a', claim='c', shared=1)", "Volume.shared must be True or False, got 1"),
        ("Local(service='no')", "Local.service must be True or False, got 'no'"),
        ("Local(docker_options=xm_local.DockerOptions(ports=[1]))", "DockerOptions.ports must be a Mapping or None, got [1]"),
        ("Vertex(service_account=7)", "Vertex.service_account must be a text or None, got 7"),
        ("Vertex(network=5)", "Vertex.network must be a text or None, got 5"),
        ("Vertex(web_access='no')", "Vertex.web_access must be True or False, got 'no'"),
        ("Vertex(restart=1)", "Vertex.restart must be True or False, got 1"),
        ("Vertex(timeout='x')", "Vertex.timeout must be a number or None, got 'x'"),
        ("Vertex(timeout=True)", "Vertex.timeout must be a number or None, got True"),
        ("Vertex(timeout=float('nan'))", "Vertex.timeout must be a number or None, got nan"),
        ("Vertex(max_wait=float('inf'))", "Vertex.max_wait must be a number or None, got inf"),
        ("xm_local.TensorboardCapability(name=3)", "TensorboardCapability.name must be a text, got 3"),
        ("xm.JobRequirements(service_tier='prod')", "JobRequirements.service_tier must be an xm.ServiceTier or None, got 'prod'"),
        ("xm.JobRequirements(service_tier=7)", "JobRequirements.service_tier must be an xm.ServiceTier or None, got 7"),
        ("xm.JobRequirements(architecture='arm')", "JobRequirements.architecture must be an xm.Architecture or None, got 'arm'"),
        ("xm.JobRequirements(location=5)", "JobRequirements.location must be a text or None, got 5"),
        ("xm.JobRequirements(tpu_v5e='0x0')", "cannot understand the amount of tpu_v5e: '0x0'"),
        ("xm.JobRequirements(tpu_v5e='4x0')", "cannot understand the amount of tpu_v5e: '4x0'"),
        ("xm.PythonContainer(xm.ModuleName('a'), path=5)", "a path is a text, not 5"),
        ("xm.PythonContainer(xm.ModuleName('a'), use_deep_module='no')", "PythonContainer.use_deep_module must be True or False, got 'no'"),
        ("xm.PythonContainer(xm.ModuleName('a'), docker_instructions=[5])", "PythonContainer.docker_instructions must be a list of texts, got 5 in it"),
        ("xm.Dockerfile('.', dockerfile=5)", "a path is a text, not 5"),
        ("xm.BazelBinary(5)", "BazelBinary.label must be a text, got 5"),
        ("xm.BazelContainer('//a', bazel_args=[5])", "BazelContainer.bazel_args must be a list of texts, got 5 in it"),
        ("xm_local.Kubernetes.Spec(push_image_tag=5)", "KubernetesSpec.push_image_tag must be a text or None, got 5"),
        ("xm_local.secret(5)", "a secret's name is a text, not 5"),
        ("xm_local.secret('owner')", "'owner' cannot name a secret"),
    ],
    ids=lambda value: value,
)  # fmt: skip
def test_a_wrong_value_is_refused_where_the_script_says_it(tmp_path: Path, executor: str, message: str) -> None:
    written = executor if executor.startswith("xm") else f"xm_local.{executor}"
    assert refused(tmp_path, written) == [("launcher.py:4", message)]


def test_a_number_that_is_too_large_for_a_float_is_refused(tmp_path: Path) -> None:
    [(where, message)] = refused(tmp_path, "xm.JobRequirements(cpu=10**400)")
    assert where == "launcher.py:4"
    assert message.startswith("cannot understand the amount of cpu: 1000")
    [(where, message)] = refused(tmp_path, "xm_local.Vertex(timeout=10**400)")
    assert message.startswith("timeout is 1000")


@pytest.mark.parametrize(
    ("executor", "message"),
    [
        ("Kubernetes({}, retries=101)", "retries is 101"),
        ("Kubernetes({}, priority=-11)", "priority is -11"),
        ("Kubernetes({}, shared_memory=2**70)", f"shared_memory is {2**70}"),
        ("Kubernetes({}, reservation='')", "'' is no reservation"),
        ("Kubernetes({}, reservation='a b')", "'a b' is no reservation"),
        ("Kubernetes({}, reservation='a b/../c')", "'a b/../c' is no reservation"),
        (
            "Kubernetes({}, volumes=[xm_local.Volume(path='/a', claim='c', size=1, storage_class='A b')])",
            "'A b' is no storage class",
        ),
        (
            "Kubernetes({}, volumes=[xm_local.Volume(path='/a', claim='c', size=2**63)])",
            f"the size of 'c' is {2**63}",
        ),
        (
            "Kubernetes({}, volumes=[xm_local.Volume(path='/a\\n', bucket='bucket')])",
            "a volume cannot be mounted at '/a\\n'",
        ),
        (
            "Kubernetes({}, volumes=[xm_local.Volume(path='/a/../b', bucket='bucket')])",
            "a volume cannot be mounted at '/a/../b'",
        ),
        ("Kubernetes(xm.JobRequirements(replicas=10**9))", "replicas is 1000000000"),
        ("Kubernetes(xm.JobRequirements(cpu=0))", "cpu is 0"),
        ("Vertex(xm.JobRequirements(ram=0))", "ram is 0"),
        ("Local(xm.JobRequirements(cpu=0))", "cpu is 0"),
        ("Vertex({}, timeout=0)", "timeout is 0"),
        ("Vertex({}, timeout=10**15)", "timeout is 1000000000000000"),
        ("Vertex({}, max_wait=-1)", "max_wait is -1"),
        ("Vertex({}, service_account='a b')", "'a b' is no service account"),
        ("Vertex({}, network='projects/a b/global/networks/c')", "'projects/a b/global/networks/c' is no network"),
    ],
    ids=lambda value: value,
)
def test_what_is_out_of_range_or_no_name_is_refused(tmp_path: Path, executor: str, message: str) -> None:
    written = executor.format("xm.JobRequirements(t4=1)")
    assert refused(tmp_path, f"xm_local.{written}") == [("launcher.py:4, work unit 1, job train", message)]


@pytest.mark.parametrize(
    "executor",
    [
        "Kubernetes({}, retries=100, priority=10**9, shared_memory=1.5 * xm.GiB, reservation='our-gpus')",
        "Kubernetes({}, reservation='projects/p-1/reservations/r/reservationBlocks/b')",
        "Kubernetes({}, volumes=(xm_local.Volume(path='/a', claim='c', size=1, storage_class='standard-rwx'),))",
        "Kubernetes({}, volumes=[xm_local.Volume(path='/a b', bucket='bucket')])",
        "Vertex({}, timeout=1, max_wait=0, service_account='a@p.iam.gserviceaccount.com')",
        "Vertex({}, timeout=1.5)",
    ],
    ids=lambda value: value,
)
def test_an_executor_within_its_limits_is_planned(tmp_path: Path, executor: str) -> None:
    written = executor.format("xm.JobRequirements(t4=1)")
    (tmp_path / "launcher.py").write_text(SCRIPT.format(executor=f"xm_local.{written}"), encoding="utf-8")
    assert planner.plan(xmanager.load(tmp_path / "launcher.py", root=tmp_path, stack="sweep")).units
