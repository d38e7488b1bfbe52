"""The resource classes that generated programs use. docs/architecture.md describes them in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from xmgen import resource_types
from xmgen.provider import RUN_OUTPUTS
from xmgen.provider.declared import given, output

__all__ = ["Executable", "Run"]


class Executable(pulumi.CustomResource):
    """Code that is packaged for this machine: an image that is built or pulled, or a program that runs as it is."""

    def __init__(
        self,
        name: str,
        *,
        directory: str | None = None,
        digest: str | None = None,
        command: Sequence[str] | None = None,
        working_directory: str | None = None,
        dockerfile: str | None = None,
        image: str | None = None,
        context_path: str | None = None,
        exclude: Sequence[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Paths are relative to the folder of Pulumi.yaml.

        directory:         the code (a folder, or one program file) and the context of the build.
        digest:            hash of `directory` when the stack was compiled; other code is refused.
        command:           argv prefix that runs it as a process; `python` is the current environment's.
        working_directory: where such a process starts.
        dockerfile:        the Dockerfile to build.
        image:             a prebuilt image, instead of the above.
        context_path:      the folder of the build context that holds the code; absent for its top.
        exclude:           files of `directory` that are not its code, relative to it, such as the launch script.
        """
        inputs = {
            "directory": directory,
            "digest": digest,
            "command": command,
            "workingDirectory": working_directory,
            "dockerfile": dockerfile,
            "image": image,
            "contextPath": context_path,
            "exclude": exclude,
        }
        super().__init__(resource_types.EXECUTABLE, name, given(inputs, ("runner", "imageId", "packaged")), opts)

    runner: pulumi.Output[str] = output("runner")
    """`process` or `container`."""
    image_id: pulumi.Output[str] = output("imageId")
    """The id of the built or pulled image; empty for a process."""
    packaged: pulumi.Output[Mapping[str, Any]] = output("packaged")
    """What a job of a Run takes as its `executable`."""


class Run(pulumi.CustomResource):
    """One work unit, run to its end on this machine."""

    def __init__(
        self,
        name: str,
        *,
        identity: str,
        jobs: Sequence[Mapping[str, Any]],
        after: Sequence[Run] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """identity: hash of what the unit is, code apart.
        jobs:     as in `manifests/local.yaml`, `executable` being an `Executable.packaged`.
        after:    the runs that must have succeeded before this one starts; it runs again when one of them does.
        """
        self._unit = name
        inputs = {
            "name": name,
            "identity": identity,
            "jobs": jobs,
            "after": {run._unit: run.attempt for run in after} if after else None,
        }
        # A unit has one run folder: the old run must be gone before the new one begins.
        required = pulumi.ResourceOptions(delete_before_replace=True, depends_on=list(after))
        options = pulumi.ResourceOptions.merge(opts, required)
        super().__init__(resource_types.RUN, name, given(inputs, RUN_OUTPUTS), options)

    attempt: pulumi.Output[str] = output("attempt")
    """Another one each time the unit is run."""
    exit_code: pulumi.Output[int] = output("exitCode")
    """The first of `exit_codes` that is not 0, else 0."""
    exit_codes: pulumi.Output[Mapping[str, int]] = output("exitCodes")
    """By job; one that was stopped because the others had ended is left out."""
    log_path: pulumi.Output[str] = output("logPath")
    """The log of the only job, or the folder of all jobs' logs; relative to the folder of Pulumi.yaml."""
    output_path: pulumi.Output[str] = output("outputPath")
    """The folder of what the jobs wrote into XMGEN_OUTPUT_DIR, relative to the folder of Pulumi.yaml."""
    started_at: pulumi.Output[str] = output("startedAt")
    """RFC 3339, UTC."""
    duration_seconds: pulumi.Output[float] = output("durationSeconds")
    metrics: pulumi.Output[Mapping[str, Any]] = output("metrics")
    """What the jobs wrote into `metrics.json`."""
    runner: pulumi.Output[str] = output("runner")
    """`process`, `container`, or `mixed` where a group has both."""
