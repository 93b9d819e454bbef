"""Secrets in shares (Shamir, 1979): `threshold` of them give a secret, fewer tell nothing about it.

A secret is `LIMBS` numbers below the prime 2^31 - 1, 154 bits in all, and so is each of its shares: the values, at the
holder's point, of polynomials whose constant terms are the secret. All numbers are exact.

Requires:  coefficients that nobody else knows, uniform below the prime; points other than 0, each of one holder.
Guarantee: any `threshold` shares give the secret, and fewer are uniform whatever it is.
Proof:     docs/guarantees.md#members-that-fall-silent
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.privacy.keystream import Keystream

Ints = npt.NDArray[np.int64]

PRIME = (1 << 31) - 1
LIMBS = 5
SHARE_BYTES = 4 * LIMBS
KEY_BYTES = 16


def polynomials(stream: Keystream, *, secrets: int, threshold: int) -> Ints:
    """Return uniform polynomials, a row for each power, from 0 on, and `LIMBS` columns for each secret."""
    if threshold < 1:
        raise InvalidInput(f"a secret needs at least 1 share, got {threshold}")
    drawn = _upper_bits(stream.words(threshold * secrets * LIMBS, np.uint32))
    while _holds_prime(drawn):  # 31 bits are uniform below the prime unless they are the prime
        too_large = drawn == PRIME
        drawn[too_large] = _upper_bits(stream.words(int(too_large.sum()), np.uint32))
    return drawn.reshape(threshold, secrets * LIMBS)


def shares_at(polynomials: Ints, points: Ints) -> Ints:
    """Return the polynomials' values modulo the prime, a row for each point."""
    if not _are_points(points):
        raise InvalidInput("a share is of a point between 1 and the prime")
    return _values(polynomials, points)


def secret_of(points: Sequence[int], shares: Ints) -> Ints:
    """Return the secrets that these shares, a row for each point, are of: the polynomials' values at 0."""
    if not len(points) == len(shares) or len(set(points)) != len(points):
        raise InvalidInput(f"{len(shares)} shares need as many different points, got {list(points)}")
    weights = np.array(_weights(tuple(points)), dtype=np.int64)
    found: Ints = (shares % PRIME * weights[:, None] % PRIME).sum(axis=0) % PRIME
    return found


def key_of(secret: Ints) -> bytes:
    """Return the 16 bytes that a secret is used as."""
    return hashlib.sha256(b"fedgroup shared key v1" + secret.astype("<u4").tobytes()).digest()[:KEY_BYTES]


@lru_cache(maxsize=1 << 10)  # the members of a group share by the same points, round after round
def _weights(points: tuple[int, ...]) -> tuple[int, ...]:
    """Return what each share is multiplied by (Lagrange, at 0)."""
    weights = []
    for own in points:
        over, under = 1, 1
        for other in points:
            if other != own:
                over, under = over * other % PRIME, under * (other - own) % PRIME
        weights.append(over * pow(under, -1, PRIME) % PRIME)
    return tuple(weights)


@numba.njit(cache=True)
def _upper_bits(words: npt.NDArray[np.uint32]) -> Ints:
    """Return all bits of each word but the lowest."""
    return (words >> np.uint32(1)).astype(np.int64)


@numba.njit(cache=True)
def _holds_prime(drawn: Ints) -> bool:
    for each in drawn:  # noqa: SIM110  compiled
        if each == PRIME:
            return True
    return False


@numba.njit(cache=True)
def _are_points(points: Ints) -> bool:
    for each in points:
        if not 1 <= each < PRIME:
            return False
    return len(points) > 0


@numba.njit(cache=True)
def _values(polynomials: Ints, points: Ints) -> Ints:
    powers, columns = polynomials.shape
    values = np.zeros((len(points), columns), dtype=np.int64)
    for power in range(powers - 1, -1, -1):
        for at in range(len(points)):
            for column in range(columns):
                # 2^31 is 1 modulo the prime: two sums of what is above and below it leave no more than the prime and 1
                value = values[at, column] * points[at] + polynomials[power, column]
                value = (value & PRIME) + (value >> 31)
                values[at, column] = (value & PRIME) + (value >> 31)
    return values % PRIME
