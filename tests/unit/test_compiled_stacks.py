"""A stack as it is compiled: read from its folder, whatever this xmgen would make of its source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests import builders
from tests.compiled_stacks import compiled_stack
from tests.conftest import ROOT
from tests.gke_stacks import STACKS
from tests.on_gke import experiment, job
from tests.vertex import manifests as vertex
from xmgen.errors import InputError
from xmgen.experiment import Experiment
from xmgen.plan import planner
from xmgen.program import render as program
from xmgen.project import Project
from xmgen.resource_types import WORK_UNITS
from xmgen.stack import compiled, documents
from xmgen.stack import folder as stack_folder

LOCAL = builders.experiment(builders.job("--lr=1"), builders.job("--lr=2"), after={1: [0]})
GKE = experiment(job("--lr=1"), (job(name="a"), job(name="b")), after={1: [0]})
VERTEX = vertex.experiment(vertex.job("--lr=1"), vertex.job("--lr=2"))


@pytest.mark.parametrize("made", [*STACKS.values(), LOCAL, VERTEX], ids=[*STACKS, "on this machine", "on Vertex AI"])
def test_what_is_compiled_is_read_as_it_was_planned(made: Experiment) -> None:
    plan, read = planner.plan(made, STACKS.__getitem__), compiled_stack(made, STACKS.__getitem__)
    assert [(unit.name, unit.position, unit.type, unit.depends_on, unit.manifests) for unit in read.units] == [
        (unit.name, unit.position, WORK_UNITS[unit.executor], unit.depends_on, list(unit.manifests))
        for unit in plan.units
    ]
    beside = {(str(each["kind"]), str(each["metadata"]["name"])) for each in read.objects}
    assert {(str(each["kind"]), str(each["metadata"]["name"])) for each in plan.objects} <= beside  # type: ignore[index, call-overload]
    assert read.declared.notes == plan.notes
    assert [resource.name for resource in read.declared.resources] == [
        resource.name for listed in plan.declared.resources for resource in listed.expanded()
    ]
    assert (read.cluster is None) == (plan.cluster is None)
    if plan.cluster is not None and read.cluster is not None:
        assert (read.cluster.kind, read.cluster.name) == (plan.cluster.kind, plan.cluster.name)
        if plan.cluster.kind == "own":
            assert read.cluster.location == plan.cluster.location


def test_resources_have_the_names_that_the_program_gives_them() -> None:
    single, group = compiled_stack(GKE).units
    assert single.resources == (single.name,)
    assert group.resources == (f"{group.name}-a", f"{group.name}-b")
    assert [unit.resources for unit in compiled_stack(LOCAL).units] == [
        (unit.name,) for unit in compiled_stack(LOCAL).units
    ]


def files(made: Experiment) -> dict[str, str]:
    return program.render(planner.plan(made))


JOBS = "manifests/jobs.yaml"


@pytest.mark.parametrize(
    ("made", "file", "change", "told"),
    [
        (GKE, JOBS, lambda text: None, f"stacks/sweep/{JOBS}: is not there"),
        (
            GKE,
            JOBS,
            lambda text: text.partition("\n---\n")[0] + "\n---\n" + text.split("\n---\n")[1],
            f"stacks/sweep/{JOBS}: has 1 work units, and experiment.lock.json has 2",
        ),
        (GKE, JOBS, lambda text: text + text, f"stacks/sweep/{JOBS}: two documents are called "),
        (GKE, JOBS, lambda text: text.replace("xmgen/unit", "other/unit"), "document 1 does not say of which"),
        (GKE, JOBS, lambda text: text.replace("xmgen/after: ", "xmgen/after: other-"), "waits for others than"),
        (GKE, JOBS, lambda text: f"{text}<<<<<<< HEAD\n", "is not as it was compiled"),
        (GKE, JOBS, lambda text: f"{text}---\n- 1\n", "is not as it was compiled: a document is no mapping"),
        (LOCAL, "manifests/local.yaml", lambda text: text.replace("dependsOn", "dependsUpon"), "waits for others than"),
        (LOCAL, "manifests/local.yaml", lambda text: "", "has 0 work units"),
        (VERTEX, "manifests/vertex/jobs.yaml", lambda text: text.replace("  unit:", "  units:"), "does not say of"),
    ],
)
def test_what_does_not_fit_together_is_one_sentence(
    made: Experiment, file: str, change: object, told: str, tmp_path: Path
) -> None:
    there: dict[str, str | None] = dict(files(made))
    there[file] = change(there[file])  # type: ignore[operator]
    with pytest.raises(InputError) as error:
        compiled.of_files(made, there.get)
    [problem] = error.value.problems
    assert told in str(problem)
    assert problem.hint == "compile it again"


def test_the_command_that_writes_a_folder_again_is_named(tmp_path: Path) -> None:
    project = Project(root=tmp_path)
    stack_folder.write(tmp_path, "sweep", files(GKE))
    (project.stack("sweep") / JOBS).unlink()
    with pytest.raises(InputError, match=r"is not there\n  compile it again: `xmgen compile NEW --stack sweep`"):
        compiled.read(project, "sweep")


KEYS = frozenset({"kind", "metadata"})


@pytest.mark.parametrize(
    "text",
    [
        "# a\n---\nkind: Job\nmetadata:\n  name: a\nspec:\n  x: 1\n---\nkind: Job\nmetadata: {name: b}\nspec: 2\n",
        "kind: Job\nmetadata:\n  name: a\n",
        "---\nspec:\n  text: |\n    kind: no\n    ---\n    metadata: no\nkind: Job\nmetadata:\n  name: a\n",
        "---\nkind: Job\nlist:\n- kind: no\n- metadata\nmetadata: &a\n  name: a\n---\nkind: Job\nmetadata: {name: b}\n",
        "---\nspec: &a\n  name: a\nkind: Job\nmetadata: *a\n",
        "---\nkind: Job\nmetadata:\n  name: a\nspec: 1\nmetadata:\n  name: b\n",
        "--- {kind: Job, metadata: {name: a}}\n...\n---\nkind: Job\nmetadata: {name: b}\n",
        '---\n"kind": Job\n? metadata\n: name: a\n',
        "---\r\nkind: Job\r\nmetadata:\r\n  name: a\r\n",
        "---\nmetadata:\n  text: |+\n    kept\n\n\n---\nkind: Job\nmetadata: {}\n",
    ],
)
def test_what_is_cut_out_of_a_document_is_what_yaml_reads(text: str) -> None:
    whole = list(yaml.safe_load_all(text))
    read = documents.read(text, KEYS)
    assert [document.whole() for document in read] == whole
    assert [_of(document.head) for document in read] == [_of(each) for each in whole]


def _of(document: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in document.items() if key in KEYS}


def test_a_folder_of_another_version_is_read_as_it_is() -> None:
    """It has a Job that this xmgen would neither write nor call so."""
    theirs = files(GKE)
    name = compiled_stack(GKE).units[0].heads[0]["metadata"]["name"]  # type: ignore[index, call-overload]
    theirs[JOBS] = theirs[JOBS].replace("allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true")
    theirs[JOBS] = theirs[JOBS].replace(str(name), "another-name")
    first = compiled.of_files(GKE, theirs.get).units[0]
    assert first.heads[0]["metadata"]["name"] == "another-name"  # type: ignore[index, call-overload]
    assert "'allowPrivilegeEscalation': True" in str(first.manifests)


@pytest.mark.parametrize("stack", sorted(path.parent.name for path in ROOT.glob("stacks/*/experiment.lock.json")))
def test_every_committed_stack_is_read(stack: str) -> None:
    read = compiled.read(Project(root=ROOT), stack)
    assert len(read.units) == len(read.experiment.units)
