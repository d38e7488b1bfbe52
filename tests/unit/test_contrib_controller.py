"""Parameter controllers (`xmanager.contrib.parameter_controller`): a coroutine of the script in a container."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from xmgen.errors import InputError
from xmgen.experiment import CommandList, Experiment, Job, Kubernetes, PythonContainer
from xmgen.frontends.xmanager import loader as xmanager

SCRIPT = """
from absl import app
from xmanager import xm, xm_local
from xmanager.contrib import parameter_controller

RATES = (0.1, 0.2)

def rate(index):
    return RATES[index]

def main(_):
    with xm_local.create_experiment('outer') as experiment:
        @parameter_controller.controller({options})
        async def conduct(experiment: xm.Experiment, count, *, name):
            [image] = experiment.package([xm.container(xm_local.Kubernetes.Spec(), 'busybox')])
            for index in range(count):
                gpu = xm_local.Kubernetes(xm.JobRequirements(t4=1))
                unit = await experiment.add(xm.Job(image, gpu, name=name, args={{'rate': rate(index)}}))
                await unit.wait_until_complete()
        experiment.add(conduct(2, name='inner'))

if __name__ == '__main__':
    app.run(main)
"""
OPTIONS = """
    executor=xm_local.Kubernetes(), package_path='code', controller_args={'level': 1},
    controller_env_vars={'PLACE': 'here'},
"""


def project(folder: Path, options: str = OPTIONS) -> Path:
    """A launch script, its controller's code and the settings of XManager's database."""
    (folder / "code" / "lib").mkdir(parents=True)
    (folder / "code" / "requirements.txt").write_text("", encoding="utf-8")
    (folder / "code" / "lib" / "part.py").write_text("", encoding="utf-8")
    (folder / "records.yaml").write_text("sql_connector: sqlite\n", encoding="utf-8")
    script = folder / "launcher.py"
    script.write_text(SCRIPT.format(options=options), encoding="utf-8")
    return script


def load(script: Path, *flags: str) -> Experiment:
    return xmanager.load(script, root=script.parent, stack="sweep", flags=flags)


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_the_controller_is_an_auxiliary_unit_with_a_container_of_its_own(tmp_path: Path) -> None:
    experiment = load(project(tmp_path), "--xm_db_yaml_config_path=records.yaml")
    [executable] = experiment.executables
    [unit] = experiment.units
    assert isinstance(executable, PythonContainer)
    folder = ".xmgen/sweep/controllers/parameter-controller"
    assert (executable.path, executable.entrypoint) == (
        folder,
        CommandList(("python -m process_entry --data_file=job.pkl",)),
    )
    assert (unit.role, unit.jobs) == (
        "auxiliary",
        (
            Job(
                name="parameter_controller",
                executable=executable.name,
                executor=Kubernetes(),
                args=("--level=1", "--xm_db_yaml_config_path=records.yaml"),
                env={"PLACE": "here"},
            ),
        ),
    )
    assert files(tmp_path / folder) == [
        "job.pkl",
        "lib/part.py",
        "process_entry.py",
        "records.yaml",
        "requirements.txt",
    ]


def test_folders_to_import_from(tmp_path: Path) -> None:
    options = OPTIONS + "python_path=['code/lib'], use_host_db_config=False, controller_name='Conductor 1',"
    experiment = load(project(tmp_path, options))
    [executable] = experiment.executables
    assert isinstance(executable, PythonContainer)
    assert executable.entrypoint == CommandList(("python -m process_entry --data_file=job.pkl --init_file=init.pkl",))
    assert files(tmp_path / executable.path) == [
        "init.pkl", "job.pkl", "lib/part.py", "process_entry.py", "requirements.txt",
    ]  # fmt: skip


IN_THE_CONTAINER = """
import runpy, sys
from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager import aliasing
from xmgen.frontends.xmanager.api.xm_local import conversion
sys.argv = ['process_entry.py', '--data_file=job.pkl', '--init_file=init.pkl', '--level=1']
sys.path.insert(0, '')
inner = recording.Recording(stack='inner', experiment_id=7)
with recording.use(inner), aliasing.aliased():
    try:
        runpy.run_module('process_entry', run_name='__main__')
    except SystemExit as error:
        assert not error.code, error.code
import part  # found in the folder that python_path names
experiment = conversion.to_experiment(inner, stack='inner', source='')
print(experiment.title)
for unit in experiment.units:
    print(unit.id, unit.depends_on, *unit.jobs[0].args, unit.jobs[0].executor.requirements.accelerator.type)
"""


def test_the_container_runs_the_coroutine_with_xmanager(tmp_path: Path) -> None:
    options = OPTIONS + "use_host_db_config=False, python_path=['code/lib'],"
    experiment = load(project(tmp_path, options))
    [executable] = experiment.executables
    assert isinstance(executable, PythonContainer)
    folder = tmp_path / executable.path
    # The container has no xmgen; here XManager's names lead to ours.
    assert b"xmgen" not in (folder / "job.pkl").read_bytes()
    result = subprocess.run(
        [sys.executable, "-c", IN_THE_CONTAINER], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (result.stdout, result.returncode) == (
        f"experiment_id={experiment.experiment_id} controller=conduct\n1 () --rate=0.1 t4\n2 (0,) --rate=0.2 t4\n",
        0,
    ), result.stderr


def test_the_same_script_gives_the_same_bytes(tmp_path: Path) -> None:
    digests: set[str] = set()
    for seed, name in (("0", "a"), ("1", "somewhere else")):
        script = project(tmp_path / name)
        program = textwrap.dedent(
            """
            import sys
            from pathlib import Path
            from xmgen.frontends.xmanager import loader as xmanager
            script = Path(sys.argv[1])
            flags = ['--xm_db_yaml_config_path=records.yaml']
            print(xmanager.load(script, root=script.parent, stack='sweep', flags=flags).executables[0].digest)
            """
        )
        digests.add(
            subprocess.run(
                [sys.executable, "-c", program, str(script)],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("options", "flags", "message"),
    [
        (OPTIONS, [], "the controller needs --xm_db_yaml_config_path"),
        (OPTIONS, ["--xm_db_yaml_config_path=no.yaml"], "--xm_db_yaml_config_path: no such file: no.yaml"),
        (
            "executor=xm_local.Kubernetes(), package_path='code', controller_args={'xm_db_yaml_config_path': 'x'}",
            ["--xm_db_yaml_config_path=records.yaml"],
            "controller_args sets --xm_db_yaml_config_path",
        ),
        ("executor=xm_local.Kubernetes()", [], "the controller's package_path has no requirements.txt: ."),
        (OPTIONS + "python_path=['.'],", [], "python_path '.' lies outside package_path"),
    ],
)
def test_what_a_controller_lacks(options: str, flags: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(project(tmp_path, options), *flags)
    [problem] = caught.value.problems
    assert problem.message.startswith(message)
    assert problem.hint or "no such file" in message
    assert problem.where.startswith("launcher.py")


def test_a_coroutine_that_cannot_be_packaged(tmp_path: Path) -> None:
    script = project(tmp_path, OPTIONS + "use_host_db_config=False,")
    text = script.read_text(encoding="utf-8")
    script.write_text(
        "import threading\nLOCK = threading.Lock()\n" + text.replace("for index", "LOCK\n            for index"),
        encoding="utf-8",
    )
    with pytest.raises(InputError, match=r"the controller conduct cannot be packaged: cannot pickle '_thread\.lock'"):
        load(script)
