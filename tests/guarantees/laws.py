"""The exact laws that samples are held against, computed apart from the package, and the chi-square test."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy import stats

from fedgroup.lab.audit.bounds import least_delta, least_epsilon

FALSE_ALARM = 1e-6
"""The chance that a correct sampler fails one test here; keys are fixed, so a test that passed once passes always.

Only OpenDP's keys cannot be fixed: `two_sample_p` is held against a chance that is so small for all its tests together.
"""


def cumulative(k: np.ndarray, scale: float) -> np.ndarray:
    """P(X <= k) of discrete Laplace noise."""
    a = math.exp(-1 / scale)
    return np.where(k < 0, np.exp(k / scale) / (1 + a), 1 - np.exp(-(k + 1) / scale) / (1 + a))


def bins(scale: Fraction, *, most: int = 200) -> np.ndarray:
    """Upper ends of bins that hold about equal mass, each whole and different."""
    quantiles = (np.arange(1, most) / most).clip(1e-4, 1 - 1e-4)
    s = float(scale)
    ends = np.where(quantiles < 0.5, s * np.log(2 * quantiles), -s * np.log(2 * (1 - quantiles)))
    return np.unique(np.floor(ends)).astype(np.int64)


def chi_square_p(draws: np.ndarray, scale: Fraction) -> float:
    """The p-value of the draws under the exact law."""
    ends = bins(scale)
    below = cumulative(ends.astype(np.float64), float(scale))
    expected = np.diff(np.concatenate([[0.0], below, [1.0]])) * len(draws)
    observed = np.bincount(np.searchsorted(ends, draws, side="left"), minlength=len(ends) + 1)
    kept = expected >= 5
    observed = np.append(observed[kept], observed[~kept].sum())
    expected = np.append(expected[kept], expected[~kept].sum())
    if expected[-1] < 1e-9:
        observed, expected = observed[:-1], expected[:-1]
    return float(stats.chisquare(observed, expected, sum_check=False).pvalue)


def two_sample_p(first: np.ndarray, second: np.ndarray, scale: Fraction) -> float:
    """The p-value of both samples having one law."""
    ends = bins(scale, most=60)
    table = np.array(
        [np.bincount(np.searchsorted(ends, s, side="left"), minlength=len(ends) + 1) for s in (first, second)]
    )
    table = table[:, table.sum(axis=0) >= 100]  # few would make the test falter more often than it says
    return float(stats.chi2_contingency(table).pvalue)


@lru_cache(maxsize=8)
def cumulative_of_shape(scale: Fraction, shape: Fraction) -> np.ndarray:
    """P(X <= d) for d = -m, ..., m-1, m above 20 scales, of the law with characteristic function phi^shape."""
    size = 2 ** max(8, math.ceil(math.log2(40 * scale)))
    bend = math.exp(-1 / scale) * (2 * np.sin(math.pi * np.arange(size // 2 + 1) / size) / math.expm1(-1 / scale)) ** 2
    return np.cumsum(np.fft.fftshift(np.fft.irfft((1 + bend) ** -float(shape), size)))


def p_value_of_shape(draws: np.ndarray, scale: Fraction, shape: Fraction) -> float:
    """The chi-square p-value of the draws; bins reach from the middle out to where ten draws are left."""
    below = cumulative_of_shape(scale, shape)
    tails = np.geomspace(10 / len(draws), 0.5, 80)
    ends = np.unique(np.searchsorted(below, np.concatenate([tails, 1 - tails])))
    expected = np.diff(np.concatenate([[0.0], below[ends], [1.0]])) * len(draws)
    observed = np.bincount(np.searchsorted(ends - len(below) // 2, draws), minlength=len(expected))
    kept = expected >= 5
    observed, expected = (
        np.append(observed[kept], observed[~kept].sum()),
        np.append(expected[kept], expected[~kept].sum()),
    )
    solid = expected > 1e-3
    assert not observed[~solid].any()
    return float(stats.chisquare(observed[solid], expected[solid], sum_check=False).pvalue)


def audited_epsilon(likely: int, unlikely: int, draws: int) -> float:
    """A lower bound of the epsilon of a mechanism that was in an event so often of two neighbours' draws."""
    return least_epsilon(likely, unlikely, draws, alarm=FALSE_ALARM)


def audited_delta(likely: int, unlikely: int, draws: int, *, epsilon: float) -> float:
    """A lower bound of the delta that goes with an epsilon, of a mechanism that was in an event so often."""
    return least_delta(likely, unlikely, draws, alarm=FALSE_ALARM, epsilon=epsilon)


def symmetric_p(draws: np.ndarray, weights: np.ndarray) -> float:
    """The chi-square p-value of draws under a law on -m..m, of which `weights` are those of 0..m."""
    law = np.concatenate([weights[:0:-1], weights])
    law = law / law.sum()
    observed = np.bincount(np.clip(draws + len(weights) - 1, 0, len(law) - 1), minlength=len(law))
    # as many outcomes to a bin as make 50 draws likely
    bin_of = np.floor(np.cumsum(law) * len(draws) / 50 - 1e-9).astype(np.int64)
    _, bin_of = np.unique(bin_of, return_inverse=True)
    observed, expected = np.bincount(bin_of, observed), np.bincount(bin_of, law) * len(draws)
    solid = expected > 5
    return float(stats.chisquare(observed[solid], expected[solid], sum_check=False).pvalue)
