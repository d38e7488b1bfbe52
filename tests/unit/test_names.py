"""Naming rules: any text becomes a name that is valid where it is used."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import XID, job
from xmgen import names
from xmgen import resource_types as types
from xmgen.experiment import ShellSafeArg, WorkUnit
from xmgen.resource_types import naming


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train", "train"),
        ("Learning Rate", "learning-rate"),
        ("--learning_rate=1e-05", "learning-rate-1e-05"),
        ("Größe", "groe"),
        ("a--b__c", "a-b-c"),
        ("'; rm -rf / #", "rm-rf"),
        ("🎉", ""),
        ("", ""),
        ("7b", "7b"),
    ],
)
def test_slug(text: str, expected: str) -> None:
    assert names.slug(text) == expected


def test_a_long_slug_keeps_its_end() -> None:
    assert names.slug("a-very-long-prefix-resnet-50", limit=10) == "resnet-50"


@given(st.text(), st.integers(1, 63))
def test_a_slug_is_a_dns_label_and_its_own_slug(text: str, limit: int) -> None:
    slug = names.slug(text, limit)
    assert slug == "" or re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", slug)
    assert len(slug) <= limit
    assert names.slug(slug, limit) == slug


@given(st.text())
def test_a_stack_name_is_never_empty_and_is_stable(text: str) -> None:
    name = names.stack_name(text)
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", name)
    assert names.stack_name(text) == name


def test_no_stack_is_called_like_the_folder_of_pulumis_state() -> None:
    assert names.stack_name("Backend") == "backend-experiment"


@given(st.text())
def test_an_identifier_is_one(text: str) -> None:
    compile(f"{names.identifier(text)} = 1", "", "exec")


def test_experiment_ids_are_stable_and_look_like_xmanagers() -> None:
    assert names.experiment_id("quickstart") == names.experiment_id("quickstart")
    assert names.experiment_id("quickstart") != names.experiment_id("quickstart-2")
    assert all(len(str(names.experiment_id(str(number)))) == 13 for number in range(1000))


def test_equal_names_are_counted_and_never_collide_with_a_given_one() -> None:
    assert list(names.unique(["a", "b", "a", "a", "a-2"])) == ["a", "b", "a-2", "a-3", "a-2-2"]


@pytest.mark.parametrize(
    ("unit", "slug"),
    [
        (WorkUnit(id=1, jobs=(job("--lr=0.1", "--width=32"),)), "train-lr-0-1-width-32"),
        (WorkUnit(id=1, jobs=(job(),)), "train"),
        (WorkUnit(id=1, jobs=(job("--lr=0.1"),), label="Best so far!"), "best-so-far"),
        (WorkUnit(id=1, jobs=(job("--data=" + "x" * 60, "--lr=0.1"),)), "train-lr-0-1"),
        (WorkUnit(id=1, jobs=(job(f"--host={XID}_1_db", "--lr=0.1"),)), "train-lr-0-1"),
        (WorkUnit(id=1, jobs=(job(ShellSafeArg("$HOME"), "--lr=0.1"),)), "train-lr-0-1"),
        (WorkUnit(id=1, jobs=(job("--lr=0.1"), job(name="eval"))), "train-lr-0-1"),
        # A value that stands apart goes with its name, or not at all.
        (WorkUnit(id=1, jobs=(job("--batch_size", "32", "--lr", "0.1"),)), "train-batch-size-32-lr-0-1"),
        (WorkUnit(id=1, jobs=(job("--" + "x" * 40, "32", "--lr", "0.1"),)), "train-lr-0-1"),
        (WorkUnit(id=1, jobs=(job("--" + "x" * 40, "32"),)), "train"),
        (WorkUnit(id=1, jobs=(job("y" * 40, "32", "--lr", "0.1"),)), "train-32-lr-0-1"),
        (WorkUnit(id=1, jobs=(job(name="🎉"),)), "job"),
        (WorkUnit(id=1, jobs=(job("--lr=0.1", name=f"python_sha256_{'ab' * 32}"),)), "python-lr-0-1"),
    ],
)
def test_a_units_slug_comes_from_its_own_content(unit: WorkUnit, slug: str) -> None:
    assert names.unit_slug(unit, XID) == slug


@given(st.text(min_size=1), st.lists(st.text()))
def test_a_logical_name_leaves_room_for_the_suffixes_of_pulumi_and_kubernetes(name: str, args: list[str]) -> None:
    unit = WorkUnit(id=1, jobs=(job(*args, name=name),))
    assert len(names.unit_slug(unit, XID)) <= names.UNIT_SLUG_LENGTH


STACKS = st.text(min_size=1).map(names.stack_name)


@given(STACKS)
def test_google_and_kubernetes_take_every_name_that_is_made_of_a_stacks(stack: str) -> None:
    name = names.on_google(stack)
    for type in (
        types.NETWORK,
        types.SUBNETWORK,
        types.ROUTER,
        types.ROUTER_NAT,
        types.CLUSTER,
        types.BUCKET,
        types.REPOSITORY,
    ):
        inputs = {"repositoryId": name} if type == types.REPOSITORY else {}
        logical = names.output_bucket(stack) if type == types.BUCKET else name
        assert naming.problem(type, logical, inputs) == ""
    for purpose in ("nodes", "jobs", "controllers"):
        assert naming.problem(types.ACCOUNT, purpose, {"accountId": names.service_account(stack, purpose)}) == ""
    assert naming.problem(types.NAMESPACE, stack, {"metadata": {"name": names.namespace(stack)}}) == ""


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ("sweep", "sweep"),
        ("s" * 32, "s" * 32),
        ("2024-run", "x2024-run-8afad6e3"),
        ("s" * 33, f"{'s' * 23}-92e184bd"),
    ],
)
def test_google_has_a_stacks_own_name_where_that_will_do(stack: str, expected: str) -> None:
    assert names.on_google(stack) == expected


@pytest.mark.parametrize(
    ("type", "logical", "inputs", "problem"),
    [
        (types.CLUSTER, "s" * 32, {}, ""),
        (types.CLUSTER, "s" * 33, {}, f"no cluster can be called '{'s' * 33}-0123abc': at most 40 lower-case letters"),
        (types.CLUSTER, "2024-run", {"name": "own"}, ""),
        (types.NETWORK, "2024-run", {}, "no network can be called '2024-run-0123abc'"),
        (types.REPOSITORY, "2024-run", {"repositoryId": "2024-run"}, "no image repository can be called '2024-run'"),
        (types.ACCOUNT, "jobs", {"accountId": "jobs"}, "no service account can be called 'jobs': 6 to 30"),
        (types.NODE_POOL, "p", {"name": "p" * 40}, "no node pool can be called"),
        (types.JOB, "a", {"metadata": {"name": "A"}}, "no Job can be called 'A'"),
        # What only the cloud knows, what nobody judges, and what the API server draws.
        (types.BUCKET, "a", {"name": "${gcp:project}-x"}, ""),
        (types.API, "compute", {"service": "compute"}, ""),
        (types.JOB, "a", {"metadata": {"generateName": "A"}}, ""),
    ],
)
def test_a_name_that_is_none_is_told(type: str, logical: str, inputs: dict[str, object], problem: str) -> None:
    told = naming.problem(type, logical, inputs)
    assert told == problem or (problem and told.startswith(problem))


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ("sweep", "sweep-output"),
        # What Cloud Storage refuses.
        ("google-landmarks", "output"),
        ("my-g00gle", "output"),
        ("goo", "goo-output"),
        ("s" * 60, "output"),
    ],
)
def test_an_output_bucket_says_whose_it_is_where_its_name_may(stack: str, expected: str) -> None:
    assert names.output_bucket(stack) == expected


def test_full_job_names_are_xmanagers() -> None:
    unit = WorkUnit(id=3, jobs=(job(),))
    auxiliary = WorkUnit(id=0, jobs=(job(),), role="auxiliary")
    assert names.full_job_name(17, unit, "train") == "17_3_train"
    assert names.full_job_name(17, auxiliary, "board") == "17_auxiliary_board"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("train-lr-0-1-1f3a9c2b", 36, "train-lr-0-1-1f3a9c2b"),
        ("tensorboard-host-0-0-0-0-load-fast-false-27218119", 36, "tensorboard-load-fast-false-27218119"),
        ("a-bb-ccc", 7, "a-ccc"),
        ("abcdefghij-x", 8, "abcd-x"),
        ("a-bbbbbbbbbb", 5, "a"),
    ],
)
def test_shortened_keeps_the_first_word_and_the_last_ones(text: str, limit: int, expected: str) -> None:
    assert names.shortened(text, limit) == expected
