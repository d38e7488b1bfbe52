"""`python -m tests.vectors TOOL …`

TOOL: `xmanager` (`--vectors DIR --source CHECKOUT`), `programs` (`--source CHECKOUT`) or `caliban` (`--vectors FILE`).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.vectors import caliban, caliban_rules, programs, rules, xmanager


def main(arguments: list[str] | None = None) -> int:
    """0 when every vector is as it should be, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.vectors", description=__doc__)
    tools = parser.add_subparsers(dest="tool", required=True)
    tool = tools.add_parser("xmanager", help="what XManager recorded for launch scripts")
    tool.add_argument("--vectors", type=Path, metavar="DIR", help="folder of <example>.json")
    tool.add_argument("--source", type=Path, metavar="CHECKOUT", help="checkout with examples/<example>/launcher.py")
    tool.add_argument("--others", action="store_true", help="also compile the examples that have no vector")
    tool.add_argument("--rules", action="store_true", help="print where we differ on purpose, and stop")
    tool = tools.add_parser("caliban", help="what Caliban's functions answered")
    tool.add_argument("--vectors", type=Path, metavar="FILE", help="JSON with a list `vectors`")
    tool.add_argument("--rules", action="store_true", help="print where we differ on purpose, and stop")
    tool = tools.add_parser("programs", help="XManager's examples, compiled and run under Pulumi's mocks")
    tool.add_argument("--source", type=Path, metavar="CHECKOUT", required=True, help="as of xmanager")
    options = parser.parse_args(arguments)
    if options.tool == "programs":
        return 0 if programs.run(options.source) else 1
    if options.rules:
        named = {name: rule.says for name, rule in caliban_rules.RULES.items()}
        for name, rule in (named if options.tool == "caliban" else rules.RULES).items():
            print(f"{name}: {' '.join(rule.split())}")
        return 0
    if options.tool == "caliban":
        if options.vectors is None:
            parser.error("--vectors is required")
        return 0 if caliban.run(options.vectors) else 1
    if options.vectors is None or options.source is None:
        parser.error("--vectors and --source are required")
    return 0 if xmanager.run(options.vectors, options.source, others=options.others) else 1


if __name__ == "__main__":
    sys.exit(main())
