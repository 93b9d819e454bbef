"""The rows of hosted owners' ledgers, and how they are read: each line leads to the one before it of its owner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedgroup.errors import InvalidInput
from fedgroup.privacy.budget import Charge
from fedgroup.storage.sqlite import Standing

ROW = "SELECT epoch, cap, delta, units, protection, lines, line, log, seen FROM holders WHERE number = ?"
MOVED = "UPDATE holders SET units = ?, protection = ?, lines = ?, line = ?, seen = ? WHERE number = ?"
LINE = "INSERT INTO entries (owner, before, at, epoch, purpose, question, nano, pico) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
LINES = """
WITH RECURSIVE lines (id, at, epoch, purpose, question, nano, pico, before) AS (
    SELECT id, at, epoch, purpose, question, nano, pico, before FROM entries
        WHERE id = (SELECT line FROM holders WHERE number = ?)
    UNION ALL SELECT entries.id, entries.at, entries.epoch, entries.purpose, entries.question, entries.nano,
        entries.pico, entries.before FROM entries JOIN lines ON entries.id = lines.before)
SELECT at, epoch, purpose, question, nano, pico FROM lines ORDER BY id
"""
HEADS = """
WITH RECURSIVE those (id, log, head, before) AS (
    SELECT id, log, head, before FROM seen WHERE id = (SELECT seen FROM holders WHERE number = ?)
    UNION ALL SELECT seen.id, seen.log, seen.head, seen.before FROM seen JOIN those ON seen.id = those.before)
SELECT DISTINCT number, heads.head, signature, round, tag FROM those JOIN heads ON heads.id = those.head
WHERE those.log = (SELECT log FROM holders WHERE number = ?) ORDER BY number
"""
KEPT = "SELECT reply FROM rounds WHERE id = ? AND owner = ?"


class Row:
    """An owner's row as it was read, and as a transaction is about to leave it."""

    __slots__ = ("line", "lines", "log", "seen", "standing")

    def __init__(self, row: Sequence[Any]) -> None:
        epoch, cap, delta, units, protection, *counts = row
        self.lines, self.line, self.log, self.seen = (int(each) for each in counts)
        self.standing = Standing.of((epoch, cap, units, None, protection, delta, None))

    def copy(self) -> Row:
        """Return the same row, to be changed."""
        made = Row.__new__(Row)
        made.lines, made.line, made.log, made.seen = self.lines, self.line, self.log, self.seen
        made.standing = self.standing
        return made

    @property
    def facts(self) -> tuple[Any, ...]:
        """What `MOVED` writes of it."""
        return self.standing.spending.for_all, self.standing.protection, self.lines, self.line, self.seen


def own_charge(charge: Charge) -> Charge:
    """Return a charge to this owner for one round of its own, and refuse others."""
    if charge.plan is not None or charge.owners is not None:
        raise InvalidInput("the ledger of a hosted owner takes charges for this owner's own rounds")
    return charge
