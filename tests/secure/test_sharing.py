"""Shamir's shares: enough of them give the secret, one less tells nothing, against a second implementation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fedgroup.errors import InvalidInput
from fedgroup.privacy.keystream import Keystream
from fedgroup.secure.sharing import LIMBS, PRIME, key_of, polynomials, secret_of, shares_at

STREAM = bytes(range(32))


def drawn(threshold: int, *, secrets: int = 2) -> np.ndarray:
    return polynomials(Keystream(STREAM), secrets=secrets, threshold=threshold)


@pytest.mark.parametrize("threshold", [1, 2, 5, 42])
def test_any_threshold_shares_give_the_secret_and_one_less_does_not(threshold: int) -> None:
    coefficients = drawn(threshold)
    chosen = np.random.default_rng(threshold).permutation(50)[:threshold] + 1
    shares = shares_at(coefficients, chosen)
    assert secret_of(chosen.tolist(), shares).tolist() == coefficients[0].tolist()
    if threshold > 1:
        assert (secret_of(chosen[1:].tolist(), shares[1:]) != coefficients[0]).all()


def test_shares_and_weights_are_those_of_whole_numbers() -> None:
    coefficients = drawn(4, secrets=1)
    points = [3, 7, 49, 1_999]
    plain = [[sum(int(c) * x**k for k, c in enumerate(column)) % PRIME for column in coefficients.T] for x in points]
    assert shares_at(coefficients, np.array(points)).tolist() == plain
    exact = Fraction(1)
    for other in points[1:]:
        exact *= Fraction(other, other - points[0])
    weight = exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME
    only = np.zeros((4, 1), dtype=np.int64)
    only[0] = 1
    assert secret_of(points, only).tolist() == [weight]


def test_fewer_shares_fit_every_secret_equally_well() -> None:
    """With one share missing, each secret is that of exactly one polynomial through the others, as of a line."""
    (share,) = shares_at(drawn(2, secrets=1), np.array([5]))
    for secret in (0, 1, PRIME - 1):
        slope = (share - secret) * pow(5, -1, PRIME) % PRIME
        line = np.stack([np.full(LIMBS, secret), slope])
        assert shares_at(line, np.array([5])).tolist() == [share.tolist()]


def test_coefficients_are_uniform_below_the_prime() -> None:
    many = drawn(400, secrets=10).ravel()
    assert 0 <= many.min() <= many.max() < PRIME
    counts = np.bincount(many * 16 // PRIME, minlength=16)
    assert (np.abs(counts - len(many) / 16) < 6 * np.sqrt(len(many) / 16)).all()  # false alarm: below 10^-7


def test_points_are_different_and_never_that_of_the_secret() -> None:
    with pytest.raises(InvalidInput):
        shares_at(drawn(2), np.array([0, 1]))
    with pytest.raises(InvalidInput):
        secret_of([1, 1], np.zeros((2, LIMBS), dtype=np.int64))
    with pytest.raises(InvalidInput):
        polynomials(Keystream(STREAM), secrets=1, threshold=0)
    assert key_of(drawn(2)[0, :LIMBS]) != key_of(drawn(2)[0, LIMBS:])
