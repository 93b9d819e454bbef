"""A live owner's ledger: a durable ledger that also keeps, with each charge, the exact bytes that left for it.

Guarantee: a round is charged and its reply kept in one transaction, on disk before the reply is returned; where the
           ledger is `flushed_later`, before `flush` returns. Whatever happens in between, there is one reply for a
           round or none, and never one that was not charged.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.privacy.budget import Charge, settle
from fedgroup.storage.marks import Mark
from fedgroup.storage.sqlite import STANDING, SQLiteLedger, Standing

_ROUNDS = """
CREATE TABLE IF NOT EXISTS rounds (
    id BLOB PRIMARY KEY, at TEXT NOT NULL, reply BLOB NOT NULL, snapshot TEXT NOT NULL) WITHOUT ROWID
"""
_COMPARISONS = """
CREATE TABLE IF NOT EXISTS comparisons (session BLOB PRIMARY KEY, epoch INTEGER NOT NULL) WITHOUT ROWID
"""
_HOLDER = "CREATE TABLE IF NOT EXISTS holder (name TEXT NOT NULL)"
_FROZEN = """
CREATE TABLE IF NOT EXISTS frozen (epoch INTEGER PRIMARY KEY, over TEXT NOT NULL, vector BLOB NOT NULL)
"""
_NAME = "CREATE TABLE IF NOT EXISTS ledger_name (name TEXT NOT NULL)"
_MARK = """
SELECT (SELECT name FROM ledger_name), (SELECT value FROM facts WHERE name = 'epoch'),
    (SELECT coalesce(max(id), 0) FROM entries), (SELECT count(*) FROM comparisons),
    (SELECT value FROM facts WHERE name = 'cap')
"""
_REPLY = "(SELECT reply FROM rounds WHERE id = ?)"


class OwnerLedger(SQLiteLedger):
    """Balances, questions, and the reply of every round, in one file of the owner's own."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        holder: str | None = None,
        busy_seconds: float = 60.0,
        flushed_later: bool = False,
    ) -> None:
        """Open the ledger of `holder`: another owner's is refused, for it would answer with that one's replies."""
        super().__init__(path, busy_seconds=busy_seconds, flushed_later=flushed_later)
        with self._transaction() as connection:
            for table in (_ROUNDS, _COMPARISONS, _FROZEN, _HOLDER, _NAME):
                connection.execute(table)
            if connection.execute("SELECT name FROM ledger_name").fetchone() is None:
                connection.execute("INSERT INTO ledger_name VALUES (?)", (_new_name(),))
            found = connection.execute("SELECT name FROM holder").fetchone()
            if found is None and holder is not None:
                connection.execute("INSERT INTO holder VALUES (?)", (holder,))
            elif holder is not None and found[0] != holder:
                raise InvalidInput(f"{self.path} is the ledger of {found[0]!r}, not of {holder!r}; name another file")

    def reply_once(
        self, round_id: bytes, charges: Sequence[Charge], make: Callable[[], bytes], *, snapshot: str
    ) -> bytes:
        """Return the reply kept for a round; for a new one charge, make the reply, and keep it first.

        An exhausted budget, or an error while the reply is made, leaves nothing behind.
        """
        with self._transaction() as connection:
            kept, *columns = connection.execute(f"SELECT {_REPLY}, {STANDING}", (round_id,)).fetchone()
            if kept is not None:
                return bytes(kept)
            standing = Standing.of(columns)
            self._write(connection, charges, standing)
            reply = make()
            row = (round_id, self.now(), reply, f"{standing.epoch} {snapshot}")
            connection.execute("INSERT INTO rounds VALUES (?, ?, ?, ?)", row)
        return reply

    def require_affordable(self, charges: Sequence[Charge]) -> None:
        """Raise `BudgetExhausted` if these charges would be refused now; nothing is recorded."""
        with self._reading() as connection:
            standing = self._standing(connection)
            settle(self._due(connection, charges), cap=standing.cap, before=standing.spending)

    def kept_reply(self, round_id: bytes) -> bytes | None:
        """Return the reply kept for a round, if there is one."""
        with self._reading() as connection:
            (kept,) = connection.execute(f"SELECT {_REPLY}", (round_id,)).fetchone()
            if kept is None:
                return None
            self._note_unflushed()  # another process may have written it a moment ago
            return bytes(kept)

    def snapshot_of(self, round_id: bytes) -> str | None:
        """Return what the data was when a round was answered in this epoch; None for rounds of earlier ones."""
        with self._reading() as connection:
            row = connection.execute("SELECT snapshot FROM rounds WHERE id = ?", (round_id,)).fetchone()
            epoch, _, found = ("", "", "") if row is None else str(row[0]).partition(" ")
            return found if epoch == str(self.epoch) else None

    def begin_comparison(self, session: bytes, *, over: str, limit: int, freeze: Callable[[], bytes]) -> bytes | None:
        """Count a secure comparison, once, and return the vector frozen for this epoch; None beyond the limit.

        `over` names the grid, its domain and the threshold exactly. One serves a whole epoch: another gets None too.
        """
        with self._transaction() as connection:
            epoch = self.epoch
            known = connection.execute("SELECT 1 FROM comparisons WHERE session = ?", (session,)).fetchone()
            (made,) = connection.execute("SELECT count(*) FROM comparisons WHERE epoch = ?", (epoch,)).fetchone()
            if known is not None or made >= limit:
                return None
            row = connection.execute("SELECT over, vector FROM frozen WHERE epoch = ?", (epoch,)).fetchone()
            if row is None:
                row = (over, freeze())
                connection.execute("INSERT INTO frozen VALUES (?, ?, ?)", (epoch, *row))
                self._note(connection, f"secure comparisons begin, over {over}; each shows one exact bit")
            if row[0] != over:
                return None
            connection.execute("INSERT INTO comparisons VALUES (?, ?)", (session, epoch))
            return bytes(row[1])

    def comparisons(self) -> int:
        """Return how many secure comparisons this owner began in this epoch."""
        with self._reading() as connection:
            found = connection.execute("SELECT count(*) FROM comparisons WHERE epoch = ?", (self.epoch,)).fetchone()
            return int(found[0])

    def mark(self) -> Mark:
        """Return which ledger this is and how far it has come; all of that is on disk once `flush` returned."""
        with self._reading() as connection:
            return Mark(*connection.execute(_MARK).fetchone())

    def give_up_epoch(self, known: Mark | None, *, cap: Epsilon, why: str) -> None:
        """Count whatever was left of this epoch as spent: charges of this ledger are lost, and nobody knows which.

        All charges of the epoch, those here among them, are at most the cap, the highest that is told of; if `known`
        is another ledger's mark, those here come on top. A later epoch that it tells of is begun and counted. Nothing
        is compared any more in it, and the ledger has another name from then on: should the newer one be found again,
        it lacks what follows here.
        """
        with self._transaction() as connection:
            epoch = max(self.epoch, 0 if known is None else known.epoch)
            connection.execute("UPDATE facts SET value = ? WHERE name = 'epoch'", (epoch,))
            standing = self._standing(connection)
            caps = (cap, standing.cap, None if known is None or known.cap is None else Epsilon(known.cap))
            most = max(each.nano for each in caps if each is not None)
            foreign = known is not None and known.ledger != self.mark().ledger
            left = most if foreign else max(0, most - standing.spending.most.nano)
            self._count_lost(connection, epoch, left, why)
            connection.execute("INSERT OR REPLACE INTO frozen VALUES (?, 'nothing', x'')", (epoch,))
            connection.execute("UPDATE ledger_name SET name = ?", (_new_name(),))


def _new_name() -> str:
    return secrets.token_hex(16)
