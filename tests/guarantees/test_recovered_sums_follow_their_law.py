"""A masked sum from which members were left out has the noise of those heard: one share each, and no mask."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from laws import FALSE_ALARM, p_value_of_shape

from dealt_rounds import CONTEXT, Dealt
from fedgroup.privacy.noise import SeededNoise


def test_unmasked_sums_have_the_noise_of_who_was_heard() -> None:
    """The words of one long round are as many rounds: each bin has shares and masks of its own."""
    group, scale, bins = Dealt(10), Fraction(10, 3), 60_000
    roster, heard = list(range(10)), [0, 1, 2, 3, 4, 5, 6, 7, 9]
    parts = group.terms.parts
    noise = [SeededNoise(p).laplace_shares(scale, parts, bins) for p in range(10)]
    total = np.sum([group.sent(bytes(16), roster, p, noise[p]) for p in heard], axis=0)
    found = group.unmasked(bytes(16), roster, heard, telling=heard[:6])
    errors = (total - found.masks(CONTEXT, words=bins)).view(np.int64)
    assert p_value_of_shape(errors, scale, Fraction(len(heard), parts)) > FALSE_ALARM
    assert p_value_of_shape(errors, scale, Fraction(1)) < FALSE_ALARM  # it can tell other laws apart
