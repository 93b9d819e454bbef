"""`fedgroup experiment scale`: how long a question to a million live owners would take. Simulated, not measured.

Owners are cut into shards. Each has a provider and a broker of its own, a core each; totals of shards add up, as those
of groups do. What a message costs at each place is what `fedgroup bench live-many` measured for one owner (`Costs`).

    provider   sends to all its owners first, then takes replies in, one after the other
    broker     carries one message after the other; where both directions are busy, each is half as fast
    owner      alone on its core (a phone), or one of many on the core of a host, who serves them in turn
    line       one way between an owner and its broker, the owner's pace included: `HERE`, as measured, or `ASSUMED`,
               which nobody measured

A message is lost with the chance of its line. By `dp` an owner whose message is lost is not heard. A masked cohort goes
the three trips that live ones do (`live/asking.py`): who is not ready in half of the time is not on its roster; who is
on it and falls silent is asked once more, then left out, up to as many as its terms allow; and its masks come off once
enough of the others told their shares. The provider waits for everybody until the deadline of the first two trips, so
where anything is lost, a question takes that long: `most_s` tells when 99 % of those heard were in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.live.settings import LiveSettings, longer_with
from fedgroup.secure.recovery import live_recovery
from fedgroup.secure.terms import MaskedTerms

Times = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_MOST = 0.99


@dataclass(frozen=True)
class Costs:
    """Seconds of a core for one owner in one question, and what the broker reads and writes for it."""

    method: str
    trips: int
    provider_s: float
    broker_s: float
    owner_s: float
    broker_bytes: float


@dataclass(frozen=True)
class LineDelays:
    """Between an owner and its broker: the delay, in seconds, that each further tenth of messages stays within."""

    name: str
    tenths_s: tuple[float, ...]
    loss: float

    def delays(self, count: int, chance: np.random.Generator) -> Times:
        """Return how long so many messages take; one that is lost takes for ever."""
        known = np.linspace(0.0, 1.0, len(self.tenths_s))
        drawn = np.interp(chance.random(count), known, self.tenths_s)
        return np.where(chance.random(count) < self.loss, np.inf, drawn)


@dataclass(frozen=True)
class Shape:
    """How many owners, on how many shards, with how many owners on one core of a host (1: on a device of its own)."""

    owners: int
    shards: int
    hosted: int

    def __post_init__(self) -> None:
        if not (1 <= self.shards <= self.owners and self.hosted >= 1):
            raise InvalidInput(f"a shard has owners, and a host too, got {self}")


@dataclass(frozen=True)
class ScaleRow:
    """What a question took in the simulation, and what it needs."""

    method: str
    owners: int
    shards: int
    hosted: int
    line: str
    seconds: float
    most_s: float
    heard: float
    cores: float
    broker_mbit_s: float


def simulated(shape: Shape, costs: Costs, line: LineDelays, *, cohort: int = 50, seed: int = 0) -> ScaleRow:
    """Return what one question to owners of this shape takes."""
    chance = np.random.default_rng(seed)
    sizes = [len(part) for part in np.array_split(np.arange(shape.owners), shape.shards)]
    deadline_s = _deadline(max(sizes))
    found = [_shard(_Network(size, shape.hosted, costs, line, chance), deadline_s, cohort) for size in sizes]
    seconds, came = max(took for took, _ in found), np.concatenate([each for _, each in found])
    most_s = float(np.quantile(came, _MOST)) if len(came) else seconds
    work_s = shape.owners * (costs.provider_s + costs.broker_s)
    return ScaleRow(
        costs.method,
        shape.owners,
        shape.shards,
        shape.hosted,
        line.name,
        seconds,
        most_s,
        len(came) / shape.owners,
        work_s / most_s,
        max(sizes) * costs.broker_bytes * 8 / most_s / 1e6,
    )


def _deadline(owners: int) -> float:
    """Return how long a round may take by the usual settings of a provider of so many owners."""
    return LiveSettings.seconds * longer_with(owners)


@dataclass(frozen=True)
class _Network:
    """One shard's owners, and what a trip to some of them and back takes."""

    owners: int
    hosted: int
    costs: Costs
    line: LineDelays
    chance: np.random.Generator

    def trip(self, asked: Flags, began: float) -> Times:
        """Return when each owner's reply was taken in, of those asked; infinite for the others."""
        return _trip(asked, self.hosted, self.costs, self.line, began, self.chance)

    def trip_and_again(self, asked: Flags, began: float, *, again: float, end: float) -> Times:
        """Likewise, where those whose replies are not in by a moment are asked once more then."""
        came = self.trip(asked, began)
        late = asked & (came > again)
        if late.any():
            came = np.minimum(came, self.trip(late, again))
        return np.where(came <= end, came, np.inf)


def _shard(network: _Network, deadline_s: float, cohort: int) -> tuple[float, Times]:
    """Return when a shard is done, and when each of its owners that was heard was in."""
    everybody = np.ones(network.owners, dtype=np.bool_)
    if network.costs.method == "cohorts":
        return _cohorts(network, everybody, deadline_s, cohort)
    came = network.trip(everybody, 0.0)
    return _last(came, everybody, deadline_s), came[came <= deadline_s]


def _cohorts(network: _Network, everybody: Flags, deadline_s: float, cohort: int) -> tuple[float, Times]:
    count = max(1, -(-network.owners // cohort))
    of = np.arange(network.owners) % count
    terms = [MaskedTerms(int(members)) for members in np.bincount(of)]
    recoveries = [live_recovery(each) for each in terms]
    least = np.array([each.least_heard for each in terms])
    spare = np.array([0 if each is None else each.spare for each in recoveries])
    telling = [0 if each is None else each.threshold(its.members) for each, its in zip(recoveries, terms, strict=True)]

    came = network.trip(everybody, 0.0)
    ready = came <= deadline_s / 2
    at = _last(came, everybody, deadline_s / 2)
    roster = ready & (np.bincount(of, ready, count) >= least)[of]

    left = (deadline_s - at) * 0.7
    came = network.trip_and_again(roster, at, again=at + 0.8 * left, end=at + left)
    heard = np.isfinite(came) & roster
    at = _last(came, roster, at + left)
    survivors, lost = np.bincount(of, heard, count), np.bincount(of, roster & ~heard, count)
    able = (survivors >= least) & (lost <= spare)
    heard &= able[of]

    came = network.trip_and_again(heard, at, again=at + 0.7 * (deadline_s - at), end=deadline_s)
    done = np.full(count, at)
    for group in np.flatnonzero(able):
        done[group] = np.sort(came[of == group])[telling[group] - 1] if telling[group] else at
    heard &= np.isfinite(done)[of]
    return min(float(done.max()), deadline_s), done[of][heard]


def _last(came: Times, asked: Flags, end: float) -> float:
    """Return when the last of those asked was in; the end, where somebody was not by then."""
    last = float(came[asked].max(initial=0.0))
    return min(last, end)


def _trip(
    asked: Flags, hosted: int, costs: Costs, line: LineDelays, began: float, chance: np.random.Generator
) -> Times:
    count = int(asked.sum())
    each = 1 / (2 * costs.trips)  # what is measured for a question is two messages a trip
    sent: Times = began + np.arange(1, count + 1, dtype=np.float64) * costs.provider_s * each
    out: Times = _served(sent, 2 * costs.broker_s * each) + line.delays(count, chance)
    hosts = np.array_split(out, max(1, count // hosted))
    made = np.concatenate([_served(some, costs.owner_s / costs.trips) for some in hosts]) if count else out
    back = _served(made + line.delays(count, chance), 2 * costs.broker_s * each)
    taken = _served(np.maximum(back, sent[-1] if count else began), costs.provider_s * each)
    came = np.full(len(asked), np.inf)
    came[asked] = taken
    return came


def _served(arrivals: Times, cost_s: float) -> Times:
    """Return when each of some messages is done with where one is served after the other, in the order they come."""
    order = np.argsort(arrivals, kind="stable")
    turn = np.arange(len(arrivals)) * cost_s
    with np.errstate(invalid="ignore"):
        began = np.maximum.accumulate(arrivals[order] - turn) + turn
    done = np.empty_like(arrivals)
    done[order] = np.where(np.isinf(arrivals[order]), np.inf, began + cost_s)
    return done


def scale_rows(
    *,
    most: int = 1_000_000,
    shard: int = 10_000,
    seed: int = 0,
    lines: tuple[LineDelays, ...] = (),
    costs: tuple[Costs, ...] = (),
) -> Iterator[ScaleRow]:
    """Yield rows of ten times as many owners each, up to so many, in shards of so many at most."""
    owners = 1_000
    while owners <= most:
        for each in costs or MEASURED:
            for line in lines or (HERE, ASSUMED):
                hosted = 5_000 if line is HERE else 1
                shape = Shape(owners, max(1, -(-owners // shard)), hosted)
                yield simulated(shape, each, line, seed=seed)
        owners *= 10


MEASURED = (
    Costs("dp", 1, provider_s=38e-6, broker_s=28e-6, owner_s=132e-6, broker_bytes=1_798),
    Costs("cohorts", 3, provider_s=127e-6, broker_s=98e-6, owner_s=567e-6, broker_bytes=13_219),
)
"""Means of two runs of `fedgroup bench live-many --owners 10000`, on two cores, otherwise idle."""
HERE = LineDelays(
    "measured: 9 to 12 ms, none lost",
    (0.0093, 0.0095, 0.0096, 0.0097, 0.0098, 0.0099, 0.0102, 0.0104, 0.0105, 0.0106, 0.0113),
    0.0,
)
"""Half of what an echo to one owner took in the same runs (`alone_s`), whose replies leave every 10 ms; none of the
600,000 messages of their questions was lost."""
ASSUMED = LineDelays(
    "assumed: 50 to 500 ms, 0.1 % lost", (0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5), 1e-3
)
"""A mobile network as one might meet it. Nobody measured this."""
