"""Trees of windows: a sum over many windows is read from few of them, the best way that their noises allow.

Windows of 1, 16 and 256 hours nest. A long time is made up of a few long windows and some short ones at its ends, where
a long one less a few short ones may be sharper than many short ones. Least squares take all of it: of all sums of
windows that come to the time asked for, the one with the least variance. A window that is missing is made up for where
others allow it.

Guarantee: reading is post-processing of released maps: it costs nothing. A record lies in one window of each level, so
           what it loses is the sum of one price a level, epsilon or rho; what a person loses in so many consecutive
           windows is one price for every window of the tree that these meet.
Proof:     docs/guarantees.md#trees-of-windows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidQuery
from fedgroup.given import whole_number
from fedgroup.privacy.accounting import Kind

Floats = npt.NDArray[np.float64]
Window = tuple[int, int]
"""When a window begins, and when it is over."""

FAN_OUT = 16
"""So many windows of a level make one of the next."""
MOST_LEVELS = 4
GAP = "these maps do not make up this time: windows are to begin and end where others do"
_EXACT = 1e-6
_TRIED = 48
"""At so many places in time an expected variance is looked at."""


def needed(begin: int, end: int, windows: Sequence[Window]) -> list[int]:
    """Return the few windows from which [begin, end) is read: those that an end cuts, and the longest others in it.

    Where windows neither lie inside one another nor apart, those may not suffice; then it is all that meet these.
    """
    if begin >= end:
        raise InvalidQuery("a time window needs since before until")
    first, last = np.array(windows, dtype=np.int64).reshape(-1, 2).T
    cut = ((first < begin) & (begin < last)) | ((first < end) & (end < last))
    inside = (begin <= first) & (last <= end)
    for low, high in zip(first[cut].tolist(), last[cut].tolist(), strict=True):
        inside |= (low <= first) & (last <= high)
    whole = np.flatnonzero(inside & ~cut)
    found, longest = np.flatnonzero(cut).tolist(), None
    for number in whole[np.lexsort((-last[whole], first[whole]))].tolist():
        window = windows[number]
        if longest is None or window[1] > longest[1] or window == longest:
            found.append(number)
            longest = window
    try:
        best_weights(begin, end, [windows[number] for number in found], [1.0] * len(found))
    except InvalidQuery:
        found = np.flatnonzero(inside | cut).tolist()
    return sorted(found)


def best_weights(begin: int, end: int, windows: Sequence[Window], variances: Sequence[float]) -> Floats:
    """Return how often each window is to be counted, so that they come to [begin, end) with the least variance.

    Requires:  the noises of windows are independent.
    Guarantee: whatever lies in the windows, the weighted sum of what they hold is what [begin, end) holds. Where no
               sum of these windows is, it is refused.
    """
    weights, at = np.zeros(len(windows)), begin
    order = sorted(range(len(windows)), key=lambda number: (windows[number][0], -windows[number][1]))
    for together in _apart(order, windows):
        low, high = windows[together[0]][0], max(windows[number][1] for number in together)
        if high <= begin or end <= low:
            continue
        if low > at:
            break
        weights[together] = _component(
            begin, end, [windows[number] for number in together], [variances[number] for number in together]
        )
        at = high
    if at < end:
        raise InvalidQuery(GAP)
    return weights


def _apart(order: Sequence[int], windows: Sequence[Window]) -> list[list[int]]:
    """Return sorted windows in groups that do not meet each other."""
    groups: list[list[int]] = []
    reached: int | None = None
    for number in order:
        first, last = windows[number]
        if reached is None or first >= reached:
            groups.append([])
        groups[-1].append(number)
        reached = last if reached is None else max(reached, last)
    return groups


def _component(begin: int, end: int, windows: Sequence[Window], variances: Sequence[float]) -> Floats:
    """Return the weights of windows that meet each other: the shortest vector, in standard deviations, that sums up."""
    if len(windows) == 1 and begin <= windows[0][0] and windows[0][1] <= end:
        return np.ones(1)
    low, high = windows[0][0], max(last for _, last in windows)
    inside = [at for at in (begin, end) if low < at < high]
    edges = np.unique([*inside, *(each for window in windows for each in window)])
    first, last = np.array(windows, dtype=np.int64).T
    holds = (first <= edges[:-1, None]) & (edges[1:, None] <= last)
    wanted = ((begin <= edges[:-1]) & (edges[1:] <= end)).astype(np.float64)
    spread = np.sqrt(np.maximum(np.asarray(variances, dtype=np.float64), 0.0))
    share = _relative(spread)
    found, *_ = np.linalg.lstsq(holds * share, wanted, rcond=None)
    weights: Floats = found * share
    if np.abs(holds @ weights - wanted).max() > _EXACT:
        raise InvalidQuery(GAP)
    return weights


def _relative(spread: Floats) -> Floats:
    """Return the smallest standard deviation as a share of each; what has no noise is taken to have hardly any."""
    some = np.maximum(spread, float(spread.max()) * _EXACT)
    return np.ones(len(some)) if some.max() == 0 else some.min() / some


# --- how many levels pay, and what they cost ----------------------------------------------------------------------


@dataclass(frozen=True)
class Tree:
    """Windows of so many levels, each 16 times as long as those below it, with one price a level."""

    levels: int
    fan_out: int = FAN_OUT

    def __post_init__(self) -> None:
        whole_number(self.levels, name="levels of a tree", least=1, most=MOST_LEVELS)
        whole_number(self.fan_out, name="the fan-out of a tree", least=2, most=1_000)

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many of the shortest windows make one of each level."""
        return tuple(self.fan_out**level for level in range(self.levels))

    def windows(self, of: int) -> list[Window]:
        """Return all windows that are over after so many of the shortest."""
        return [(at, at + length) for length in self.lengths for at in range(0, of - of % length, length)]

    @property
    def lost_by_record(self) -> int:
        """How many maps a record is in: one of each level. It loses so many prices, added up, epsilon or rho."""
        return self.levels

    def lost_by_person(self, windows: int) -> int:
        """Return how many maps whatever somebody did in so many consecutive windows may be in: so many prices."""
        whole_number(windows, name="windows", least=1)
        return sum(1 if windows == 1 else (windows - 2) // length + 2 for length in self.lengths)

    def variance(self, asked: int, of: int, *, accounting: Kind = "pure") -> float:
        """Return the variance of the noise in a sum over `asked` of so many windows, on average over all such times.

        In that of one map which has the whole price to itself: of `levels` maps each has its share of the price, under
        pure epsilon with noise of `levels` times the standard deviation, under rho of its root.
        """
        if not 1 <= asked <= of:
            raise InvalidQuery(f"a sum is over 1 to {of} of {of} windows, got {asked}")
        return _mean_variance(self, asked, of) * self.levels ** (2 if accounting == "pure" else 1)


def best_tree(asked: int, of: int, *, accounting: Kind = "pure") -> Tree:
    """Return the tree that is sharpest for sums over `asked` of so many windows; one level is no tree."""
    trees = [Tree(levels) for levels in range(1, MOST_LEVELS + 1) if FAN_OUT ** (levels - 1) <= of]
    return min(trees, key=lambda tree: tree.variance(asked, of, accounting=accounting))


@lru_cache(maxsize=256)
def _mean_variance(tree: Tree, asked: int, of: int) -> float:
    """Return the mean over times of the variance of their sum, if every map has a variance of 1."""
    windows = tree.windows(of)
    begins = np.unique(np.linspace(0, of - asked, _TRIED).round().astype(np.int64)).tolist()
    found = []
    for begin in begins:
        used = [windows[number] for number in needed(begin, begin + asked, windows)]
        weights = best_weights(begin, begin + asked, used, [1.0] * len(used))
        found.append(float((weights**2).sum()))
    return float(np.mean(found))
