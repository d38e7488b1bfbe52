"""Distributions of a random sweep.

Values come from SHA-256 and decimal arithmetic, so that they are the same for every Python version and every machine:
neither the algorithms of `random` nor a platform's `exp` and `log` promise that.
"""

from __future__ import annotations

import decimal
import hashlib
from decimal import Decimal
from typing import Annotated, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator

from xmgen.frontends.spec.base import OneOf, error, exactly_one_of
from xmgen.frontends.spec.values import Arg, ArgValue, EnvValue

_CONTEXT = decimal.Context(prec=40, rounding=decimal.ROUND_HALF_EVEN, Emin=-999999, Emax=999999)
_DIGITS = 6
"""Significant digits of a drawn number: enough for a search, and readable in a table."""

_Finite = Annotated[float, Field(allow_inf_nan=False)]
_Range = Annotated[list[_Finite], Field(min_length=2, max_length=2)]
_IntRange = Annotated[list[int], Field(min_length=2, max_length=2)]
_CHOICES = ("uniform", "log_uniform", "int", "choice")


class _Distribution(OneOf):
    choices: ClassVar = _CHOICES
    model_config = ConfigDict(json_schema_extra=exactly_one_of(*_CHOICES))

    uniform: _Range | None = None
    """[lowest, highest]: every number between is as likely as any other; six significant digits."""
    log_uniform: _Range | None = None
    """[lowest, highest], both above 0: the number's logarithm is uniform; six significant digits."""
    int_: _IntRange | None = Field(None, alias="int")
    """[lowest, highest]: whole numbers, both ends included."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for bounds in (self.uniform, self.log_uniform, self.int_):
            if bounds is not None and bounds[0] >= bounds[1]:
                raise error("the lowest value comes first, and the highest is above it")
        if self.log_uniform is not None and self.log_uniform[0] <= 0:
            raise error("log_uniform needs values above 0")
        return self

    def _options(self) -> list[Arg]:
        raise NotImplementedError

    def draw(self, key: str) -> Arg:
        """The value of a key: the same key, the same value."""
        number = int.from_bytes(hashlib.sha256(key.encode()).digest(), "big")
        if self.int_ is not None:
            low, high = self.int_
            return low + (number * (high - low + 1) >> 256)
        if self.uniform is not None:
            return _between(self.uniform[0], self.uniform[1], number, log=False)
        if self.log_uniform is not None:
            return _between(self.log_uniform[0], self.log_uniform[1], number, log=True)
        options = self._options()
        return options[number * len(options) >> 256]


class Distribution(_Distribution):
    """Of an argument: one of uniform, log_uniform, int and choice."""

    choice: Annotated[list[ArgValue], Field(min_length=1)] | None = None
    """One of these values."""

    def _options(self) -> list[Arg]:
        return self.choice or []


class EnvDistribution(_Distribution):
    """Of an environment variable: one of uniform, log_uniform, int and choice."""

    choice: Annotated[list[EnvValue], Field(min_length=1)] | None = None
    """One of these values."""

    def _options(self) -> list[Arg]:
        return list(self.choice or [])


def _between(low: float, high: float, number: int, *, log: bool) -> float:
    """A number in [low, high] from a 256-bit one."""
    with decimal.localcontext(_CONTEXT):
        # The decimal text is what the user wrote; the binary value behind it is not.
        first, last = Decimal(repr(low)), Decimal(repr(high))
        share = Decimal(number) / Decimal(2**256)
        start, end = (first.ln(), last.ln()) if log else (first, last)
        position = start + share * (end - start)
        value = position.exp() if log else position
        # A narrow range far from zero needs more digits than six.
        exponent = min(value.adjusted(), (last - first).adjusted()) - (_DIGITS - 1)
        return float(min(max(value.quantize(Decimal(1).scaleb(exponent)), first), last))
