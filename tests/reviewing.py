"""Sides of a comparison made of experiments, for tests of `xmgen review`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from xmgen.experiment import Experiment
from xmgen.plan import planner
from xmgen.program.render import render
from xmgen.review.commits import Side
from xmgen.review.compare import Comparer, StackChange

Files = dict[str, str]
"""Texts by path in the project."""

DEFAULTS = (Path(__file__).parents[1] / "Pulumi.yaml").read_text(encoding="utf-8")
PROJECT = "config:\n  gcp:project: acme\n"


def files(*experiments: Experiment, settings: Mapping[str, str] | None = None, project: str = DEFAULTS) -> Files:
    """The committed files of these stacks. settings: texts of `Pulumi.<stack>.yaml` by stack."""
    stacks = {experiment.stack: experiment for experiment in experiments}
    found = {"Pulumi.yaml": project}
    for stack, experiment in stacks.items():
        rendered = render(planner.plan(experiment, stacks.__getitem__))
        found |= {f"stacks/{stack}/{path}": text for path, text in rendered.items()}
    return found | {f"stacks/Pulumi.{stack}.yaml": text for stack, text in (settings or {}).items()}


def edited(found: Files, path: str, *edits: tuple[str, str] | Callable[[str], str]) -> Files:
    """With a file that somebody edited by hand: texts and their replacements, which must be there."""
    text = found[path]
    for edit in edits:
        if isinstance(edit, tuple):
            assert edit[0] in text, edit[0]
            text = text.replace(*edit)
        else:
            text = edit(text)
    return found | {path: text}


def side(found: Files) -> Side:
    stacks = {path.split("/")[1] for path in found if path.endswith("/experiment.lock.json")}
    settings = {path.split(".")[1] for path in found if path.startswith("stacks/Pulumi.")}
    return Side(frozenset(stacks), frozenset(settings), found.get)


def comparer(old: Files, new: Files) -> Comparer:
    changed = frozenset(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    return Comparer(side(old), side(new), changed)


def compared(old: Files, new: Files, stack: str = "sweep") -> StackChange:
    return comparer(old, new).stack(stack)
