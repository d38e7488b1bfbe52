"""The Dockerfile of a PythonContainer, and the same entry point as a plain command."""

from __future__ import annotations

import posixpath
import shlex

from xmgen.experiment import Argv, CommandList, ModuleName, PythonContainer
from xmgen.templating import render

DEFAULT_BASE_IMAGE = "docker.io/library/python:3.12-slim-bookworm"


def entrypoint(entry: ModuleName | CommandList | Argv) -> list[str]:
    """The argv to which a job's own arguments are appended, unchanged.

    Commands run in one shell that stops at the first failure; `"$@"` hands the arguments to the last command, unless
    it already says where they go.
    """
    if isinstance(entry, Argv):
        return list(entry.container)
    if isinstance(entry, ModuleName):
        return ["python", "-m", entry.module]
    *first, last = entry.commands
    if not last.rstrip().endswith(("$@", '"$@"')):
        last = f'{last} "$@"'
    return ["/bin/sh", "-euc", "\n".join([*first, last]), "sh"]


def process_command(entry: ModuleName | CommandList | Argv) -> list[str]:
    """The same as a process of this machine."""
    return list(entry.process) if isinstance(entry, Argv) else entrypoint(entry)


def file_instruction(path: str, text: str, *, plain_builder: bool) -> str:
    """What writes a file into an image, whose build context, the user's folder, does not hold it.

    plain_builder: whether a plain Docker daemon builds it, too, which knows no here-documents. Then it takes a user who
    may write there: only a copied file is the builder's own.
    """
    if plain_builder:
        lines = " \\\n".join(f"    {shlex.quote(line)}" for line in text.split("\n"))
        return f"RUN printf '%s\\n' \\\n{lines} \\\n    > {path}"
    return f"COPY <<'XMGEN' {path}\n{text}XMGEN"


def python_dockerfile(container: PythonContainer, header: str) -> str:
    """Layers in the order in which they change: base, dependencies, code.

    With `docker_instructions` those take the place of ours; as in XManager the folder then stands in the build context
    under its own name, and the instructions copy it.
    """
    folder = posixpath.basename(container.path) or "code"
    return render(
        "Dockerfile.j2",
        header=header,
        base_image=container.base_image or DEFAULT_BASE_IMAGE,
        instructions=container.docker_instructions,
        requirements=container.requirements,
        code_folder=f"/workdir/{folder}",
        working_directory="/workdir" if container.use_deep_module else f"/workdir/{folder}",
        entrypoint=entrypoint(container.entrypoint),
    )
