"""Fetched rows as arrays, and the digest of a table's rows in any order.

What a row says is read from that row alone, and nothing in it is a reason to refuse: a refusal that depends on a value
would tell of it. A place or a value that is no finite number is absent, and so is a time that cannot be read.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fedgroup.errors import InvalidInput
from fedgroup.owner.identity import Codes
from fedgroup.owner.records import Records, Texts
from fedgroup.owner.times import NO_TIME, Times, as_times
from fedgroup.questions.instants import as_instant
from fedgroup.silos.wanted import LARGEST_LONGITUDE, LATEST_S, Wanted
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
    """Some fetched rows, column by column; NaN marks an absent value, and a text or subject may be absent too."""

    x: Floats
    y: Floats
    time: Times | None
    attributes: Mapping[str, Floats]
    subject: Texts | None = None
    texts: Mapping[str, Texts] = field(default_factory=dict)


class Subjects:
    """The subjects met so far in a table, numbered as they come."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._words: list[Words] = []
        self._told = 0

    def __repr__(self) -> str:
        return "Subjects(<private>)"

    def of(self, column: Texts) -> Codes:
        """Return the number of the subject of each row; every row has one."""
        numbers = (self._number.setdefault(name, len(self._number)) for name in column.values)
        return np.fromiter(numbers, dtype=np.int32, count=len(column.values))[column.codes]

    @property
    def words(self) -> Words:
        """A word for each subject, by its number."""
        new = tuple(itertools.islice(self._number, self._told, None))
        self._words = [np.concatenate([*self._words, _words_of(new)])]
        self._told += len(new)
        return self._words[0]


def batch_of(columns: Sequence[Any], wanted: Wanted, *, clock: Clock | None) -> Batch:
    """Return the batch of columns fetched in the order x, y, time if there is a clock, attributes, subject, texts."""
    x, y, *others = columns
    time = None if clock is None else times_of(others.pop(0), clock)
    values = {name: floats_of(others.pop(0)) for name in wanted.attributes}
    subject = texts_of(others.pop(0)) if wanted.with_subject else None
    texts = {name: texts_of(column) for name, column in zip(wanted.texts, others, strict=True)}
    return Batch(floats_of(x), floats_of(y), time, values, subject, texts)


def joined(batches: Sequence[Batch], wanted: Wanted) -> Batch:
    """Return all batches as one."""
    none, parts = np.zeros(0), list(batches)
    times = [part.time for part in parts if part.time is not None]
    subjects = [part.subject for part in parts if part.subject is not None]
    return Batch(
        np.concatenate([none, *(part.x for part in parts)]),
        np.concatenate([none, *(part.y for part in parts)]),
        np.concatenate([np.zeros(0, dtype=np.int64), *times]) if wanted.with_time else None,
        {name: np.concatenate([none, *(part.attributes[name] for part in parts)]) for name in wanted.attributes},
        _one_column(subjects) if wanted.with_subject else None,
        {name: _one_column([part.texts[name] for part in parts]) for name in wanted.texts},
    )


def texts_of(values: Any) -> Texts:
    """Return texts, each written once."""
    if isinstance(values, pa.Array):
        encoded = values.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        return Texts(codes, tuple(encoded.dictionary.to_pylist()))
    place: dict[str, int] = {}
    numbers = (-1 if value is None else place.setdefault(_text(value), len(place)) for value in values)
    codes = np.fromiter(numbers, dtype=np.int32, count=len(values))
    return Texts(codes, tuple(place))


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
    listed = values.to_pylist() if isinstance(values, pa.Array) else values
    return np.fromiter((_instant(value) for value in listed), dtype=np.int64, count=len(listed))


def records_of(batch: Batch, public_map: PublicMap, subjects: Subjects | None = None) -> Records:
    """Return the rows of a batch that have a place, and a subject if there are `subjects`, as those of one owner."""
    placed = np.isfinite(batch.x) & np.isfinite(batch.y)
    if public_map.lonlat:
        placed &= np.abs(batch.x) <= LARGEST_LONGITUDE
    if batch.subject is not None:
        placed &= batch.subject.codes >= 0
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
        subject=None if subjects is None or batch.subject is None else subjects.of(batch.subject.keep(rows)),
        texts={name: column.keep(rows) for name, column in batch.texts.items()},
    )


def digest_of(tables: Iterable[Records], subjects: Subjects, *, ordered: Sequence[int | None] | None = None) -> str:
    """Return a digest of the rows of some tables; it depends on their order only if it is `ordered`, by these cuts."""
    count, sums = 0, [0, 0]
    for records in tables:
        place = [] if ordered is None else [np.arange(count, count + len(records), dtype=np.uint64)]
        words = [*_words(records, subjects), *place]
        count += len(records)
        for i, seed in enumerate(_SEEDS):
            sums[i] += int(_mixed(words, seed).sum(dtype=np.uint64))
    facts = ":".join(str(number % 2**64) for number in (count, *sums)) + ("" if ordered is None else f":{ordered}")
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


def _words(records: Records, subjects: Subjects) -> list[Words]:
    names = sorted(records.attributes)
    columns = [records.x, records.y, *(records.attributes[name] for name in names)]
    times = [] if records.time is None else [records.time]
    numbers = [np.ascontiguousarray(column).view(np.uint64) for column in (*columns, *times)]
    told = [] if records.subject is None else [subjects.words[records.subject]]
    texts = (records.text(name) for name in sorted(records.texts))
    return [*numbers, *told, *(_words_of((*each.values, None))[each.codes] for each in texts)]  # -1, none, is the last


def _words_of(texts: Sequence[str | None]) -> Words:
    """Return a word for each text."""
    digests = b"".join(
        bytes(8) if text is None else hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
        for text in texts
    )
    return np.frombuffer(digests, dtype=np.uint64)


def _one_column(parts: Sequence[Texts]) -> Texts:
    """Return columns of texts one after the other as one column."""
    place: dict[str, int] = {}
    codes = [np.zeros(0, dtype=np.int32)]
    for part in parts:
        own = [*(place.setdefault(text, len(place)) for text in part.values), -1]
        codes.append(np.array(own, dtype=np.int32)[part.codes])
    return Texts(np.concatenate(codes), tuple(place))


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _mixed(words: Sequence[Words], seed: int) -> Words:
    """Return one number per row, mixed from all its words by the finaliser of SplitMix64."""
    mixed = np.full(len(words[0]), seed, dtype=np.uint64)
    for word in words:
        mixed = (mixed ^ word) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed
