"""The people of a synthetic city: households that share a home and shops, colleagues that share a workplace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.data.city import Floats, Ints, districts, on_dry_land, scatter

HOME, WORK, SHOP, OTHER_SHOP, FAMILY_LEISURE, LEISURE = range(6)
SLOTS = 6

_HOUSEHOLD_SIZES = (0.34, 0.31, 0.16, 0.13, 0.06)
_SHARES = (0.44, 0.23, 0.11, 0.07, 0.08, 0.07)
_NOT_WORKING = 0.27
_WORKING_NEARBY = 0.35
_SHOP_SPACING_M = 240.0


@dataclass(frozen=True)
class Residents:
    """The six places of every owner's life, one row an owner, and the share of its records at each."""

    x: Floats
    y: Floats
    shares: Floats
    household: Ints

    def __len__(self) -> int:
        return len(self.x)

    def part(self, first: int, last: int) -> Residents:
        """Return the owners first..last, as far as there are any."""
        some = slice(first, last)
        return Residents(self.x[some], self.y[some], self.shares[some], self.household[some])


@dataclass(frozen=True)
class _Sites:
    """Places that many share, in the order of their districts, each as popular as its step in `reached`."""

    x: Floats
    y: Floats
    reached: Floats
    district_ends: Ints

    def pick(self, rng: np.random.Generator, districts_of: Ints, *, nearby: float) -> Ints:
        """Return a site for each asker, by popularity; a share of them look in their own district only."""
        low = np.where(rng.random(len(districts_of)) < nearby, self._before(districts_of), 0.0)
        high = np.where(low > 0, self._before(districts_of + 1), self.reached[-1])
        drawn = low + (high - low) * rng.random(len(districts_of))
        return np.minimum(np.searchsorted(self.reached, drawn, side="right"), len(self.x) - 1)

    def _before(self, district: Ints) -> Floats:
        return np.concatenate([[0.0], self.reached])[self.district_ends[district]]


def settle(rng: np.random.Generator, owners: int) -> Residents:
    """Return a city's people; neighbours in the list of owners are no neighbours in the city."""
    city = districts()
    household = _households(rng, owners)
    home_district = _weighted(rng, city.homes, int(household.max()) + 1)
    homes = scatter(rng, home_district)
    offices = _sites(rng, city.work, 3 + owners // 25)
    haunts = _sites(rng, city.leisure, 5 + owners // 50)
    x, y = np.empty((owners, SLOTS)), np.empty((owners, SLOTS))
    places = (x, y)
    _put(places, HOME, homes, household)
    for slot in (SHOP, OTHER_SHOP):
        _put(places, slot, _shops_near(rng, homes), household)
    _put_site(places, WORK, offices, offices.pick(rng, home_district[household], nearby=_WORKING_NEARBY))
    _put_site(places, FAMILY_LEISURE, haunts, haunts.pick(rng, home_district, nearby=0.5)[household])
    _put_site(places, LEISURE, haunts, haunts.pick(rng, home_district[household], nearby=0.2))
    return Residents(x, y, shares=_shares(rng, owners), household=household)


def _households(rng: np.random.Generator, owners: int) -> Ints:
    sizes = rng.choice(np.arange(1, 6), size=owners, p=_HOUSEHOLD_SIZES)
    return rng.permutation(np.repeat(np.arange(owners), sizes)[:owners])


def _weighted(rng: np.random.Generator, weights: Floats, draws: int) -> Ints:
    reached = np.cumsum(weights)
    return np.asarray(np.searchsorted(reached, reached[-1] * rng.random(draws), side="right"))


def _sites(rng: np.random.Generator, weights: Floats, count: int) -> _Sites:
    district = np.sort(_weighted(rng, weights, count))
    x, y = scatter(rng, district)
    popularity = 1 + np.minimum(rng.pareto(1.3, count), 60)
    ends = np.searchsorted(district, np.arange(len(weights) + 1))
    return _Sites(x, y, reached=np.cumsum(popularity), district_ends=ends)


def _shops_near(rng: np.random.Generator, homes: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """A shop for each home, a short walk away; shops stand on a lattice, so that neighbours meet there."""
    x, y = (home + 260 * rng.standard_normal(len(home)) for home in homes)
    return on_dry_land(_SHOP_SPACING_M * np.rint(x / _SHOP_SPACING_M), _SHOP_SPACING_M * np.rint(y / _SHOP_SPACING_M))


def _shares(rng: np.random.Generator, owners: int) -> Floats:
    habits = np.array(_SHARES) * rng.standard_gamma(4.0, (owners, SLOTS))
    habits[rng.random(owners) < _NOT_WORKING, WORK] = 0.0
    shares: Floats = habits / habits.sum(axis=1, keepdims=True)
    return shares


def _put(places: tuple[Floats, Floats], slot: int, at: tuple[Floats, Floats], index: Ints) -> None:
    for column, coordinate in zip(places, at, strict=True):
        column[:, slot] = coordinate[index]


def _put_site(places: tuple[Floats, Floats], slot: int, sites: _Sites, index: npt.NDArray[np.int64]) -> None:
    _put(places, slot, (sites.x, sites.y), index)
