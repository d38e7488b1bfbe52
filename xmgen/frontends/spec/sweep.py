"""Sweeps: which values each trial of a work unit gets.

A sweep is a block, or a list of blocks whose product is taken. The last block varies fastest, and in a grid the last
key. Every block has the shape of XManager's `experiment.add(job, args=...)`: `args` and `env_vars`, in a group one
such mapping per job.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from xmgen.errors import did_you_mean
from xmgen.frontends.spec.base import Model, Name, OneOf, error, exactly_one_of
from xmgen.frontends.spec.distributions import Distribution, EnvDistribution
from xmgen.frontends.spec.values import Arg, ArgName, ArgValue, EnvName, EnvValue, Variable

MAX_TRIALS = 100_000
"""Of one work unit's sweep; more is a slip of the pen, and would take minutes to compile."""

Target = tuple[str, str, str]
"""(job, `args` or `env_vars`, name): where a value goes. The job is empty in a work unit of one job."""

Trial = Mapping[Target, Arg]


class Overrides(Model):
    """What one trial sets."""

    args: dict[ArgName, ArgValue] = Field(default_factory=dict[str, Arg])
    env_vars: dict[EnvName, EnvValue] = Field(default_factory=dict[str, Variable])


class Axes(Model):
    """Lists of values."""

    args: dict[ArgName, Annotated[list[ArgValue], Field(min_length=1)]] = Field(default_factory=dict[str, list[Arg]])
    env_vars: dict[EnvName, Annotated[list[EnvValue], Field(min_length=1)]] = Field(
        default_factory=dict[str, list[Variable]]
    )


class Distributions(Model):
    """What values are drawn from."""

    args: dict[ArgName, Distribution] = Field(default_factory=dict[str, Distribution])
    env_vars: dict[EnvName, EnvDistribution] = Field(default_factory=dict[str, EnvDistribution])


_CHOICES = ("grid", "zip", "list", "random")


class _Block(OneOf):
    """One of grid, zip, list and random."""

    choices: ClassVar = _CHOICES
    model_config = ConfigDict(json_schema_extra=exactly_one_of(*_CHOICES))

    count: int | None = Field(None, ge=1, le=MAX_TRIALS)
    """With `random`: how many trials. A higher count keeps the trials there are and adds to them."""
    seed: int | None = None
    """With `random`: another seed gives other values. 0 when left out."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        is_random = bool(self._get("random"))
        if not is_random and (self.count is not None or self.seed is not None):
            raise error("count and seed belong to a random block")
        if is_random and self.count is None:
            raise error("a random block needs a count", "such as `count: 20`")
        if not self._get("list") and not any(self.targets()):
            raise error("the sweep is empty", "it needs `args` or `env_vars` with at least one name")
        lengths = {name: len(values) for (_, _, name), values in _flat(self._get("zip")).items()}
        if len(set(lengths.values())) > 1:
            raise error(
                "zip needs lists of one length", ", ".join(f"{n} has {length}" for n, length in lengths.items())
            )
        return self

    def _get(self, choice: str) -> Any:
        return getattr(self, "list_" if choice == "list" else choice)

    def targets(self) -> Iterator[Target]:
        """Everything that the block sets."""
        for shape in (self._get("grid"), self._get("zip"), self._get("random"), *(self._get("list") or ())):
            yield from _flat(shape)

    def size(self) -> int:
        """How many trials the block has."""
        if grid := _flat(self._get("grid")):
            return math.prod(map(len, grid.values()))
        if zipped := _flat(self._get("zip")):
            return len(next(iter(zipped.values())))
        return self.count or len(self._get("list"))

    def trials(self) -> list[Trial]:
        if grid := _flat(self._get("grid")):
            return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
        if zipped := _flat(self._get("zip")):
            return [dict(zip(zipped, values, strict=True)) for values in zip(*zipped.values(), strict=True)]
        if drawn := _flat(self._get("random")):
            return [
                {target: source.draw(_key(self.seed or 0, target, trial)) for target, source in drawn.items()}
                for trial in range(self.count or 0)
            ]
        return [_flat(item) for item in self._get("list")]


class JobBlock(_Block):
    """One of grid, zip, list and random, over `args` and `env_vars`."""

    grid: Axes | None = None
    """Every combination of the values."""
    zip: Axes | None = None
    """The first values together, then the second, and so on."""
    list_: Annotated[list[Overrides], Field(min_length=1)] | None = Field(None, alias="list")
    """The trials one by one; an empty one (`{}`) changes nothing."""
    random: Distributions | None = None
    """Values drawn from distributions, the same on every machine."""


class GroupBlock(_Block):
    """One of grid, zip, list and random, over `args` and `env_vars` of each job."""

    grid: dict[Name, Axes] | None = None
    """Every combination of the values."""
    zip: dict[Name, Axes] | None = None
    """The first values together, then the second, and so on."""
    list_: Annotated[list[dict[Name, Overrides]], Field(min_length=1)] | None = Field(None, alias="list")
    """The trials one by one; an empty one (`{}`) changes nothing."""
    random: dict[Name, Distributions] | None = None
    """Values drawn from distributions, the same on every machine."""


def _block_or_blocks(value: object) -> str:
    return "<blocks>" if isinstance(value, list) else "<block>"


JobSweep = Annotated[
    Annotated[JobBlock, Tag("<block>")] | Annotated[list[JobBlock], Field(min_length=1), Tag("<blocks>")],
    Discriminator(_block_or_blocks),
]
GroupSweep = Annotated[
    Annotated[GroupBlock, Tag("<block>")] | Annotated[list[GroupBlock], Field(min_length=1), Tag("<blocks>")],
    Discriminator(_block_or_blocks),
]


def blocks(sweep: JobBlock | GroupBlock | Sequence[JobBlock] | Sequence[GroupBlock] | None) -> Sequence[_Block]:
    if sweep is None:
        return ()
    return [sweep] if isinstance(sweep, _Block) else sweep


def check(sweep: Sequence[_Block], jobs: Sequence[str]) -> None:
    """What is wrong between blocks, or between a block and its work unit. jobs: a group's; empty for a single job."""
    seen: set[Target] = set()
    for block in sweep:
        for target in dict.fromkeys(block.targets()):
            job, _, name = target
            if jobs and job not in jobs:
                raise error(f"the sweep sets values of {job!r}, which is no job of this group", did_you_mean(job, jobs))
            if target in seen:
                raise error(f"{name} is swept by two blocks", "the later would hide the earlier")
            seen.add(target)
    size = math.prod(block.size() for block in sweep)
    if size > MAX_TRIALS:
        raise error(f"the sweep has {size} trials, more than {MAX_TRIALS}", "a random block takes a sample")


def expand(sweep: Sequence[_Block]) -> Iterator[Trial]:
    """The trials in order; one that sets nothing when there is no block."""
    for parts in itertools.product(*(block.trials() for block in sweep)):
        yield {target: value for part in parts for target, value in part.items()}


def _flat(shape: object) -> dict[Target, Any]:
    """{target: what stands there} of a shape, or of one shape per job."""
    if shape is None:
        return {}
    jobs = cast("Mapping[str, Axes]", shape if isinstance(shape, dict) else {"": shape})
    return {
        **{(job, "args", name): value for job, part in jobs.items() for name, value in part.args.items()},
        **{(job, "env_vars", name): value for job, part in jobs.items() for name, value in part.env_vars.items()},
    }


def _key(seed: int, target: Target, trial: int) -> str:
    """What a drawn value depends on: neither on other parameters nor on the number of trials."""
    return "\n".join([str(seed), *target, str(trial)])
