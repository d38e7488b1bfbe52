"""Arguments of a program: keyword and positional ones in one sequence."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Union, cast

import attrs

from xmgen.experiment import Arg
from xmgen.experiment import ShellSafeArg as ShellText
from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api.xm import utils
from xmgen.frontends.xmanager.api.xm.problems import invalid, repeatable, unsupported

UserArgs = Union[Mapping[Any, Any], Sequence[Any], "SequentialArgs"]


@attrs.define(slots=False)
class RegularItem:
    value: Any


@attrs.define(slots=False)
class KeywordItem:
    name: str


@attrs.define(slots=False, init=False, repr=False)
class SequentialArgs:
    """Arguments in order. A mapping gives keyword arguments (`{'lr': 0.1}` is `--lr=0.1`), a sequence positional ones.

    Merging keeps the place of a keyword argument and replaces its value, so that defaults can be overridden; None
    takes an argument away.

        merge_args({'a': 1, 'b': 2}, ['x'], {'a': 3})  is  --a=3 --b=2 x
    """

    _items: list[RegularItem | KeywordItem] = attrs.field(factory=list[RegularItem | KeywordItem])
    _kwvalues: dict[str, Any] = attrs.field(factory=dict[str, Any])

    def __init__(
        self, _items: list[RegularItem | KeywordItem] | None = None, _kwvalues: dict[str, Any] | None = None
    ) -> None:
        self._items = _items if _items is not None else []
        self._kwvalues = _kwvalues if _kwvalues is not None else {}

    @staticmethod
    def from_collection(collection: UserArgs | None) -> SequentialArgs:
        """Raises ValueError for a text (meant as one argument, it must stand in a list) and TypeError for a set."""
        result = SequentialArgs()
        if collection is not None:
            result.merge_from(collection)
        return result

    def merge_from(self, collection: UserArgs) -> None:
        """Appends to this sequence; keyword arguments that it has already get the new value."""
        if isinstance(collection, SequentialArgs):
            if not self._items:
                self._items.extend(collection._items)
                self._kwvalues.update(collection._kwvalues)
                return
            for item in collection._items:
                if isinstance(item, RegularItem):
                    self._items.append(item)
                else:
                    self._set(item.name, collection._kwvalues[item.name])
        elif isinstance(collection, str | bytes):
            raise invalid(
                f"Tried to construct xm.SequentialArgs from string: {collection!r}. "
                f"Wrap it in a list: [{collection!r}] to make it a single argument."
            )
        elif isinstance(collection, Mapping):
            for key, value in collection.items():
                self._set(str(key), value)
        elif isinstance(collection, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance] - scripts are not checked
            self._items.extend(RegularItem(value) for value in collection)
        else:
            raise unsupported(
                f"arguments must be a dict, a list or xm.SequentialArgs, got {collection!r}",
                hint="a set has no order" if isinstance(collection, set | frozenset) else "",
            )

    def _set(self, name: str, value: Any) -> None:
        if name not in self._kwvalues:
            self._items.append(KeywordItem(name))
        self._kwvalues[name] = value

    def rewrite_args(self, rewrite: Callable[[str], str]) -> SequentialArgs:
        """A copy with `rewrite` applied to every value that is a text."""

        def rewritten(value: Any) -> Any:
            return rewrite(value) if isinstance(value, str) else value

        return SequentialArgs(
            [RegularItem(rewritten(item.value)) if isinstance(item, RegularItem) else item for item in self._items],
            {name: rewritten(value) for name, value in self._kwvalues.items()},
        )

    def remove_args(self, removed_args: str) -> SequentialArgs:
        """A copy without the keyword argument, or the positional text, of this name."""

        def removed(item: RegularItem | KeywordItem) -> bool:
            name = item.value if isinstance(item, RegularItem) else item.name
            return isinstance(name, str) and name == removed_args

        return SequentialArgs(
            [item for item in self._items if not removed(item)],
            {name: value for name, value in self._kwvalues.items() if name != removed_args},
        )

    def to_list(
        self,
        escaper: Callable[[Any], str] = utils.ARG_ESCAPER,
        kwargs_joiner: Callable[[str, str], str] = utils.trivial_kwargs_joiner,
    ) -> list[str]:
        """The tokens as texts. The default quotes them for a shell; `utils.ARGV_ESCAPER` gives plain argv."""
        tokens: list[str] = []
        for name, value in self._tokens():
            if name is None:
                tokens.append(escaper(value))
            elif isinstance(value, _Switch):
                tokens.append(escaper(name))
            else:
                tokens.append(kwargs_joiner(escaper(name), escaper(value)))
        return tokens

    def to_argv(self) -> tuple[Arg, ...]:
        """What the program receives: texts, byte for byte, and the shell texts that the user asked for."""
        return tuple(_argument(name, value) for name, value in self._tokens())

    def _tokens(self) -> Iterator[tuple[str | None, Any]]:
        """(flag, value) of each token; the flag is None for a positional one."""
        for item in self._items:
            if isinstance(item, RegularItem):
                yield None, item.value
                continue
            name, value = item.name, self._kwvalues[item.name]
            if value is None:
                _say_that_none_is_left_out(name)
            elif isinstance(value, bool):
                yield f"--{'' if value else 'no'}{name}", _SWITCH
            elif _is_repeated(value):
                for each in value:
                    yield f"--{name}", each
            else:
                yield f"--{name}", value

    def to_dict(self, kwargs_only: bool = False) -> dict[str, Any]:
        """Keyword arguments with their values; positional ones (unless `kwargs_only`) with True."""
        if kwargs_only:
            return self._kwvalues
        return dict(
            (utils.ARGV_ESCAPER(item.value), True)
            if isinstance(item, RegularItem)
            else (item.name, self._kwvalues[item.name])
            for item in self._items
        )

    def __repr__(self) -> str:
        return f"[{', '.join(self.to_list(repr))}]"


class _Switch:
    """Stands for the value of a flag that has none: `--verbose`, `--noverbose`."""


_SWITCH = _Switch()


def _argument(name: str | None, value: Any) -> Arg:
    if isinstance(value, utils.ShellSafeArg):
        return ShellText(value.arg if name is None else f"{shlex.quote(name)}={value.arg}")
    if isinstance(value, _Switch):
        return name or ""
    token = repeatable(value, utils.ARGV_ESCAPER(value))
    return token if name is None else f"{name}={token}"


def _is_repeated(value: Any) -> bool:
    """Whether the flag is given once for each element. A nested list is one value: no flag parser could read it."""
    if type(value) not in (list, tuple):
        return False
    return not any(type(each) in (list, tuple) for each in cast("Sequence[Any]", value))


def _say_that_none_is_left_out(name: str) -> None:
    if recording.current().first_time(("none", name)):
        print(
            f"WARNING: {name}=None leaves the flag out. The text is {name}='None'.",
            file=sys.stderr,
        )


def merge_args(*operands: UserArgs | None) -> SequentialArgs:
    """Merges from left to right: the last value of a keyword argument wins, at the place of the first."""
    result = SequentialArgs()
    for operand in operands:
        if operand is not None:
            result.merge_from(operand)
    return result
