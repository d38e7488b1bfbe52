"""Requirements: from what a launch script asks for to what the planner reads."""

import pytest

from xmgen.errors import InputError
from xmgen.experiment import Accelerator, JobRequirements
from xmgen.frontends.xmanager.api import xm
from xmgen.frontends.xmanager.api.xm_local.to_executor import requirements

GIB = 2**30


def wanted(kind, count=None, topology=None, slices=1):
    return Accelerator(type=kind, count=count, topology=topology, slices=slices)


@pytest.mark.parametrize(
    ("asked", "recorded"),
    [
        ({}, JobRequirements()),
        ({"cpu": 0.5 * xm.vCPU, "ram": 4 * xm.GiB}, JobRequirements(cpu=0.5, ram=4 * GIB)),
        ({"CPU": "2", "Memory": 1e9}, JobRequirements(cpu=2.0, ram=10**9)),
        ({"disk": 10 * xm.GB}, JobRequirements(disk=10**10)),
        ({"ephemeral_storage": 1}, JobRequirements(disk=1)),
        ({"resources": {xm.ResourceType.CPU: 4}, "t4": 1}, JobRequirements(cpu=4.0, accelerator=wanted("t4", 1.0))),
        ({"resources": {"cpu": 4, "replicas": 2}}, JobRequirements(cpu=4.0, replicas=2)),
        ({"t4": 1}, JobRequirements(accelerator=wanted("t4", 1.0))),
        ({"l4": 1}, JobRequirements(accelerator=wanted("l4_24th", 1.0))),
        ({"A100_40GB": 1}, JobRequirements(accelerator=wanted("a100", 1.0))),
        ({"trillium": "2x4"}, JobRequirements(accelerator=wanted("tpu_v6e", topology="2x4"))),
        ({"resources": {xm.ResourceType.V5E: 1}}, JobRequirements(accelerator=wanted("tpu_v5e", 1.0))),
        ({"T4": "2"}, JobRequirements(accelerator=wanted("t4", 2.0))),
        # Such as `t4=FLAGS.gpus`, of a script that also runs without.
        ({"t4": 0}, JobRequirements()),
        ({"a100_80gib": 8}, JobRequirements(accelerator=wanted("a100_80gib", 8.0))),
        ({"local_gpu": 2}, JobRequirements(accelerator=wanted("local_gpu", 2.0))),
        ({"tpu_v2": 8}, JobRequirements(accelerator=wanted("tpu_v2", 8.0))),
        ({"tpu_v2": xm.Topology("8")}, JobRequirements(accelerator=wanted("tpu_v2", 8.0))),
        ({"tpu_v5e": "2x4"}, JobRequirements(accelerator=wanted("tpu_v5e", topology="2x4"))),
        ({"tpu_v4": xm.Topology("4x4x4")}, JobRequirements(accelerator=wanted("tpu_v4", topology="4x4x4"))),
        ({"tpu_v4": "4x4x8_twisted"}, JobRequirements(accelerator=wanted("tpu_v4", topology="4x4x8_twisted"))),
        ({"tpu_v5e": "4x4", "replicas": 2}, JobRequirements(accelerator=wanted("tpu_v5e", topology="4x4"), replicas=2)),
        ({"tpu_v5e": "4x4*2"}, JobRequirements(accelerator=wanted("tpu_v5e", topology="4x4", slices=2))),
        (
            {"tpu_v5e": "4x4", "num_slices": 2},
            JobRequirements(accelerator=wanted("tpu_v5e", topology="4x4", slices=2)),
        ),
        ({"v100": "4x2"}, JobRequirements(accelerator=wanted("v100", 4.0, "4x2"), replicas=2)),
        ({"gb200": "4x18x2"}, JobRequirements(accelerator=wanted("gb200", 4.0, "4x18x2"), replicas=36)),
        (
            {"gb300": "4x18*3"},
            JobRequirements(accelerator=wanted("gb300", 4.0, "4x18", slices=3), replicas=54),
        ),
        ({"b40_48th": "2x2"}, JobRequirements(accelerator=wanted("b40_48th", None, "2x2"))),
        ({"t4": 2, "replicas": 1}, JobRequirements(accelerator=wanted("t4", 2.0), replicas=1)),
        ({"location": "us-central1-a"}, JobRequirements(location="us-central1-a")),
        ({"service_tier": xm.ServiceTier.BATCH}, JobRequirements(service_tier="batch")),
        ({"service_tier": xm.ServiceTier.PROD}, JobRequirements(service_tier="prod")),
        ({"architecture": xm.Architecture.ARM}, JobRequirements(architecture="arm")),
    ],
)
def test_what_is_recorded(asked, recorded):
    asked = dict(asked)
    resources = asked.pop("resources", None)
    assert requirements(xm.JobRequirements(resources, **asked)) == recorded


@pytest.mark.parametrize(
    ("asked", "error", "problem"),
    [
        ({"l40": 1}, KeyError, "unknown ResourceType 'l40'\n  known: cpu, "),
        ({"gpu": 1}, KeyError, "unknown ResourceType 'gpu'\n  say which: p100, v100, "),
        ({"upc": 1}, KeyError, "unknown ResourceType 'upc'"),
        ({"ram": "4GiB"}, ValueError, "cannot understand the amount of ram: '4GiB'"),
        ({"ram": None}, ValueError, "cannot understand the amount of ram: None"),
        ({"cpu": -1}, ValueError, "cannot understand the amount of cpu: -1"),
        ({"cpu": float("nan")}, ValueError, "cannot understand the amount of cpu: nan"),
        ({"cpu": "2x2"}, ValueError, "CPU is no accelerator"),
        ({"cpu": "2*2"}, ValueError, "CPU is no accelerator"),
        ({"tpu_v5e": "axb"}, ValueError, "cannot understand the amount of tpu_v5e: 'axb'"),
        ({"tpu_v5e": "4x"}, ValueError, "cannot understand the amount of tpu_v5e: '4x'"),
        ({"t4": 0.5}, ValueError, "T4 comes in whole numbers, not as 0.5"),
        ({"t4": 1, "v100": 1}, ValueError, "one kind of accelerator, not T4 and V100"),
        ({"ram": 1, "memory": 1}, ValueError, "MEMORY has been specified twice"),
        ({"replicas": 0}, ValueError, "replicas must be a positive integer, got 0"),
        ({"v100": "4x2", "replicas": 4}, ValueError, "means 2 replicas, not 4"),
        ({"tpu_v5e": "4x4*2", "num_slices": 3}, ValueError, "'4x4*2' means 2 slices, and num_slices is 3"),
        ({"tpu_v5e": "4x4*0"}, ValueError, "the number of slices must be a positive integer"),
        ({"num_slices": 0}, ValueError, "num_slices must be a positive integer"),
        ({"p100": 1, "architecture": xm.Architecture.ARM}, ValueError, "P100 comes with Architecture.HASWELL"),
    ],
)
def test_what_is_refused(asked, error, problem):
    with pytest.raises(error) as raised:
        xm.JobRequirements(**asked)
    assert isinstance(raised.value, InputError)
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        ({"cpu": 1}, {"cpu": 2, "ram": 3}, {"cpu": 2, "ram": 3}),
        ({"t4": 1}, {"v100": 2}, {"v100": 2}),
        ({"t4": 1}, {"cpu": 2}, {"cpu": 2, "t4": 1}),
        ({"tpu_v5e": "4x4"}, {"cpu": 1}, {"tpu_v5e": "4x4", "cpu": 1}),
        ({"v100": "4x2"}, {"location": "a"}, {"v100": "4x2", "location": "a"}),
        ({"v100": "4x2"}, {"v100": 1}, {"v100": 1}),
        ({"service_tier": xm.ServiceTier.BATCH}, {"cpu": 1}, {"service_tier": xm.ServiceTier.BATCH, "cpu": 1}),
        (
            {"service_tier": xm.ServiceTier.BATCH},
            {"service_tier": xm.ServiceTier.PROD},
            {"service_tier": xm.ServiceTier.PROD},
        ),
        ({"replicas": 3}, {"replicas": 2}, {"replicas": 2}),
        ({"tpu_v5e": "4x4*2"}, {"location": "a"}, {"tpu_v5e": "4x4*2", "location": "a"}),
        ({"p100": 1}, {"gb200": 1}, {"gb200": 1}),
    ],
)
def test_merging_keeps_everything_that_was_asked_for(first, second, merged):
    result = xm.JobRequirements(**first).merge(xm.JobRequirements(**second))
    assert result == xm.JobRequirements(**merged)
    assert requirements(result) == requirements(xm.JobRequirements(**merged))


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({}, "xm.JobRequirements()"),
        ({"t4": 1}, "xm.JobRequirements(t4=1.0)"),
        ({"ram": xm.GiB, "tpu_v3": "4x4"}, "xm.JobRequirements(memory=1073741824.0, tpu_v3=xm.Topology('4x4'))"),
        (
            {"cpu": 1, "location": "a", "service_tier": xm.ServiceTier.BATCH, "replicas": 2},
            "xm.JobRequirements(cpu=1.0, location='a', service_tier=xm.ServiceTier.BATCH, replicas=2)",
        ),
    ],
)
def test_requirements_show_what_was_asked_for(asked, text):
    assert repr(xm.JobRequirements(**asked)) == text


def test_accelerator_subsets():
    assert xm.GpuType["v100"] is xm.ResourceType.V100 is xm.GpuType.V100 is xm.GpuType(17)
    assert xm.ResourceType.LOCAL_GPU not in xm.GpuType
    assert xm.ResourceType.LOCAL_GPU in xm.AcceleratorType
    assert set(xm.AcceleratorType) == {xm.ResourceType.LOCAL_GPU, *xm.GpuType, *xm.TpuType}
    assert None not in xm.GpuType
    with pytest.raises(AttributeError):
        _ = xm.TpuType.V100
