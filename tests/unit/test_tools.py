"""The scripts behind make: their exit codes and what they say of their progress."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from xmgen.pulumi_cli.pulumi import MINIMUM_VERSION
from xmgen.rehearsal.cluster import PROGRAMS

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module(name)


PULUMI_VERSION = "-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version="
KUBERNETES_VERSION = [
    f"-X k8s.io/component-base/version.{variable}" for variable in ("gitVersion=v1.36.3", "gitMajor=1", "gitMinor=36")
]


@pytest.mark.parametrize(
    ("folder", "tool", "package", "version", "flags"),
    [
        (
            "pulumi",
            "pulumi",
            "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
            "v3.274.1",
            [f"{PULUMI_VERSION}v3.274.1"],
        ),
        (
            "pulumi-language-python",
            "pulumi-language-python",
            "github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python",
            "v3.68.0",
            [f"{PULUMI_VERSION}v3.68.0"],
        ),
        ("etcd", "etcd", "go.etcd.io/etcd/server/v3", "v3.6.8", []),
        ("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", "v0.8.0", []),
        *(
            ("kubernetes", tool, f"k8s.io/kubernetes/cmd/{tool}", "v1.36.3", KUBERNETES_VERSION)
            for tool in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
        ),
        ("pulumi-resource-kubernetes", "pulumi-resource-kubernetes", ".", "", []),
    ],
)
def test_a_tool_is_pinned_by_its_go_mod(
    folder: str, tool: str, package: str, version: str, flags: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    go_build = module("go_build", monkeypatch)
    pinned = go_build.pinned((TOOLS / folder / "go.mod").read_text(encoding="utf-8"), tool)
    assert (pinned, go_build.version_flags(folder, pinned[1])) == ((package, version), flags)


class GoBuild:
    """A copy of go_build.py with a tool `demo`, and a fake `go` that takes three packages and writes its arguments."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "tools" / "demo").mkdir(parents=True)
        shutil.copy(TOOLS / "go_build.py", root / "tools")
        (root / "tools" / "demo" / "go.mod").write_text(
            "tool example.org/demo/cmd\n\nrequire example.org/demo v1.2.3\n"
        )
        (root / "module").mkdir()
        (root / "module" / "script").write_text("#!/bin/sh\n")

    def run(self, *arguments: str, build: str = "") -> subprocess.CompletedProcess[str]:
        go = self.root / "go"
        build = build or 'while [ "$1" != -o ]; do shift; done; echo x > $2'
        go.write_text(f"""#!/bin/sh
case $1 in
    list) echo 'go: downloading example.org/demo v1.2.3' >&2; printf 'fmt\\nos\\nexample.org/demo/cmd\\n' ;;
    build) echo fmt >&2; echo example.org/demo/cmd >&2; {build} ;;
    mod) echo '{{"Dir": "{self.root}/module"}}' ;;
esac
""")
        go.chmod(0o755)
        return subprocess.run(
            [sys.executable, "tools/go_build.py", *arguments],
            cwd=self.root,
            env={"PATH": f"{self.root}:{os.defpath}"},
            capture_output=True,
            text=True,
        )

    def binaries(self) -> list[str]:
        return sorted(path.name for path in (self.root / ".tools" / "bin").glob("*"))


def test_a_build_shows_its_progress_and_leaves_the_binary(tmp_path: Path) -> None:
    go = GoBuild(tmp_path)
    done = go.run("demo")
    assert (done.returncode, done.stderr, go.binaries()) == (0, "", ["demo"])
    # Within the first 20 seconds the first and the last line alone are due.
    assert [line.rsplit(" (", 1)[0] for line in done.stdout.splitlines()] == [
        "  demo: looking for its modules",
        "  demo: done",
    ]


def test_a_provider_lies_apart_from_what_is_on_path(tmp_path: Path) -> None:
    go = GoBuild(tmp_path)
    (tmp_path / "tools" / "demo").rename(tmp_path / "tools" / "pulumi-resource-demo")
    assert go.run("pulumi-resource-demo").returncode == 0
    assert go.binaries() == []
    assert [path.name for path in (tmp_path / ".tools" / "plugins").iterdir()] == ["pulumi-resource-demo"]


def test_several_tools_share_a_go_mod(tmp_path: Path) -> None:
    go = GoBuild(tmp_path)
    (tmp_path / "tools" / "demo" / "go.mod").write_text(
        "tool (\n\texample.org/demo/one\n\texample.org/demo/two\n)\n\nrequire example.org/demo v1.2.3\n"
    )
    done = go.run("two", "demo", build='while [ "$1" != -o ]; do shift; done; echo $3 > $2')
    assert (done.returncode, go.binaries()) == (0, ["two"])
    assert (tmp_path / ".tools" / "bin" / "two").read_text() == "example.org/demo/two\n"


def test_a_failed_build_shows_the_compilers_messages_and_leaves_nothing(tmp_path: Path) -> None:
    go = GoBuild(tmp_path)
    done = go.run("demo", build="echo 'cmd.go:1: no luck' >&2; exit 7")
    assert (done.returncode, go.binaries()) == (7, [])
    assert done.stdout.splitlines()[1:] == ["cmd.go:1: no luck"]


def test_a_script_of_a_module_is_copied_executable(tmp_path: Path) -> None:
    go = GoBuild(tmp_path)
    assert go.run("demo", "--copy", "example.org/demo", "script").returncode == 0
    copy = tmp_path / ".tools" / "bin" / "script"
    assert (copy.read_text(), os.access(copy, os.X_OK)) == ("#!/bin/sh\n", True)


PASS = [sys.executable, "-c", ""]
FAIL = [sys.executable, "-c", "raise SystemExit(3)"]


ALL = [
    "lint",
    "unit tests",
    "set-up: Pulumi",
    "engine tests",
    "docker tests",
    "set-up: cluster",
    "rehearsal tests",
]


@pytest.mark.parametrize(
    ("chosen", "failing", "ran"),
    [
        pytest.param([], [], ALL, id="all pass"),
        pytest.param([], ["lint"], ALL[:2], id="a quick one fails"),
        pytest.param([], ["set-up: Pulumi"], ALL[:3], id="the set-up fails"),
        pytest.param([], ["engine tests"], ALL, id="a later one fails"),
        pytest.param([], ["docker tests", "set-up: cluster"], ALL[:6], id="the set-up fails later"),
        pytest.param(["unit"], [], ["unit tests"], id="a phase without tools"),
        pytest.param(["slow"], ["engine tests"], ALL[2:5], id="a phase and its tools"),
        pytest.param(
            ["rehearsal", "unit"], [], ["unit tests", "set-up: Pulumi", *ALL[5:]], id="two phases, in their own order"
        ),
    ],
)
def test_the_test_run_stops_early_and_tells_every_failure(
    chosen: list[str],
    failing: list[str],
    ran: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_tests = module("run_tests", monkeypatch)

    def commands(*names: str) -> dict[str, list[str]]:
        return {name: FAIL if name in failing else PASS for name in names}

    pulumi, cluster = run_tests.ToolSet("Pulumi", ()), run_tests.ToolSet("cluster", ())
    phases = {
        "lint": run_tests.Phase(commands("lint"), quick=True),
        "unit": run_tests.Phase(commands("unit tests"), quick=True),
        "slow": run_tests.Phase(commands("engine tests", "docker tests"), (pulumi,)),
        "rehearsal": run_tests.Phase(commands("rehearsal tests"), (pulumi, cluster)),
    }
    monkeypatch.setattr(run_tests, "SETUP_LOG", tmp_path / "tools" / "setup.log")
    monkeypatch.setattr(run_tests, "TOOL_SETS", (pulumi, cluster))
    monkeypatch.setattr(run_tests, "PHASES", phases)
    talking = "print('hello from', {!r}); raise SystemExit({})"
    monkeypatch.setattr(
        run_tests,
        "setup_command",
        lambda tools: [sys.executable, "-c", talking.format(tools.name, int(f"set-up: {tools.name}" in failing))],
    )
    assert run_tests.main(chosen) == (1 if failing else 0)
    said, summary = capsys.readouterr().out.split("==> Summary\n")
    assert [(line.split()[0], line.split(" s  ")[1]) for line in summary.splitlines()] == [
        ("FAILED" if name in failing else "passed", name) for name in ran
    ]
    for name in ran:
        assert name.replace("set-up: ", "hello from ") in said


def test_a_phase_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="there is no phase engines; there are lint, unit, programs, engine,"):
        module("run_tests", monkeypatch).main(["engines"])


def test_make_has_a_target_for_every_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    run_tests = module("run_tests", monkeypatch)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"PHASES := {' '.join(run_tests.PHASES)}\n" in makefile
    assert [name for name in run_tests.PHASES if f"\ntest-{name}: ## " not in makefile] == []


def test_phases_look_for_their_marks_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    phases = module("run_tests", monkeypatch).PHASES
    # Of several marks the first one here says the phase.
    marks = ("rehearsal", "docker", "engine", "kubernetes")
    where: dict[str, set[str]] = {mark: set() for mark in marks}
    for file in ROOT.glob("tests/**/test_*.py"):
        text = file.read_text(encoding="utf-8")
        lines = "\n".join(re.findall(r"^(?:@|pytestmark = ).*pytest\.mark\..*", text, re.MULTILINE))
        if mark := next((mark for mark in marks if re.search(rf"mark\.{mark}\b", lines)), None):
            where[mark].add("/".join(file.relative_to(ROOT).parts[:2]))
    assert where == {
        mark: {word for command in phases[mark].commands.values() for word in command if word.startswith("tests/")}
        for mark in marks
    }


def test_the_unit_tests_need_no_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module("run_tests", monkeypatch).PHASES["unit"].tools == ()


def test_the_set_up_stops_with_the_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_tests = module("run_tests", monkeypatch)
    monkeypatch.setattr(run_tests, "SETUP_LOG", tmp_path / "setup.log")
    marker = tmp_path / "second"
    endless = [sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(1000)"]
    second = [sys.executable, "-c", f"open({str(marker)!r}, 'w')"]
    sets = [run_tests.ToolSet("first", ()), run_tests.ToolSet("second", ())]
    monkeypatch.setattr(run_tests, "setup_command", lambda tools: endless if tools.name == "first" else second)
    setup = run_tests.SetUp(sets)
    setup.start()
    while "begun" not in (tmp_path / "setup.log").read_text():
        time.sleep(0.01)
    setup.end()
    assert not marker.exists()


def test_the_set_up_may_end_while_it_is_being_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_tests = module("run_tests", monkeypatch)
    monkeypatch.setattr(run_tests, "SETUP_LOG", tmp_path / "setup.log")
    monkeypatch.setattr(run_tests, "setup_command", lambda tools: PASS)

    def runs_still(process: subprocess.Popen[bytes]) -> None:
        """As `poll` says it of a process that ends right afterwards."""
        process.wait()

    monkeypatch.setattr(subprocess.Popen, "poll", runs_still)
    setup = run_tests.SetUp([run_tests.ToolSet("only", ())])
    setup.start()
    assert setup.finish(run_tests.ToolSet("only", ())).passed
    setup.end()


@pytest.mark.parametrize("go", [True, False])
def test_all_that_a_rehearsal_runs_is_built_for_its_tests(go: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that is not possible it is said, and the tests say what they lack; in CI that is a failure."""
    run_tests = module("run_tests", monkeypatch)
    monkeypatch.setattr(run_tests.shutil, "which", lambda name: "/bin/go" if go else None)
    commands = [run_tests.setup_command(each) for each in run_tests.PHASES["rehearsal"].tools if each.go]
    assert {command[0] for command in commands} == ({"nice"} if go else {"echo"})
    words = " ".join(" ".join(command) for command in commands).replace(",", " ").replace(":", " ")
    assert {*PROGRAMS, "pulumi-resource-kubernetes"} <= {word.rsplit("/", 1)[-1] for word in words.split()}


def test_benchmarks_use_no_private_names() -> None:
    """Also in the programs that they write: a name that is gone would show when somebody runs them only."""
    private = re.compile(r"\w\._[a-z]\w*|import _[a-z]\w*")
    found = {file.name: private.findall(file.read_text(encoding="utf-8")) for file in ROOT.glob("benchmarks/*.py")}
    assert found
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("body", "ci", "closing", "exit_code"),
    [
        pytest.param("def test(): pytest.skip('no engine')", "", "1 skipped", 0, id="skipped"),
        pytest.param("def test(): pytest.skip('no engine')", "true", "1 failed", 1, id="skipped in CI"),
        pytest.param("pytest.importorskip('no_such_module')", "", "1 skipped", 5, id="a skipped file"),
        pytest.param("pytest.importorskip('no_such_module')", "true", "1 error", 2, id="a skipped file in CI"),
        pytest.param("@pytest.mark.xfail\ndef test(): assert False", "true", "1 xfailed", 0, id="expected to fail"),
        pytest.param("def test(): pass", "true", "1 passed", 0, id="passed"),
    ],
)
def test_in_ci_a_skipped_test_is_a_failed_one(body: str, ci: str, closing: str, exit_code: int, tmp_path: Path) -> None:
    file = tmp_path / "test_example.py"
    file.write_text(f"import pytest\n{body}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", tmp_path, "-p", "tests.conftest", "-q", file],
        cwd=ROOT,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
    )
    assert (done.stdout.splitlines()[-1].split(" in ")[0], done.returncode) == (closing, exit_code), done.stdout


@pytest.mark.parametrize(
    ("pythons", "variable", "exit_code", "said"),
    [
        pytest.param({"python3": "3.9.1"}, "", 1, "python3 is Python 3.9.1", id="too old"),
        pytest.param({}, "", 1, "python3 is missing", id="none"),
        pytest.param({"python3": "3.12.0"}, "python3.9", 1, "python3.9 is missing", id="the one asked for is missing"),
        pytest.param({"python3": "3.9.1", "python3.12": "3.12.0"}, "", 0, "Python 3.12.0", id="a newer one beside it"),
        pytest.param({"python3": "3.13.0", "mine": "3.11.0"}, "mine", 0, "Python 3.11.0", id="the one asked for"),
    ],
)
def test_the_virtual_environment_has_a_python_that_is_new_enough(
    pythons: dict[str, str], variable: str, exit_code: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "tools").mkdir()
    shutil.copy(TOOLS / "venv.sh", tmp_path / "tools")
    path = tmp_path / "path"
    path.mkdir()
    for name in ("sh", "dirname", "rm", "mkdir", "cp"):
        (path / name).symlink_to(shutil.which(name) or pytest.fail(f"no {name}"))
    for name, version in pythons.items():
        new_enough = tuple(map(int, version.split("."))) >= (3, 11)
        # Makes a virtual environment by copying itself; installing does nothing.
        (path / name).write_text(f"""#!/bin/sh
case "$*" in
    --version) echo Python {version} ;;
    -c*) exit {0 if new_enough else 1} ;;
    "-m venv .venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
esac
""")
        (path / name).chmod(0o755)
    done = subprocess.run(
        ["sh", "tools/venv.sh", "."],
        cwd=tmp_path,
        env={"PATH": str(path)} | ({"PYTHON": variable} if variable else {}),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, said in done.stdout + done.stderr) == (exit_code, True), done.stdout + done.stderr
    assert (tmp_path / ".venv").exists() == (exit_code == 0)


def test_the_oldest_pulumi_is_the_same_for_the_tools_the_engine_and_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [required] = [each for each in project["dependencies"] if each.startswith("pulumi>=")]
    oldest = required.removeprefix("pulumi>=").partition(",")[0]
    of_tools = module("get_pulumi", monkeypatch).MINIMUM
    assert (".".join(map(str, MINIMUM_VERSION)), of_tools) == (oldest, (*MINIMUM_VERSION, 0))
