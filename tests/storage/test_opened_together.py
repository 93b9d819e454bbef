"""Processes that open a new file at the same time lay it out once, and all of them take it for what it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedgroup.storage.hosted_file import HostedFile
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.storage.sqlite import SQLiteLedger
from fedgroup.storage.sqlite_file import SQLiteFile

MOST_STATEMENTS = 100


class Interrupted(sqlite3.Connection):
    """Lets somebody else do something just before one of its statements."""

    before: int
    somebody: Callable[[], None]
    said = 0

    def execute(self, *given: Any) -> sqlite3.Cursor:
        self.said += 1
        if self.said == self.before and not self.in_transaction:  # others would wait for the end of one
            self.somebody()
        return super().execute(*given)


@pytest.mark.parametrize("kind", [SQLiteLedger, OwnerLedger, HostedFile])
def test_another_may_lay_out_the_file_before_any_statement(
    kind: type[SQLiteFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = SQLiteFile._connect
    interrupted: list[Interrupted] = []
    others: list[SQLiteFile] = []

    def connected(self: SQLiteFile, mode: str) -> sqlite3.Connection:
        if interrupted:
            return connect(self, mode)
        with monkeypatch.context() as patched:
            patched.setattr(sqlite3, "connect", lambda *given, **named: opened(*given, factory=Interrupted, **named))
            ours = connect(self, mode)
        assert isinstance(ours, Interrupted)
        ours.before, ours.somebody = before, lambda: others.append(kind(self.path))
        interrupted.append(ours)
        return ours

    opened = sqlite3.connect
    monkeypatch.setattr(SQLiteFile, "_connect", connected)
    for before in range(1, MOST_STATEMENTS):
        interrupted.clear()
        ledger = kind(tmp_path / f"{before}.sqlite")
        said = interrupted[0].said
        ledger.close()
        if said < before:
            break
    assert said < before, "every statement was tried"
    assert len(others) > 2
    for other in others:
        other.close()
