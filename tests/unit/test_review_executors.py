"""What a review says of executors that differ."""

from __future__ import annotations

import pytest

from xmgen.experiment import Accelerator, DockerOptions, Executor, JobRequirements, Kubernetes, Local, Vertex, Volume
from xmgen.review.executors import difference


def asks(accelerator: Accelerator | None = None, **others: float | str) -> JobRequirements:
    return JobRequirements(accelerator=accelerator, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            Kubernetes(requirements=asks(Accelerator(type="t4", count=2.0), cpu=4.0)),
            Kubernetes(requirements=asks(Accelerator(type="t4", count=4.0), cpu=4.0)),
            ("t4=2", "t4=4"),
        ),
        (
            Kubernetes(requirements=asks(Accelerator(type="tpu_v5e", topology="2x4"))),
            Kubernetes(requirements=asks(Accelerator(type="tpu_v5e", topology="4x4", slices=2))),
            ("tpu_v5e=2x4", "tpu_v5e=4x4*2"),
        ),
        (
            Vertex(requirements=asks(cpu=8.0, ram=2**34, service_tier="prod")),
            Vertex(requirements=asks(cpu=0.5, ram=2**29, service_tier="freebie"), web_access=False, timeout=60),
            (
                "cpu=8 ram=16GiB service_tier=prod",
                "cpu=0.5 ram=0.5GiB service_tier=freebie timeout=60 web_access=false",
            ),
        ),
        (Local(), Kubernetes(requirements=asks(cpu=1.0), retries=2), ("kind=local", "kind=kubernetes cpu=1 retries=2")),
        (Local(service=True), Local(docker_options=DockerOptions(ports={1: 2})), None),
        (Kubernetes(), Kubernetes(volumes=(Volume(path="/a", bucket="b"),)), None),
    ],
)
def test_what_differs(old: Executor, new: Executor, expected: tuple[str, str] | None) -> None:
    found = difference(old, new)
    assert found == expected if expected else found[0] != found[1]
    assert difference(new, old) == found[::-1]
