"""How many bytes a word of a masked answer needs: 4 where public bounds say that no sum of the group needs more.

Requires:  every member cut its own contribution to the K records that the federation agreed on (unit owner); both sides
           compute this from the question, the protection and the group's terms, all of which are public and agreed.
Guarantee: with 4 bytes the sum of the words of a whole group, read with its sign, is the sum of the members' values and
           shares of noise, except with a chance below 2^-68 a word. What is lost then is the answer, never privacy: the
           lower half of a uniform mask of 64 bits is uniform, and sums modulo 2^32 follow from sums modulo 2^64.
Proof:     values of n members add up to n K b at most, b the most units that a record adds. Their noise is a sum of k =
           heard / parts discrete Laplace noises of scale s, 1 <= k <= n / parts <= 2,000. One noise has the moments
           E exp(y X / s) = 1 / (1 - sinh(y / 2s)^2 / sinh(1 / 2s)^2) <= 1 / (1 - y^2) for 0 < y < 1: sinh is convex.
           So P(|noise| > x) <= 2 exp(-y x / s) (1 - y^2)^-k. Its standard deviation is at most s sqrt(2 k). At x = 40 s
           sqrt(2 k) the bound is below 2^-68 for all k: with y = 0.9 up to k = 800, with y = 0.5 from there on.
           Skellam noise of variance V in all has the moments E exp(y X) = exp(V (cosh(y) - 1)), so P(|noise| > x) <= 2
           exp(-y x + V (cosh(y) - 1)). At x = 40 sqrt(max(2, V)) it is below 2^-68: with y = 1 up to V = 400, with y =
           20 / sqrt(V) from there on, where cosh(y) - 1 <= 0.55 y^2.
"""

from __future__ import annotations

import math
from fractions import Fraction

from fedgroup.messages import NoiseScale
from fedgroup.privacy.release import scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.terms import MaskedTerms

NARROW, WIDE = 4, 8
_DEVIATIONS = 40
_MOST_SUM = 1 << 31


def word_bytes(query: RangeQuery, protection: Protection, terms: MaskedTerms) -> int:
    """Return the bytes of every word that members of a masked group send in answer to a question."""
    largest = largest_sum(query, protection, terms)
    return NARROW if largest is not None and largest < _MOST_SUM else WIDE


def largest_sum(query: RangeQuery, protection: Protection, terms: MaskedTerms) -> int | None:
    """Return what no word of a group's sum exceeds, whatever its sign, but by a rare noise; None: nobody can tell.

    Only where owners are the unit is it agreed how many records of one count.
    """
    if protection.unit != "owner":
        return None
    each = protection.records * (1 if query.measure is None else query.measure.units)
    noises = terms.shape(terms.members)
    most = max(_deviation(scale, noises) for scale in scales_of(query, protection).values())
    return terms.members * each + math.ceil(_DEVIATIONS * most)


def _deviation(scale: NoiseScale, noises: float | Fraction) -> float:
    """Return the standard deviation of the noise in a group's sum, or a little more."""
    if isinstance(scale, Fraction):
        return float(scale) * math.sqrt(2 * noises)
    return math.sqrt(max(2.0, float(scale.skellam) * float(noises)))
