"""A project whose stacks run on Vertex AI, through the real engine: the JobService of this machine answers for the
jobs, a rehearsal's simulated cloud and its stand-in for the builder of images for everything else that a stack has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import ROOT
from tests.engine.harness import Outcome, Project, environment
from tests.gcp_programs import SDK
from tests.vertex.job_service import TOKEN, JobService
from xmgen import compiler, names
from xmgen.project import Project as Folder
from xmgen.rehearsal import home, leftovers
from xmgen.rehearsal.cloud.cloud import Cloud
from xmgen.rehearsal.cloud.kinds import Endpoint
from xmgen.rehearsal.cloud.server import VARIABLE, CloudServer
from xmgen.rehearsal.cloud.store import Store
from xmgen.resource_types import ACCOUNT, BUCKET, CUSTOM_JOB, IMAGE, TENSORBOARD
from xmgen.stack import init
from xmgen.stack.folder import write

CONFIG = {"gcp:project": "acme", "experiments:owner": "ada", "xmgen:vertexPollSeconds": "0.05"}


@dataclass
class Google(Project):
    cloud: Cloud = field(kw_only=True)
    service: JobService = field(kw_only=True)

    def has(self, stack: str) -> None:
        """The committed stack, with the sources of its images."""
        shutil.copytree(ROOT / "examples", self.root / "examples", dirs_exist_ok=True)
        shutil.copytree(ROOT / "stacks" / stack, self.root / "stacks" / stack)

    def compiles(self, launcher: Path, *flags: str) -> str:
        """The stack of a launch script, whose folder is copied. Returns its name."""
        folder = self.root / "examples" / launcher.parent.name
        shutil.copytree(launcher.parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
        stack = names.stack_name(folder.name)
        _, files = compiler.compile_source(folder / launcher.name, root=self.root, stack=stack, flags=flags)
        write(self.root, stack, files)
        return stack

    def operate(self, operation: str, stack: str, *arguments: str) -> Outcome:
        outcome = self.pulumi(operation, "--yes", "--skip-preview", "--stack", stack, *arguments)
        assert "Traceback" not in outcome.output, outcome.output
        return outcome

    def xmgen(self, *arguments: str) -> Outcome:
        """What the command prints."""
        done = subprocess.run(["xmgen", *arguments], cwd=self.root, env=self.env, capture_output=True, text=True)
        return Outcome(done.returncode, done.stdout + done.stderr)

    def create_stack(self, stack: str, **config: str) -> None:
        """config: of the project's own, beside what every stack needs."""
        settings = {**CONFIG, **{f"experiments:{key}": value for key, value in config.items()}}
        (self.root / "stacks" / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump({"config": settings}))
        outcome = self.pulumi("stack", "init", stack)
        assert outcome.ok, outcome.output

    def resources(self, stack: str) -> list[dict[str, Any]]:
        """What is in the state, but the stack itself and its providers."""
        outcome = self.pulumi("stack", "export", "--stack", stack)
        resources: list[dict[str, Any]] = json.loads(outcome.output)["deployment"].get("resources") or []
        return [each for each in resources if not each["type"].startswith("pulumi:")]

    def there(self) -> list[str]:
        """The types of what somebody created in the cloud and nobody has deleted."""
        return sorted(item.type for item in leftovers.resources(self.cloud.store).values())

    def expected(self, stack: str) -> dict[str, dict[str, Any]]:
        """Every manifest as a request's body, by the job's logical name: what it can only name is what was created."""
        values = {"<xmgen:config:owner>": "ada", "<xmgen:config:gcp:project>": "acme"}
        for item in self.cloud.store.of(BUCKET):
            values |= dict.fromkeys(("<xmgen:bucket:output>", "<xmgen:bucket:staging>"), item.id)
        for account in self.cloud.store.of(ACCOUNT):
            values["<xmgen:service-account:jobs>"] = str(account.outputs["email"])
        for board in self.cloud.store.of(TENSORBOARD):
            values[f"<xmgen:tensorboard:{board.inputs['displayName']}>"] = str(board.outputs["name"])
        for image in (each for each in self.resources(stack) if each["type"] == IMAGE):
            tag = str(image["inputs"]["tags"][0]).rpartition(":")[2]
            values[f"<xmgen:image:{image['urn'].split('::')[-1]}:{tag}>"] = str(image["outputs"]["ref"])
        text = (self.root / "stacks" / stack / "manifests" / "vertex" / "jobs.yaml").read_text(encoding="utf-8")
        for token, value in values.items():
            text = text.replace(token, value)
        return {body["labels"]["unit"]: body for body in yaml.safe_load_all(text)}

    def submitted(self) -> dict[str, dict[str, Any]]:
        """The bodies of the requests that created jobs, as `expected`."""
        bodies = {}
        for body in self.service.bodies:
            labels = {key: value for key, value in body["labels"].items() if key != "xmgen_submission"}
            bodies[labels["unit"]] = {**body, "labels": labels}
        assert len(bodies) == len(self.service.bodies)
        return bodies

    def jobs(self, stack: str) -> dict[str, str]:
        """The states of the stack's jobs, as Pulumi has them, by logical name."""
        found = [each for each in self.resources(stack) if each["type"] == CUSTOM_JOB]
        return {each["urn"].split("::")[-1]: each["outputs"]["state"] for each in found}


@contextmanager
def project(folder: Path, service: JobService) -> Iterator[Google]:
    """An empty project. The SDKs of Google Cloud must be importable in this process."""
    root = folder / "project"
    init.init(root)
    # The engine asks for the plugin of every SDK that is installed, and starts those that a program uses.
    unused = root / ".tools" / "plugins" / f"pulumi-resource-{home.KUBERNETES}"
    unused.parent.mkdir(parents=True)
    unused.touch(mode=0o755)
    made = home.make(folder, Folder(root=root), "no token")
    (folder / "state").mkdir()
    (folder / "runtime").mkdir(mode=0o700)
    cloud = Cloud(Store(folder / "cloud.json"), folder / "dials.json", Endpoint("", ""), lambda pool: None)
    with CloudServer(cloud, folder) as server:
        own = environment(folder)
        env = {
            **own,
            "PATH": os.pathsep.join([str(made.bin), own["PATH"]]),
            "PYTHONPATH": os.pathsep.join([str(SDK), str(ROOT)]),
            "PULUMI_HOME": str(made.pulumi),
            "XMGEN_PYTHON": sys.executable,
            "XMGEN_VERTEX_ENDPOINT": service.address,
            "GOOGLE_OAUTH_ACCESS_TOKEN": TOKEN,
            VARIABLE: str(server.socket),
        }
        google = Google(root, env, cloud=cloud, service=service)
        yield google
        google.close()
