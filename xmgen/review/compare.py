"""The committed files of two sides -> what a change means for each stack, and for the project. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from xmgen.errors import InputError, Problem
from xmgen.plan.resources import ConfigurationKey
from xmgen.project import PULUMI_FILE, STACKS
from xmgen.resource_types import CLUSTER
from xmgen.review import committed, highlights, quantities, resolve, resources, settings, units, workloads
from xmgen.review.commits import Side
from xmgen.review.committed import Committed
from xmgen.review.highlights import Exposure, Grant, Move
from xmgen.review.quantities import Quantity
from xmgen.review.resolve import View
from xmgen.review.resources import Comparison, ResourceChange
from xmgen.review.settings import SettingChange, Settings
from xmgen.review.stale import Stale
from xmgen.review.units import UnitChange
from xmgen.stack.resources import Workloads

_TOLD = ("manifests/", "resources.yaml", "experiment.lock.json", "SUMMARY.md")
"""Of a stack's folder: what this comparison, or a compile, says in other words."""

_SHAPES = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""What comes of files that no xmgen wrote."""


@dataclass(frozen=True, slots=True)
class StackChange:
    """change: of the stack as a whole. unchanged: number of units that stay as they are. type: of the units' resources.
    secrets: newly used, by the names of their settings. needs: other settings without which it does not run any more.
    program: other files of its folder that changed, such as the program and Dockerfiles.
    problems: what could not be compared, and why.
    stale: code, source and generated files that differ from what was compiled, which the comparison does not know.
    """

    stack: str
    change: Literal["added", "removed", "changed", "unchanged"]
    lost: tuple[ResourceChange, ...] = ()
    moves: tuple[Move, ...] = ()
    grants: tuple[Grant, ...] = ()
    exposures: tuple[Exposure, ...] = ()
    secrets: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    quantities: tuple[Quantity, ...] = ()
    resources: tuple[ResourceChange, ...] = ()
    type: str = ""
    units: tuple[UnitChange, ...] = ()
    unchanged: int = 0
    program: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    stale: Stale | None = None


@dataclass(frozen=True, slots=True)
class ProjectChange:
    """settings: of Pulumi.yaml. files: others that run with every stack."""

    settings: tuple[SettingChange, ...] = ()
    files: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class Comparer:
    """Two sides of a project. changed: the paths of all files that differ."""

    before: Side
    after: Side
    changed: frozenset[str] = frozenset()
    _views: dict[str, tuple[View, View]] = field(default_factory=dict[str, tuple[View, View]])

    def project(self) -> ProjectChange:
        files = sorted(
            path for path in self.changed if path == f"{STACKS}/__main__.py" or path.startswith(f"{STACKS}/.plugin/")
        )
        try:
            found = settings.of_project(settings.project_file(self.before), settings.project_file(self.after))
        except InputError as error:
            return ProjectChange(files=(*files, PULUMI_FILE), problems=tuple(map(str, error.problems)))
        return ProjectChange(found, tuple(files))

    def stacks(self) -> list[StackChange]:
        names = self.before.stacks | self.after.stacks | self.before.settings | self.after.settings
        return [self.stack(name) for name in sorted(names)]

    def stack(self, name: str) -> StackChange:
        old, new = self._committed(name)
        change = "added" if old is None else "removed" if new is None else "changed"
        program = self._program(name) if old is not None else ()
        try:
            return self._compared(name, old, new, program)
        except InputError as error:
            return StackChange(name, change, program=program, problems=tuple(map(str, error.problems)))
        except _SHAPES as error:
            problem = Problem(f"is not as xmgen writes it ({type(error).__name__})", where=f"{STACKS}/{name}")
            return StackChange(name, change, program=program, problems=(str(problem),))

    def _compared(
        self, name: str, old: Committed | None, new: Committed | None, program: tuple[str, ...]
    ) -> StackChange:
        read, unread = self._settings(name)
        before, after = self._resolved(name, old, new, read)
        both = old is not None and new is not None
        comparable = all(side is None or side.declared is not None for side in (old, new))
        compared = resources.compare(before, after) if comparable else Comparison()
        everything = (*compared.changes, *resources.of_workloads(_workloads(old), _workloads(new)))
        found = compared.changes if new is not None else ()
        beside = workloads.beside(before, after, compared, old, new) if old and new and comparable else None
        touched, unchanged = units.changes(old, new, beside)
        of_settings = settings.changes(name, *read, _secrets(old) | _secrets(new))
        found_problems = (problem for side in (old, new) if side for problem in side.problems)
        problems = tuple(dict.fromkeys((*found_problems, *unread)))
        odd = [side for side in (old, new) if side is not None and not units.is_of_one_compile(side)]
        if odd:
            problems += (f"{STACKS}/{name}: the lock file and the manifests have different work units",)
        documents = [side.documents if side is not None else () for side in (old, new)]
        secrets = _secrets(new) - _secrets(old) if comparable else set[str]()
        needs = _needs(new) - _needs(old) if both and comparable else set[str]()
        differs = touched or everything or of_settings or program or problems or secrets or needs or not both
        whole = (
            "unchanged" if not differs else "changed" if both or old is new else "added" if old is None else "removed"
        )
        return StackChange(
            stack=name,
            change=whole,
            lost=tuple(highlights.lost(found)),
            moves=tuple(highlights.moves(before, after, found)) if both else (),
            grants=tuple(highlights.grants(before, after, found)),
            exposures=(*highlights.exposures(before, after, found), *highlights.rights_of_jobs(*documents)),
            secrets=tuple(sorted(secrets)),
            needs=tuple(sorted(needs)),
            settings=of_settings,
            quantities=tuple(
                quantities.quantities(before.resources.values(), after.resources.values(), *documents)
                if comparable and new is not None
                else ()
            ),
            resources=everything,
            type=(new or old or Committed(None, None)).type,
            units=tuple(touched),
            unchanged=unchanged,
            program=program,
            problems=problems,
        )

    def _committed(self, stack: str) -> tuple[Committed | None, Committed | None]:
        sides = (self.before, self.after)
        old, new = (committed.read(side, stack) if stack in side.stacks else None for side in sides)
        return old, new

    def _resolved(
        self, name: str, old: Committed | None, new: Committed | None, read: tuple[Settings, Settings], depth: int = 0
    ) -> tuple[View, View]:
        """What the stack declares on each side, with what is known put in. depth: 1 of a stack that another asks."""

        def other(stack: str, output: str, *, after: bool) -> object:
            """An output of another stack, which has a cluster that others share."""
            opaque = f"${{stack {stack}.{output}}}"
            if depth or stack == name:
                return opaque
            views = self._other(stack)
            value = views[after].variables.get(output)
            if isinstance(value, str) and "${" not in value:
                return value
            found = resources.compare(*views).changes if after else ()
            replaced = any(each.type == CLUSTER and each.change == "replaced" for each in found)
            return f"{opaque} (another)" if replaced else opaque

        def view(side: Committed | None, known: settings.Known, *, after: bool) -> View:
            if side is None or side.declared is None:
                return View()
            return resolve.view(side.declared, known, lambda stack, output: other(stack, output, after=after))

        is_on_both = old is not None and new is not None
        before, after = settings.known(*read, alone=not is_on_both, secrets=_secrets(old) | _secrets(new))
        return view(old, before, after=False), view(new, after, after=True)

    def _other(self, stack: str) -> tuple[View, View]:
        if stack not in self._views:
            committed, read, _ = self._committed(stack), *self._settings(stack)
            self._views[stack] = self._resolved(stack, *committed, read, depth=1)
        return self._views[stack]

    def _settings(self, stack: str) -> tuple[tuple[Settings, Settings], tuple[str, ...]]:
        """And why they cannot be read."""
        problems: list[str] = []

        def read(side: Side) -> Settings:
            try:
                return settings.read(side, stack)
            except InputError as error:
                problems.extend(map(str, error.problems))
                return Settings()

        return (read(self.before), read(self.after)), tuple(problems)

    def _program(self, stack: str) -> tuple[str, ...]:
        folder = f"{STACKS}/{stack}/"
        paths = (path for path in self.changed if path.startswith(folder))
        return tuple(sorted(path for path in paths if not path.removeprefix(folder).startswith(_TOLD)))


def _workloads(stack: Committed | None) -> Workloads | None:
    return stack.declared.workloads if stack is not None and stack.declared is not None else None


def _secrets(stack: Committed | None) -> set[str]:
    return {name for name, key in _keys(stack) if key.secret}


def _needs(stack: Committed | None) -> set[str]:
    return {name for name, key in _keys(stack) if key.required and not key.secret}


def _keys(stack: Committed | None) -> Iterable[tuple[str, ConfigurationKey]]:
    declared = stack.declared if stack is not None else None
    return declared.configuration.items() if declared is not None else ()
