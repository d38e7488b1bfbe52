"""The catalog as people see it: the documentation's table and `xmgen accelerators`."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from xmgen import catalog
from xmgen.catalog import allocatable, tiers
from xmgen.catalog.table import Row, accelerator_table, markdown
from xmgen.cli import cli
from xmgen.experiment import Accelerator
from xmgen.frontends.spec.requirements import Requirements
from xmgen.frontends.xmanager.api import xm

PAGE = (Path(__file__).parents[2] / "docs" / "catalog.md").read_text(encoding="utf-8")


def test_a_row_says_how_an_accelerator_is_called_and_had_everywhere() -> None:
    rows = {row.name: row for row in accelerator_table()}
    assert rows["a100_80gib"] == Row(
        name="a100_80gib",
        aliases="a100_80gb, a100_80",
        memory="80 GB",
        machine_types="a2-ultragpu-1g, a2-ultragpu-2g, a2-ultragpu-4g, a2-ultragpu-8g",
        allowed="1, 2, 4, 8",
        gke_label="nvidia-a100-80gb",
        vertex="NVIDIA_A100_80GB",
    )
    assert rows["tpu_v4"].allowed.endswith("8x16x16, 12x16x16 and 175 more")


def test_every_accelerator_has_a_row() -> None:
    known = catalog.catalog()
    assert [row.name for row in accelerator_table()] == [*known.gpus, *known.tpus]


def test_the_documentation_has_the_table() -> None:
    assert f"<!-- accelerators -->\n{markdown()}\n<!-- end -->" in PAGE


def test_the_documentation_has_the_system_pods() -> None:
    for pod in catalog.catalog().system_pods:
        assert re.search(rf"\| {re.escape(pod.name)} \| {pod.cpu_millis} \| {pod.memory_mib} \|", PAGE), pod.name


@pytest.mark.parametrize(
    ("tier", "way"),
    [(None, "on-demand"), ("PROD", "on-demand"), ("BATCH", "flex-start"), ("FREEBIE", "spot")],
)
def test_the_documentation_has_the_service_tiers(tier: str | None, way: str) -> None:
    ways = tiers.wanted(tier, None)
    assert isinstance(ways, tuple) and ways[0] == way
    assert f"`{tier or 'PROD'}`" in PAGE


def test_the_documentation_has_the_limits() -> None:
    assert f"{allocatable.DEFAULT_DISK_GB} GB" in PAGE


def test_the_command_prints_the_catalog() -> None:
    printed = CliRunner().invoke(cli, ["accelerators"])
    assert printed.exit_code == 0
    assert all(row.name in printed.stdout and row.gke_label in printed.stdout for row in accelerator_table())
    assert json.loads(CliRunner().invoke(cli, ["accelerators", "--json"]).stdout) == [
        asdict(row) for row in accelerator_table()
    ]


@pytest.mark.parametrize("row", accelerator_table(), ids=lambda row: row.name)
def test_jobs_can_ask_for_every_accelerator_of_the_table_by_each_of_its_names(row: Row) -> None:
    for name in filter(None, [row.name, *row.aliases.split(", ")]):
        asked = xm.JobRequirements({name: 4})
        assert asked.accelerator is xm.ResourceType[row.name]
        spec = Requirements.model_validate({name: 4}).build()
        assert spec.accelerator == Accelerator(type=row.name, count=4)
