"""Fetched rows as arrays, and the digest of a table's rows in any order.

What a row says is read from that row alone, and nothing in it is a reason to refuse: a refusal that depends on a value
would tell of it. A place or a value that is no finite number is absent, and so is a time that cannot be read.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.owner.records import Records
from fedgroup.owner.times import NO_TIME, Times, as_times
from fedgroup.questions.instants import as_instant
from fedgroup.silos.wanted import LARGEST_LONGITUDE, LATEST_S
from fedgroup.space import PublicMap

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Clock = Literal["microseconds", "seconds", "anything"]
"""How times arrive: as microseconds or seconds since 1970, or each value as what it is."""

ROWS = 1 << 16
"""How many rows are fetched at a time."""

_SEEDS = (0x243F6A8885A308D3, 0x13198A2E03707344)


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Some fetched rows, column by column; NaN marks an absent value."""

    x: Floats
    y: Floats
    time: Times | None
    attributes: Mapping[str, Floats]


def batch_of(columns: Sequence[Any], attributes: Sequence[str], *, clock: Clock | None) -> Batch:
    """Return the batch of columns fetched in the order x, y, the time if there is a clock, attributes."""
    x, y, *others = columns
    time = None if clock is None else times_of(others.pop(0), clock)
    values = {name: floats_of(column) for name, column in zip(attributes, others, strict=True)}
    return Batch(floats_of(x), floats_of(y), time, values)


def floats_of(values: Any) -> Floats:
    """Return numbers, NaN where there is none."""
    array = np.asarray(values)
    return array.astype(np.float64) if array.dtype.kind != "O" else _plain(array)


def times_of(values: Any, clock: Clock) -> Times:
    """Return times as microseconds since 1970, `NO_TIME` where there is none."""
    if clock == "microseconds":
        return np.asarray(values, dtype=np.int64)
    if clock == "seconds":
        seconds = floats_of(values)
        with np.errstate(invalid="ignore"):
            return as_times(np.where(np.abs(seconds) <= LATEST_S + 1, seconds, np.nan))
    return np.fromiter((_instant(value) for value in values), dtype=np.int64, count=len(values))


def records_of(batch: Batch, public_map: PublicMap) -> Records:
    """Return the rows of a batch that have a place, as the records of one owner."""
    placed = np.isfinite(batch.x) & np.isfinite(batch.y)
    if public_map.lonlat:
        placed &= np.abs(batch.x) <= LARGEST_LONGITUDE
    rows = np.flatnonzero(placed)
    return Records.of_columns(
        np.zeros(len(rows), dtype=np.int32),
        np.zeros(1, dtype=np.int64),
        x=batch.x[rows],
        y=batch.y[rows],
        attributes={name: _finite(column[rows]) for name, column in batch.attributes.items()},
        time=None if batch.time is None else batch.time[rows],
        lonlat=public_map.lonlat,
        domain=public_map.domain,
        listed=True,
    )


def digest_of(tables: Iterable[Records]) -> str:
    """Return a digest of the rows of some tables that does not depend on their order."""
    count, sums = 0, [0, 0]
    for records in tables:
        count += len(records)
        words = _words(records)
        for i, seed in enumerate(_SEEDS):
            sums[i] += int(_mixed(words, seed).sum(dtype=np.uint64))
    facts = ":".join(str(number % 2**64) for number in (count, *sums))
    return hashlib.sha256(facts.encode()).hexdigest()


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def _plain(values: npt.NDArray[Any]) -> Floats:
    return np.fromiter((_number(value) for value in values), dtype=np.float64, count=len(values))


def _number(value: Any) -> float:
    try:
        return math.nan if value is None or isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _instant(value: Any) -> int:
    try:
        return int(NO_TIME) if value is None else as_instant(value, name="time")
    except (InvalidInput, OverflowError):
        return int(NO_TIME)


def _words(records: Records) -> list[Words]:
    names = sorted(records.attributes)
    columns = [records.x, records.y, *(records.attributes[name] for name in names)]
    times = [] if records.time is None else [records.time]
    return [np.ascontiguousarray(column).view(np.uint64) for column in (*columns, *times)]


def _mixed(words: Sequence[Words], seed: int) -> Words:
    """Return one number per row, mixed from all its words by the finaliser of SplitMix64."""
    mixed = np.full(len(words[0]), seed, dtype=np.uint64)
    for word in words:
        mixed = (mixed ^ word) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed
