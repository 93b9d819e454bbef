"""Numbers modulo 2^255 - 19 in compiled loops: five words of 51 bits each, products in the processor's 128 bits.

Sums and differences are not carried: a word may hold up to 54 bits, which a product takes and brings back to 51 and a
little. A product's word is at most 2^51 + 2^13. The sum of two products has words below 2^53 - 76, and so may be taken
from something; a difference of a sum of two products has words below 2^54.

No branch and no address depends on a value: what these cost does not tell what they are computed of.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

PRIME = 2**255 - 19
WORDS = 5
Element = tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]
Packed = tuple[np.uint64, np.uint64, np.uint64, np.uint64]
"""A number in 256 bits: the four little-endian words of its 32 bytes."""

Words = npt.NDArray[np.uint64]
Steps = npt.NDArray[np.int64]

_BITS = 51
_SIZE = np.uint64(_BITS)
_MASK = np.uint64(2**_BITS - 1)
_FOLD = np.uint64(19)
"""2^255 is 19."""


def element(number: int) -> Element:
    """Return a number as words, for constants."""
    words = [np.uint64(number >> _BITS * at & (2**_BITS - 1)) for at in range(WORDS)]
    return words[0], words[1], words[2], words[3], words[4]


ZERO, ONE = element(0), element(1)
_FOUR_PRIMES = tuple(np.uint64(4 * int(word)) for word in element(PRIME))
"""In words that are each larger than what is taken from them."""

_NEARLY = (
    (0, 1, 0),  # 3
    (1, 1, 0),  # 7
    (2, 2, 1),  # 31 = 2^5 - 1
    (3, 5, 3),  # 2^10 - 1
    (4, 10, 4),
    (5, 20, 5),
    (6, 10, 4),  # 2^50 - 1
    (7, 50, 7),
    (8, 100, 8),
    (9, 50, 7),  # 2^250 - 1
)
"""How a^(2^250 - 1) is made: which of the powers so far, a itself first, how often squared, times which."""
_TO_ROOT: Steps = np.array([*_NEARLY, (10, 2, 0)])
"""(2^250 - 1) 2^2 + 1 = (p - 5) / 8."""
_TO_INVERSE: Steps = np.array([*_NEARLY, (10, 2, 0), (11, 3, 1)])
"""((2^250 - 1) 2^2 + 1) 2^3 + 3 = p - 2."""


def _wide_sums(builder: Any, terms: list[tuple[Any, Any, int]]) -> list[Any]:
    """Return the five sums of products, in 128 bits, of terms (one word, another word, where their product stands)."""
    wide = ir.IntType(128)
    sums: list[Any] = [None] * WORDS
    for one, other, place in terms:
        product = builder.mul(builder.zext(one, wide), builder.zext(other, wide))
        before = sums[place % WORDS]
        sums[place % WORDS] = product if before is None else builder.add(before, product)
    return sums


def _carried(builder: Any, sums: list[Any]) -> list[Any]:
    """Return five words of 51 bits, the second of 51 and a little."""
    word, wide = ir.IntType(64), ir.IntType(128)
    mask, size = word(2**_BITS - 1), wide(_BITS)
    words = []
    for at in range(WORDS):
        words.append(builder.and_(builder.trunc(sums[at], word), mask))
        carry = builder.lshr(sums[at], size)
        if at + 1 < WORDS:
            sums[at + 1] = builder.add(sums[at + 1], carry)
    low = builder.add(words[0], builder.mul(builder.trunc(carry, word), word(19)))
    words[1] = builder.add(words[1], builder.lshr(low, word(_BITS)))
    words[0] = builder.and_(low, mask)
    return words


def _folded(builder: Any, words: list[Any]) -> list[Any]:
    return [builder.mul(each, ir.IntType(64)(19)) for each in words]


_ELEMENT = types.UniTuple(types.uint64, WORDS)


def _typed_product(_: Any, one: Any, other: Any) -> Any:
    """Return how two numbers become their product."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:  # noqa: ARG001  numba names them
        f, g = (cgutils.unpack_tuple(builder, each) for each in given)
        folded = _folded(builder, g)
        terms = [(f[i], g[j] if i + j < WORDS else folded[j], i + j) for i in range(WORDS) for j in range(WORDS)]
        return context.make_tuple(builder, _ELEMENT, _carried(builder, _wide_sums(builder, terms)))

    return (_ELEMENT(_ELEMENT, _ELEMENT), generate) if one == other == _ELEMENT else None


def _typed_square(_: Any, one: Any) -> Any:
    """Return how a number becomes its square: what stands twice is doubled instead."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:  # noqa: ARG001  numba names them
        f = cgutils.unpack_tuple(builder, given[0])
        folded = _folded(builder, f)
        doubled = [builder.shl(each, ir.IntType(64)(1)) for each in f]
        terms = [
            (f[i] if i == j else doubled[i], f[j] if i + j < WORDS else folded[j], i + j)
            for i in range(WORDS)
            for j in range(i, WORDS)
        ]
        return context.make_tuple(builder, _ELEMENT, _carried(builder, _wide_sums(builder, terms)))

    return (_ELEMENT(_ELEMENT), generate) if one == _ELEMENT else None


product: Any = intrinsic(_typed_product)
"""The product of two numbers; for compiled loops only."""
square: Any = intrinsic(_typed_square)
"""The square of a number; for compiled loops only."""


@numba.njit(cache=True, nogil=True)
def plus(a: Element, b: Element) -> Element:
    """Return the sum, not carried."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4]


@numba.njit(cache=True, nogil=True)
def minus(a: Element, b: Element) -> Element:
    """Return the difference, not carried, of a number and a sum of at most two products."""
    f = _FOUR_PRIMES
    return a[0] + f[0] - b[0], a[1] + f[1] - b[1], a[2] + f[2] - b[2], a[3] + f[3] - b[3], a[4] + f[4] - b[4]


@numba.njit(cache=True, nogil=True)
def _powered(a: Element, steps: Steps) -> Element:
    """Return a power: each step squares an earlier one so often, and multiplies it by another."""
    found = np.empty((len(steps) + 1, WORDS), dtype=np.uint64)
    for word in range(WORDS):
        found[0, word] = a[word]
    for at in range(len(steps)):
        a = read(found[steps[at, 0]])
        for _ in range(steps[at, 1]):
            a = square(a)
        a = product(a, read(found[steps[at, 2]]))
        for word in range(WORDS):
            found[at + 1, word] = a[word]
    return a


@numba.njit(cache=True, nogil=True)
def read(words: Words) -> Element:
    """Return the number whose words stand in an array."""
    return words[0], words[1], words[2], words[3], words[4]


@numba.njit(cache=True, nogil=True)
def inverse(a: Element) -> Element:
    """Return a^(p - 2), which is 1 / a, and 0 for 0."""
    return _powered(a, _TO_INVERSE)


@numba.njit(cache=True, nogil=True)
def root_power(a: Element) -> Element:
    """Return a^((p - 5) / 8), from which square roots are made."""
    return _powered(a, _TO_ROOT)


@numba.njit(cache=True, nogil=True)
def packed(a: Element) -> Packed:
    """Return the number below the prime, in 256 bits."""
    a0, a1, a2, a3, a4 = a
    for _ in range(2):
        a1 += a0 >> _SIZE
        a2 += a1 >> _SIZE
        a3 += a2 >> _SIZE
        a4 += a3 >> _SIZE
        a0, a1, a2, a3 = (a0 & _MASK) + _FOLD * (a4 >> _SIZE), a1 & _MASK, a2 & _MASK, a3 & _MASK
        a4 &= _MASK
    # Below 2^255 + 19 now; adding 19 carries out of the top exactly if the prime is still to be taken off.
    over = (a0 + _FOLD) >> _SIZE
    over = (a1 + over) >> _SIZE
    over = (a2 + over) >> _SIZE
    over = (a3 + over) >> _SIZE
    over = (a4 + over) >> _SIZE
    a0 += _FOLD * over
    a1 += a0 >> _SIZE
    a2 += a1 >> _SIZE
    a3 += a2 >> _SIZE
    a4 += a3 >> _SIZE
    a0, a1, a2, a3, a4 = a0 & _MASK, a1 & _MASK, a2 & _MASK, a3 & _MASK, a4 & _MASK
    return (
        a0 | a1 << np.uint64(51),
        a1 >> np.uint64(13) | a2 << np.uint64(38),
        a2 >> np.uint64(26) | a3 << np.uint64(25),
        a3 >> np.uint64(39) | a4 << np.uint64(12),
    )


@numba.njit(cache=True, nogil=True)
def unpacked(w: Packed) -> Element:
    """Return the number that the lowest 255 bits are."""
    return (
        w[0] & _MASK,
        (w[0] >> np.uint64(51) | w[1] << np.uint64(13)) & _MASK,
        (w[1] >> np.uint64(38) | w[2] << np.uint64(26)) & _MASK,
        (w[2] >> np.uint64(25) | w[3] << np.uint64(39)) & _MASK,
        (w[3] >> np.uint64(12)) & _MASK,
    )


@numba.njit(cache=True, nogil=True)
def is_same(a: Element, b: Element) -> bool:
    """Tell whether two numbers are one; of public numbers only."""
    return bool(packed(a) == packed(b))
