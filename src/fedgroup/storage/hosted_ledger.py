"""The ledger of one owner among many in one file: the same promises, and the same verbs, as a file of its own.

Guarantee: a round is charged before anything is counted for it, and stays charged whatever comes of it. Its reply is
           kept before it is returned, and both are on disk before `flush` returns. There is one reply for a round or
           none, and never one that was not charged. `flush` returns only after the file's mark tells of all charges of
           this owner but the last few: those of `at_most` epsilon, or a tenth of its cap.
Differs:   who restores the file restores the ledgers of all its owners; replies are dropped for all at the same age;
           there are no budgets per window of time.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted, InvalidInput
from fedgroup.messages.logged import Head
from fedgroup.privacy.accounting import PURE, Accounting, require_move
from fedgroup.privacy.budget import (
    Charge,
    Entry,
    change_of_cap,
    moved_line,
    require_one_protection,
    settle,
)
from fedgroup.privacy.windows import WindowBudget, WindowsSpent
from fedgroup.rho import Rho
from fedgroup.storage.heads_table import ANOTHER_LOG, MOST_FORKS
from fedgroup.storage.hosted_batch import NO_REPLY, Batch
from fedgroup.storage.hosted_file import DROPPED, HostedFile
from fedgroup.storage.hosted_rows import HEADS, KEPT, LINE, LINES, MOVED, ROW, Row, own_charge
from fedgroup.storage.marks import Mark, Unmarked
from fedgroup.storage.sqlite import Standing, now_in_words

_MOST_HEADS_WAITING = 1_024
"""Heads of questions that were not charged; the oldest are forgotten, for nothing left for them."""
_MARKED_SHARE = 10
"""One part in so many of a cap, or of a limit, may be used before a mark tells of it."""


class HostedLedger:
    """Balances, questions, and the reply of every round of one owner, in a file that it shares with others."""

    __slots__ = ("_at_most", "_charges", "_heads", "_number", "_seen", "_sessions", "_written", "disk", "holder")

    def __init__(self, file: HostedFile, holder: str, *, new: bool = False) -> None:
        """Open the ledger of `holder`; one that is not there is made if it may be `new`."""
        number = file.number_of(holder)
        if number is None and not new:
            raise InvalidInput(
                f"{file.path} holds no ledger of {holder!r}; the first time, start the owner with --new-ledger"
            )
        self.disk = file
        self.holder = holder
        self._number = file.add(holder) if number is None else number
        self._charges, self._sessions = Unmarked(), Unmarked()
        self._seen: Standing | None = None
        self._heads: list[Head] = []
        self._at_most: Epsilon | None = None
        self._written = file.position
        file.ledgers.append(self)

    @property
    def path(self) -> Path:
        return self.disk.path

    def together(self) -> AbstractContextManager[Batch]:
        """Let all owners of the file write in one transaction while the context lasts."""
        return self.disk.together()

    # --- rounds -------------------------------------------------------------------------------------------------------

    def begin_rounds(self, rounds: Sequence[tuple[bytes, Charge, str]]) -> list[tuple[bool, BudgetExhausted | None]]:
        """Charge for some rounds, with their snapshots, in one transaction; tell of each whether it is new.

        One that was begun before is charged no more. One that the budget does not cover leaves nothing behind, and
        tells so; others may still be covered.
        """
        begun: list[tuple[bool, BudgetExhausted | None]] = []
        new: dict[bytes, tuple[Charge, str]] = {}
        now, heads = now_in_words(), list(self._heads)
        with self.disk.together() as batch:
            row = batch.row(self._number)
            before = standing = row.standing
            for round_id, charge, snapshot in rounds:
                known = round_id in new or batch.has_begun(round_id, self._number)
                try:
                    if not known:
                        added = settle([own_charge(charge)], cap=standing.cap, before=standing.spending)
                        require_one_protection(standing.protection, [charge])
                        f"{snapshot}{charge.question}".encode()  # what cannot be written spoils nobody else's part
                        new[round_id] = charge, f"{standing.epoch} {snapshot}"
                        standing = standing.after(charge, added)
                    begun.append((not known, None))
                except BudgetExhausted as error:
                    begun.append((False, error))
            lines = [self._line_of(before.accounting, charge) for charge, _ in new.values()]
            numbers = [self.disk.head_number(batch.connection, head) for head in heads]
            for round_id in new:
                self.disk.note_age(batch.connection, round_id, now)
            # nothing fails from here on: an owner's rounds are all in the batch, or none
            for (round_id, (_, snapshot)), line in zip(new.items(), lines, strict=True):
                row.line = batch.add_line(self._number, row.line, now, before.epoch, *line)
                batch.begin_round(round_id, self._number, snapshot)
            for number in numbers:
                row.seen = batch.add_seen(self._number, row.seen, row.log, number)
            row.lines, row.standing = row.lines + len(new), standing
            if new or heads:
                batch.move(self._number, row)
            batch.afterwards(lambda: self._have_begun(before, standing, len(heads)))
        return begun

    def _have_begun(self, before: Standing, after: Standing, heads: int) -> None:
        """Take in that rounds, and so many heads, are written."""
        self._written, self._seen = self.disk.position, after
        del self._heads[:heads]
        self._count_unmarked(before, after)

    def keep_replies(self, replies: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
        """Return the replies of some rounds that were begun, kept in one transaction; the first of each stays."""
        with self.disk.together() as batch:
            kept = [self._kept_first(batch, round_id, reply) for round_id, reply in replies]
            batch.afterwards(self._have_kept)
        if None in kept:
            raise InvalidInput("a round is charged before its reply is kept, and its reply is kept once")
        return [reply for reply in kept if reply is not None]

    def _have_kept(self) -> None:
        self._written = self.disk.position

    def keep_survivors(self, round_id: bytes, survivors: bytes) -> bytes:
        """Return the members that masks of a round are taken off for, kept; the first set of a round stays."""
        with self.disk._transaction() as connection:
            row = (round_id, self._number, survivors)
            connection.execute("INSERT OR IGNORE INTO survivors VALUES (?, ?, ?)", row)
            look = "SELECT positions FROM survivors WHERE round = ? AND owner = ?"
            found = connection.execute(look, row[:2]).fetchone()
        self._note_written()
        return bytes(found[0])

    def require_affordable(self, charges: Sequence[Charge]) -> None:
        """Raise `BudgetExhausted` if these charges would be refused now; nothing is recorded.

        It is a look ahead: only `begin_rounds` decides. Where things stood when this ledger was last looked at or
        charged is remembered; only if they do not allow it is the file looked at, for its cap may have been raised.
        """
        seen = self._seen
        if seen is not None:
            with suppress(BudgetExhausted):
                settle(charges, cap=seen.cap, before=seen.spending)
                return
        standing = self._seen = self._standing()
        settle(charges, cap=standing.cap, before=standing.spending)

    def kept_reply(self, round_id: bytes) -> bytes | None:
        """Return the reply kept for a round, empty if it was charged and has none any more; None for a new one."""
        (kept,) = self.kept_replies([round_id])
        return kept

    def kept_replies(self, round_ids: Sequence[bytes]) -> list[bytes | None]:
        """Return what `kept_reply` would for each round."""
        return self.kept_by_several([(self, round_id) for round_id in round_ids])

    def kept_by_several(self, asked: Sequence[tuple[HostedLedger, bytes]]) -> list[bytes | None]:
        """Return what `kept_reply` would for each owner of this file and a round, in one turn.

        What is found may be another process's, which died before it was on disk.
        """
        with self.disk._reading() as connection:
            rows = [connection.execute(KEPT, (round_id, each._number)).fetchone() for each, round_id in asked]
            found = [None if row is None else bytes(row[0]) for row in rows]
            if any(reply is not None for reply in found):
                self.disk.note_found()
            for (each, _), reply in zip(asked, found, strict=True):
                if reply is not None:
                    each._written = self.disk.position
        return [b"" if reply == DROPPED else reply for reply in found]

    def reply(self, round_id: bytes) -> bytes:
        """Return the bytes that were sent in a round; none where they were dropped since."""
        return self.kept_reply(round_id) or b""

    def snapshot_of(self, round_id: bytes) -> str | None:
        """Return what the data was when a round was answered in this epoch; None for rounds of earlier ones."""
        look = "SELECT snapshot FROM rounds WHERE id = ? AND owner = ?"
        with self.disk._reading() as connection:
            row = connection.execute(look, (round_id, self._number)).fetchone()
            epoch, _, found = ("", "", "") if row is None else str(row[0]).partition(" ")
            return found if epoch == str(self.epoch) else None

    # --- comparisons and groups ---------------------------------------------------------------------------------------

    def begin_comparison(self, session: bytes, *, over: str, limit: int, freeze: Callable[[], bytes]) -> bytes | None:
        """Count a secure comparison, once, and return the vector frozen for this epoch; None beyond the limit.

        `over` names the grid, its domain and the threshold exactly. One serves a whole epoch: another gets None too.
        Records are counted, by `freeze`, only after the comparison is.
        """
        frozen_as = "SELECT over, vector FROM frozen WHERE owner = ? AND epoch = ?"
        with self.disk._transaction() as connection:
            epoch = self._row(connection).standing.epoch
            known = "SELECT 1 FROM comparisons WHERE owner = ? AND session = ?"
            again = connection.execute(known, (self._number, session)).fetchone() is not None
            made = self._comparisons(connection, epoch)
            frozen = connection.execute(frozen_as, (self._number, epoch)).fetchone()
            if again or made >= limit or (frozen is not None and frozen[0] != over):
                return None
            connection.execute("INSERT INTO comparisons VALUES (?, ?, ?)", (self._number, epoch, session))
            self._sessions.add(1, at_most=limit // _MARKED_SHARE, to_the_end=made + 1 == limit)
        self._note_written()
        if frozen is not None:
            return bytes(frozen[1])
        vector = freeze()
        with self.disk._transaction() as connection:
            row = (self._number, epoch, over, vector)
            if connection.execute("INSERT OR IGNORE INTO frozen VALUES (?, ?, ?, ?)", row).rowcount == 0:
                return None  # frozen otherwise in the meantime
            self._note(connection, f"secure comparisons begin, over {over}; each shows one exact bit")
        self._note_written()
        return vector

    def comparisons(self) -> int:
        """Return how many secure comparisons this owner began in this epoch."""
        with self.disk._reading() as connection:
            return self._comparisons(connection, self._row(connection).standing.epoch)

    def compared(self, sessions: Sequence[bytes]) -> list[bytes]:
        """Return which of these comparisons began in this epoch."""
        look = "SELECT 1 FROM comparisons WHERE owner = ? AND epoch = ? AND session = ?"
        with self.disk._reading() as connection:
            mine = self._number, self._row(connection).standing.epoch
            return [each for each in sessions if connection.execute(look, (*mine, each)).fetchone() is not None]

    def count_offer(self, *, limit: int) -> bool:
        """Count a group that was offered in this epoch, and tell whether there were at most `limit`."""
        with self.disk._transaction() as connection:
            add = "UPDATE holders SET offers = offers + 1 WHERE number = ? RETURNING offers"
            (made,) = connection.execute(add, (self._number,)).fetchone()
        self._note_written()
        return int(made) <= limit

    # --- heads of the provider's log ----------------------------------------------------------------------------------

    def last_head(self) -> tuple[int, bytes] | None:
        """Return the number of the last entry of the provider's log that was seen, and the head after it."""
        look = (
            "SELECT heads.number, heads.head FROM holders JOIN seen ON seen.id = holders.seen "
            "JOIN heads ON heads.id = seen.head WHERE holders.number = ? AND seen.log = holders.log"
        )
        with self.disk._reading() as connection:
            row = connection.execute(look, (self._number,)).fetchone()
            return None if row is None else (int(row[0]), bytes(row[1]))

    def note_head(self, head: Head) -> None:
        """Keep a head that was seen, at the latest with the next charge."""
        if not self._heads or self._heads[-1] != head:
            self._heads.append(head)
            del self._heads[:-_MOST_HEADS_WAITING]

    def heads(self) -> list[Head]:
        """Return the heads that were seen of the log in use, by number."""
        with self.disk._reading() as connection:
            rows = connection.execute(HEADS, (self._number, self._number)).fetchall()
            return [Head(row[0], *(bytes(each) for each in row[1:])) for row in rows]

    def note_fork(self, head: Head, *, base: bytes, links: bytes) -> None:
        """Keep a head of another log than the one that was seen, with what leads to it, unless there are enough."""
        with self.disk._transaction() as connection:
            row = (self._number, self._row(connection).log, head.number, head.head, head.signature, base, links)
            of_log = "SELECT count(*) FROM forks WHERE owner = ? AND log = ?"
            if connection.execute(of_log, row[:2]).fetchone()[0] < MOST_FORKS:
                connection.execute("INSERT OR IGNORE INTO forks VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self._note_written()

    def forks(self) -> int:
        """Return how many proofs of a second log were kept."""
        with self.disk._reading() as connection:
            look = "SELECT count(*) FROM forks WHERE owner = ?"
            return int(connection.execute(look, (self._number,)).fetchone()[0])

    def accept_another_log(self) -> None:
        """Believe the next log that the provider shows, and leave a line that tells so."""
        with self.disk._transaction() as connection:
            connection.execute("UPDATE holders SET log = log + 1 WHERE number = ?", (self._number,))
            self._note(connection, ANOTHER_LOG)
        self._note_written()

    # --- marks and flushes --------------------------------------------------------------------------------------------

    def mark(self) -> Mark:
        """Return which ledger this is and how far it has come."""
        look = "SELECT ledger, epoch, lines, 0, cap FROM holders WHERE number = ?"
        with self.disk._reading() as connection:
            return Mark(*connection.execute(look, (self._number,)).fetchone())

    def keep_within(self, at_most: Epsilon | None) -> None:
        """Let a mark of the file be due as soon as more than `at_most` was charged since the last one.

        Without it that is a tenth of the cap in force; it is never more than the cap, and what takes the last of the
        cap is marked at once.
        """
        self._at_most = at_most

    @property
    def counted(self) -> tuple[int, int]:
        """How much was charged, and compared, since this ledger was opened."""
        return self._charges.counted, self._sessions.counted

    def note_marked(self, counted: tuple[int, int]) -> None:
        """Take in that a mark tells of so much."""
        self._charges.note_marked(counted[0])
        self._sessions.note_marked(counted[1])

    @property
    def unflushed(self) -> bool:
        """Whether something of this owner's may not be on disk yet, or a mark is due for it."""
        due = self.disk.is_marked and (self._charges.is_due or self._sessions.is_due)
        return due or self._written > self.disk.on_disk

    def flush(self) -> None:
        """Return when everything so far is on disk, of this owner and of all others in the file."""
        self.disk.flush()

    def close(self) -> None:
        """Close the file, for all; it is opened again when one of its ledgers is used again."""
        self.disk.close()

    # --- the owner's own word -----------------------------------------------------------------------------------------

    @property
    def cap(self) -> Epsilon | None:
        return self._standing().cap

    @property
    def epoch(self) -> int:
        return self._standing().epoch

    @property
    def accounting(self) -> Accounting:
        return self._standing().accounting

    @property
    def window_budget(self) -> WindowBudget | None:
        """There are none here: an owner with budgets per window keeps a ledger of its own."""
        return None

    def windows_spent(self) -> WindowsSpent:
        """Return what was charged to windows of time: they have no budget here."""
        return WindowsSpent()

    def count_as(self, accounting: Accounting, *, agreed: bool = False) -> None:
        """Count otherwise from now on: a new ledger as it likes, one that is in use only if that is `agreed`."""
        with self.disk._transaction() as connection:
            row = self._row(connection)
            standing = row.standing
            if accounting == standing.accounting:
                return
            fresh = row.lines == 0 and standing.cap is None
            require_move(standing.accounting, accounting, fresh=fresh, agreed=agreed)
            spent = standing.spending.carried_to(accounting)
            delta = None if accounting.delta is None else accounting.delta.atto
            moved = "UPDATE holders SET delta = ?, units = ? WHERE number = ?"
            connection.execute(moved, (delta, spent.for_all, self._number))
            self._note(connection, moved_line(accounting, spent))
        self._note_written()

    def set_cap(self, cap: Epsilon, *, raising: bool = True) -> None:
        """Set what this owner may spend per epoch, more than before only if `raising`; what was spent stays spent."""
        with self.disk._transaction() as connection:
            before = self._row(connection).standing.cap
            if before == cap:
                return
            told = change_of_cap(before, cap, raising=raising)
            connection.execute("UPDATE holders SET cap = ? WHERE number = ?", (cap.nano, self._number))
            self._note(connection, told)
        self._note_written()

    def begin_epoch(self) -> int:
        """Start the next epoch with a fresh balance and return its number; a record that lives on pays again."""
        with self.disk._transaction() as connection:
            begin = "UPDATE holders SET epoch = epoch + 1, units = 0, offers = 0 WHERE number = ? RETURNING epoch"
            (epoch,) = connection.execute(begin, (self._number,)).fetchone()
            self._note(connection, f"epoch {epoch} begins")
        self._note_written()
        return int(epoch)

    def give_up_epoch(self, known: Mark | None, *, cap: Epsilon, why: str, foreign: bool = False) -> None:
        """Count whatever was left of this epoch as spent: charges are lost, and nobody knows which.

        `known` is the mark of the file, or of this owner. The highest cap that is told of counts, and a later epoch
        that is told of is begun and counted. Where it is the mark of a `foreign` ledger, the charges here come on top.
        Nothing is compared any more in this epoch.
        """
        with self.disk._transaction() as connection:
            standing = self._row(connection).standing
            epoch = max(standing.epoch, 0 if known is None else known.epoch)
            spent = standing.spending.units if epoch == standing.epoch else 0
            caps = (cap, standing.cap, None if known is None or known.cap is None else Epsilon(known.cap))
            most = standing.accounting.units_within(max(each for each in caps if each is not None))
            left = most if foreign else max(0, most - spent)
            moved = "UPDATE holders SET epoch = ?, units = ? WHERE number = ?"
            connection.execute(moved, (epoch, spent + left, self._number))
            pure = standing.accounting == PURE
            row = self._row(connection)
            self._line(connection, row, ("lost", why, left if pure else 0, None if pure else left), now_in_words())
            self._store(connection, row)
            frozen = (self._number, epoch, "nothing", b"")
            connection.execute("INSERT OR REPLACE INTO frozen VALUES (?, ?, ?, ?)", frozen)
        self._note_written()

    def spent(self) -> Epsilon:
        """Return what this owner has spent in this epoch."""
        return self._standing().spending.most

    def left(self) -> Epsilon | None:
        """Return the largest epsilon that can still be spent on one question; None when nothing is capped."""
        standing = self._standing()
        return standing.spending.left(standing.cap)

    def left_rho(self) -> Rho | None:
        """Return what can still be spent as a rho; None when nothing is capped, or epsilon is counted."""
        standing = self._standing()
        return standing.spending.left_rho(standing.cap)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a consistent copy of the file, with the ledgers of all its owners, to a new one."""
        self.disk.backup(path)

    def entries(self) -> list[Entry]:
        """Return every line of this owner, oldest first."""
        with self.disk._reading() as connection:
            rows = connection.execute(LINES, (self._number,)).fetchall()
        return [
            Entry(at, epoch, purpose, text, Epsilon(nano), None, None if pico is None else Rho(pico))
            for at, epoch, purpose, text, nano, pico in rows
        ]

    # --- inside a transaction -----------------------------------------------------------------------------------------

    def _row(self, connection: sqlite3.Connection) -> Row:
        return Row(connection.execute(ROW, (self._number,)).fetchone())

    def _standing(self) -> Standing:
        with self.disk._reading() as connection:
            return self._row(connection).standing

    @staticmethod
    def _line_of(accounting: Accounting, charge: Charge) -> tuple[str, str, int, int | None]:
        nano = charge.epsilon.nano if charge.rho is None else 0
        pico = None if accounting == PURE else accounting.units_of(charge.epsilon, charge.rho)
        return charge.purpose, charge.question, nano, pico

    def _line(self, connection: sqlite3.Connection, row: Row, told: tuple[str, str, int, int | None], at: str) -> None:
        line = (self._number, row.line, at, row.standing.epoch, *told)
        row.line, row.lines = int(connection.execute(LINE, line).lastrowid or 0), row.lines + 1

    def _note(self, connection: sqlite3.Connection, text: str) -> None:
        row = self._row(connection)
        self._line(connection, row, ("note", text, 0, None), now_in_words())
        self._store(connection, row)

    def _store(self, connection: sqlite3.Connection, row: Row) -> None:
        connection.execute(MOVED, (*row.facts, self._number))

    def _kept_first(self, batch: Batch, round_id: bytes, reply: bytes) -> bytes | None:
        """Keep a reply, unless another one is kept for its round, and return the one that is; None if there is none."""
        if batch.keep_reply(round_id, self._number, reply):
            return reply
        kept = batch.reply(round_id, self._number)
        return None if kept in (NO_REPLY, DROPPED) else kept

    def _comparisons(self, connection: sqlite3.Connection, epoch: int) -> int:
        look = "SELECT count(*) FROM comparisons WHERE owner = ? AND epoch = ?"
        return int(connection.execute(look, (self._number, epoch)).fetchone()[0])

    def _count_unmarked(self, before: Standing, after: Standing) -> None:
        added = after.spending.units - before.spending.units
        if added and after.cap is not None:
            accounting = after.accounting
            cap = accounting.units_within(after.cap)
            told = None if self._at_most is None else accounting.units_of(self._at_most, None)
            at_most = cap // _MARKED_SHARE if told is None else min(told, cap)
            self._charges.add(added, at_most=at_most, to_the_end=after.spending.units >= cap)
        if self._charges.is_due:
            self.disk.ask_for_mark()

    def _note_written(self) -> None:
        """Take in that something was written that may change where this ledger stands."""
        self._written, self._seen = self.disk.position, None
        if self._sessions.is_due:
            self.disk.ask_for_mark()
