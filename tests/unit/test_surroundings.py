"""What a summary says of a stack beside the resources that an experiment decides about."""

from __future__ import annotations

from pathlib import Path

import pytest

from xmgen import compiler
from xmgen.plan import planner
from xmgen.program.surroundings import Surrounding, surroundings
from xmgen.stack import lock

ROOT = Path(__file__).parents[2]

NODE_ROLES = ("roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader")
NETWORK = "network, subnetwork and Cloud NAT, unless the configuration names a subnetwork"

MANAGED = "bucket of outputs, which outlives the stack; unless the configuration names one"


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ("quickstart", []),
        (
            "gke-team",
            [Surrounding(NETWORK, "gke-team"), Surrounding("account of the nodes", "gke-team-nodes", NODE_ROLES)],
        ),
        (
            "gke-shared",
            [
                Surrounding("repository of images", "gke-shared"),
                Surrounding("namespace", "xmgen-gke-shared"),
                Surrounding("bucket of outputs, which outlives the stack", "gke-shared-output"),
                Surrounding(
                    "account of the jobs, as which the namespace's pods may act",
                    "gke-shared-jobs",
                    ("roles/storage.objectUser",),
                ),
            ],
        ),
        (
            "vertex",
            [
                Surrounding("repository of images", "vertex"),
                Surrounding(MANAGED, "vertex-output"),
                Surrounding("TensorBoard", "spirals"),
                Surrounding(
                    "account of the jobs", "vertex-jobs", ("roles/storage.objectUser", "roles/aiplatform.user")
                ),
            ],
        ),
        (
            "vertex-group",
            [
                Surrounding("repository of images", "vertex-group"),
                Surrounding(MANAGED, "vertex-group-output"),
                Surrounding("account of the jobs", "vertex-group-jobs", ("roles/storage.objectUser",)),
            ],
        ),
    ],
)
def test_what_a_stack_creates_beside_its_jobs(stack: str, expected: list[Surrounding]) -> None:
    plan = planner.plan(lock.read(ROOT / "stacks" / stack / "experiment.lock.json"), compiler.compiled_stacks(ROOT))
    assert surroundings(plan.declared) == expected
