"""Which Jobs a change touches: those that it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.on_gke import TRAINER, experiment, job, kubernetes, manifests, names
from xmgen.executors.gke.jobs import resource_name
from xmgen.experiment import Accelerator, Experiment
from xmgen.plan import planner
from xmgen.plan.model import Manifest

RATES = [f"--lr=0.{number:02}" for number in range(1, 21)]
OTHER = replace(TRAINER, name="other", digest="sha256:other")


def sweep(rates: Sequence[str], **changes: object) -> Experiment:
    trainer = replace(TRAINER, **changes)
    return experiment(*(job(rate) for rate in rates), job(executable="other"), executables=(trainer, OTHER))


def by_resource(made: Experiment) -> dict[str, Manifest]:
    return {resource_name(manifest): manifest for manifest in manifests(made)}


def test_editing_one_trial_of_twenty_changes_one_job() -> None:
    before, after = manifests(sweep(RATES)), manifests(sweep([*RATES[:7], "--lr=0.99", *RATES[8:]]))
    assert [index for index in range(21) if before[index] != after[index]] == [7]


def test_reordering_touches_nothing() -> None:
    assert by_resource(sweep(RATES)) == by_resource(sweep(RATES[::-1]))


def test_adding_and_removing_trials_touches_only_those() -> None:
    before, after = by_resource(sweep(RATES)), by_resource(sweep([*RATES[:3], "--lr=1", *RATES[4:]]))
    gone, come = before.keys() - after.keys(), after.keys() - before.keys()
    assert (len(gone), len(come)) == (1, 1)
    assert {name: before[name] for name in before.keys() - gone} == {name: after[name] for name in after.keys() - come}


def test_changed_code_replaces_the_jobs_of_its_image_and_nothing_of_the_cluster() -> None:
    old, new = planner.plan(sweep(RATES)), planner.plan(sweep(RATES, digest="sha256:changed"))
    before, after = by_resource(old.experiment), by_resource(new.experiment)
    assert before.keys() == after.keys()
    changed = {name for name in before if before[name] != after[name]}
    assert len(changed) == 20
    assert {names([before[name]])[0] for name in changed}.isdisjoint(names([after[name]])[0] for name in changed)
    assert (old.cluster, old.objects) == (new.cluster, new.objects)
    assert [image.name for image in old.images if image not in new.images] == ["trainer"]


def test_a_jobs_name_is_another_when_anything_of_it_is() -> None:
    base = experiment(job("--a=1"))
    others = [
        experiment(job("--a=2")),
        experiment(job("--a=1", env={"A": "1"})),
        experiment(job("--a=1", executor=kubernetes(cpu=2))),
        experiment(job("--a=1", executor=kubernetes(Accelerator(type="t4", count=1), on={"retries": 1}))),
        experiment(job("--a=1"), executables=(replace(TRAINER, digest="sha256:1"),)),
        experiment(job("--a=1"), executables=(replace(TRAINER, base_image="python:3.13"),)),
        experiment(job("--a=1"), title="Another"),
        experiment(job("--a=1"), job("--b"), after={0: []}),
    ]
    found = [names(manifests(each))[0] for each in [base, *others]]
    assert len(set(found[:-1])) == len(found) - 1
    assert found[-1] == found[0]


def test_a_job_whose_predecessor_is_another_one_is_another_one() -> None:
    def evaluation(rate: str) -> Manifest:
        return manifests(experiment(job(rate), job("--evaluate"), after={1: [0]}))[1]

    assert names([evaluation("--lr=1")]) != names([evaluation("--lr=2")])


def test_another_jobs_larger_machine_changes_no_manifest() -> None:
    small = experiment(job("a", executor=kubernetes(cpu=1)))
    both = experiment(job("a", executor=kubernetes(cpu=1)), job("b", executor=kubernetes(cpu=4)))
    assert planner.plan(small).cluster != planner.plan(both).cluster
    assert manifests(both)[0] == manifests(small)[0]


def test_names_fit_where_kubernetes_puts_them() -> None:
    long = "x" * 300
    slices = Accelerator(type="tpu_v5e", topology="16x16", slices=16)
    made = experiment((job(long, name=long, executor=kubernetes(slices)), job(name="ü")), title=long, stack="s" * 40)
    for manifest, name in zip(manifests(made), names(manifests(made)), strict=True):
        # A pod of an Indexed Job has its index and five characters more.
        assert len(name) + len("-1023") + len("-abcde") <= 63
        labels = manifest["metadata"]["labels"].values()  # type: ignore[index,call-overload,union-attr]
        assert all(len(str(value)) <= 63 for value in labels)
