"""What a review says of resources, rights, settings and quantities, from committed files alone."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

from tests import builders
from tests.on_gke import T4, experiment, job, kubernetes
from tests.reviewing import DEFAULTS, PROJECT, Files, compared, comparer, edited, files
from xmgen import resource_types as types
from xmgen.experiment import Experiment, JobRequirements, Reference, Vertex, Volume
from xmgen.resource_types.effect import effect
from xmgen.review import resolve
from xmgen.review.compare import ProjectChange, StackChange
from xmgen.review.report import report
from xmgen.review.resources import ResourceChange, compare
from xmgen.review.settings import UNKNOWN, Known, SettingChange, Settings
from xmgen.stack.resources import DeclaredResources, parse

STACKS = Path(__file__).parents[2] / "stacks"
RESOURCES, JOBS, SETTINGS = (
    "stacks/sweep/resources.yaml",
    "stacks/sweep/manifests/jobs.yaml",
    "stacks/Pulumi.sweep.yaml",
)
LOCATED = f"{PROJECT}  experiments:location: europe-west4-a\n"


def sweep(count: int = 6, steps: int = 10, **fields: Any) -> Experiment:
    return experiment(*(job(f"--lr={rate}", f"--steps={steps}") for rate in range(count)), **fields)


def up(made: Experiment, settings: str = LOCATED) -> Files:
    return files(made, settings={"sweep": settings})


def said(change: StackChange, project: ProjectChange | None = None) -> str:
    return report(project or ProjectChange(), [change])


def told(change: StackChange) -> dict[str, set[str]]:
    """Nouns of resources by what becomes of them."""
    result: dict[str, set[str]] = {}
    for each in change.resources:
        result.setdefault(each.change, set()).add(each.name if each.type == types.API else each.type.rpartition(":")[2])
    return result


PUBLIC_NODES = (
    "- cluster `sweep`: `privateClusterConfig.enablePrivateNodes` `true` → `false`: **nodes have public addresses**"
)
FOREIGN = """\
  rights.payroll:
    type: gcp:storage/bucketIAMMember:BucketIAMMember
    name: payroll
    properties:
      bucket: payroll-of-finance
      role: roles/storage.objectUser
      member: ${jobsAccount.member}
  jobsIdentity:
"""


def test_a_pull_request_with_five_dangers_names_all_five() -> None:
    old = up(sweep())
    new = edited(
        old,
        RESOURCES,
        ("enablePrivateNodes: true", "enablePrivateNodes: false"),
        ("totalMaxNodeCount: 6", "totalMaxNodeCount: 8"),
        ("  jobsIdentity:\n", FOREIGN),
    )
    new = edited(new, SETTINGS, ("acme", "evil"))
    new = edited(new, "stacks/sweep/jobs.py", lambda text: text + "import os; os.system('curl evil.example')\n")
    text = said(compared(old, new))
    for line in (
        PUBLIC_NODES,
        "- service account sweep-jobs gets `roles/storage.objectUser` on **bucket payroll-of-finance**, which is not",
        "- nvidia-tesla-t4, at most: 6 → 8",
        "`autoscaling.totalMaxNodeCount`: `6` → `8`",
        "- `gcp:project`: `acme` → `evil`",
        "- `project` `acme` → `evil`: replaces 2 grants in the project, 1 grant on a service account",
        "**Program**: `stacks/sweep/jobs.py` changed",
    ):
        assert line in text, text
    # Most dangerous first.
    order = [text.index(title) for title in ("**Moves**", "**Rights**", "**Network", "**Settings**", "**Resources**")]
    assert order == sorted(order)


def test_templates_that_changed_are_no_silence() -> None:
    """Compiled again by another xmgen, with a lock file that says the same."""
    old = up(sweep())
    new = edited(
        old,
        RESOURCES,
        ("enablePrivateNodes: true", "enablePrivateNodes: false"),
        ("roles/storage.objectUser", "roles/storage.admin"),
    )
    new = edited(new, JOBS, ("allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true"))
    change = compared(old, new)
    assert [unit.change for unit in change.units] == ["run again"] * 6
    text = said(change)
    for line in (
        PUBLIC_NODES,
        "- service account sweep-jobs: `roles/storage.objectUser` → `roles/storage.admin` on bucket sweep-output",
        "- **6 Jobs with allowPrivilegeEscalation, 0 before**",
        "- Jobs: 6 replaced",
        "Run again because of `containers[train].securityContext.allowPrivilegeEscalation` in its manifest: "
        "`false` → `true`.",
    ):
        assert line in text, text


def located(setting: str, was: str, now: str) -> tuple[Files, Files]:
    made = sweep(2)
    return tuple(up(made, f"{PROJECT}  {setting}: {value}\n" if value else PROJECT) for value in (was, now))  # type: ignore[return-value]


def test_a_move_of_location_takes_all_that_is_in_a_place() -> None:
    change = compared(*located("experiments:location", "europe-west4-a", "us-east1-b"))
    assert told(change) == {
        "replaced": {
            *("Subnetwork", "Router", "RouterNat", "Cluster", "NodePool", "Kubernetes", "Namespace", "Bucket"),
            *("Repository", "BucketIAMMember", "ServiceAccount"),
        }
        - {"Kubernetes"}
        | {"kubernetes"},
        "changed": {"Image"},
    }
    assert [each.type for each in change.lost] == [types.CLUSTER, types.REPOSITORY, types.NAMESPACE, types.BUCKET]
    assert [unit.change for unit in change.units] == ["run again"] * 2
    assert [(move.setting, move.old, move.new) for move in change.moves] == [
        ("location", "europe-west4-a", "us-east1-b")
    ]
    text = said(change)
    assert "Of a stack that is up, `xmgen destroy sweep` comes first" in text
    assert "- cluster `sweep` is replaced, and with it **everything that runs on it and is stored in it**" in text


def test_another_zone_leaves_what_is_in_the_region() -> None:
    change = compared(*located("experiments:location", "europe-west4-a", "europe-west4-b"))
    assert told(change) == {"replaced": {"Cluster", "NodePool", "kubernetes", "Namespace", "ServiceAccount"}}
    assert {reason.old for unit in change.units for reason in unit.reasons} == {"own@europe-west4-a"}


def test_a_subnetwork_of_others_replaces_the_cluster() -> None:
    change = compared(*located("experiments:subnetwork", "", "shared"))
    assert told(change)["removed"] == {"Network", "Subnetwork", "Router", "RouterNat"}
    assert told(change)["replaced"] >= {"Cluster", "NodePool"}


def test_another_project_tears_the_stack_in_two() -> None:
    change = compared(*located("gcp:project", "acme", "other"))
    assert told(change) == {"replaced": {"IAMMember"}, "changed": {"Cluster", "Image"}}
    assert "What is in the old project stays there: the stack is torn in two." in said(change)


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        (
            "10.0.0.0/8",
            '"0.0.0.0/0"',
            [
                "`masterAuthorizedNetworksConfig.cidrBlocks[0.0.0.0/0].cidrBlock` `10.0.0.0/8` → `0.0.0.0/0`: "
                "**the control plane answers every address**",
            ],
        ),
        (
            "10.0.0.0/8",
            "",
            [
                "`masterAuthorizedNetworksConfig` `{cidrBlocks: [{cidrBlock: 10.0.0.0/8}]}` → empty: "
                "**what was set stays: nothing but another value changes it**"
            ],
        ),
    ],
)
def test_who_reaches_the_control_plane_is_said_of_a_setting(was: str, now: str, expected: list[str]) -> None:
    text = said(compared(*located("experiments:authorizedNetworks", was, now)))
    assert [line for line in text.splitlines() if line.startswith("- cluster `sweep`: `master")] == [
        f"- cluster `sweep`: {line}" for line in expected
    ]


def test_a_setting_reaches_all_that_uses_it() -> None:
    old, new = located("experiments:owner", "ada", "bob")
    change = compared(old, new)
    assert told(change) == {"changed": {"Cluster", "NodePool", "Bucket", "Repository"}}
    [pool] = [each.name for each in change.resources if each.type == types.NODE_POOL and each.name != "system"]
    labels = "`nodeConfig.resourceLabels.owner`: `ada` → `bob`"
    assert f"- node pool `system`, `{pool}`: changed: {labels}" in said(change)
    on_vertex = builders.experiment(
        builders.job("--lr=1", executor=Vertex(requirements=JobRequirements(cpu=4, location="us-central1")))
    )
    sides = [files(on_vertex, settings={"sweep": f"{PROJECT}  experiments:owner: {name}\n"}) for name in ("ada", "bob")]
    [unit] = compared(*sides).units
    assert [(reason.kind, reason.name, reason.old, reason.new) for reason in unit.reasons] == [
        ("setting", "owner", "ada", "bob")
    ]


def test_a_setting_that_one_side_alone_says_is_no_difference_of_resources() -> None:
    made = sweep(2)
    assert told(compared(files(made), up(made))) == {}


# Settings


def set_(text: str, secrets: Experiment | None = None) -> Files:
    return up(secrets or sweep(1), f"config:\n{text}")


SECRET = Reference(kind="secret", name="apiKey")
WITH_SECRET = experiment(job(env={"KEY": SECRET.token}), references=(SECRET,))


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        ("  gcp:project: a\n", "  gcp:project: b\n", ["`gcp:project`: `a` → `b`"]),
        ("", "  experiments:deleteOutputs: true\n", ["`deleteOutputs` added: `true`"]),
        ("  experiments:owner: ada\n", "", ["`owner` removed, was `ada`"]),
        ("", "  experiments:apiKey:\n    secure: v1:abc\n", ["`apiKey` added (encrypted)"]),
        (
            "  experiments:apiKey:\n    secure: v1:abc\n",
            "  experiments:apiKey: hunter2\n",
            ["`apiKey` changed: **a secret in plain text**, which is not shown here"],
        ),
        (
            "",
            "  gcp:accessToken: ya29\n",
            ["`gcp:accessToken` added: **a secret in plain text**, which is not shown here"],
        ),
        (
            "  experiments:owner: ada\n",
            "  experiments:owner: bob\n  gcp:project: b\n",
            ["`gcp:project` added: `b`", "`owner`: `ada` → `bob`"],
        ),
    ],
)
def test_settings(was: str, now: str, expected: list[str]) -> None:
    text = said(compared(set_(was, WITH_SECRET), set_(now, WITH_SECRET)))
    listed = text.partition("**Settings**\n\n")[2].partition("\n\n")[0].splitlines()
    assert listed == [f"- {line}" for line in expected]
    assert "hunter2" not in text
    assert "ya29" not in text


def test_what_else_stands_in_settings_is_named() -> None:
    old, new = up(sweep(1), "encryptionsalt: v1:a\n"), up(sweep(1), "encryptionsalt: v1:b\nenvironment: [prod]\n")
    assert compared(old, new).settings == (
        SettingChange("changed", SETTINGS, "encryptionsalt", secret="encrypted"),
        SettingChange("added", SETTINGS, "environment", new=["prod"]),
    )


def test_defaults_of_the_project_and_what_runs_with_every_stack() -> None:
    old, new = files(sweep(1)), files(sweep(1), project=DEFAULTS.replace("us-central1-a", "us-east1-b"))
    new = {**new, "stacks/__main__.py": "import os\n"}
    found = comparer(old, new)
    project = found.project()
    assert project == ProjectChange(
        (SettingChange("changed", "Pulumi.yaml", "config.location.default", "us-central1-a", "us-east1-b"),),
        ("stacks/__main__.py",),
    )
    text = report(project, found.stacks())
    assert text.startswith("## All stacks\n\n`stacks/__main__.py` changed: every stack runs it.\n\n**Pulumi.yaml**\n\n")
    # Nobody has settings of the stack committed, so the default is what is known.
    assert "**Moves**" in text


def test_a_secret_newly_used() -> None:
    change = compared(up(experiment(job())), up(WITH_SECRET))
    assert change.secrets == ("apiKey",)
    assert "**Secrets newly used**\n\n- `apiKey`\n" in said(change)


def test_data_that_goes_and_data_that_stays() -> None:
    claimed = experiment(job(executor=kubernetes(cpu=1, on={"volumes": (Volume(path="/c", claim="cache", size=10),)})))
    bare = experiment(job(executor=kubernetes(cpu=1)))
    assert "- claim of a volume `cache` is removed, and with it **the data on its volume**" in said(
        compared(up(claimed), up(bare))
    )
    # The bucket comes to be called otherwise.
    for settings, expected in (
        ("environment: [prod]\n", "goes with it if `deleteOutputs` is set, and else stays in the cloud"),
        (
            f"{LOCATED}  experiments:deleteOutputs: false\n",
            "the old one stays in the cloud, of no stack, with what the jobs have written",
        ),
        (f"{LOCATED}  experiments:deleteOutputs: true\n", "is removed, and with it **what the jobs have written**"),
    ):
        old = up(bare, settings)
        change = compared(old, edited(old, RESOURCES, ("    name: sweep-output\n", "    name: output-2\n")))
        assert expected in said(change)


def test_an_unprotected_bucket_and_an_open_cluster_of_a_new_stack_are_said() -> None:
    new = edited(up(sweep(2)), RESOURCES, ("publicAccessPrevention: enforced", "publicAccessPrevention: inherited"))
    text = said(compared({}, new))
    assert "- cluster `sweep`: **the control plane answers every address**" in text
    assert "- bucket `sweep-output`: **it can be opened to everybody**" in text
    assert "- service account sweep-jobs gets `roles/storage.objectUser` on bucket sweep-output" in text
    assert "- nodes, at most: 0 → 3" in text


def test_a_grant_to_everybody_says_so() -> None:
    old = up(sweep(2))
    text = said(compared(old, edited(old, RESOURCES, ("member: ${jobsAccount.member}", "member: allUsers"))))
    assert (
        "`service account sweep-jobs` → `everybody (allUsers)`: `roles/storage.objectUser` on bucket sweep-output"
        in text
    )


def test_worker_pools_and_replicas_on_vertex_ai() -> None:
    def made(count: int, chips: int) -> Files:
        asked = JobRequirements(accelerator=replace(T4, count=chips), location="us-central1")
        return files(
            builders.experiment(*(builders.job(f"--n={n}", executor=Vertex(requirements=asked)) for n in range(count)))
        )

    found = {each.name: (each.old, each.new) for each in compared(made(2, 1), made(3, 2)).quantities}
    assert found["NVIDIA_TESLA_T4 of all CustomJobs"] == (2, 6)


# Every resource of the committed stacks, and every change of what it has

UNKNOWN_SETTINGS = Known(Settings(), anything=False)


def declared(stack: str) -> DeclaredResources:
    return parse((STACKS / stack / "resources.yaml").read_text(), stack)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    pairs = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    for key, item in pairs if not any(str(key).startswith("fn::") for key, _ in pairs) else ():
        yield (*path, key), item
        yield from leaves(item, (*path, key))


def with_(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with another value there; without it for None."""
    head, *rest = path
    pairs = dict(value) if isinstance(value, dict) else dict(enumerate(value))
    item = with_(pairs[head], tuple(rest), new) if rest else new
    pairs = {key: item if key == head else old for key, old in pairs.items() if not (key == head and item is None)}
    return pairs if isinstance(value, dict) else list(pairs.values())


def other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"{value}-x"
        case _:
            return None


@pytest.mark.parametrize("stack", ["gke-sweep", "gke-tpu", "gke-shared", "gke-team", "vertex", "quickstart"])
def test_every_change_of_every_resource_is_told_as_the_table_of_types_has_it(stack: str) -> None:
    whole = declared(stack)

    def view(one: DeclaredResources) -> resolve.View:
        return resolve.view(one, UNKNOWN_SETTINGS, lambda name, output: f"${{stack {name}.{output}}}")

    before = view(whole)
    seen = 0
    for number, resource in enumerate(whole.resources):
        for path, value in leaves(before.resources[resource.key].properties):
            for new in dict.fromkeys([other(value), None]):
                properties = with_(dict(before.resources[resource.key].properties), path, new)
                altered = replace(resource, properties=properties)
                resources = (*whole.resources[:number], altered, *whole.resources[number + 1 :])
                after = view(replace(whole, resources=resources))
                change = of(resource.type, resource.name, compare(before, after).changes)
                ignored = resource.options.get("ignoreChanges", [])
                expected = effect(
                    resource.type,
                    before.resources[resource.key].properties,
                    after.resources[resource.key].properties,
                    ignored,
                )
                where = f"{resource.type} {path}: {value!r} -> {new!r}"
                if not expected.changes:
                    assert change is None, where
                    continue
                assert change is not None, where
                assert change.change == ("replaced" if expected.kind == "replace" else "changed"), where
                assert len(change.changes) >= len(expected.changes), where
                assert bool(change.forced_by) == bool(expected.forced_by), where
                seen += 1
        assert said_of_removal(before, resource.key) == "removed"
    assert seen


def of(type_: str, name: str, found: tuple[ResourceChange, ...]) -> ResourceChange | None:
    return next((change for change in found if (change.type, change.name) == (type_, name)), None)


def said_of_removal(before: resolve.View, key: str) -> str:
    after = replace(before, resources={other: each for other, each in before.resources.items() if other != key})
    gone = before.resources[key]
    change = of(gone.type, gone.name, compare(before, after).changes)
    assert change is not None
    assert of(gone.type, gone.name, compare(after, before).changes).change == "added"  # type: ignore[union-attr]
    return change.change


def test_what_is_not_set_and_what_nobody_knows() -> None:
    there = Settings(there=True, config={"owner": "ada", "key": {"secure": "x"}}, defaults={"network": ""})
    known = Known(there, anything=True)
    assert [known.get(name) for name in ("owner", "key", "network", "other")] == ["ada", UNKNOWN, None, None]
    assert Known(replace(there, rest={"environment": ["prod"]}), anything=True).get("other") is UNKNOWN
    assert Known(there, anything=False).get("owner") is UNKNOWN
    assert Known(Settings(defaults={"location": "a"}), anything=True).get("location") == "a"


# Files as nobody's compile writes them


def test_200_trials_are_a_comment_that_one_reads() -> None:
    text = said(compared(up(sweep(200)), up(sweep(200, steps=20))))
    assert "200 run again, 0 unchanged. Run again because of `steps`: `10` → `20`." in text
    assert len(text.splitlines()) < 120


@pytest.mark.parametrize("evil", ["`x` | <script>\n## Approved", "\x1b[2Jgone", "\u202eright to left"])
def test_nothing_in_a_file_becomes_markup_or_speaks_to_a_terminal(evil: str) -> None:
    old = up(sweep(1))

    def tampered(text: str) -> str:
        document = yaml.safe_load(text)
        document["resources"]["cluster"]["properties"]["description"] = evil
        document["resources"]["cluster"]["properties"][evil] = evil
        right = {
            "type": types.BUCKET_MEMBER,
            "name": evil,
            "properties": {"bucket": evil, "role": evil, "member": evil},
        }
        document["resources"]["evil"] = right
        document["configuration"][evil] = {"type": "string", "secret": True, "required": True}
        return yaml.safe_dump(document, allow_unicode=True)

    new = edited(old, RESOURCES, tampered) | {SETTINGS: yaml.safe_dump({"config": {evil: evil}})}
    text = said(compared(old, new))
    assert "\x1b" not in text
    assert "\u202e" not in text
    tokens = [
        child
        for token in MarkdownIt("commonmark").enable("table").parse(text)
        for child in [token, *(token.children or [])]
    ]
    assert not [token for token in tokens if token.type.startswith("html")]
    headings = [after.content for before, after in itertools.pairwise(tokens) if before.type == "heading_open"]
    assert headings == ["Stack `sweep`"]


@pytest.mark.parametrize(
    ("path", "edit", "expected"),
    [
        (RESOURCES, lambda text: "a: &a [x]\nb: *a\n", "has aliases, which xmgen never writes"),
        (RESOURCES, lambda text: text.replace("format: 1", "format: 7"), "has the format 7, this xmgen reads 1"),
        (RESOURCES, lambda text: "[", "is no YAML"),
        (JOBS, lambda text: "- 1\n", "is not as xmgen writes it"),
        (JOBS, lambda text: "", "the lock file and the manifests have different work units"),
        ("stacks/sweep/experiment.lock.json", lambda text: "{", "is not a lock file that xmgen wrote"),
        (SETTINGS, lambda text: "config: [", "is no YAML"),
        (RESOURCES, lambda text: text.replace("fn::region: ", "fn::ifSet: "), ""),
    ],
)
def test_what_cannot_be_read_is_said_and_the_rest_compared(
    path: str, edit: Callable[[str], str], expected: str
) -> None:
    old = up(sweep(1))
    change = compared(old, edited(old, path, edit))
    assert change.change == "changed" or not expected
    assert expected in "; ".join(change.problems)


def test_a_stack_of_an_older_xmgen_is_compared_as_far_as_it_goes() -> None:
    new = up(sweep(2, steps=20))
    old = {path: text for path, text in up(sweep(2)).items() if path != RESOURCES}
    change = compared(old, new)
    assert change.problems == (
        "stacks/sweep/resources.yaml is not there: an older xmgen compiled the stack, and its resources cannot be "
        "compared",
    )
    assert (change.resources, change.needs, change.secrets) == ((), (), ())
    assert [(unit.change, [reason.kind for reason in unit.reasons]) for unit in change.units] == [
        ("run again", ["argument"])
    ] * 2
    same = {path: text for path, text in new.items() if path != RESOURCES}
    assert compared(same, new).units == ()


def test_how_pulumi_treats_all_jobs_is_shown() -> None:
    old = up(sweep(1))
    text = said(compared(old, edited(old, RESOURCES, ("    deleteBeforeReplace: true\n", "    protect: true\n"))))
    assert (
        "- Job `of all work units`: changed: `options.protect` added: `true`, `options.deleteBeforeReplace` removed"
        in text
    )


def test_settings_without_a_stack_are_shown() -> None:
    old = files(sweep(1))
    new = {**old, "stacks/Pulumi.other.yaml": "config:\n  gcp:project: x\n"}
    assert [change.stack for change in comparer(old, new).stacks() if change.change != "unchanged"] == ["other"]


def test_no_planner_and_no_front_end_is_imported(tmp_path: Path) -> None:
    (tmp_path / "files.json").write_text(json.dumps([up(sweep(2)), up(sweep(3))]))
    program = (
        "import json, pathlib, sys\n"
        "from xmgen.review import commits, compare, document, report\n"
        "def side(files):\n"
        "    return commits.Side(frozenset(['sweep']), frozenset(['sweep']), files.get)\n"
        "old, new = json.loads(pathlib.Path('files.json').read_text())\n"
        "comparer = compare.Comparer(side(old), side(new))\n"
        "found = comparer.project(), comparer.stacks()\n"
        "print(len(document.document(*found)['stacks'][0]['units']), len(report.report(*found)) > 100)\n"
        "print([name for name in sys.modules if name.startswith(('xmgen.frontends', 'xmgen.plan.planner'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["1 True", "[]"]
