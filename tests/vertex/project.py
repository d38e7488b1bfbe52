"""A throw-away Pulumi project whose stack declares CustomJobs, on a JobService of this machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tests.engine.harness import Project
from tests.vertex.job_service import TOKEN, JobService

PROGRAM = """\
import json
import pulumi
from xmgen.provider.vertex import CustomJob, Provider

jobs = json.loads({jobs!r})
vertex = Provider("vertex")
for name, inputs in jobs.items():
    secrets = inputs.pop("secrets", {{}})
    if secrets:
        container = inputs["job_spec"]["workerPoolSpecs"][0]["containerSpec"]
        container["env"] = [{{"name": key, "value": pulumi.Output.secret(value)}} for key, value in secrets.items()]
    options = pulumi.ResourceOptions(provider=vertex, import_=inputs.pop("imported", None))
    job = CustomJob(name, opts=options, **{{"project": "acme", "region": "us-central1", **inputs}})
    pulumi.export(name, job.state)
"""


def job(name: str = "train", **changes: Any) -> dict[str, Any]:
    """The arguments of a CustomJob that Vertex AI accepts. changes: other arguments; args: those of the container."""
    container = {"imageUri": "docker.io/library/python:3.12", "args": changes.pop("args", ["--rate=0.1"])}
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": 1,
        "containerSpec": container,
    }
    return {"display_name": name, "job_spec": {"workerPoolSpecs": [pool], "enableWebAccess": True}, **changes}


@dataclass
class Vertex(Project):
    @classmethod
    def of(cls, folder: Path, service: JobService, **config: str) -> Vertex:
        settings = {"vertexEndpoint": service.address, "vertexPollSeconds": "0.05", **config}
        project = cast(Vertex, cls.create(folder, settings))
        project.env["GOOGLE_OAUTH_ACCESS_TOKEN"] = TOKEN
        return project

    def declares(self, **jobs: dict[str, Any]) -> None:
        (self.root / "stacks" / "__main__.py").write_text(PROGRAM.format(jobs=json.dumps(jobs)))

    def refresh(self, *arguments: str) -> Any:
        return self.pulumi("refresh", "--yes", "--skip-preview", "--stack", "dev", *arguments)
