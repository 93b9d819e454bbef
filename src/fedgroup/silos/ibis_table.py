"""A table of any other database, through Ibis: ClickHouse, MySQL, Snowflake, Trino and others.

Ibis has no errors of its own for lost connections, so every error of a question counts as one. It writes values into
its SQL; they are the numbers of a public question.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fedgroup.errors import InvalidInput
from fedgroup.owner.times import NO_TIME
from fedgroup.silos.batches import ROWS, Batch, Clock, batch_of
from fedgroup.silos.faults import asked, driver, fetched
from fedgroup.silos.settings import Settings
from fedgroup.silos.wanted import EARLIEST_S, LATEST_S, Wanted

_FOREIGN = (Exception,)
_ZONES_S = 100_000.0
"""More than a day: a database may read a time without a zone in a zone of its own."""
_OWN_KINDS = {"sqlite": "sqlite or sql", "duckdb": "sql"}


class IbisTable:
    """A table behind a url that Ibis knows how to connect to."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._ibis: Any = driver("ibis", kind="ibis")
        self._backend: Any = None
        self._table: Any = None

    def __repr__(self) -> str:
        return "IbisTable(<private>)"

    def batches(self, wanted: Wanted) -> Iterator[Batch]:
        """Yield the wanted rows."""
        return fetched(self._batches(wanted), foreign=_FOREIGN, forget=self.close)

    def mark(self) -> str | None:
        """Return none: Ibis tells nothing about changes."""

    def version(self) -> str | None:
        """Return none: the rows have to be looked at."""

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        backend, self._backend, self._table = self._backend, None, None
        if backend is not None:
            try:
                backend.disconnect()
            except _FOREIGN:
                return

    def prepared(self) -> IbisTable:
        """Return this table after a look at its columns."""
        schema = asked(self._schema, foreign=_FOREIGN, forget=self.close)
        fault = schema if isinstance(schema, str) else self._fault(schema)
        if fault is not None:
            self.close()
            raise InvalidInput(fault)
        return self

    def _fault(self, schema: dict[str, Any]) -> str | None:
        """Return what is wrong with the columns, or none."""
        for name in self._settings.columns:
            if name not in schema:
                return f"there is no column {name!r} in the silo's table; its columns are: {', '.join(schema)}"
        for name in (self._settings.given("x"), self._settings.given("y"), *self._settings.attributes):
            if not (schema[name].is_numeric() or schema[name].is_boolean()):
                return f"the column {name!r} of the silo is of type {schema[name]}; it must hold numbers"
        return None

    def _schema(self) -> Any:
        """Return the types of the columns by name, or what is wrong with the settings."""
        try:
            return dict(self._connected().schema().items())
        except ImportError:
            return "Ibis lacks the driver of this silo's database; install ibis-framework with the database's extra"
        except ValueError:
            return "Ibis knows no database for this silo's url; it begins with the database's name, as in mysql://"
        except self._ibis.common.exceptions.TableNotFound:
            return f"there is no table {self._settings.table!r} in the silo's database"

    def _connected(self) -> Any:
        if self._table is None:
            self._backend = self._ibis.connect(self._settings.given("url"))
            self._table = self._backend.table(self._settings.given("table"))
        return self._table

    def _batches(self, wanted: Wanted) -> Iterator[Batch]:
        if not wanted.boxes:
            return
        clock = self._clock() if wanted.with_time else None
        for batch in self._select(wanted).to_pyarrow_batches(chunk_size=ROWS):
            columns = [_array(column) for column in batch.columns]
            yield batch_of(columns, wanted, clock=clock)

    def _select(self, wanted: Wanted) -> Any:
        table, settings = self._connected(), self._settings
        place = {"x": _number(table[settings.x]), "y": _number(table[settings.y])}
        values = {f"c{i}": _number(table[name]) for i, name in enumerate(wanted.attributes)}
        time = {"t": table[settings.time]} if wanted.with_time else {}
        near = (
            place["x"].between(box.west, box.east) & place["y"].between(box.south, box.north) for box in wanted.boxes
        )
        subject = None if settings.subject is None else _text(table[settings.subject]).nullif("")
        whose = [] if subject is None else [subject.notnull()]
        found = table.filter(reduce(or_, near), *self._time_cuts(wanted), *whose)
        if wanted.in_order:
            found = found.order_by(self._order(table))
        if wanted.first is not None:
            found = found.limit(wanted.first)
        told = {"s": subject} if wanted.with_subject and subject is not None else {}
        words = {f"w{i}": _text(table[name]) for i, name in enumerate(wanted.texts)}
        return found.select(**(place | time | values | told | words))

    def _order(self, table: Any) -> list[Any]:
        names = dict.fromkeys([self._settings.given("order"), *self._settings.columns])
        return [key for name in names for key in (table[name].isnull(), table[name])]

    def _time_cuts(self, wanted: Wanted) -> list[Any]:
        if not wanted.with_time or self._clock() == "anything":
            return []
        time = self._connected()[self._settings.time]
        cuts = []
        if wanted.since_s is not None:
            cuts.append(time >= self._bound(max(wanted.since_s - _ZONES_S, EARLIEST_S)))
        if wanted.until_s is not None:
            cuts.append(time <= self._bound(min(wanted.until_s + _ZONES_S, LATEST_S)))
        return cuts

    def _clock(self) -> Clock:
        kind = self._connected().schema()[self._settings.time]
        if kind.is_timestamp() or kind.is_date():
            return "microseconds"
        return "seconds" if kind.is_numeric() else "anything"

    def _bound(self, seconds: float) -> Any:
        if self._clock() == "seconds":
            return seconds
        return self._ibis.timestamp(datetime.fromtimestamp(math.floor(seconds), UTC).replace(tzinfo=None).isoformat())


def ibis_table(settings: Settings) -> IbisTable:
    """Return a table through Ibis, after a look at its columns.

    SQLite's values are of any type, which Ibis does not know, and DuckDB is asked faster directly.
    """
    scheme = settings.given("url").partition(":")[0]
    if scheme in _OWN_KINDS:
        raise InvalidInput(f"a silo in {scheme} is of kind {_OWN_KINDS[scheme]}, not ibis")
    return IbisTable(settings).prepared()


def _number(column: Any) -> Any:
    return column.cast("float64")


def _text(column: Any) -> Any:
    return column.cast("string")


def _array(column: pa.Array) -> Any:
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        micros = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False).cast(pa.int64())
        return pc.fill_null(micros, int(NO_TIME)).to_numpy(zero_copy_only=False)
    numbers = pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
    return column.to_numpy(zero_copy_only=False) if numbers else column.to_pylist()
