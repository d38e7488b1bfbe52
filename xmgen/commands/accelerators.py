"""`xmgen accelerators`: the catalog, for people who look for a name or a count."""

from __future__ import annotations

from dataclasses import asdict, astuple

from xmgen.catalog.table import HEADINGS, accelerator_table
from xmgen.commands import output


def accelerators(*, json: bool) -> None:
    rows = accelerator_table()
    if json:
        output.print_json([asdict(row) for row in rows])
    else:
        output.print_table(HEADINGS, [astuple(row) for row in rows])
