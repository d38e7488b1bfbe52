"""Where the Pulumi CLI comes from: PATH, the official installer, or a build with Go. The programs on PATH are fakes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "tools"
PINNED = "3.274.1"

HOST = {"pulumi-language-python": ""}
CURRENT = {"pulumi": "echo v3.250.0", **HOST}
OLD = {"pulumi": "echo v3.206.9", **HOST}
# A curl that saves an installer, which puts a CLI of the version it is asked for where it is asked to.
CURL = {
    "curl": """
while [ "$1" != -o ]; do shift; done
cat > "$2" <<'END'
[ "$1 $3 $5 $6" = "--version --install-root --no-edit-path --silent" ] || exit 9
printf '#!/bin/sh\\necho v%s\\n' "$2" > "$4/bin/pulumi"
for name in pulumi pulumi-language-python pulumi-language-python-exec; do
    touch "$4/bin/$name"; chmod +x "$4/bin/$name"
done
END
"""
}
OFFLINE = {"curl": "echo 'curl: (6) Could not resolve host' >&2; exit 6"}
BROKEN_INSTALLER = {"curl": 'while [ "$1" != -o ]; do shift; done; echo "echo no such version >&2; exit 1" > "$2"'}
GO = {"go": "echo go version go1.26.8 linux/amd64"}
OLD_GO = {"go": "echo go version go1.25.9 linux/amd64"}
# A make that builds what it is asked for.
MAKE = {
    "make": f"""
for target in "$@"; do case $target in .tools/*)
    [ -e $target ] || printf '#!/bin/sh\\necho v{PINNED}\\n' > $target; chmod +x $target ;;
esac; done
"""
}
NO_MAKE = {"make": "echo 'compile: out of memory' >&2; exit 2"}

ASKING = "Pulumi: asking https://get.pulumi.com for the official installer"
BUILDING = f"Pulumi: building {PINNED} with Go, once; about six minutes on two cores"
UNREACHABLE = "Pulumi: the official installer cannot be reached: curl: (6) Could not resolve host"
INSTALLED = f"Pulumi {PINNED}: .tools/bin (by the official installer)"
BUILT = f"Pulumi {PINNED}: .tools/bin (built with Go)"


@dataclass
class Machine:
    """A copy of the tools in an empty folder, and a PATH of fakes besides the system's own programs."""

    root: Path

    def get_pulumi(self, programs: dict[str, str]) -> subprocess.CompletedProcess[str]:
        path = self.root / "path"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        for name in ("sh", "cat", "touch", "chmod"):
            (path / name).symlink_to(shutil.which(name) or pytest.fail(f"no {name}"))
        for name, text in programs.items():
            (path / name).write_text(f"#!/bin/sh\n{text}\n")
            (path / name).chmod(0o755)
        return subprocess.run(
            [sys.executable, "tools/get_pulumi.py"],
            cwd=self.root,
            env={"PATH": str(path), "HOME": str(self.root / "home")},
            capture_output=True,
            text=True,
        )

    def said(self, programs: dict[str, str]) -> list[str]:
        """What it prints when it works, with the folder of the fakes shortened."""
        done = self.get_pulumi(programs)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.replace(str(self.root / "path"), "PATH").splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "tools").mkdir()
    (tmp_path / ".tools" / "bin").mkdir(parents=True)
    shutil.copy(SOURCES / "get_pulumi.py", tmp_path / "tools")
    shutil.copytree(SOURCES / "pulumi", tmp_path / "tools" / "pulumi")
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        pytest.param(CURRENT | CURL | GO, ["Pulumi 3.250.0: PATH/pulumi (on PATH)"], id="on PATH"),
        pytest.param(
            {"pulumi": "echo v3.207.0"} | HOST, ["Pulumi 3.207.0: PATH/pulumi (on PATH)"], id="the oldest that will do"
        ),
        pytest.param(
            {"pulumi": "echo dev"} | HOST,
            ["Pulumi (a development build): PATH/pulumi (on PATH)"],
            id="a development build on PATH",
        ),
        pytest.param(CURL | GO, ["Pulumi: not on PATH", ASKING, INSTALLED], id="the installer"),
        pytest.param(
            OLD | CURL,
            ["Pulumi: PATH/pulumi is 3.206.9, older than 3.207.0", ASKING, INSTALLED],
            id="too old on PATH",
        ),
        pytest.param(
            {"pulumi": "echo v3.250.0"} | CURL,
            ["Pulumi: PATH/pulumi comes without its Python language host", ASKING, INSTALLED],
            id="no language host on PATH",
        ),
        pytest.param(
            {"pulumi": "exit 1"} | HOST | CURL,
            ["Pulumi: PATH/pulumi does not start", ASKING, INSTALLED],
            id="a broken one on PATH",
        ),
        pytest.param(
            OFFLINE | GO | MAKE, ["Pulumi: not on PATH", ASKING, UNREACHABLE, BUILDING, BUILT], id="built with Go"
        ),
        pytest.param(
            BROKEN_INSTALLER | GO | MAKE,
            [
                "Pulumi: not on PATH",
                ASKING,
                "Pulumi: the official installer failed: no such version",
                BUILDING,
                BUILT,
            ],
            id="the installer fails",
        ),
        pytest.param(
            GO | MAKE,
            ["Pulumi: not on PATH", "Pulumi: the official installer needs curl", BUILDING, BUILT],
            id="no curl",
        ),
    ],
)
def test_the_first_way_that_works_is_taken(machine: Machine, programs: dict[str, str], said: list[str]) -> None:
    assert machine.said(programs) == said


@pytest.mark.parametrize(
    ("programs", "reason"),
    [
        pytest.param(OFFLINE, "Go is not on PATH", id="no Go"),
        pytest.param(OFFLINE | OLD_GO | MAKE, "PATH/go is 1.25, older than 1.26", id="an old Go"),
        pytest.param(
            OFFLINE | {"go": "echo 'go: no proxy' >&2; exit 1"},
            "PATH/go cannot be used: go: no proxy",
            id="a Go that cannot get the toolchain it needs",
        ),
        pytest.param(
            OFFLINE | GO | NO_MAKE, "the build with Go failed; its messages are above", id="a build that fails"
        ),
    ],
)
def test_without_any_way_the_error_names_all_three(machine: Machine, programs: dict[str, str], reason: str) -> None:
    done = machine.get_pulumi(programs)
    output = done.stdout.replace(str(machine.root / "path"), "PATH").splitlines()
    assert (done.returncode, output[-1]) == (1, f"Pulumi: {reason}")
    assert done.stderr.replace("compile: out of memory\n", "").splitlines() == [
        "",
        "error: no Pulumi CLI. Any one of these is enough:",
        "  - Pulumi 3.207.0 or newer on PATH: https://www.pulumi.com/docs/install/",
        "  - a network that reaches https://get.pulumi.com, and curl",
        "  - Go 1.26 or newer on PATH and a module proxy it can reach",
    ]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        pytest.param(CURL, OFFLINE, ["Pulumi: not on PATH", INSTALLED], id="installed"),
        pytest.param(OFFLINE | GO | MAKE, CURL | MAKE, ["Pulumi: not on PATH", BUILT], id="built"),
        pytest.param(
            OFFLINE | GO | MAKE, CURRENT, ["Pulumi 3.250.0: PATH/pulumi (on PATH)"], id="but the user's own comes first"
        ),
    ],
)
def test_what_an_earlier_run_got_is_used_again(
    machine: Machine, first: dict[str, str], second: dict[str, str], said: list[str]
) -> None:
    machine.said(first)
    assert machine.said(second) == said


def test_an_installed_one_is_replaced_when_another_version_is_pinned(machine: Machine) -> None:
    machine.said(CURL)
    go_mod = machine.root / "tools" / "pulumi" / "go.mod"
    go_mod.write_text(go_mod.read_text().replace(f"pkg/v3 v{PINNED}", "pkg/v3 v3.300.0"))
    assert machine.said(CURL) == [
        "Pulumi: not on PATH",
        f"Pulumi: .tools/bin holds {PINNED}, 3.300.0 is wanted",
        ASKING,
        "Pulumi 3.300.0: .tools/bin (by the official installer)",
    ]


def test_a_failed_build_leaves_nothing_of_an_earlier_version(machine: Machine) -> None:
    machine.said(CURL)
    go_mod = machine.root / "tools" / "pulumi" / "go.mod"
    go_mod.write_text(go_mod.read_text().replace(f"pkg/v3 v{PINNED}", "pkg/v3 v3.300.0"))
    assert machine.get_pulumi(OFFLINE | GO | NO_MAKE).returncode == 1
    assert [path.name for path in (machine.root / ".tools").rglob("*")] == ["bin"]


def test_the_tools_folder_on_path_is_not_taken_for_the_users_own(machine: Machine) -> None:
    machine.said(CURL)
    (machine.root / "home").symlink_to(machine.root / ".tools" / "bin")
    done = subprocess.run(
        [sys.executable, "tools/get_pulumi.py"],
        cwd=machine.root,
        env={"PATH": f"{machine.root}/home:{machine.root}/path"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["Pulumi: not on PATH", INSTALLED]
