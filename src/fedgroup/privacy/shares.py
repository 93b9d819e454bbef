"""Exact shares of discrete Laplace noise, of which any t make one whole noise.

Requires:  uniform bits; a scale that is an exact fraction, as Delta / epsilon is; t >= 1.
Guarantee: a share is a whole number. The sum of any t shares has exactly the law of one discrete Laplace noise, and the
           sum of n of them exactly the law of n/t noises, whose characteristic function is phi^(n/t). For n >= t it
           hides at least as much as one noise; fewer than t shares alone do not.
Proof:     A share is X - Y with X and Y negative binomial of shape 1/t, so its characteristic function is
           ((1-a) / (1-az))^(1/t) ((1-a) / (1-a/z))^(1/t) = phi^(1/t) at z = e^(iu), where phi is that of discrete
           Laplace noise. More than t shares are one noise and others independent of it.
"""

from __future__ import annotations

from fractions import Fraction

from fedgroup.errors import InvalidInput
from fedgroup.privacy.keystream import Keystream
from fedgroup.privacy.laplace import draw_discrete_laplace_sums, require_drawable
from fedgroup.privacy.negative_binomial import LARGEST_TABLE_SCALE, draw_negative_binomial
from fedgroup.privacy.rejection import Ints

LARGEST_SHARED_SCALE = 2**40
LARGEST_SHARED_TERM = 2**54


def draw_laplace_shares(stream: Keystream, scale: Fraction, parts: int | Fraction, count: int) -> Ints:
    """Return `count` independent shares, of which `parts` make one discrete Laplace noise."""
    require_shareable(scale, parts)
    both = draw_negative_binomial(stream, scale, parts=parts, count=2 * count)
    shares: Ints = both[:count] - both[count:]
    return shares


def draw_sums_of_shares(stream: Keystream, scale: Fraction, *, parts: int, shares: int, count: int) -> Ints:
    """Return `count` independent sums of so many `shares`, of which `parts` make one noise, from the law of the sum.

    Guarantee: the exact law: n shares are n // t whole noises and one more share of n % t parts of t, since the
               characteristic function of a share is phi^(1/t) and they multiply.
    """
    require_shareable(scale, parts)
    whole, rest = divmod(shares, parts)
    total = draw_discrete_laplace_sums(stream, scale, each=whole, count=count)
    return total + draw_laplace_shares(stream, scale, Fraction(parts, rest), count) if rest else total


def require_shareable(scale: Fraction, parts: int | Fraction) -> None:
    """Refuse scales whose shares or exact fraction leave 64 bits, and noise in less than one part."""
    require_drawable(scale)
    fits = scale <= LARGEST_SHARED_SCALE and scale.numerator < LARGEST_SHARED_TERM
    if scale > LARGEST_TABLE_SCALE and not fits:
        raise InvalidInput(
            f"noise shares of scale {float(scale):g} cannot be drawn in 64 bits; "
            "use a coarser resolution or a rounder epsilon"
        )
    if parts < 1:
        raise InvalidInput(f"noise is made of one share or more, got {parts} parts")
