"""The tables of a provider's file: how they are laid out, brought up to date, and kept from growing for ever.

Guarantee: what a user spent is the sum of what its questions were charged, those forgotten included.
"""

from __future__ import annotations

import sqlite3

VERSION = 2
_APPLICATION_ID = 0x46454450  # "FEDP"
_FIRST_SCHEMA = """
CREATE TABLE users (
    name TEXT PRIMARY KEY, token TEXT NOT NULL UNIQUE, role TEXT NOT NULL, per_minute INTEGER NOT NULL,
    allowance INTEGER NOT NULL, spent INTEGER NOT NULL DEFAULT 0,
    CHECK (0 <= spent AND spent <= allowance)) WITHOUT ROWID;
CREATE TABLE questions (
    id TEXT PRIMARY KEY, user TEXT NOT NULL, key TEXT, at TEXT NOT NULL, request TEXT NOT NULL, nano INTEGER NOT NULL,
    state TEXT NOT NULL, answer TEXT, UNIQUE (user, key));
CREATE TABLE answers (key TEXT PRIMARY KEY, round BLOB NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE plans (method TEXT PRIMARY KEY, plan TEXT NOT NULL) WITHOUT ROWID;
"""
_SINCE_VERSION_2 = """
CREATE TABLE forgotten (user TEXT PRIMARY KEY, questions INTEGER NOT NULL, nano INTEGER NOT NULL) WITHOUT ROWID;
ALTER TABLE answers ADD COLUMN used TEXT NOT NULL DEFAULT '';
CREATE INDEX questions_by_age ON questions (at);
CREATE INDEX questions_of_users ON questions (user, at);
CREATE INDEX answers_by_use ON answers (used);
"""
_OWNERS = """
CREATE TABLE IF NOT EXISTS owners (name TEXT PRIMARY KEY, certificate BLOB NOT NULL, since TEXT NOT NULL) WITHOUT ROWID
"""
"""Everybody who was ever admitted, until an operator retires it."""
_PUBLICATIONS = """
CREATE TABLE IF NOT EXISTS publications (question TEXT PRIMARY KEY, progress TEXT) WITHOUT ROWID
"""
"""How far maps that are being published came; no progress: the map is there, for everybody to read."""

_AT_ONCE = 16
"""How many old rows go, at most, when a new one comes."""
_ONE_MORE_FORGOTTEN = (
    "INSERT INTO forgotten VALUES (?, 1, ?)"
    " ON CONFLICT DO UPDATE SET questions = questions + 1, nano = nano + excluded.nano"
)


def lay_out(connection: sqlite3.Connection, *, now: str) -> bool:
    """Lay out a new file, bring one of version 1 up to date; tell whether it is one of this version then."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables == 0:
        _run(connection, _FIRST_SCHEMA)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    if tables == 0 or _marks(connection) == [_APPLICATION_ID, 1]:
        _run(connection, _SINCE_VERSION_2)
        connection.execute("UPDATE answers SET used = ?", (now,))
        connection.execute(f"PRAGMA user_version = {VERSION}")
    if _marks(connection) != [_APPLICATION_ID, VERSION]:
        return False
    connection.execute(_OWNERS)
    connection.execute(_PUBLICATIONS)
    return True


def forget_questions(connection: sqlite3.Connection, *, before: str) -> None:
    """Forget some questions that are too old, and add what they were charged to one row of their user.

    Published maps are for everybody, and stay.
    """
    unpublished = "id NOT IN (SELECT question FROM publications)"
    old = f"SELECT rowid, user, nano FROM questions WHERE at < ? AND {unpublished} ORDER BY at LIMIT ?"  # noqa: S608
    rows = connection.execute(old, (before, _AT_ONCE)).fetchall()
    connection.executemany(_ONE_MORE_FORGOTTEN, [(user, nano) for _, user, nano in rows])
    connection.executemany("DELETE FROM questions WHERE rowid = ?", [(row,) for row, _, _ in rows])


def forget_answers(connection: sqlite3.Connection, *, before: str) -> None:
    """Forget some answers that nobody asked for in a long time."""
    old = "SELECT key FROM answers WHERE used < ? ORDER BY used LIMIT ?"
    keys = connection.execute(old, (before, _AT_ONCE)).fetchall()
    connection.executemany("DELETE FROM answers WHERE key = ?", keys)


def _run(connection: sqlite3.Connection, statements: str) -> None:
    for statement in statements.split(";\n"):
        connection.execute(statement)


def _marks(connection: sqlite3.Connection) -> list[int]:
    """Return whose file this is, and of which version."""
    return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
