"""All randomness of the package: who draws the noise, and whether it is fit for anything private.

`SecureNoise` is for everything real. `SeededNoise` runs the same sampler from a known key, so that experiments and
tests can be repeated; `FloatingPointLaplace` is the paper's noise. Neither of the two is private.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import weakref
from fractions import Fraction
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.given import whole_number
from fedgroup.privacy.gaussian import draw_gaussian_sums
from fedgroup.privacy.keystream import Keystream
from fedgroup.privacy.laplace import draw_discrete_laplace, draw_discrete_laplace_sums
from fedgroup.privacy.shares import draw_laplace_shares, draw_sums_of_shares
from fedgroup.privacy.skellam import draw_skellam

LARGEST_SEED = 2**128

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class NoiseSource(Protocol):
    """Draws independent Laplace noises of a scale: whole numbers, unless `continuous`."""

    @property
    def private(self) -> bool: ...

    @property
    def continuous(self) -> bool: ...

    def laplace(self, scale: Fraction, count: int) -> Ints | Floats:
        """Return `count` independent noises."""
        ...

    def laplace_sums(self, scale: Fraction, each: int, count: int) -> Ints | Floats:
        """Return `count` independent sums of `each` independent noises."""
        ...

    def laplace_shares(self, scale: Fraction, parts: int, count: int) -> Ints:
        """Return `count` independent shares, of which `parts` make one Laplace noise."""
        ...

    def sums_of_shares(self, scale: Fraction, parts: int, shares: int, count: int) -> Ints:
        """Return `count` independent sums of so many `shares`, of which `parts` make one Laplace noise."""
        ...

    def gaussian_sums(self, variance: Fraction, each: int, count: int) -> Ints:
        """Return `count` independent sums of `each` discrete Gaussian noises of one variance parameter."""
        ...

    def skellam(self, variance: Fraction, count: int) -> Ints:
        """Return `count` independent Skellam noises, of which sums are Skellam noises too."""
        ...


class SecureNoise:
    """Discrete Laplace noise from a key that the operating system made up and nobody sees.

    Guarantee: exact law, computationally unpredictable, no noise is ever given out twice: threads take turns, a
               forked process makes up a key of its own, and a source can be neither copied nor stored.
    """

    private = True
    continuous = False

    def __init__(self) -> None:
        self._renew()
        _SOURCES.add(self)

    def laplace(self, scale: Fraction, count: int) -> Ints:
        """Return `count` independent noises."""
        with self._turn():
            return draw_discrete_laplace(self._stream, scale, count)

    def laplace_shares(self, scale: Fraction, parts: int, count: int) -> Ints:
        """Return `count` independent shares, of which `parts` make one Laplace noise."""
        with self._turn():
            return draw_laplace_shares(self._stream, scale, parts, count)

    def laplace_sums(self, scale: Fraction, each: int, count: int) -> Ints:
        """Return `count` independent sums of `each` independent noises."""
        with self._turn():
            return draw_discrete_laplace_sums(self._stream, scale, each=each, count=count)

    def sums_of_shares(self, scale: Fraction, parts: int, shares: int, count: int) -> Ints:
        """Return `count` independent sums of so many `shares`, of which `parts` make one Laplace noise."""
        with self._turn():
            return draw_sums_of_shares(self._stream, scale, parts=parts, shares=shares, count=count)

    def gaussian_sums(self, variance: Fraction, each: int, count: int) -> Ints:
        """Return `count` independent sums of `each` discrete Gaussian noises of one variance parameter."""
        with self._turn():
            return draw_gaussian_sums(self._stream, variance, each=each, count=count)

    def skellam(self, variance: Fraction, count: int) -> Ints:
        """Return `count` independent Skellam noises, of which sums are Skellam noises too."""
        with self._turn():
            return draw_skellam(self._stream, variance, count)

    def _turn(self) -> threading.Lock:
        """Return the lock under which this process may use its stream."""
        if self._process != os.getpid():
            self._renew()
        return self._lock

    def _renew(self) -> None:
        # A new lock too: the parent may have forked while another thread of it held the old one.
        self._lock = threading.Lock()
        self._stream = Keystream(secrets.token_bytes(32))
        self._process = os.getpid()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a source of noise cannot be copied: two copies would give out the same noise")

    def __deepcopy__(self, memo: Any) -> NoReturn:
        self.__reduce__()
        raise AssertionError


_SOURCES: weakref.WeakSet[SecureNoise] = weakref.WeakSet()
"""Every source of this process: a forked child renews them all before it runs, whatever its process id."""


def _renew_all() -> None:
    for source in _SOURCES:
        source._renew()


os.register_at_fork(after_in_child=_renew_all)


class SeededNoise:
    """The same discrete Laplace noise from a known seed. Not private: the seed undoes it."""

    private = False
    continuous = False

    def __init__(self, seed: int) -> None:
        self._lock = threading.Lock()
        self._stream = Keystream(_key_of(seed))

    def laplace(self, scale: Fraction, count: int) -> Ints:
        """Return `count` independent noises, the same for every source of this seed."""
        with self._lock:
            return draw_discrete_laplace(self._stream, scale, count)

    def laplace_shares(self, scale: Fraction, parts: int, count: int) -> Ints:
        """Return `count` independent shares, the same for every source of this seed."""
        with self._lock:
            return draw_laplace_shares(self._stream, scale, parts, count)

    def laplace_sums(self, scale: Fraction, each: int, count: int) -> Ints:
        """Return `count` independent sums of `each` independent noises."""
        with self._lock:
            return draw_discrete_laplace_sums(self._stream, scale, each=each, count=count)

    def sums_of_shares(self, scale: Fraction, parts: int, shares: int, count: int) -> Ints:
        """Return `count` independent sums of so many `shares`, of which `parts` make one Laplace noise."""
        with self._lock:
            return draw_sums_of_shares(self._stream, scale, parts=parts, shares=shares, count=count)

    def gaussian_sums(self, variance: Fraction, each: int, count: int) -> Ints:
        """Return `count` independent sums of `each` discrete Gaussian noises of one variance parameter."""
        with self._lock:
            return draw_gaussian_sums(self._stream, variance, each=each, count=count)

    def skellam(self, variance: Fraction, count: int) -> Ints:
        """Return `count` independent Skellam noises, of which sums are Skellam noises too."""
        with self._lock:
            return draw_skellam(self._stream, variance, count)


class FloatingPointLaplace:
    """The paper's continuous Laplace noise in floating point, from a known seed.

    Not private: besides the seed, the gaps between floating-point numbers betray exact counts (Mironov, CCS 2012).
    """

    private = False
    continuous = True

    def __init__(self, seed: int) -> None:
        self._stream = Keystream(_key_of(seed))

    def laplace(self, scale: Fraction, count: int) -> Floats:
        """Return `count` independent noises."""
        uniform = (self._stream.words(count, np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        centred = uniform - 0.5
        noise: Floats = -float(scale) * np.sign(centred) * np.log1p(-2 * np.abs(centred))
        return noise

    def laplace_sums(self, scale: Fraction, each: int, count: int) -> Floats:
        """Return `count` independent sums of `each` independent noises."""
        sums: Floats = self.laplace(scale, each * count).reshape(count, each).sum(axis=1)
        return sums

    def sums_of_shares(self, scale: Fraction, parts: int, shares: int, count: int) -> NoReturn:
        """Refuse: shares are whole numbers."""
        self.laplace_shares(scale, parts, shares * count)
        raise AssertionError

    def laplace_shares(self, scale: Fraction, parts: int, count: int) -> NoReturn:
        """Refuse: shares are whole numbers."""
        asked = f"{count} shares in {parts} parts of scale {scale}"
        raise InvalidInput(f"floating-point noise cannot make noise shares, got a request of {asked}; use SeededNoise")

    def gaussian_sums(self, variance: Fraction, each: int, count: int) -> NoReturn:
        """Refuse: the paper has no such noise."""
        raise InvalidInput(f"floating-point noise is Laplace noise, got {each * count} of variance {float(variance):g}")

    def skellam(self, variance: Fraction, count: int) -> NoReturn:
        """Refuse: the paper has no such noise."""
        self.gaussian_sums(variance, 1, count)
        raise AssertionError


def _key_of(seed: int) -> bytes:
    whole = whole_number(seed, name="a seed", least=0, most=LARGEST_SEED)
    return hashlib.sha256(b"fedgroup seeded noise, not private " + str(whole).encode()).digest()
