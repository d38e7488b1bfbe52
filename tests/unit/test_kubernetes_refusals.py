"""What no Kubernetes Job can be made of is said in words, and all at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import job as local_job
from tests.on_gke import SLICE, T4, TRAINER, cluster_only, experiment, job, kubernetes
from xmgen.errors import InputError, Problem
from xmgen.experiment import (
    Accelerator,
    BazelContainer,
    Binary,
    ClusterChoice,
    Container,
    Experiment,
    Job,
    JobRequirements,
    Kubernetes,
    PoolRequest,
    Reference,
    ShellSafeArg,
    Volume,
)
from xmgen.plan import planner


def problems(made: Experiment) -> list[str]:
    with pytest.raises(InputError) as caught:
        planner.plan(made)
    return [f"{each.where}: {each.message}" if each.where else each.message for each in caught.value.problems]


HERE = "work unit 1, job train"


@pytest.mark.parametrize(
    ("of_executor", "expected"),
    [
        ({"priority": -11}, ["priority is -11"]),
        ({"priority": 2_000_000_000}, ["priority is 2000000000"]),
        ({"retries": -1}, ["retries is -1"]),
        ({"shared_memory": 0}, ["shared_memory is 0"]),
        ({"volumes": (Volume(path="data", bucket="b-1"),)}, ["a volume cannot be mounted at 'data'"]),
        ({"volumes": (Volume(path="/", bucket="b-1"),)}, ["a volume cannot be mounted at '/'"]),
        ({"volumes": (Volume(path="/a:b", bucket="b-1"),)}, ["a volume cannot be mounted at '/a:b'"]),
        ({"volumes": (Volume(path="/dev/shm/x", bucket="b-1"),)}, ["/dev/shm/x is taken"]),
        ({"volumes": (Volume(path="/xmgen/output/", bucket="b-1"),)}, ["/xmgen/output is taken"]),
        ({"volumes": (Volume(path="/a"),)}, ["the volume at /a needs either a bucket or a claim"]),
        (
            {"volumes": (Volume(path="/a", bucket="b-1", claim="c"),)},
            ["the volume at /a needs either a bucket or a claim"],
        ),
        ({"volumes": (Volume(path="/a", bucket="gs://b"),)}, ["'gs://b' is no bucket"]),
        (
            {"volumes": (Volume(path="/a", bucket="b-1/x,y"),)},
            ["'b-1/x,y': a comma cannot stand in the name of a folder"],
        ),
        ({"volumes": (Volume(path="/a", claim="C"),)}, ["'C' cannot name a claim"]),
        ({"volumes": (Volume(path="/a", claim="c", size=0),)}, ["the size of 'c' is 0"]),
        (
            {"volumes": (Volume(path="/a", bucket="b-1"), Volume(path="/a/", claim="c"))},
            ["several volumes are mounted at /a"],
        ),
    ],
)
def test_what_an_executor_cannot_ask_for_is_refused(of_executor: dict[str, Any], expected: list[str]) -> None:
    assert problems(experiment(job(executor=kubernetes(T4, on=of_executor)))) == [
        f"{HERE}: {each}" for each in expected
    ]


@pytest.mark.parametrize(
    ("shared", "message"),
    [(kubernetes(T4, on={"retries": -1}), "retries is -1"), (kubernetes(T4, ram=-1), "ram is -1")],
)
def test_an_executor_that_many_jobs_share_is_wrong_once(shared: Kubernetes, message: str) -> None:
    assert problems(experiment(*(job(f"--a={number}", executor=shared) for number in range(9)))) == [
        f"{HERE}: {message}"
    ]


def test_pools_for_no_job() -> None:
    made = cluster_only(PoolRequest(requirements=JobRequirements(cpu=-1), jobs=0))
    assert problems(made) == ["pool 1: jobs is 0", "pool 1: cpu is -1"]


def test_a_claim_is_one_thing() -> None:
    one = kubernetes(on={"volumes": (Volume(path="/a", claim="c", size=1),)})
    other = kubernetes(on={"volumes": (Volume(path="/a", claim="c", size=2),)})
    assert problems(experiment(job("a", executor=one), job("b", executor=other))) == [
        "the claim 'c' has different sizes, classes or uses"
    ]


@pytest.mark.parametrize(
    ("storage_class", "cluster", "expected"),
    [
        *(
            (disk, cluster, [f"the claim 'c' is shared, but a disk ({said}) cannot be written from several nodes"])
            for cluster in (None, ClusterChoice(kind="existing", name="prod", location="us-central1-a"))
            for disk, said in (
                (None, "the default storage class"),
                ("standard", "storage class 'standard'"),
                ("standard-rwo", "storage class 'standard-rwo'"),
                ("premium-rwo", "storage class 'premium-rwo'"),
            )
        ),
        (
            "enterprise-multishare-rwx",
            None,
            [
                "the claim 'c' has the storage class 'enterprise-multishare-rwx', whose instances are not in the "
                "network of a stack's cluster"
            ],
        ),
    ],
)
def test_claims_of_classes_that_cannot_be_what_they_are_to_be(
    storage_class: str | None, cluster: ClusterChoice | None, expected: list[str]
) -> None:
    volume = Volume(path="/a", claim="c", size=1, storage_class=storage_class, shared=True)
    jobs = [job(f"--n={number}", executor=kubernetes(on={"volumes": (volume,)})) for number in range(2)]
    assert problems(experiment(*jobs, cluster=cluster)) == expected


@pytest.mark.parametrize("name", ["1A", "", "A=B", "A B", "ä"])
def test_names_of_variables(name: str) -> None:
    assert problems(experiment(job(env={name: "1"}))) == [
        f"{HERE}: {name!r} cannot name an environment variable on Kubernetes"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x7fb\x7f", "U+007F"),
        ("\x80\x84\x86\x9f", "U+0080, U+0084, U+0086, U+009F"),
        ("\ufffe\uffff", "U+FFFE, U+FFFF"),
    ],
)
def test_characters_that_the_kubernetes_provider_refuses(text: str, expected: str) -> None:
    message = f"{HERE}: has characters in its arguments or environment that no Job can hold: {expected}"
    assert problems(experiment(job(f"--a={text}"))) == [message]
    assert problems(experiment(job(ShellSafeArg(text)))) == [message]
    assert problems(experiment(job(env={"A": text}))) == [message]
    volume = Volume(path="/a", bucket=f"b-1/{text}")
    in_a_folder = f"{HERE}: {volume.bucket!r}: no Job can hold {expected}"
    assert problems(experiment(job(executor=kubernetes(on={"volumes": (volume,)})))) == [in_a_folder]


@pytest.mark.parametrize("text", ["\t\n\r\x07\x1b[1m", "\x85", "\xa0", "\u2028", "\ufeff", "\ufdd0", "\U0010ffff"])
def test_other_characters_are_none_of_a_jobs_problems(text: str) -> None:
    [unit] = planner.plan(experiment(job(f"--a={text}"))).units
    [manifest] = unit.manifests
    [container] = manifest["spec"]["template"]["spec"]["containers"]
    assert container["args"] == [f"--a={text}"]


def test_a_shell_needs_the_entry_point_of_an_image() -> None:
    made = experiment(
        job(ShellSafeArg("$A"), executable="redis"), executables=(Container(name="redis", image="redis"),)
    )
    assert problems(made) == [f"{HERE}: has a ShellSafeArg, but the entry point of 'redis' is not known"]


@pytest.mark.parametrize(
    ("executable", "expected"),
    [
        (BazelContainer(name="x", label="//a:b"), "executable 'x' is built by Bazel (//a:b), which a stack cannot do"),
        (
            Binary(name="x", path="a", digest="sha256:1"),
            "executable 'x' is a program of this machine, which a cluster cannot run",
        ),
    ],
)
def test_programs_that_no_cluster_runs(executable: Any, expected: str) -> None:
    assert problems(experiment(job(executable="x"), executables=(executable,))) == [expected]


def test_machines_that_do_not_exist() -> None:
    made = experiment(
        job("a", executor=kubernetes(Accelerator(type="t4", count=3))),
        job("b", executor=kubernetes(Accelerator(type="tpu_v5e", topology="3x3"))),
    )
    assert [each.split(": ", 1)[0] for each in problems(made)] == [HERE, "work unit 2, job train"]


def test_one_cluster_is_in_one_place() -> None:
    made = experiment(
        job("a", executor=kubernetes(location="us-central1-a")),
        job("b", executor=kubernetes(location="europe-west4-a")),
    )
    assert problems(made) == [
        "work unit 2, job train: jobs ask for europe-west4-a, us-central1-a, but a stack has one cluster"
    ]


def test_a_slice_of_several_hosts_is_in_one_zone() -> None:
    slice_ = Accelerator(type="tpu_v5e", topology="4x4")
    assert problems(experiment(job(executor=kubernetes(slice_, location="us-central1")))) == [
        "work unit 1, job train: a slice of tpu_v5e is in one zone, but us-central1 is a region"
    ]


def test_a_stack_runs_in_one_place() -> None:
    assert problems(experiment(job(), local_job())) == [
        "work unit 2, job train: some work units run on this machine and others on a cluster, "
        "but a stack runs in one place"
    ]


def test_jobs_of_this_machine_get_no_secrets() -> None:
    key = Reference(kind="secret", name="key")
    made = experiment(local_job(env={"KEY": key.token}), executables=(TRAINER,), references=(key,))
    assert problems(made) == [
        f"{HERE}: has a secret of the stack's configuration, which the Local executor does not hand on"
    ]


@pytest.mark.parametrize("tag", ["trainer", "gcr.io/acme/trainer@sha256:1", "gcr.io/Acme/x:1", "a b/c:1", "x/y:"])
def test_tags_that_nothing_can_be_pushed_under(tag: str) -> None:
    made = experiment(executables=(replace(TRAINER, push_image_tag=tag),))
    assert problems(made) == [f"executable 'trainer' cannot be pushed as {tag!r}"]


def test_buckets_to_which_jobs_may_have_no_right_are_noted() -> None:
    mounted = kubernetes(on={"volumes": (Volume(path="/data", bucket="images/train"),)})
    own = Reference(kind="bucket", name="staging")
    made = experiment(
        job("--data=gs://images/train", f"--out=gs://{own.token}/x", executor=mounted),
        job("--logs=gs://acme-logs/a", ShellSafeArg("gs://acme.logs"), env={"WHERE": "gs://acme-logs,s3://x"}),
    )
    assert planner.plan(replace(made, references=(own,))).notes == (
        "Jobs name gs://acme-logs, gs://acme.logs: their account, sweep-jobs, may use the stack's own bucket and those "
        "that they mount; others somebody has to grant it, unless they are public.",
    )
    assert planner.plan(experiment(job("--data=gs:///x", "gs://"))).notes == ()


def test_a_cluster_that_is_not_there() -> None:
    with pytest.raises(InputError) as caught:
        planner.plan(experiment(cluster=ClusterChoice(kind="stack", name="sweep")))
    assert caught.value.problems == (
        Problem("a stack's own cluster is no other stack's", hint="leave the choice of a cluster out"),
    )


def test_a_group_that_others_wait_for_has_to_end() -> None:
    group = (job(name="worker"), job(name="ps"))
    assert planner.plan(experiment(group, group, job())).notes == ()
    assert planner.plan(experiment(group, group, job(name="evaluate"), after={2: [0, 1]})).notes == (
        "Other work units wait until all jobs of a group have succeeded (worker, ps): one that only serves the others, "
        "such as a parameter server, has to be a `service` or to end by itself.",
    )


def test_a_version_of_the_tpus_software_has_no_effect_and_is_said_to_have_none() -> None:
    made = experiment(job(executor=kubernetes(SLICE, on={"tpu_runtime_version": "2.16"})))
    assert planner.plan(made).notes == (
        "The version of the TPU's software (2.16) has no effect on GKE: images bring it.",
    )


def test_a_service_is_one_pod_of_a_group_that_ends() -> None:
    def service(**asked: int) -> Job:
        return job(name="ps", executor=kubernetes(on={"service": True}, **asked))

    assert len(planner.plan(experiment((job(name="worker"), service()))).units) == 1
    assert problems(experiment((job(name="worker"), service(replicas=2)))) == [
        "work unit 1, job ps: is a service of 2 pods"
    ]
    for group in ((service(),), (service(), job(name="db", executor=kubernetes(on={"service": True})))):
        assert problems(experiment(group)) == ["work unit 1: all of its jobs are services, so it would never end"]


@pytest.mark.parametrize("name", ["until-the-others-end", "until_the_others_end"])
def test_only_a_service_may_not_be_called_like_the_container_that_waits_in_its_pod(name: str) -> None:
    service = job(name=name, executor=kubernetes(on={"service": True}))
    assert problems(experiment((job(name="worker"), service))) == [
        f"work unit 1, job {name}: a service cannot be called that"
    ]
    assert (
        planner.plan(experiment((job(name=name), job(name="ps", executor=kubernetes(on={"service": True}))))).notes
        == ()
    )


def test_others_may_wait_for_a_group_with_a_service() -> None:
    group = (job(name="worker"), job(name="ps", executor=kubernetes(on={"service": True})))
    assert planner.plan(experiment(group, job(name="evaluate"), after={1: [0]})).notes == ()
