"""Synthetic cities: records of people who live, work, shop and go out, the same for the same seed.

Everyone is an owner; or a few owners, such as companies, have the records of many subjects, such as cars.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fedgroup.data.city import SIZE_M, Floats, Ints
from fedgroup.data.drafts import replacing
from fedgroup.data.facts import MOST_OWNERS, header_of
from fedgroup.data.residents import SLOTS, Residents, settle
from fedgroup.errors import InvalidInput
from fedgroup.given import is_number, whole_number, written
from fedgroup.owner.records import Records
from fedgroup.space import Box

_GENERATOR_VERSION = 2
_MONDAY_S = 1_767_571_200  # 2026-01-05T00:00 UTC
_WEEKS = 4
_HOURS = 7 * 24
_STEPS = 4096
_OWNERS_AT_ONCE = 50_000
_MOST_TIMES_MEAN = 60.0
_COUNT_SPREAD = 0.9
_JITTER_M = 12.0
_USUAL_RECORDS = 20
_OF_COMPANIES = 2**32 - 1
"""Where the randomness of companies comes from: people have it from smaller numbers."""


@dataclass(frozen=True)
class _Chunk:
    """The records of some people, who are owners or subjects, by person and then by time."""

    owner: Ints
    x: Floats
    y: Floats
    fare: Floats
    seconds: Ints


class _Some(NamedTuple):
    """Some owners of a city, from `first` on, with the randomness that is theirs alone."""

    rng: np.random.Generator
    people: Residents
    first: int
    records_per_owner: int


Run = Callable[[Callable[[_Some], _Chunk], Iterable[_Some]], Iterable[_Chunk]]
"""What `map` does: apply a function to one thing after the other, and give the results in order."""


@dataclass(frozen=True)
class City:
    """How many owners a city has, and how many records each on average, 20 unless said.

    With `subjects` so many people or cars in all belong to the owners, some of which have far more than others, and
    records are said by subject.
    """

    owners: int
    records_per_owner: int | None = None
    subjects: int | None = None
    records_per_subject: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _require_whole(self.owners, "owners", least=1, most=MOST_OWNERS)
        _require_whole(self.seed, "seed", least=0, most=2**128)
        if self.subjects is not None:
            _require_whole(self.subjects, "subjects", least=self.owners, most=MOST_OWNERS)
        unfit = "records_per_owner" if self.subjects is not None else "records_per_subject"
        if getattr(self, unfit) is not None:
            raise InvalidInput("records are said by owner, or by subject in a city of subjects")
        name = "records_per_owner" if self.subjects is None else "records_per_subject"
        _require_whole(self.records, name, least=1, most=1_000_000)

    @property
    def people(self) -> int:
        """How many live there."""
        return self.owners if self.subjects is None else self.subjects

    @property
    def records(self) -> int:
        """How many records one of the people has on average."""
        said = self.records_per_owner if self.subjects is None else self.records_per_subject
        return _USUAL_RECORDS if said is None else said

    def owner_of(self, people: Ints) -> Ints:
        """Return whose people are: their own, or companies', one after the other, each with one at least."""
        return people if self.subjects is None else np.searchsorted(self._last_of_company, people, side="right")

    @cached_property
    def _last_of_company(self) -> Ints:
        seeds = np.random.SeedSequence(int(self.seed), spawn_key=(_OF_COMPANIES,))
        rng = np.random.Generator(np.random.PCG64(seeds))
        sizes = np.exp(_COUNT_SPREAD * rng.standard_normal(self.owners))
        return np.cumsum(1 + rng.multinomial(self.people - self.owners, sizes / sizes.sum()))


def synthesize(
    owners: int,
    *,
    records_per_owner: int | None = None,
    subjects: int | None = None,
    records_per_subject: int | None = None,
    seed: int = 0,
    size_m: float = SIZE_M,
) -> Records:
    """Return the records of a city as `City` describes it, on a square of `size_m` metres."""
    if not (is_number(size_m) and size_m >= 1_000):
        raise InvalidInput(f"size_m must be at least 1000 metres, got {written(size_m)}")
    city = City(owners, records_per_owner, subjects, records_per_subject, seed)
    chunks = [_lives(some) for some in _settled(city)]
    columns = {name: np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in _Chunk.__annotations__}
    return Records(
        owner=city.owner_of(columns["owner"]),
        x=columns["x"] * (size_m / SIZE_M),
        y=columns["y"] * (size_m / SIZE_M),
        attributes={"fare": columns["fare"]},
        time=columns["seconds"].astype("datetime64[s]"),
        owners=np.arange(owners),
        domain=Box(0.0, 0.0, size_m, size_m),
        subject=None if subjects is None else columns["owner"],
    )


def write_synthetic(
    path: str | os.PathLike[str],
    *,
    owners: int,
    records_per_owner: int | None = None,
    subjects: int | None = None,
    records_per_subject: int | None = None,
    seed: int = 0,
    run: Run = map,
) -> None:
    """Write the records of a `City` as a Parquet file that states its domain; equal arguments give equal bytes.

    `run` does as `map` does, wherever it likes: the file is the same.
    """
    city = City(owners, records_per_owner, subjects, records_per_subject, seed)
    facts = {"domain": [0.0, 0.0, SIZE_M, SIZE_M], "lonlat": False, "owners": owners, "seed": seed}
    header = header_of({**facts, "format": "fedgroup records", "generator": _GENERATOR_VERSION})
    schema = pa.schema(
        [
            ("owner", pa.int32()),
            *([] if subjects is None else [("subject", pa.int32())]),
            ("x", pa.float64()),
            ("y", pa.float64()),
            ("fare", pa.float64()),
            ("time", pa.timestamp("us", "UTC")),
        ],
        metadata=header,
    )
    # pinned, so that a later pyarrow writes the same layout
    options = {
        "version": "2.6",
        "compression": "snappy",
        "use_dictionary": ["owner", "fare", *([] if subjects is None else ["subject"])],
        "data_page_version": "1.0",
    }
    with replacing(path) as draft, pq.ParquetWriter(draft, schema, **options) as writer:
        for chunk in run(_lives, _settled(city)):
            writer.write_table(_as_table(chunk, city, schema))


def _as_table(chunk: _Chunk, city: City, schema: pa.Schema) -> pa.Table:
    subject = [] if city.subjects is None else [chunk.owner.astype(np.int32)]
    owner = city.owner_of(chunk.owner).astype(np.int32)
    columns = [owner, *subject, chunk.x, chunk.y, chunk.fare, chunk.seconds * 1_000_000]
    return pa.table([pa.array(column).cast(kind) for column, kind in zip(columns, schema.types, strict=True)], schema)


def _settled(city: City) -> Iterator[_Some]:
    """Yield the people of a city, some at a time; the first ones go on with the randomness that settled them all."""
    seeds = np.random.SeedSequence(int(city.seed))
    rng = np.random.Generator(np.random.PCG64(seeds))
    people = settle(rng, city.people)
    for first in range(0, city.people, _OWNERS_AT_ONCE):
        yield _Some(rng, people.part(first, first + _OWNERS_AT_ONCE), first, city.records)
        rng = np.random.Generator(np.random.PCG64(seeds.spawn(1)[0]))


def _require_whole(value: int, name: str, *, least: int, most: int) -> None:
    whole_number(value, name=name, least=least, most=most)


def _lives(some: _Some) -> _Chunk:
    """Return four weeks of some owners: how often each was where, when, and at what fare."""
    rng = deepcopy(some.rng)  # the same again if this is done twice
    people, first = some.people, some.first
    visits = rng.multinomial(_record_counts(rng, len(people), some.records_per_owner), people.shares).ravel()
    slot = np.repeat(np.tile(np.arange(SLOTS), len(people)), visits)
    owner = np.repeat(np.repeat(np.arange(first, first + len(people)), SLOTS), visits)
    seconds = _seconds(rng, slot)
    order = np.argsort(owner * (_WEEKS * _HOURS * 3600) + seconds, kind="stable")
    x, y = (_seen_near(rng, np.repeat(place.ravel(), visits)) for place in (people.x, people.y))
    return _Chunk(
        owner=owner,  # in this order already
        x=x[order],
        y=y[order],
        fare=_fares(rng, len(owner)),
        seconds=_MONDAY_S + seconds[order],
    )


def _record_counts(rng: np.random.Generator, owners: int, mean: int) -> Ints:
    """One record for everyone and a heavy tail of more; rounding up or down by chance keeps the mean."""
    more = (mean - 1) * np.exp(_COUNT_SPREAD * rng.standard_normal(owners) - _COUNT_SPREAD**2 / 2)
    counts: Ints = np.floor(1 + np.minimum(more, _MOST_TIMES_MEAN * mean) + rng.random(owners)).astype(np.int64)
    return counts


def _seen_near(rng: np.random.Generator, place: Floats) -> Floats:
    return np.rint(10 * (place + rng.uniform(-_JITTER_M, _JITTER_M, len(place)))) / 10


def _fares(rng: np.random.Generator, count: int) -> Floats:
    return np.round(2.5 + np.exp(2.05 + 0.75 * rng.standard_normal(count)), 2)


def _seconds(rng: np.random.Generator, slot: Ints) -> Ints:
    """Seconds since the first Monday: the hour of the week suits the place, week and second are anyone's."""
    hour = _hours_of_week()[slot, rng.integers(0, _STEPS, len(slot))]
    return (hour + _HOURS * rng.integers(0, _WEEKS, len(slot))) * 3600 + rng.integers(0, 3600, len(slot))


@cache
def _hours_of_week() -> npt.NDArray[np.int64]:
    """For each place of a life, the hours of the week at evenly spaced chances."""
    hour = np.arange(_HOURS) % 24
    weekend = np.arange(_HOURS) >= 5 * 24
    home = 0.06 + 0.5 * _around(hour, 7.5, 1.3) + _around(hour, 20, 2.6) + 0.4 * weekend * _around(hour, 13, 3)
    work = 0.01 + np.where(weekend, 0.08, 1.0) * (_around(hour, 9, 1.4) + 0.8 * _around(hour, 14.5, 2.4))
    shop = 0.01 + _around(hour, 17.5, 1.8) + np.where(weekend, 1.6, 0.3) * _around(hour, 11.5, 2)
    leisure = 0.02 + np.where(weekend, 1.3, 0.7) * _around(hour, 20.5, 2) + 1.1 * weekend * _around(hour, 15, 2.5)
    return np.stack([_at_even_chances(kind) for kind in (home, work, shop, shop, leisure, leisure)])


def _around(hour: npt.NDArray[np.int64], peak: float, width: float) -> Floats:
    return np.asarray(np.exp(-0.5 * ((hour + 0.5 - peak) / width) ** 2))


def _at_even_chances(weights: Floats) -> npt.NDArray[np.int64]:
    reached = np.cumsum(weights) / weights.sum()
    return np.minimum(np.searchsorted(reached, (np.arange(_STEPS) + 0.5) / _STEPS), _HOURS - 1)
