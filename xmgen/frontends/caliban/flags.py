"""Experiments and command lines as arguments of the user's program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from xmgen.frontends.caliban.expansion import Experiment

SEPARATOR = "--"


def experiment_to_args(experiment: Mapping[str, object], base: Sequence[str] | None = None) -> list[str]:
    """`base`, then a flag per item in order: `true` is the bare flag, `false` is none, any other value follows it."""
    result = list(base or ())
    for key, value in experiment.items():
        if value is False:
            continue
        result.append(f"--{key}")
        if value is not True:
            result.append(str(value))
    return result


def job_args(experiments: Iterable[Experiment], script_args: Sequence[str] | None = None) -> Iterator[list[str]]:
    """The arguments of each job: those of the command line first, then the experiment's flags sorted by name."""
    for experiment in experiments:
        yield experiment_to_args(dict(sorted(experiment.items())), script_args)


def script_args(rest: Sequence[str] | None) -> list[str] | None:
    """What goes to the program, of the rest of the command line that begins with `--`."""
    if rest is None:
        return None
    return list(rest)[1:] if rest and rest[0] == SEPARATOR else list(rest)
