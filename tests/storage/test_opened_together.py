"""Processes that open a new file at the same time lay it out once, and all of them take it for what it is."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedgroup.storage.hosted_file import HostedFile
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.storage.sqlite import SQLiteLedger
from fedgroup.storage.sqlite_file import SQLiteFile

MOST_STATEMENTS = 100
MOVING_LOCK = 121
"""The byte of SQLite's shared memory that whoever moves a log to its file holds locked (its file format, 2.3.1)."""

MOVE = f"""
import fcntl, sys
with open(sys.argv[1], "r+b") as shared:
    fcntl.lockf(shared, fcntl.LOCK_EX, 1, {MOVING_LOCK})
    print("held", flush=True)
    sys.stdin.read()
"""


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


@pytest.mark.parametrize("kind", [OwnerLedger, HostedFile])
def test_a_file_opens_after_another_process_has_moved_its_log(
    kind: type[OwnerLedger | HostedFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, waits = tmp_path / "ledger.sqlite", []
    first = kind(path)
    with subprocess.Popen(
        [sys.executable, "-c", MOVE, f"{path}-shm"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"

        def wait(seconds: float) -> None:
            waits.append(seconds)
            other.communicate()

        with monkeypatch.context() as patched:
            patched.setattr(time, "sleep", wait)
            kind(path, flushed_later=True).close()
    assert len(waits) == 1
    first.close()
