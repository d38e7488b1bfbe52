"""xmgen's own types, and images: see the `diff` of each in `provider/`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from xmgen import resource_types as types
from xmgen.resource_types.model import Input, Name, ResourceType, default


def _same_code(old: Input, new: Input) -> bool:
    """Whether jobs run the same executables, wherever their code runs and whatever is left out of it."""
    return _executables(old) == _executables(new)


def _executables(jobs: Input) -> list[Input]:
    result: list[Input] = []
    for job in jobs if isinstance(jobs, list) else []:
        executable = job.get("executable") if isinstance(job, Mapping) else job
        if isinstance(executable, Mapping):
            executable = {key: value for key, value in executable.items() if key not in ("exclude", "runner")}
        result.append(executable)
    return result


OWN = (
    # It only notes the code's digest.
    ResourceType(token=types.CODE, noun="code"),
    # It is packaged again, and a new digest runs what needs it again.
    ResourceType(token=types.EXECUTABLE, noun="executable"),
    ResourceType(
        # provider/unit.py: fingerprint. Args and variables are part of `identity`, apart from positional names in them.
        token=types.RUN,
        noun="work unit",
        replaces=("after", "identity", "jobs", "name"),
        same={"jobs": _same_code},
    ),
    ResourceType(
        # A CustomJob cannot be changed; `wait` is the program's own.
        token=types.CUSTOM_JOB,
        noun="CustomJob",
        name=Name(
            input="displayName",
            pattern=re.compile(
                r".{1,128}", re.DOTALL
            ),  # Vertex AI REST API, projects.locations.customJobs: displayName
            rule="1 to 128 characters",
            generated=False,
        ),
        replaces=("after", "displayName", "encryptionSpec", "jobSpec", "labels", "project", "region"),
        same={"wait": default(False)},
    ),
    ResourceType(token=types.XMGEN_PROVIDER, noun="provider"),
    # pulumi-docker-build builds again (provider/internal/image.go: Diff).
    ResourceType(token=types.IMAGE, noun="image"),
)
