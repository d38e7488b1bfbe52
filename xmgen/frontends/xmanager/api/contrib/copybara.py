"""Source transformations with Copybara, which must be installed (github.com/google/copybara)."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

COPYBARA_BIN = "copybara"


def run_workflow(
    config: str,
    workflow: str,
    origin_folder: str,
    destination_folder: str | None = None,
    config_root: str | None = None,
) -> str:
    """Run a folder-to-folder workflow of a Copybara configuration; returns the folder it wrote.

    Raises FileNotFoundError when Copybara is not installed and CalledProcessError when it fails.
    """
    destination = destination_folder or tempfile.mkdtemp()
    command = [COPYBARA_BIN, config, workflow, "--ignore-noop", str(Path(origin_folder).absolute())]
    command.append(f"--folder-dir={destination}")
    if config_root:
        command.append(f"--config-root={config_root}")
    subprocess.run(command, check=True)  # noqa: S603
    return destination
