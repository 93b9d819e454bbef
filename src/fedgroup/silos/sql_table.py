"""A table that is asked in SQL, through whichever driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from fedgroup.silos.batches import Batch, batch_of
from fedgroup.silos.faults import Foreign, asked, fetched
from fedgroup.silos.select import Fragments, Parameters, select
from fedgroup.silos.wanted import Wanted

Told = Callable[[], str | None]
Fetch = Callable[[Fragments, Wanted], Iterator[Sequence[Any]]]


class Database(Protocol):
    """A connection that opens itself when it is needed. Its methods raise the driver's errors."""

    @property
    def foreign(self) -> Foreign:
        """The errors that the driver raises."""

    def columns(self, text: str, parameters: Parameters) -> Iterator[Sequence[Any]]:
        """Yield the rows of a SELECT as they are at one moment, some at a time, column by column."""

    def row(self, text: str, parameters: Parameters | None = None) -> tuple[Any, ...]:
        """Return the only row of a SELECT."""

    def close(self) -> None:
        """Close the connection, if there is one."""


def nothing() -> None:
    """Tell nothing about changes."""


class SqlTable:
    """The rows that a SELECT finds; `mark` and `version` tell of changes as `silo.Table` says.

    `fetch` brings the columns of rows, where the database's plain way is not the best.
    """

    def __init__(
        self,
        database: Database,
        fragments: Fragments,
        *,
        fetch: Fetch | None = None,
        mark: Told = nothing,
        version: Told = nothing,
    ) -> None:
        self._database = database
        self._fragments = fragments
        self._fetch = fetch or (lambda pieces, wanted: database.columns(*select(pieces, wanted)))
        self._mark = mark
        self._version = version

    def batches(self, wanted: Wanted) -> Iterator[Batch]:
        """Yield the wanted rows, as they are at one moment."""
        return fetched(self._batches(wanted), foreign=self._database.foreign, forget=self.close)

    def mark(self) -> str | None:
        """Return a text that stays the same at most as long as nothing changed, or none."""
        return asked(self._mark, foreign=self._database.foreign, forget=self.close)

    def version(self) -> str | None:
        """Return a text that differs between any two states of the table, or none."""
        return asked(self._version, foreign=self._database.foreign, forget=self.close)

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._database.close()

    def _batches(self, wanted: Wanted) -> Iterator[Batch]:
        if not wanted.boxes:
            return
        time = self._fragments.time if wanted.with_time else None
        for columns in self._fetch(self._fragments, wanted):
            yield batch_of(columns, wanted, clock=None if time is None else time.clock)


def stated_version(database: Database, text: str) -> Told:
    """Return what asks the owner's own SELECT for the table's version."""
    return lambda: repr(database.row(text))
