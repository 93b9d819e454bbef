"""Known answers: libsodium's arithmetic of the same curve, and points that are none."""

from __future__ import annotations

import nacl.bindings as sodium
import numpy as np
import pytest

from fedgroup.secure.edwards import (
    BASE,
    NEUTRAL,
    ORDER,
    base_table,
    bytes_of,
    cleared,
    fixed_products,
    less_multiples,
    points_of,
    products,
    shifted,
    table_of,
    words_of,
)
from fedgroup.secure.field import PRIME

RNG = np.random.default_rng(1)
SCALARS = [sodium.crypto_core_ed25519_scalar_reduce(RNG.bytes(64)) for _ in range(8)]
MULTIPLES = [sodium.crypto_scalarmult_ed25519_base_noclamp(scalar) for scalar in SCALARS]
EIGHT_TORSION = bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")


def scalar_of(number: int) -> bytes:
    return number.to_bytes(32, "little")


def word_of(scalar: bytes) -> np.ndarray:
    return words_of(scalar)[0]


def times(number: int, point: bytes) -> bytes:
    """libsodium's multiple of a point, and the neutral one for 0."""
    scalar = scalar_of(number % ORDER)
    return sodium.crypto_scalarmult_ed25519_noclamp(scalar, point) if number % ORDER else NEUTRAL


def less(one: bytes, other: bytes) -> bytes:
    return one if other == NEUTRAL else sodium.crypto_core_ed25519_sub(one, other)


def test_multiples_of_the_base_point_are_those_of_libsodium():
    assert bytes_of(fixed_products(base_table(), words_of(b"".join(SCALARS)))) == b"".join(MULTIPLES)


@pytest.mark.parametrize("number", [0, 1, 2, 15, 16, 255, 2**252, ORDER - 1, ORDER, ORDER + 1, 2**256 - 1])
def test_multiples_by_the_ends_of_the_range_are_right_both_ways(number):
    expected = times(number, BASE)
    given = words_of(scalar_of(number))
    assert bytes_of(fixed_products(base_table(), given)) == expected
    assert bytes_of(products(points_of(BASE), given[0])) == expected


def test_multiples_of_any_point_are_those_of_libsodium():
    points = points_of(b"".join(MULTIPLES))
    expected = b"".join(sodium.crypto_scalarmult_ed25519_noclamp(SCALARS[0], each) for each in MULTIPLES)
    assert bytes_of(products(points, word_of(SCALARS[0]))) == expected
    again = fixed_products(table_of(points[1]), words_of(b"".join(SCALARS)))
    expected = b"".join(sodium.crypto_scalarmult_ed25519_noclamp(each, MULTIPLES[1]) for each in SCALARS)
    assert bytes_of(again) == expected


def test_a_shared_point_less_every_multiple_is_that_of_libsodium():
    # r (P - c S) for c from 0 to 15, as the sender of base transfers has it.
    r, p, s = SCALARS[0], MULTIPLES[1], MULTIPLES[2]
    own, step = (products(points_of(point), word_of(r)) for point in (p, s))
    found = bytes_of(less_multiples(own, step[0], 16))
    wanted = [sodium.crypto_scalarmult_ed25519_noclamp(r, less(p, times(c, s))) for c in range(16)]
    assert [found[at : at + 32] for at in range(0, len(found), 32)] == wanted


def test_a_point_plus_every_multiple_is_that_of_libsodium():
    p, s = MULTIPLES[:2]
    table = table_of(points_of(s)[0])[0]
    found = bytes_of(shifted(np.repeat(points_of(p), 16, axis=0), table, np.arange(16, dtype=np.uint64)))
    assert found == b"".join(less(p, times(-c, s)) for c in range(16))


def test_a_point_less_itself_is_neutral_and_adding_goes_on_from_there():
    p = points_of(MULTIPLES[0])
    found = bytes_of(less_multiples(p, p[0], 3))
    assert found == MULTIPLES[0] + NEUTRAL + times(-1, MULTIPLES[0])


def test_clearing_is_eight_times_and_leaves_nothing_of_small_order():
    mixed = sodium.crypto_core_ed25519_add(MULTIPLES[0], EIGHT_TORSION)
    assert not sodium.crypto_core_ed25519_is_valid_point(mixed)
    found = bytes_of(cleared(points_of(mixed + MULTIPLES[0] + EIGHT_TORSION)))
    assert found == 2 * times(8, MULTIPLES[0]) + NEUTRAL


def test_bytes_are_read_as_they_were_written():
    assert bytes_of(points_of(b"".join(MULTIPLES))) == b"".join(MULTIPLES)
    negative = times(-1, MULTIPLES[0])
    assert bytes_of(points_of(negative)) == negative


NOT_POINTS = {
    "no point has this y": scalar_of(2),
    "y is not below the prime": scalar_of(PRIME + 1),
    "all ones": b"\xff" * 32,
    "x is 0 and its sign is set": scalar_of(1 | 1 << 255),
    "cut": MULTIPLES[0][:-1],
}


@pytest.mark.parametrize("data", NOT_POINTS.values(), ids=NOT_POINTS.keys())
def test_bytes_of_no_point_are_none(data):
    assert points_of(data) is None
    assert points_of(MULTIPLES[0] + data) is None


def test_about_half_of_all_bytes_are_points_as_libsodium_says():
    drawn = [RNG.bytes(31) + bytes([RNG.integers(256)]) for _ in range(64)]
    on_curve = [points_of(each) is not None for each in drawn]
    assert 10 < sum(on_curve) < 54
    assert on_curve == [_is_read(each) for each in drawn]


def _is_read(data: bytes) -> bool:
    """libsodium adds whatever is on the curve, in the group of prime order or not."""
    try:
        sodium.crypto_core_ed25519_add(data, BASE)
    except RuntimeError:
        return False
    return True
