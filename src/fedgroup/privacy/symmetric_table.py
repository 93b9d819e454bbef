"""Tables of laws on the whole numbers that are symmetric and fall off from 0, for `table.TableSampler`.

Requires:  a law with P(k) = P(-k) and P(k) / P(k-1) known between two bounds, falling in k = 1, 2, ...
Guarantee: every bound encloses the exact value, to as many digits as a draw needs; no tail is cut.
Proof:     sums are whole multiples of 2^-bits that are rounded outwards at every step, so brackets of the ratios become
           brackets of the weights P(k) / P(0) and of their sums. Beyond the last weight w that is added up, ratios are
           at most the last one, r: the rest is between 0 and w r / (1 - r).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Protocol

from fedgroup.privacy.table import TableSampler

_BEYOND = 2**62
_SPARE = 24
"""Beyond a table less than 2^-64 is left, with so many bits to spare for the number of its outcomes."""


class SymmetricLaw(Hashable, Protocol):
    """A law by the brackets of its ratios; laws that are equal have one table."""

    def reach(self, bits: int) -> int:
        """Return a k beyond which less than 2^-bits of P(0) is in any outcome."""
        ...

    def ratios(self, count: int, bits: int) -> list[tuple[int, int]]:
        """Return whole numbers that enclose 2^bits P(k) / P(k-1), for k = 1..count."""
        ...


@dataclass(frozen=True)
class _Sums:
    """Brackets of 2^bits times the weight of k or more, for k = 0, 1, ..., and of the total of both sides."""

    low: list[int]
    high: list[int]
    total: tuple[int, int]

    def at_or_below(self, k: int, bits: int) -> tuple[int, int]:
        """Return whole numbers that enclose 2^bits F(k)."""
        if k < 0:
            return self._tail(-k, bits)
        low, high = self._tail(k + 1, bits)
        return (1 << bits) - high, (1 << bits) - low

    def _tail(self, k: int, bits: int) -> tuple[int, int]:
        at = min(k, len(self.low) - 1)
        least = self.low[at] if at == k else 0
        return (least << bits) // self.total[1], -((-self.high[at] << bits) // self.total[0])


@lru_cache(maxsize=8)
def _sums(law: SymmetricLaw, bits: int) -> _Sums:
    """Return sums in which less than 2^(64 - bits) of P(0) is unknown."""
    count = law.reach(bits - 64)
    low, high = [1 << bits], [1 << bits]
    ratio = (0, 0)
    for ratio in law.ratios(count, bits):
        low.append((low[-1] * ratio[0]) >> bits)
        high.append(-((-high[-1] * ratio[1]) >> bits))
    rest = -(-high[-1] * ratio[1] // ((1 << bits) - ratio[1]))
    tails_low = list(accumulate(reversed(low)))[::-1]
    tails_high = list(accumulate(reversed(high), initial=rest))[:0:-1]
    total = (low[0] + 2 * tails_low[1], high[0] + 2 * tails_high[1])
    return _Sums(tails_low, tails_high, total)


@lru_cache(maxsize=64)
def table_of(law: SymmetricLaw) -> TableSampler:
    """Return the table of a law."""
    end = law.reach(64 + _SPARE)
    for bits in (256, 512, 2048):
        sums, shift = _sums(law, bits), bits - 128
        bounds = [sums.at_or_below(k, bits - 64) for k in range(-end, end)]
        if all(low >> shift == high >> shift for low, high in bounds):
            return TableSampler([low >> shift for low, _ in bounds], 1 - end, resolve=SymmetricInverse(law))
    raise ArithmeticError(f"the thresholds of {law} could not be separated")


@dataclass(frozen=True)
class SymmetricInverse:
    """Tells which outcomes are possible when only the leading bits of the uniform U are known."""

    law: SymmetricLaw

    def __call__(self, u: int, bits: int) -> tuple[int, int]:
        """Return the smallest and largest outcome, min {k: F(k) > U}, for U in [u / 2^bits, (u + 1) / 2^bits)."""
        # The spare bits make the brackets far narrower than 2^-bits.
        sums, wide = _sums(self.law, bits + 256), bits + 64
        end = len(sums.low)

        def first(reaches: Callable[[int, int], bool]) -> int:
            return bisect_left(range(-end, end), True, key=lambda k: reaches(*sums.at_or_below(k, wide))) - end

        smallest = -_BEYOND if u == 0 else first(lambda _, at_most: at_most > u << 64)
        largest = _BEYOND if u + 1 == 1 << bits else first(lambda at_least, _: at_least >= (u + 1) << 64)
        return smallest, largest
