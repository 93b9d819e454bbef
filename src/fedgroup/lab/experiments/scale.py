"""`fedgroup experiment scale`: how long a question to a million live owners would take. Simulated, not measured.

Owners are cut into shards. Each has a provider and a broker of its own, a core each; totals of shards add up, as those
of groups do. What a message costs at each place is what `fedgroup bench live-many` measured for one owner (`Costs`).

    provider   sends to all its owners first, then takes replies in, one after the other
    broker     carries one message after the other; where both directions are busy, each is half as fast
    owner      alone on its core (a phone), or one of many on the core of a host, who serves them in turn
    line       one way between an owner and its broker: `HERE`, as measured, or `ASSUMED`, which nobody measured

A message is lost with the chance of its line. An owner whose message is lost is not heard; a masked cohort that misses
a member in its second step loses all, as without recovery and without a rerun. The provider waits for everybody until
the deadline, so where anything is lost, a question takes that long: `most_s` tells when 99 % of those heard were in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.live.settings import LiveSettings, longer_with

Times = npt.NDArray[np.float64]

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
    found = [_shard(size, shape.hosted, costs, line, deadline_s, cohort, chance) for size in sizes]
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


def _shard(
    owners: int,
    hosted: int,
    costs: Costs,
    line: LineDelays,
    deadline_s: float,
    cohort: int,
    chance: np.random.Generator,
) -> tuple[float, Times]:
    """Return when a shard is done, and when each of its owners that was heard was in."""
    began, heard, came = 0.0, np.ones(owners, dtype=np.bool_), np.zeros(owners)
    for trip in range(costs.trips):
        ends = deadline_s * (trip + 1) / costs.trips
        came = _trip(heard, hosted, costs, line, began, chance)
        in_time = came <= ends
        late = heard & ~in_time
        if trip and costs.method == "cohorts":  # who was ready and fell silent spoils its cohort
            in_time &= ~np.isin(np.arange(owners) // cohort, np.unique(np.arange(owners)[late] // cohort))
        heard &= in_time
        last = came[in_time].max(initial=began)
        began = ends if late.any() else last
    return began, came[heard]


def _trip(
    asked: npt.NDArray[np.bool_], hosted: int, costs: Costs, line: LineDelays, began: float, chance: np.random.Generator
) -> Times:
    """Return when each owner's reply was taken in, of those asked; infinite for the others."""
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
    Costs("dp", 1, provider_s=80e-6, broker_s=41e-6, owner_s=469e-6, broker_bytes=2_041),
    Costs("cohorts", 2, provider_s=97e-6, broker_s=89e-6, owner_s=1_016e-6, broker_bytes=3_171),
)
"""Of `fedgroup bench live-many --owners 1000`, on two cores that nine other processes wanted, too."""
HERE = LineDelays("here", (0.0005, 0.001), 0.0)
"""Between processes of one machine; none of that bench's messages was lost."""
ASSUMED = LineDelays(
    "assumed: 50 to 500 ms, 0.1 % lost", (0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5), 1e-3
)
"""A mobile network as one might meet it. Nobody measured this."""
