"""Manifests: the bytes of PyYAML's own dumper, and every text comes back as it was."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from xmgen.program import manifests

TEXT = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    [
        "yes",
        "null",
        "~",
        "1e3",
        "1_000",
        "0x1F",
        "2020-01-01",
        "<<",
        "=",
        "- a",
        "a: b",
        "# x",
        " ",
        "",
        "\u2028",
        "\ufeff",
    ]
)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda values: st.lists(values) | st.dictionaries(TEXT, values),
    max_leaves=20,
)
DOCUMENTS = st.lists(st.dictionaries(TEXT, VALUE), min_size=1, max_size=3)


class PlainDumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


@given(DOCUMENTS)
def test_what_is_written_is_read_back(documents: list[dict[str, Any]]) -> None:
    assert list(yaml.load_all(manifests.dump(documents), Loader=yaml.CSafeLoader)) == documents


@given(DOCUMENTS)
def test_the_bytes_are_those_of_the_librarys_dumper(documents: list[dict[str, Any]]) -> None:
    assert manifests.dump(documents) == yaml.dump_all(
        documents,
        Dumper=PlainDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        explicit_start=True,
        width=2**31 - 1,
    )
