"""The program of a Caliban project, and the Dockerfile instructions of its image. Credentials never become part of it:
jobs have an identity of their own, or find them mounted.
"""

from __future__ import annotations

import json
import posixpath
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from xmgen.errors import InputError, Problem
from xmgen.executors.dockerfile import file_instruction
from xmgen.frontends.caliban import cloud_sql_proxy, launcher
from xmgen.frontends.caliban.mlflow import NO_CONFIG, PROXY, RESOURCES, LauncherConfig
from xmgen.frontends.caliban.settings import JobMode

WORKING_DIRECTORY = "/usr/app"
HOME = "/home/caliban"
USER = "1000:1000"
PROXY_IMAGE = "gcr.io/cloudsql-docker/gce-proxy:1.37.0"


@dataclass(frozen=True, slots=True)
class Package:
    """executable: what runs the program. package_path: the folder of the project that the image needs.
    script_path: the file. main_module: of a program that is run as a module.
    """

    executable: tuple[str, ...]
    package_path: str
    script_path: str
    main_module: str | None

    @property
    def command(self) -> list[str]:
        return [*self.executable, self.main_module or self.script_path]


def generate_package(path: str, folder: Path) -> Package:
    """The program that a command line means: a module `trainer.train`, a script, or whatever a shell can run.

    folder: the project's; which files are there decides between a module and a script.
    """
    if not (folder / path).is_file():
        module_file = f"{path.replace('.', '/')}.py"
        if (folder / module_file).is_file():
            module = module_file.removesuffix(".py").replace("/", ".")
            return Package(("python", "-m"), _first_folder(module_file), module_file, module)
    executable = "python" if path.endswith(".py") else "/bin/bash"
    return Package((executable,), _first_folder(path), path, None)


def existing_package(path: str, folder: Path) -> Package:
    """Raises InputError when there is no such program in the project."""
    package = generate_package(path, folder)
    normal = posixpath.normpath(package.script_path)
    if posixpath.isabs(normal) or normal.startswith("../"):
        raise InputError(Problem(f"{path!r} lies outside the project", hint="the image holds the working directory"))
    if not (folder / package.script_path).is_file():
        hint = "write a module (trainer.train), a script (trainer/train.py) or a shell script (run.sh)"
        raise InputError(Problem(f"there is no program {path!r}", str(folder.name), hint))
    return package


def _first_folder(path: str) -> str:
    first, slash, _ = path.partition("/")
    return first if slash else "."


def base_extras(mode: JobMode, extras: Sequence[str] | None, *, setup_py: bool) -> list[str] | None:
    """The extras of setup.py to install: the mode's first, then those asked for; None without a setup.py."""
    if not setup_py:
        return None
    asked = list(extras or ())
    own = mode.lower()
    return asked if own in asked else [own, *asked]


def pip_target(extras: Sequence[str]) -> str:
    return f".[{','.join(extras)}]" if extras else "."


def apt_commands(packages: Iterable[str]) -> list[str]:
    """The shell commands that install Debian packages."""
    install = " ".join(shlex.quote(package) for package in sorted(packages))
    return [
        "apt-get update",
        f"DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends {install}",
        "apt-get clean",
        "rm -rf /var/lib/apt/lists/*",
    ]


def entrypoint(command: Sequence[str]) -> list[str]:
    """The image's entry point; a job's arguments are appended."""
    return ["python", f"{RESOURCES}/caliban_launcher.py", launcher.COMMAND, json.dumps(list(command))]


def process_command(command: Sequence[str]) -> list[str]:
    """The same on this machine, without an image."""
    return ["python", "-m", launcher.__name__, launcher.COMMAND, json.dumps(list(command))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What goes into the image beside the program.

    extras:     of setup.py; None: it is not installed. conda: environment.yml. requirements: requirements.txt.
    directories: further folders of the project. proxy: whether the launcher starts a Cloud SQL Auth proxy.
    """

    apt_packages: Sequence[str] = ()
    extras: Sequence[str] | None = None
    conda: bool = False
    requirements: bool = False
    directories: Sequence[str] = ()
    launcher_config: LauncherConfig = NO_CONFIG


def dockerfile_instructions(package: Package, contents: Contents, source: str = "") -> list[str]:
    """The instructions between `FROM` and `ENTRYPOINT`.

    source: the project's folder in the build context; empty: it is the context.
    """

    def copy(path: str, target: str) -> str:
        words = [posixpath.normpath(posixpath.join(source or ".", path)), target]
        return f"COPY --chown={USER} {json.dumps(words, ensure_ascii=False)}"

    user, target = f"USER {USER}", WORKING_DIRECTORY
    lines = [
        "RUN groupadd --non-unique --gid 1000 caliban",
        f"RUN useradd --non-unique --no-log-init --uid 1000 --gid 1000 --home-dir {HOME} --shell /bin/bash caliban",
        f"RUN mkdir -m 777 {target} {RESOURCES} {HOME}",
        f"ENV HOME={HOME} PYTHONUNBUFFERED=1",
        f"WORKDIR {target}",
        user,
    ]
    if contents.apt_packages:
        lines += ["USER root", f"RUN {' && '.join(apt_commands(contents.apt_packages))}", user]
    if contents.extras is not None:
        install = shlex.quote(pip_target(contents.extras))
        lines += [copy("setup.py", target), f"RUN python -m pip install --no-cache-dir {install}"]
    if contents.conda:
        lines += [copy("environment.yml", target), "RUN conda env update --quiet --name base --file environment.yml"]
    if contents.requirements:
        lines += [
            copy("requirements.txt", target),
            "RUN python -m pip install --no-cache-dir -r requirements.txt",
        ]
    lines += [copy(folder, posixpath.join(target, folder)) for folder in contents.directories]
    services = contents.launcher_config.services
    if services:
        lines.append(_write("cloud_sql_proxy.py", Path(cloud_sql_proxy.__file__)))
    lines.append(_write("caliban_launcher.py", Path(launcher.__file__)))
    if services:
        lines.append(_write_text("caliban_launcher_cfg.json", json.dumps({"services": services, "env": {}})))
        lines.append(f"COPY --from={PROXY_IMAGE} /cloud_sql_proxy {PROXY}")
    lines.append(copy(package.package_path, posixpath.join(target, package.package_path)))
    return lines


def _write(name: str, file: Path) -> str:
    """One of our programs, without what only its linter reads."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return _write_text(name, "\n".join(line.split("  # noqa")[0] for line in lines))


def _write_text(name: str, text: str) -> str:
    return file_instruction(f"{RESOURCES}/{name}", text, plain_builder=True)
