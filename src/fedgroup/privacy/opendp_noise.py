"""OpenDP's sampler as a source of noise, for those who would rather trust it (`pip install fedgroup[opendp]`)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput


class OpenDPNoise:
    """Discrete Laplace noise drawn by OpenDP, about a thousand times slower than `SecureNoise`."""

    private = True
    continuous = False

    def __init__(self) -> None:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        self._dp: Any = dp

    def laplace(self, scale: Fraction, count: int) -> npt.NDArray[np.int64]:
        """Return `count` independent noises."""
        dp = self._dp
        # OpenDP takes a float; the next one up keeps the noise no smaller than what was charged.
        safe = np.nextafter(float(scale), np.inf)
        vector = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        noisy = dp.m.make_laplace(*vector, scale=float(safe))([0] * count)
        return np.array(noisy, dtype=np.int64)

    def laplace_sums(self, scale: Fraction, each: int, count: int) -> npt.NDArray[np.int64]:
        """Return `count` independent sums of `each` independent noises."""
        sums: npt.NDArray[np.int64] = self.laplace(scale, each * count).reshape(count, each).sum(axis=1)
        return sums

    def sums_of_shares(self, scale: Fraction, parts: int, shares: int, count: int) -> NoReturn:
        """Refuse: OpenDP has no negative binomial."""
        self.laplace_shares(scale, parts, shares * count)
        raise AssertionError

    def laplace_shares(self, scale: Fraction, parts: int, count: int) -> NoReturn:
        """Refuse: OpenDP has no negative binomial."""
        asked = f"{count} shares in {parts} parts of scale {scale}"
        raise InvalidInput(f"OpenDP's sampler cannot make noise shares, got a request of {asked}; use SecureNoise")

    def gaussian_sums(self, variance: Fraction, each: int, count: int) -> NoReturn:
        """Refuse: this source is for Laplace noise."""
        asked = f"{each * count} of variance {float(variance):g}"
        raise InvalidInput(
            f"OpenDP's sampler is used for Laplace noise only, got a request of {asked}; use SecureNoise"
        )

    def skellam(self, variance: Fraction, count: int) -> NoReturn:
        """Refuse: OpenDP has no Skellam noise."""
        self.gaussian_sums(variance, 1, count)
        raise AssertionError
