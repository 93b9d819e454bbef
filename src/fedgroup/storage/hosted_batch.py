"""What owners of one file write in one transaction: gathered in memory, and written at its end, table by table.

A row that was read is remembered while nothing but a batch changes the file: what other transactions and other
processes do to it makes all of it be read anew.

Requires:  the file's write lock is held from `begin` on until `write` is committed, or everything is forgotten.
Guarantee: what is remembered is what the file holds, with what this batch is about to write.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from fedgroup.storage.hosted_rows import KEPT, MOVED, ROW, Row

NO_REPLY = b""
"""A round that was charged and has not been answered: it never is, if whoever was at it is gone."""

_LINES = "INSERT INTO entries (id, owner, before, at, epoch, purpose, question, nano, pico) VALUES (?,?,?,?,?,?,?,?,?)"
_SEEN = "INSERT INTO seen (id, owner, before, log, head) VALUES (?, ?, ?, ?, ?)"
_ROUNDS = "INSERT INTO rounds (reply, snapshot, id, owner) VALUES (?, ?, ?, ?)"
_REPLIES = "UPDATE rounds SET reply = ? WHERE id = ? AND owner = ?"
_BEGAN = "SELECT owner FROM rounds WHERE id = ?"
_REPLIED = "SELECT reply <> x'' FROM rounds WHERE id = ? AND owner = ?"
_LAST = "SELECT (SELECT coalesce(max(id), 0) FROM entries), (SELECT coalesce(max(id), 0) FROM seen)"
_ROUNDS_KNOWN = 64


class Batch:
    """The rows to be written, and those that were read; one is used for one transaction after the other."""

    def __init__(self) -> None:
        self.connection: sqlite3.Connection
        self._version: int | None = None
        self._rows: dict[int, Row] = {}
        self._rounds: OrderedDict[bytes, dict[int, bool | None]] = OrderedDict()
        self._last: tuple[int, int] | None = None
        self._empty()

    def _empty(self) -> None:
        self._lines: list[tuple[Any, ...]] = []
        self._seen: list[tuple[Any, ...]] = []
        self._new: dict[tuple[bytes, int], tuple[bytes, str]] = {}
        self._replies: dict[tuple[bytes, int], bytes] = {}
        self._moved: dict[int, Row] = {}
        self._afterwards: list[Callable[[], None]] = []

    def begin(self, connection: sqlite3.Connection) -> None:
        """Begin anew, in a transaction that has just begun; what another process wrote meanwhile is read anew."""
        self.connection = connection
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self.forget()
            self._version = version

    def write(self) -> None:
        """Write everything; the transaction is to be committed."""
        many = self.connection.executemany
        if self._new:
            many(_ROUNDS, ((*told, *key) for key, told in self._new.items()))
        if self._replies:
            many(_REPLIES, ((reply, *key) for key, reply in self._replies.items()))
        if self._lines:
            many(_LINES, self._lines)
        if self._seen:
            many(_SEEN, self._seen)
        if self._moved:
            many(MOVED, ((*row.facts, number) for number, row in self._moved.items()))

    def end(self) -> None:
        """Take in that everything is committed, and do what was to be done then."""
        afterwards = self._afterwards
        self._empty()
        for each in afterwards:
            each()

    def forget(self) -> None:
        """Forget everything that was read, and that was to be written."""
        self._version = None
        self._rows.clear()
        self._rounds.clear()
        self._last = None
        self._empty()

    # --- one owner's rows ---------------------------------------------------------------------------------------------

    def row(self, owner: int) -> Row:
        """Return a copy of an owner's row, to be changed and moved."""
        known = self._rows.get(owner)
        if known is None:
            known = self._rows[owner] = Row(self.connection.execute(ROW, (owner,)).fetchone())
        return known.copy()

    def move(self, owner: int, row: Row) -> None:
        """Let an owner's row be this one from now on."""
        self._rows[owner] = self._moved[owner] = row

    def has_begun(self, round_id: bytes, owner: int) -> bool:
        """Tell whether an owner was charged for a round."""
        return owner in self._of_round(round_id)

    def begin_round(self, round_id: bytes, owner: int, snapshot: str) -> None:
        """Add a round that the owner is charged for, without a reply."""
        self._of_round(round_id)[owner] = False
        self._new[round_id, owner] = NO_REPLY, snapshot

    def keep_reply(self, round_id: bytes, owner: int, reply: bytes) -> bool:
        """Keep the reply of a round that has begun and has none; tell whether it did and had none."""
        replied = self._of_round(round_id)
        if owner in replied and replied[owner] is None:
            (known,) = self.connection.execute(_REPLIED, (round_id, owner)).fetchone()
            replied[owner] = bool(known)
        if replied.get(owner, True):
            return False
        replied[owner] = True
        begun = self._new.get((round_id, owner))
        if begun is None:
            self._replies[round_id, owner] = reply
        else:
            self._new[round_id, owner] = reply, begun[1]
        return True

    def reply(self, round_id: bytes, owner: int) -> bytes | None:
        """Return the reply that is kept for a round; None for one that has not begun."""
        begun = self._new.get((round_id, owner))
        if begun is not None:
            return begun[0]
        reply = self._replies.get((round_id, owner))
        if reply is None:
            row = self.connection.execute(KEPT, (round_id, owner)).fetchone()
            reply = None if row is None else bytes(row[0])
        return reply

    def add_line(self, *line: Any) -> int:
        """Add a line, and return its number."""
        lines, seen = self._counts()
        self._last = lines + 1, seen
        self._lines.append((lines + 1, *line))
        return lines + 1

    def add_seen(self, *seen_head: int) -> int:
        """Add a head that was seen, and return its number."""
        lines, seen = self._counts()
        self._last = lines, seen + 1
        self._seen.append((seen + 1, *seen_head))
        return seen + 1

    def afterwards(self, work: Callable[[], None]) -> None:
        """Let something be done once everything is committed."""
        self._afterwards.append(work)

    def _counts(self) -> tuple[int, int]:
        if self._last is None:
            self._last = self.connection.execute(_LAST).fetchone()
        assert self._last is not None  # noqa: S101  just read
        return self._last

    def _of_round(self, round_id: bytes) -> dict[int, bool | None]:
        """Return which owners began a round, and whether they have replied; None where nobody looked yet.

        Replies may be long, and are not read to learn who has one.
        """
        known = self._rounds.get(round_id)
        if known is None:
            known = dict.fromkeys(owner for (owner,) in self.connection.execute(_BEGAN, (round_id,)))
            known |= {owner: bool(told[0]) for (new, owner), told in self._new.items() if new == round_id}
            known |= {owner: True for replied, owner in self._replies if replied == round_id}
            self._rounds[round_id] = known
            if len(self._rounds) > _ROUNDS_KNOWN:
                self._rounds.popitem(last=False)
        return known
