"""A live owner's ledger: a durable ledger that also keeps, with each charge, the exact bytes that left for it.

Guarantee: a round is charged before anything is counted for it, and stays charged whatever comes of it. Its reply is
           kept before it is returned; where the ledger is `flushed_later`, both are on disk before `flush` returns.
           Whatever happens in between, there is one reply for a round or none, and never one that was not charged.
           Where marks are kept, `flush` returns only after a mark tells of all charges but the last few: those of
           `at_most` epsilon, or a tenth of the cap. What a mark tells is on disk in the ledger before the mark is.
           After `keep_days` its bytes are dropped, and asked again for such a round the ledger has nothing to say:
           its id and its charge stay for ever.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted, InvalidInput, LedgerUnavailable
from fedgroup.messages.logged import Head
from fedgroup.privacy.budget import Charge, Spending, settle
from fedgroup.storage import heads_table
from fedgroup.storage.marks import Mark, Unmarked
from fedgroup.storage.sqlite import SQLiteLedger, Standing

_ROUNDS = """
CREATE TABLE IF NOT EXISTS rounds (
    id BLOB PRIMARY KEY, at TEXT NOT NULL, reply BLOB NOT NULL, snapshot TEXT NOT NULL) WITHOUT ROWID
"""
_SURVIVORS = "CREATE TABLE IF NOT EXISTS survivors (round BLOB PRIMARY KEY, positions BLOB NOT NULL) WITHOUT ROWID"
_REPLIES_BY_AGE = "CREATE INDEX IF NOT EXISTS replies_by_age ON rounds (at) WHERE length(reply) > 1"
_OLD_REPLIES = "SELECT id FROM rounds WHERE length(reply) > 1 AND at < ? ORDER BY at LIMIT 256"
_COMPARISONS = """
CREATE TABLE IF NOT EXISTS comparisons (session BLOB PRIMARY KEY, epoch INTEGER NOT NULL) WITHOUT ROWID
"""
_OFFERS = "CREATE TABLE IF NOT EXISTS offers (epoch INTEGER PRIMARY KEY, made INTEGER NOT NULL)"
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
_MARKED_SHARE = 10
"""One part in so many of a cap, or of a limit, may be used before a mark tells of it."""
_NO_REPLY = b""
"""A round that was charged and has not been answered: it never is, if whoever was at it is gone."""
_DROPPED = b"\0"
"""A reply that was sent so long ago that its bytes are not kept any more."""
_DROPPED_EACH = 64
"""How many rounds are begun until old replies are looked for again; of those, four times as many are dropped."""
_HOUR = len("2026-01-01T00")

_KEPT = "SELECT (SELECT reply FROM rounds WHERE id = ?)"


class OwnerLedger(SQLiteLedger):
    """Balances, questions, and the reply of every round, in one file of the owner's own."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        holder: str | None = None,
        busy_seconds: float = 60.0,
        flushed_later: bool = False,
        keep_days: int | None = None,
    ) -> None:
        """Open the ledger of `holder`: another owner's is refused, for it would answer with that one's replies.

        Replies are kept for so many days; for ever if nobody says how long.
        """
        self._charges, self._sessions = Unmarked(), Unmarked()
        self._seen: Standing | None = None
        self._heads = heads_table.WaitingHeads()
        self._dropped_in, self._undropped = "", 0
        self._tell: Callable[[Mark], None] | None = None
        self._at_most: Epsilon | None = None
        super().__init__(path, busy_seconds=busy_seconds, flushed_later=flushed_later)
        self._keep = None if keep_days is None else timedelta(days=keep_days)
        try:
            self._lay_out_rounds(holder)
        except BaseException:
            self.close()
            raise

    def _take_turns(self) -> None:
        super()._take_turns()
        self._marking = threading.Lock()

    def _lay_out_rounds(self, holder: str | None) -> None:
        with self._transaction() as connection:
            for table in (
                _ROUNDS,
                _REPLIES_BY_AGE,
                _COMPARISONS,
                _FROZEN,
                _SURVIVORS,
                _OFFERS,
                _HOLDER,
                _NAME,
                *heads_table.TABLES,
            ):
                connection.execute(table)
            if connection.execute("SELECT name FROM ledger_name").fetchone() is None:
                connection.execute("INSERT INTO ledger_name VALUES (?)", (_new_name(),))
            found = connection.execute("SELECT name FROM holder").fetchone()
            if found is None and holder is not None:
                connection.execute("INSERT INTO holder VALUES (?)", (holder,))
            elif holder is not None and found[0] != holder:
                raise InvalidInput(f"{self.path} is the ledger of {found[0]!r}, not of {holder!r}; name another file")

    def begin_rounds(self, rounds: Sequence[tuple[bytes, Charge, str]]) -> list[tuple[bool, BudgetExhausted | None]]:
        """Charge for some rounds, with their snapshots, in one transaction; tell of each whether it is new.

        One that was begun before is charged no more. One that the budget does not cover leaves nothing behind, and
        tells so; others may still be covered.
        """
        begun: list[tuple[bool, BudgetExhausted | None]] = []
        new: dict[bytes, tuple[Charge, str]] = {}
        now = self.now()
        with self._transaction() as connection:
            standing = before = self._standing(connection)
            for round_id, charge, snapshot in rounds:
                known = round_id in new or connection.execute(_KEPT, (round_id,)).fetchone()[0] is not None
                try:
                    if not known:
                        due = self._due(connection, [charge])
                        added = settle(due, cap=standing.cap, before=standing.spending)
                        self._charge_windows(connection, due, standing)
                        new[round_id] = charge, f"{standing.epoch} {snapshot}"
                        standing = standing.after(charge, added)
                    begun.append((not known, None))
                except BudgetExhausted as error:
                    begun.append((False, error))
            if new:
                self._write(connection, [charge for charge, _ in new.values()], before)
                rows = ((name, now, _NO_REPLY, snapshot) for name, (_, snapshot) in new.items())
                connection.executemany("INSERT INTO rounds VALUES (?, ?, ?, ?)", rows)
            heads = self._heads.write(connection)
            self._drop_old_replies(connection, now, begun=len(rounds))
        self._heads.written(heads)
        self._seen = standing
        return begun

    def keep_replies(self, replies: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
        """Return the replies of some rounds that were begun, kept in one transaction; the first of each stays."""
        seen = self._seen  # nothing is charged here
        # one statement is a transaction by itself, and a third of the work
        with self._reading() if len(replies) == 1 else self._transaction() as connection:
            found = [_kept_first(connection, round_id, reply) for round_id, reply in replies]
            self._note_unflushed()
        self._seen = seen
        kept = [reply for reply in found if reply is not None and reply != _DROPPED]
        if len(kept) < len(replies):
            raise InvalidInput("a round is charged before its reply is kept, and its reply is kept once")
        return kept

    def keep_survivors(self, round_id: bytes, survivors: bytes) -> bytes:
        """Return the members for which masks of a round are taken off, kept; the first set of a round stays."""
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO survivors VALUES (?, ?)", (round_id, survivors))
            found = connection.execute("SELECT positions FROM survivors WHERE round = ?", (round_id,)).fetchone()
        return bytes(found[0])

    def require_affordable(self, charges: Sequence[Charge]) -> None:
        """Raise `BudgetExhausted` if these charges would be refused now; nothing is recorded.

        It is a look ahead: only `begin_rounds` decides. Where things stood when this ledger was last looked at or
        charged is remembered; only if they do not allow it is the file looked at, for its cap may have been raised.
        """
        seen = self._seen
        if seen is not None and not seen.windowed and all(charge.plan is None for charge in charges):
            with suppress(BudgetExhausted):
                settle(charges, cap=seen.cap, before=seen.spending)
                return
        with self._reading() as connection:
            standing = self._seen = self._standing(connection)
            due = self._due(connection, charges)
            settle(due, cap=standing.cap, before=standing.spending)
            self._charge_windows(connection, due, standing, looking=True)

    def kept_reply(self, round_id: bytes) -> bytes | None:
        """Return the reply kept for a round, empty if it was charged and has none any more; None for a new one."""
        (kept,) = self.kept_replies([round_id])
        return kept

    def kept_replies(self, round_ids: Sequence[bytes]) -> list[bytes | None]:
        """Return what `kept_reply` would for each round."""
        with self._reading() as connection:
            kept = [connection.execute(_KEPT, (round_id,)).fetchone()[0] for round_id in round_ids]
            self._seen = self._standing(connection)
            if any(reply is not None for reply in kept):
                self._note_unflushed()  # another process may have written it a moment ago
        return [b"" if reply == _DROPPED else reply for reply in kept]

    def snapshot_of(self, round_id: bytes) -> str | None:
        """Return what the data was when a round was answered in this epoch; None for rounds of earlier ones."""
        with self._reading() as connection:
            row = connection.execute("SELECT snapshot FROM rounds WHERE id = ?", (round_id,)).fetchone()
            epoch, _, found = ("", "", "") if row is None else str(row[0]).partition(" ")
            return found if epoch == str(self.epoch) else None

    def begin_comparison(self, session: bytes, *, over: str, limit: int, freeze: Callable[[], bytes]) -> bytes | None:
        """Count a secure comparison, once, and return the vector frozen for this epoch; None beyond the limit.

        `over` names the grid, its domain and the threshold exactly. One serves a whole epoch: another gets None too.
        Records are counted, by `freeze`, only after the comparison is.
        """
        epoch = self.epoch
        with self._transaction() as connection:
            known = connection.execute("SELECT 1 FROM comparisons WHERE session = ?", (session,)).fetchone()
            (made,) = connection.execute("SELECT count(*) FROM comparisons WHERE epoch = ?", (epoch,)).fetchone()
            frozen = connection.execute("SELECT over, vector FROM frozen WHERE epoch = ?", (epoch,)).fetchone()
            if known is not None or made >= limit or (frozen is not None and frozen[0] != over):
                return None
            connection.execute("INSERT INTO comparisons VALUES (?, ?)", (session, epoch))
            self._sessions.add(1, at_most=limit // _MARKED_SHARE, to_the_end=made + 1 == limit)
        if frozen is not None:
            return bytes(frozen[1])
        vector = freeze()
        with self._transaction() as connection:
            if connection.execute("INSERT OR IGNORE INTO frozen VALUES (?, ?, ?)", (epoch, over, vector)).rowcount == 0:
                return None  # frozen otherwise in the meantime
            self._note(connection, f"secure comparisons begin, over {over}; each shows one exact bit")
        return vector

    def count_offer(self, *, limit: int) -> bool:
        """Count a group that was offered in this epoch, and tell whether there were at most `limit`."""
        with self._transaction() as connection:
            add = "INSERT INTO offers VALUES (?, 1) ON CONFLICT (epoch) DO UPDATE SET made = made + 1 RETURNING made"
            (made,) = connection.execute(add, (self.epoch,)).fetchone()
        return int(made) <= limit

    def last_head(self) -> tuple[int, bytes] | None:
        """Return the number of the last entry of the provider's log that was seen, and the head after it."""
        with self._reading() as connection:
            return heads_table.last_head(connection)

    def note_head(self, head: Head) -> None:
        """Keep a head that was seen, at the latest with the next charge."""
        self._heads.add(head)

    def note_fork(self, head: Head, *, base: bytes, links: bytes) -> None:
        """Keep a head of another log than the one that was seen, with what leads to it: a proof of two logs."""
        with self._transaction() as connection:
            heads_table.write_fork(connection, head, base=base, links=links)

    def accept_another_log(self) -> None:
        """Believe the next log that the provider shows, and leave a line that tells so."""
        with self._transaction() as connection:
            heads_table.begin_log(connection, self.now())
            self._note(connection, heads_table.ANOTHER_LOG)

    def comparisons(self) -> int:
        """Return how many secure comparisons this owner began in this epoch."""
        with self._reading() as connection:
            found = connection.execute("SELECT count(*) FROM comparisons WHERE epoch = ?", (self.epoch,)).fetchone()
            return int(found[0])

    def compared(self, sessions: Sequence[bytes]) -> list[bytes]:
        """Return which of these comparisons began in this epoch."""
        look, epoch = "SELECT 1 FROM comparisons WHERE session = ? AND epoch = ?", self.epoch
        with self._reading() as connection:
            return [each for each in sessions if connection.execute(look, (each, epoch)).fetchone() is not None]

    def mark(self) -> Mark:
        """Return which ledger this is and how far it has come; all of that is on disk once `flush` returned."""
        with self._reading() as connection:
            return Mark(*connection.execute(_MARK).fetchone())

    def keep_marked(self, tell: Callable[[Mark], None], *, at_most: Epsilon | None = None) -> None:
        """Let `flush` call `tell` with a mark as soon as more than `at_most` was charged since the last one.

        Without it that is a tenth of the cap in force; it is never more than the cap, and what takes the last of the
        cap is marked at once. Of secure comparisons it is a tenth of their limit. `tell` returns once the mark is on
        disk, or raises.
        """
        self._tell, self._at_most = tell, at_most

    def write_mark(self) -> None:
        """Tell how far the ledger has come, once that is on disk; one thread after the other, so no mark goes back."""
        with self._marking:
            with self._reading():
                here, counted = self.mark(), (self._charges.counted, self._sessions.counted)
            super().flush()
            if self._tell is not None:
                self._tell(here)
            self._charges.note_marked(counted[0])
            self._sessions.note_marked(counted[1])

    @property
    def unflushed(self) -> bool:
        """Whether something may not be on disk yet, or a mark is due."""
        return super().unflushed or self._mark_is_due

    def flush(self) -> None:
        """Return when everything so far is on disk, and told by a mark as far as it has to be."""
        super().flush()
        if self._mark_is_due:
            try:
                self.write_mark()
            except InvalidInput as error:
                raise LedgerUnavailable(str(error)) from None

    @property
    def _mark_is_due(self) -> bool:
        return self._tell is not None and (self._charges.is_due or self._sessions.is_due)

    def give_up_epoch(self, known: Mark | None, *, cap: Epsilon, window_cap: Epsilon | None = None, why: str) -> None:
        """Count whatever was left of this epoch as spent: charges of this ledger are lost, and nobody knows which.

        All charges of the epoch, those here among them, are at most the cap, the highest that is told of; if `known`
        is another ledger's mark, those here come on top. So it is in every window of time, by the higher of this
        ledger's cap and `window_cap`. A later epoch that the mark tells of is begun and counted. Nothing is compared
        any more in it, and the ledger has another name from then on: should the newer one be found again, it lacks what
        follows here.
        """
        with self._transaction() as connection:
            epoch = max(self.epoch, 0 if known is None else known.epoch)
            connection.execute("UPDATE facts SET value = ? WHERE name = 'epoch'", (epoch,))
            standing = self._standing(connection)
            caps = (cap, standing.cap, None if known is None or known.cap is None else Epsilon(known.cap))
            most = standing.accounting.units_within(max(each for each in caps if each is not None))
            foreign = known is not None and known.ledger != self.mark().ledger
            left = most if foreign else max(0, most - standing.spending.units)
            self._count_lost(connection, epoch, left, why, window_cap=window_cap)
            connection.execute("INSERT OR REPLACE INTO frozen VALUES (?, 'nothing', x'')", (epoch,))
            connection.execute("UPDATE ledger_name SET name = ?", (_new_name(),))

    def _write(self, connection: sqlite3.Connection, charges: Sequence[Charge], standing: Standing) -> Spending:
        added = super()._write(connection, charges, standing)
        if standing.cap is not None:
            accounting = standing.accounting
            cap, spent = accounting.units_within(standing.cap), standing.spending.units + added.units
            told = None if self._at_most is None else accounting.units_of(self._at_most, None)
            at_most = cap // _MARKED_SHARE if told is None else min(told, cap)
            self._charges.add(added.units, at_most=at_most, to_the_end=spent >= cap)
        return added

    def _note_unflushed(self) -> None:
        super()._note_unflushed()
        self._seen = None  # whatever was written may have changed it

    def _drop_old_replies(self, connection: sqlite3.Connection, now: str, *, begun: int) -> None:
        """Drop the bytes of some replies that nobody will ask for again; who does all the same is refused.

        That is done once for some rounds, and in another hour: more are dropped then than came.
        """
        self._undropped += begun
        if self._keep is not None and (self._undropped >= _DROPPED_EACH or now[:_HOUR] != self._dropped_in):
            self._undropped, self._dropped_in = 0, now[:_HOUR]
            until = (datetime.fromisoformat(now) - self._keep).isoformat(timespec="seconds")
            old = connection.execute(_OLD_REPLIES, (until,)).fetchall()
            connection.executemany("UPDATE rounds SET reply = x'00' WHERE id = ?", old)


def _kept_first(connection: sqlite3.Connection, round_id: bytes, reply: bytes) -> bytes | None:
    """Keep a reply, unless another one is kept for its round, and return the one that is."""
    row = (reply, round_id, _NO_REPLY)
    if connection.execute("UPDATE rounds SET reply = ? WHERE id = ? AND reply = ?", row).rowcount == 1:
        return reply
    (kept,) = connection.execute(_KEPT, (round_id,)).fetchone()
    return None if kept is None else bytes(kept)


def _new_name() -> str:
    return secrets.token_hex(16)
