from __future__ import annotations

import numba
import numpy as np
import pytest

from fedgroup.secure.field import (
    PRIME,
    WORDS,
    element,
    inverse,
    minus,
    packed,
    plus,
    product,
    root_power,
    square,
    unpacked,
)

EDGES = [0, 1, 2, 18, 19, 20, 2**51 - 1, 2**51, 2**254, PRIME - 1, PRIME - 2, PRIME // 2, PRIME // 2 + 1]
LARGEST = tuple(np.uint64(2**54 - 1) for _ in range(WORDS))


@numba.njit
def every(a, b):
    return (
        packed(product(a, b)),
        packed(square(a)),
        packed(plus(a, b)),
        packed(minus(a, b)),
        packed(inverse(a)),
        packed(root_power(a)),
        packed(unpacked(packed(a))),
    )


def number(words) -> int:
    return sum(int(word) << 64 * at for at, word in enumerate(words))


def wanted(a: int, b: int) -> list[int]:
    return [a * b, a * a, a + b, a - b, pow(a, PRIME - 2, PRIME), pow(a, (PRIME - 5) // 8, PRIME), a]


def test_all_that_is_computed_is_what_whole_numbers_give():
    rng = np.random.default_rng(1)
    drawn = [int.from_bytes(rng.bytes(32), "little") % PRIME for _ in range(100)]
    for a, b in [(a, b) for a in EDGES for b in EDGES] + list(zip(drawn, reversed(drawn), strict=True)):
        assert [number(words) for words in every(element(a), element(b))] == [each % PRIME for each in wanted(a, b)]


@pytest.mark.parametrize("place", range(WORDS))
def test_words_may_be_as_large_as_is_said(place):
    one = tuple(word if at != place else np.uint64(2**51) for at, word in enumerate(LARGEST))
    a, b = (sum(int(word) << 51 * at for at, word in enumerate(words)) for words in (LARGEST, one))
    of_product, of_square = (number(words) for words in every(LARGEST, one)[:2])
    assert (of_product, of_square) == (a * b % PRIME, a * a % PRIME)
