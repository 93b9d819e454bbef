"""Who is signed in on a provider's pages, kept over a restart of the provider.

Guarantee: the file tells neither a token nor the name of a session. A session is found by the hash of its name, and its
           token is sealed with a key made of that name, which only its browser has. Names are 32 random bytes, so
           neither can be searched. What ended is dropped; a session whose token is worthless is worthless, too.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path

from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from fedgroup.errors import LedgerUnavailable
from fedgroup.storage.sqlite_file import make_private

_SECRET_BYTES = 32
MOST = 10_000
_FORGET = "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions ORDER BY ends DESC LIMIT -1 OFFSET ?)"
_LAYOUT = """
CREATE TABLE IF NOT EXISTS sessions (id BLOB PRIMARY KEY, sealed BLOB NOT NULL, ends REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS secret (one INTEGER PRIMARY KEY CHECK (one = 1), secret TEXT NOT NULL);
"""


class SessionStore:
    """One SQLite file, for its user's eyes only, used by one provider process; `secret` is kept if it has none yet."""

    def __init__(self, path: str | Path, *, secret: str) -> None:
        self.path = Path(path).absolute()
        self._turn = threading.Lock()
        make_private(self.path)
        try:
            self._connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._connection.executescript(_LAYOUT)
            self._connection.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (secret,))
        except sqlite3.DatabaseError as error:
            text = f"{self.path} cannot hold who is signed in ({error}); remove it, and users sign in again"
            raise LedgerUnavailable(text) from None

    @property
    def secret(self) -> str:
        """What cookies are signed with, the same after a restart."""
        with self._turn:
            (found,) = self._connection.execute("SELECT secret FROM secret").fetchone()
            return str(found)

    def keep(self, name: str, token: str, ends: float, *, now: float) -> None:
        """Keep a session, and drop those that ended."""
        sealed = bytes(SecretBox(_key(name)).encrypt(token.encode()))
        with self._turn, suppress(sqlite3.DatabaseError):  # else it ends with the process
            self._connection.execute("DELETE FROM sessions WHERE ends <= ?", (now,))
            self._connection.execute(_FORGET, (MOST,))
            self._connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)", (_id(name), sealed, ends))

    def find(self, name: str) -> tuple[str, float] | None:
        """Return the token of a session and when it ends, if it is kept."""
        with self._turn:
            row = self._connection.execute("SELECT sealed, ends FROM sessions WHERE id = ?", (_id(name),)).fetchone()
        if row is None:
            return None
        try:
            return SecretBox(_key(name)).decrypt(bytes(row[0])).decode(), float(row[1])
        except (CryptoError, ValueError):
            return None

    def drop(self, name: str) -> None:
        """Forget a session."""
        with self._turn:
            self._connection.execute("DELETE FROM sessions WHERE id = ?", (_id(name),))

    def close(self) -> None:
        with self._turn:
            self._connection.close()


def _id(name: str) -> bytes:
    return hashlib.sha256(b"fedgroup session id v1 " + name.encode()).digest()


def _key(name: str) -> bytes:
    return hashlib.sha256(b"fedgroup session key v1 " + name.encode()).digest()[:_SECRET_BYTES]
