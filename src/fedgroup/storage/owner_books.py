"""A live owner's ledger, looked at and not changed: its lines, the heads of the log that it saw, the bytes it sent."""

from __future__ import annotations

import os

from fedgroup.errors import InvalidInput
from fedgroup.messages.logged import Head
from fedgroup.storage.heads_table import heads_in
from fedgroup.storage.sqlite import SQLiteLedger


class OwnerBooks(SQLiteLedger):
    """An owner's ledger that is only read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path, read_only=True)
        with self._reading() as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        self._has_heads = "heads" in tables
        if "rounds" not in tables:
            self.close()
            raise InvalidInput(f"{path} is not the ledger of a live owner; give the file that its [ledger] table names")

    def heads(self) -> list[Head]:
        """Return the heads that were seen, by number."""
        with self._reading() as connection:
            return heads_in(connection)

    def forks(self) -> int:
        """Return how many proofs of a second log were kept: the first few of each log."""
        if not self._has_heads:
            return 0
        with self._reading() as connection:
            return int(connection.execute("SELECT count(*) FROM forks").fetchone()[0])

    def reply(self, round_id: bytes) -> bytes:
        """Return the bytes that were sent in a round; none where they were dropped since."""
        with self._reading() as connection:
            row = connection.execute("SELECT reply FROM rounds WHERE id = ?", (round_id,)).fetchone()
            return b"" if row is None else bytes(row[0])
