"""Points of edwards25519 in compiled loops, many at a time: -x^2 + y^2 = 1 + d x^2 y^2 modulo 2^255 - 19.

A point is (X, Y, Z, T) with x = X / Z, y = Y / Z and x y = T / Z; in 32 bytes it is y and the lowest bit of x (RFC
8032, section 5.1). The second of two points that are added is prepared: (Y + X, Y - X, 2 d T, 2 Z). The formulas are
those of Hisil, Wong, Carter and Dawson (2008): they hold for any two points of this curve, equal, opposite or neutral.

Requires:  scalars below 2^256, choices below 16.
Guarantee: time and addresses do not depend on scalars, on choices or on the points computed from them, as far as the
           compiler keeps to what is written: no branch on them, and tables are read whole. `points_of` branches, on
           points that were sent.
"""

from __future__ import annotations

from functools import cache

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.secure.field import (
    ONE,
    PRIME,
    ZERO,
    Element,
    Packed,
    element,
    inverse,
    is_same,
    minus,
    packed,
    plus,
    product,
    read,
    root_power,
    square,
    unpacked,
)

Words = npt.NDArray[np.uint64]
Points = npt.NDArray[np.uint64]
"""Points, or prepared points, of shape (n, 4, 5)."""
Point = tuple[Element, Element, Element, Element]

ORDER = 2**252 + 27742317777372353535851937790883648493
"""Of the group of prime order; the curve has eight times as many points."""
POINT_BYTES = 32
NEUTRAL = (1).to_bytes(POINT_BYTES, "little")
BASE = (4 * pow(5, -1, PRIME) % PRIME).to_bytes(POINT_BYTES, "little")

_D = element(-121665 * pow(121666, -1, PRIME) % PRIME)
_TWICE_D = element(-2 * 121665 * pow(121666, -1, PRIME) % PRIME)
_ROOT_OF_MINUS_ONE = element(pow(2, (PRIME - 1) // 4, PRIME))
_DIGITS = 64
"""A scalar in digits of four bits, of which two share a table."""
_THREE, _FOUR, _EIGHT = np.int64(3), np.int64(4), np.int64(8)
"""How often points are doubled; typed, for else each would be compiled apart."""
_TOP = np.uint64(63)
_BIT = np.uint64(1)
_DIGIT = np.uint64(15)


@numba.njit(cache=True, nogil=True)
def _doubled_but_t(x: Element, y: Element, z: Element) -> tuple[Element, Element, Element, Element, Element]:
    """Return X, Y and Z of twice a point, and the two factors of T, which the next doubling does not ask for."""
    a, b, c = square(x), square(y), square(z)
    h = plus(a, b)
    e = minus(h, square(plus(x, y)))
    g = minus(a, b)
    f = plus(plus(c, c), g)
    return product(e, f), product(g, h), product(f, g), e, h


@numba.njit(cache=True, nogil=True)
def _doubled(p: Point, times: np.int64) -> Point:
    """Return 2^times times a point, for one time at least."""
    x, y, z, e, h = _doubled_but_t(p[0], p[1], p[2])
    for _ in range(times - 1):
        x, y, z, e, h = _doubled_but_t(x, y, z)
    return x, y, z, product(e, h)


@numba.njit(cache=True, nogil=True)
def _sum(p: Point, q: Point) -> Point:
    """Return the sum of a point and a prepared one."""
    a, b = product(minus(p[1], p[0]), q[1]), product(plus(p[1], p[0]), q[0])
    c, d = product(p[3], q[2]), product(p[2], q[3])
    e, f, g, h = minus(b, a), minus(d, c), plus(d, c), plus(b, a)
    return product(e, f), product(g, h), product(f, g), product(e, h)


@numba.njit(cache=True, nogil=True)
def _prepared(p: Point) -> Point:
    return plus(p[1], p[0]), minus(p[1], p[0]), product(p[3], _TWICE_D), plus(p[2], p[2])


@numba.njit(cache=True, nogil=True)
def _negative(p: Point) -> Point:
    return product(minus(ZERO, p[0]), ONE), p[1], p[2], product(minus(ZERO, p[3]), ONE)


@numba.njit(cache=True, nogil=True)
def _read(point: Words) -> Point:
    return read(point[0]), read(point[1]), read(point[2]), read(point[3])


@numba.njit(cache=True, nogil=True)
def _write(point: Words, p: Point) -> None:
    for at in range(4):
        for word in range(5):
            point[at, word] = p[at][word]


@numba.njit(cache=True, nogil=True)
def _multiples(p: Point, table: Points) -> None:
    """Write 0, p, 2 p, ... 15 p, prepared."""
    one = _prepared(p)
    total = (ZERO, ONE, ONE, ZERO)
    for at in range(len(table)):
        _write(table[at], _prepared(total))
        total = _sum(total, one)


@numba.njit(cache=True, nogil=True)
def _chosen(table: Points, choice: np.uint64, room: Words) -> Point:
    """Return the table's point at `choice`, having read all of them."""
    room[:] = np.uint64(0)
    for at in range(len(table)):
        # All ones where the two agree, and zeros elsewhere.
        mask = np.uint64(0) - (((np.uint64(at) ^ choice) - _BIT) >> _TOP)
        for part in range(4):
            for word in range(5):
                room[part, word] |= table[at, part, word] & mask
    return _read(room)


@numba.njit(cache=True, nogil=True)
def _digit(scalar: Words, at: int) -> np.uint64:
    """Return four bits of a scalar in words."""
    return scalar[at >> 4] >> np.uint64(4 * (at & 15)) & _DIGIT


@numba.njit(cache=True, nogil=True)
def table_of(point: Words) -> Points:
    """Return what `fixed_products` takes: 0 to 15 times 256^i times the point, prepared."""
    table = np.empty((_DIGITS // 2, 16, 4, 5), dtype=np.uint64)
    p = _read(point)
    for at in range(len(table)):
        _multiples(p, table[at])
        p = _doubled(p, _EIGHT)
    return table


@numba.njit(cache=True, nogil=True)
def fixed_products(table: Points, scalars: Words) -> Points:
    """Return the multiples of one point, of which the table is, by scalars of four words."""
    room = np.empty((4, 5), dtype=np.uint64)
    result = np.empty((len(scalars), 4, 5), dtype=np.uint64)
    for i in range(len(scalars)):
        total = (ZERO, ONE, ONE, ZERO)
        for odd in (1, 0):
            for at in range(len(table)):
                total = _sum(total, _chosen(table[at], _digit(scalars[i], 2 * at + odd), room))
            if odd:
                total = _doubled(total, _FOUR)
        _write(result[i], total)
    return result


@numba.njit(cache=True, nogil=True)
def products(points: Points, scalar: Words) -> Points:
    """Return the multiples of many points by one scalar."""
    room = np.empty((4, 5), dtype=np.uint64)
    table = np.empty((16, 4, 5), dtype=np.uint64)
    result = np.empty(points.shape, dtype=np.uint64)
    for i in range(len(points)):
        _multiples(_read(points[i]), table)
        total = (ZERO, ONE, ONE, ZERO)
        for at in range(_DIGITS - 1, -1, -1):
            total = _doubled(total, _FOUR)
            total = _sum(total, _chosen(table, _digit(scalar, at), room))
        _write(result[i], total)
    return result


@numba.njit(cache=True, nogil=True)
def cleared(points: Points) -> Points:
    """Return eight times each point, which is in the group of prime order whatever the point."""
    result = np.empty(points.shape, dtype=np.uint64)
    for i in range(len(points)):
        _write(result[i], _doubled(_read(points[i]), _THREE))
    return result


@numba.njit(cache=True, nogil=True)
def shifted(points: Points, table: Points, choices: Words) -> Points:
    """Return each point plus the prepared one that its choice names."""
    room = np.empty((4, 5), dtype=np.uint64)
    result = np.empty(points.shape, dtype=np.uint64)
    for i in range(len(points)):
        _write(result[i], _sum(_read(points[i]), _chosen(table, choices[i], room)))
    return result


@numba.njit(cache=True, nogil=True)
def less_multiples(points: Points, other: Words, count: int) -> Points:
    """Return each point less 0, 1, ... `count` - 1 times another, one after the other."""
    step = _prepared(_negative(_read(other)))
    result = np.empty((len(points) * count, 4, 5), dtype=np.uint64)
    for i in range(len(points)):
        p = _read(points[i])
        for at in range(count):
            _write(result[i * count + at], p)
            p = _sum(p, step)
    return result


@numba.njit(cache=True, nogil=True)
def _packed_points(points: Points) -> Words:
    """Return y and the lowest bit of x of each, with one inversion for all."""
    count = len(points)
    before = np.empty((count, 5), dtype=np.uint64)
    total = ONE
    for i in range(count):
        for word in range(5):
            before[i, word] = total[word]
        total = product(total, read(points[i, 2]))
    total = inverse(total)
    result = np.empty((count, 4), dtype=np.uint64)
    for i in range(count - 1, -1, -1):
        p = _read(points[i])
        one_over_z = product(total, read(before[i]))
        total = product(total, p[2])
        sign = packed(product(p[0], one_over_z))[0] & _BIT
        y = packed(product(p[1], one_over_z))
        result[i, 0], result[i, 1], result[i, 2] = y[0], y[1], y[2]
        result[i, 3] = y[3] | sign << _TOP
    return result


@numba.njit(cache=True, nogil=True)
def _point(w: Packed) -> tuple[bool, Point]:
    """Return whether these are the bytes of a point, and the point."""
    sign = w[3] >> _TOP
    y = unpacked(w)
    again = packed(y)
    whole = again[0] == w[0] and again[1] == w[1] and again[2] == w[2] and again[3] | sign << _TOP == w[3]
    squared = square(y)
    u, v = product(minus(squared, ONE), ONE), product(plus(product(squared, _D), ONE), ONE)
    v3 = product(square(v), v)
    x = product(product(u, v3), root_power(product(product(u, v3), square(square(v)))))
    found = product(v, square(x))
    if not is_same(found, u):
        whole = whole and is_same(found, minus(ZERO, u))
        x = product(x, _ROOT_OF_MINUS_ONE)
    if packed(x)[0] & _BIT != sign:
        whole = whole and not is_same(x, ZERO)
        x = product(minus(ZERO, x), ONE)
    return whole, (x, y, ONE, product(x, y))


@numba.njit(cache=True, nogil=True)
def _unpacked_points(words: Words) -> tuple[bool, Points]:
    result = np.empty((len(words), 4, 5), dtype=np.uint64)
    good = True
    for i in range(len(words)):
        whole, point = _point((words[i, 0], words[i, 1], words[i, 2], words[i, 3]))
        good = good and whole
        _write(result[i], point)
    return good, result


def points_of(data: bytes) -> Points | None:
    """Return the points that bytes stand for, or None if some stand for none."""
    if len(data) % POINT_BYTES:
        return None
    good, points = _unpacked_points(words_of(data))
    return points if good else None


def bytes_of(points: Points) -> bytes:
    """Return points in 32 bytes each."""
    return bytes(_packed_points(points).astype("<u8").tobytes())


def words_of(data: bytes) -> Words:
    """Return bytes, a whole number of 32, as rows of four little-endian words."""
    return np.frombuffer(data, dtype="<u8").astype(np.uint64).reshape(-1, 4)


@cache
def base_table() -> Points:
    """Return the table of the base point."""
    found = points_of(BASE)
    assert found is not None  # noqa: S101  the base point is a point
    table: Points = table_of(found[0])
    return table
