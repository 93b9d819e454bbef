"""What looks wrong in the places, times and rows of a file, one sentence each. Nothing here is private."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fedgroup.errors import InvalidInput
from fedgroup.evaluation.columns_taken import Coordinates, Taken
from fedgroup.questions.instants import as_instant
from fedgroup.space import Box, PublicMap

Floats = npt.NDArray[np.float64]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
_PLAUSIBLE_S = (3e8, 4.1e9)
"""1979 to 2099: in this span a number of seconds is likely a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Places:
    """The places of the rows that have one, and how many have none, or something that is none."""

    x: Floats
    y: Floats
    missing: int
    words: int

    @property
    def extent(self) -> tuple[float, ...] | None:
        """West, south, east and north of all places."""
        if not len(self.x):
            return None
        return tuple(float(side) for side in (self.x.min(), self.y.min(), self.x.max(), self.y.max()))


@dataclass(frozen=True, repr=False)
class Times:
    """The first and the last time, and what is wrong with times."""

    span: tuple[str, str] | None
    faults: tuple[str, ...]


def places_of(table: pa.Table, taken: Taken) -> Places | None:
    """Return the places of a table whose x and y are known."""
    if taken.x is None or taken.y is None:
        return None
    x, x_words = _numbers(table[taken.x])
    y, y_words = _numbers(table[taken.y])
    usable = np.isfinite(x) & np.isfinite(y)
    words = int(np.count_nonzero(x_words | y_words))
    return Places(x[usable], y[usable], missing=int(np.count_nonzero(~usable)) - words, words=words)


def place_suspicions(places: Places, coordinates: Coordinates | None, domain: Box | None) -> list[str]:
    """Return what looks wrong in where the rows lie."""
    rows = len(places.x) + places.missing + places.words
    found = []
    if places.words:
        found.append(f"{_share(places.words, rows)} have text where x or y should be a number")
    if places.missing:
        found.append(
            f"{_share(places.missing, rows)} have no place (empty, NaN or infinite); drop them, or fill them in"
        )
    if not len(places.x):
        return found
    nowhere = int(np.count_nonzero((places.x == 0) & (places.y == 0)))
    if nowhere:
        found.append(f"{_share(nowhere, rows)} lie at 0,0, as missing places are often written; drop them if so")
    elif len(places.x) > 1 and places.x.min() == places.x.max() and places.y.min() == places.y.max():
        found.append("all rows lie at the same place")
    return [*found, *_reading_suspicions(places, coordinates, domain), *_domain_suspicions(places, coordinates, domain)]


def unit_of(numbers: Floats) -> str | None:
    """Return the unit in which numbers are likely times since 1970, None if in none."""
    if not len(numbers):
        return None
    middle, (low, high) = float(np.median(np.abs(numbers))), _PLAUSIBLE_S
    return next((unit for unit, per_second in _UNITS.items() if low <= middle / per_second <= high), None)


def unnamed_times(table: pa.Table, taken: Taken) -> list[str]:
    """Return which other columns look like times, where no column is taken for them."""
    found = []
    for name in () if taken.time else (*taken.attributes, *taken.texts, *taken.left_out):
        kind = table.schema.types[table.column_names.index(name)]
        if pt.is_timestamp(kind) or pt.is_date(kind):
            found.append(f"column {name} holds times; name it with --time to ask about time windows")
        elif pt.is_integer(kind) and (unit := unit_of(_numbers(table[name])[0])):
            found.append(f"column {name} looks like {unit} since 1970; if it is, name it with --time")
    return found


def times_of(table: pa.Table, taken: Taken) -> Times | None:
    """Return the times of a table that has a column of them."""
    if taken.time is None or table.num_rows == 0:
        return None
    column = table[taken.time]
    if pt.is_integer(column.type) or pt.is_floating(column.type):
        return _numeric_times(column, taken.time)
    if pt.is_timestamp(column.type) or pt.is_date(column.type):
        microseconds = column.drop_null().cast(pa.timestamp("us"), safe=False).cast(pa.int64()).to_numpy()
        return _told(microseconds, column.null_count, 0, taken.time, len(column))
    instants = [_instant(value) for value in column.drop_null().to_pylist()]
    known = np.array([instant for instant in instants if instant is not None], dtype=np.int64)
    return _told(known, column.null_count, len(instants) - len(known), taken.time, len(column))


def owners_of(table: pa.Table, taken: Taken) -> list[Any] | None:
    """Return the different owners of a table whose column of owners is known."""
    if taken.owner is None:
        return None
    return [owner for owner in table[taken.owner].drop_null().unique().to_pylist() if owner not in ("", b"")]


def row_suspicions(table: pa.Table) -> list[str]:
    """Return what looks wrong in rows as a whole."""
    found = []
    names = list(dict.fromkeys(table.column_names))
    if len(names) == len(table.column_names) and table.num_rows:
        copies = table.num_rows - _different_rows(table)
        if copies:
            found.append(f"{_share(copies, table.num_rows)} are exact copies of other rows")
    return found


def owner_suspicions(column: pa.ChunkedArray, name: str, ids: list[Any], listed: Collection[Any] | None) -> list[str]:
    """Return what looks wrong in the owners of the rows, who are `ids`; `listed` are those that all agreed on."""
    rows = len(column)
    missing = _without_id(column)
    found = [f"{_share(missing, rows)} have no owner in column {name}"] if missing else []
    strangers = 0 if listed is None else len([owner for owner in ids if owner not in listed])
    if strangers:
        found.append(f"{strangers:,} of {len(ids):,} owners are not in the owner list")
    if len(ids) == 1 and rows > 1:
        found.append(f"all rows belong to one owner; is {name} the right column? one owner is no federation")
    if len(ids) == rows > 20:
        found.append(f"every row has an owner of its own; is {name} the id of a record? name the owner with --owner")
    texts = [value for value in ids if isinstance(value, str)]
    alike = len(texts) - len({" ".join(text.split()).casefold() for text in texts})
    if alike:
        found.append(f"{alike:,} owners differ from another in spaces or capitals only; they count as different owners")
    return found


def subject_suspicions(column: pa.ChunkedArray, name: str) -> list[str]:
    """Return what looks wrong in the subjects of the rows."""
    missing = _without_id(column)
    return [f"{_share(missing, len(column))} have no subject in column {name}"] if missing else []


def _without_id(column: pa.ChunkedArray) -> int:
    return int(column.null_count + (pc.sum(pc.equal(column, "")).as_py() or 0 if pt.is_string(column.type) else 0))


def _reading_suspicions(places: Places, coordinates: Coordinates | None, domain: Box | None) -> list[str]:
    if coordinates is None:
        return []
    x, y = np.abs(places.x), np.abs(places.y)
    if not coordinates.lonlat:
        small = domain is None or max(map(abs, domain.sides)) <= 360
        degrees = small and x.max() <= 180 and y.max() <= 90 and (places.x % 1 != 0).any()
        hint = "x and y look like degrees, but are read as plain numbers; if they are degrees, call them lon and lat"
        return [hint] if degrees else []
    if x.max() <= 90 < y.max() <= 360:
        return ["longitude and latitude look swapped: latitudes are beyond 90 degrees; name them with --x and --y"]
    if x.max() > 360 or y.max() > 90:
        return ["x and y are read as degrees, but are too large for them; if they are metres, say --planar"]
    return []


def _domain_suspicions(places: Places, coordinates: Coordinates | None, domain: Box | None) -> list[str]:
    if domain is None or coordinates is None:
        return []
    try:
        public_map = PublicMap(domain, coordinates.lonlat)
    except InvalidInput as error:
        return [f"the domain does not fit these coordinates: {error}"]
    inside, swapped = (float(public_map.inside(*pair).mean()) for pair in ((places.x, places.y), (places.y, places.x)))
    if swapped > 0.5 > inside:
        return [
            "x and y look swapped: exchanged, most rows would lie in the domain; name them with --x and --y, "
            "or exchange the sides of the domain"
        ]
    if inside == 0:
        return ["no row lies in the domain; is it in the same coordinates as the file?"]
    return ["most rows lie outside the domain, and are not counted"] if inside < 0.5 else []


def _numeric_times(column: pa.ChunkedArray, name: str) -> Times:
    numbers = np.asarray(column.drop_null().cast(pa.float64(), safe=False).to_numpy())
    numbers = numbers[np.isfinite(numbers)]
    missing = len(column) - len(numbers)
    if not len(numbers):
        return _told(np.zeros(0, dtype=np.int64), missing, 0, name, len(column))
    unit = unit_of(numbers)
    told = _told((numbers / _UNITS[unit or "seconds"] * 1e6).clip(-9e18, 9e18), missing, 0, name, len(column))
    if unit == "seconds":
        return told
    if unit is None:
        return Times(None, (*told.faults, f"column {name} holds numbers that are hardly seconds since 1970"))
    return Times(told.span, (*told.faults, f"times look like {unit} since 1970, and are read as seconds; divide them"))


def _told(microseconds: npt.NDArray[Any], missing: int, wrong: int, name: str, rows: int) -> Times:
    faults = []
    if wrong:
        faults.append(f"{_share(wrong, rows)} have something in column {name} that is no ISO time and no seconds")
    if missing:
        faults.append(f"{_share(missing, rows)} have no time; they lie in no time window")
    if not len(microseconds):
        return Times(None, tuple(faults))
    return Times((_written(int(microseconds.min())), _written(int(microseconds.max()))), tuple(faults))


def _written(microseconds: int) -> str:
    try:
        return (_EPOCH + timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return f"{microseconds / 1e6:.0f} s"


def _instant(value: Any) -> int | None:
    try:
        return as_instant(value, name="time")
    except (InvalidInput, TypeError, ValueError):
        return None


def _numbers(column: pa.ChunkedArray) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return a column's numbers, NaN where there is none, and where there is something else instead."""
    if pt.is_integer(column.type) or pt.is_floating(column.type) or pt.is_decimal(column.type):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy()), np.zeros(len(column), dtype=np.bool_)
    values = column.to_pylist()
    numbers = np.array([_number(value) for value in values], dtype=np.float64)
    said = np.array([value is not None and str(value).strip() != "" for value in values], dtype=np.bool_)
    return numbers, np.isnan(numbers) & said


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _different_rows(table: pa.Table) -> int:
    if any(pt.is_nested(field.type) for field in table.schema):
        return int(table.num_rows)
    columns = {
        name: table[name].cast(table[name].type.value_type) if pt.is_dictionary(table[name].type) else table[name]
        for name in table.column_names
        if not pt.is_null(table[name].type)
    }
    return int(pa.table(columns).group_by(list(columns)).aggregate([]).num_rows)


def _share(count: int, rows: int) -> str:
    return f"{count:,} of {rows:,} rows ({count / rows:.1%})"
