"""Which windows of standing maps were begun, published, failed or left out, in the provider's file.

Guarantee: a window is on disk before anybody is asked for it, and published in the transaction that keeps its map,
           or failed in the one that ends its question. One that was begun and not ended is found again by the next
           process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fedgroup.errors import InvalidInput
from fedgroup.storage.provider_state import ProviderState, Question, end_failed, end_for_nothing

_TABLES = (
    "CREATE TABLE IF NOT EXISTS standing (name TEXT PRIMARY KEY, first INTEGER NOT NULL, said TEXT NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS standing_windows (name TEXT NOT NULL, begin INTEGER NOT NULL, last INTEGER NOT NULL,"
    " state TEXT NOT NULL, question TEXT, told TEXT NOT NULL, PRIMARY KEY (name, begin)) WITHOUT ROWID",
)
_WINDOW = "SELECT begin, last, state, question, told FROM standing_windows WHERE name = ?"

State = Literal["asked", "published", "failed", "left out"]


@dataclass(frozen=True)
class StandingWindow:
    """A window of a standing map: `last` is another one only where many were left out together.

    `told` is how far it came while it is asked for, and why it failed afterwards.
    """

    begin: int
    last: int
    state: State
    question: str | None
    told: Mapping[str, Any]


class StandingBook:
    """The windows of all standing maps of a provider."""

    def __init__(self, state: ProviderState) -> None:
        self._state = state
        with state.transaction() as connection:
            for table in _TABLES:
                connection.execute(table)

    def first(self, name: str, said: Mapping[str, Any], first: int) -> int:
        """Return when the first window of a standing map begins: as was said when it was first seen.

        A name stands for one map for ever, else windows of one would be taken for those of another.
        """
        text = json.dumps(said, sort_keys=True)
        with self._state.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO standing VALUES (?, ?, ?)", (name, first, text))
            known, spelled = connection.execute("SELECT first, said FROM standing WHERE name = ?", (name,)).fetchone()
        if spelled != text:
            raise InvalidInput(f"the standing map {name!r} was another one before; give this one a name of its own")
        return int(known)

    def unfinished(self, name: str) -> StandingWindow | None:
        """Return the window that was begun and not ended, if there is one."""
        with self._state.transaction() as connection:
            row = connection.execute(f"{_WINDOW} AND state = 'asked'", (name,)).fetchone()
        return None if row is None else _window(row)

    def last(self, name: str) -> int | None:
        """Return when the last window that was begun, ended or left out begins."""
        with self._state.transaction() as connection:
            found = connection.execute("SELECT max(last) FROM standing_windows WHERE name = ?", (name,)).fetchone()[0]
        return None if found is None else int(found)

    def windows(self, name: str, *, most: int) -> list[StandingWindow]:
        """Return the latest windows, the newest first."""
        with self._state.transaction() as connection:
            rows = connection.execute(f"{_WINDOW} ORDER BY begin DESC LIMIT ?", (name, most)).fetchall()
        return [_window(row) for row in rows]

    def keep(self, name: str, begin: int, question: Question, told: Mapping[str, Any]) -> None:
        """Keep how far a window came."""
        row = (name, begin, begin, "asked", question.id, json.dumps(told))
        with self._state.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO standing_windows VALUES (?, ?, ?, ?, ?, ?)", row)

    def publish(self, name: str, begin: int, question: Question, answer: Mapping[str, Any]) -> None:
        """Keep the map of a window, for everybody to read."""
        with self._state.transaction() as connection:
            kept = (json.dumps(answer), question.id)
            connection.execute("UPDATE questions SET state = 'answered', answer = ? WHERE id = ?", kept)
            connection.execute("INSERT OR REPLACE INTO publications VALUES (?, NULL)", (question.id,))
            row = (name, begin, begin, "published", question.id, "{}")
            connection.execute("INSERT OR REPLACE INTO standing_windows VALUES (?, ?, ?, ?, ?, ?)", row)

    def fail(self, name: str, begin: int, question: Question, why: str, *, charged: bool) -> None:
        """Keep that a window has no map and will have none; its charge is returned unless owners may have paid."""
        row = (name, begin, begin, "failed", question.id, json.dumps({"why": why}))
        with self._state.transaction() as connection:
            end_failed(connection, question) if charged else end_for_nothing(connection, question)
            connection.execute("INSERT OR REPLACE INTO standing_windows VALUES (?, ?, ?, ?, ?, ?)", row)

    def leave_out(self, name: str, begin: int, last: int) -> None:
        """Keep that windows were missed for so long that they are left out."""
        row = (name, begin, last, "left out", None, "{}")
        with self._state.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO standing_windows VALUES (?, ?, ?, ?, ?, ?)", row)


def _window(row: tuple[Any, ...]) -> StandingWindow:
    return StandingWindow(row[0], row[1], row[2], row[3], json.loads(row[4]))
