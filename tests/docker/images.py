"""Images that tests build, on a base that needs no registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.engine.harness import TRIAL, Project, unit

BASE = "xmgen-test-base:latest"
OURS = {"label": "xmgen.attempt"}

DOCKERFILE = f"""\
FROM {BASE}
COPY trial /trial
ENTRYPOINT ["/trial"]
"""


@dataclass
class Image:
    project: Project

    def write(self, dockerfile: str = DOCKERFILE, trial: str = TRIAL) -> Image:
        folder = self.project.root / "code"
        folder.mkdir(exist_ok=True)
        (folder / "trial").write_text(trial)
        (folder / "trial").chmod(0o755)
        (self.project.root / "Dockerfile").write_text(dockerfile)
        return self

    @property
    def inputs(self) -> dict[str, Any]:
        """Of the Executable."""
        from xmgen.sources import digest

        folder = self.project.root / "code"
        return {"directory": "code", "digest": digest(folder), "dockerfile": "Dockerfile"}

    def declare(self, *units: dict[str, Any], **inputs: Any) -> None:
        """Units whose executable `image` is this one. The project's folder is mounted where it is, for `mark`."""
        root = str(self.project.root)
        for each in units:
            for job in each["jobs"]:
                job.setdefault("docker", {}).setdefault("volumes", {})[root] = root
        self.project.declare(*units, image={**self.inputs, **inputs})

    def unit(self, name: str, *scripts: str, **kwargs: Any) -> dict[str, Any]:
        return unit(name, *scripts, executable="image", **kwargs)
