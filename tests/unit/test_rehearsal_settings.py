"""What a rehearsal fills in of a stack's configuration."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.builders import experiment, job
from tests.compiled_stacks import compiled_stack
from xmgen.project import Project
from xmgen.rehearsal import settings

RESOURCES = """\
format: 1
runs: gke
configuration:
  gcp:project: {type: string, required: true}
  given: {type: string, required: true}
  wandbKey: {type: string, secret: true, required: true}
"""


def test_what_is_not_set_is_filled_in_and_named_as_it_is_set(tmp_path: Path) -> None:
    project = Project(root=tmp_path, name="digits")
    (tmp_path / "Pulumi.yaml").write_text("name: digits\nmain: stacks/\n")
    plan = compiled_stack(experiment(job()))
    stack = plan.experiment.stack
    project.stack(stack).mkdir(parents=True)
    (project.stack(stack) / "resources.yaml").write_text(RESOURCES)
    project.settings(stack).write_text("config: {digits:given: x}\n")
    file = tmp_path / "rehearsal" / "Pulumi.yaml"
    assert settings.write(project, plan, file) == ["gcp:project", "wandbKey"]
    assert yaml.safe_load(file.read_text()) == {
        "config": {"digits:given": "x", "gcp:project": "rehearsal", "digits:wandbKey": "rehearsal"}
    }
