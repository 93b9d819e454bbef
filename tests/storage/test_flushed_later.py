"""A ledger that is flushed by its user: nothing is told to be on disk that is not."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import LedgerUnavailable
from fedgroup.privacy.budget import Charge
from fedgroup.storage import sqlite_file
from fedgroup.storage.owner_ledger import OwnerLedger

ONE = Charge(Epsilon(1), "query", "how many?")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[OwnerLedger]:
    opened = OwnerLedger(tmp_path / "ledger.db", flushed_later=True)
    opened.flush()
    yield opened
    opened.close()


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The files that were written to disk, with their sizes then."""
    files: list[tuple[str, int]] = []

    def note(file: int) -> None:
        files.append((os.readlink(f"/proc/self/fd/{file}"), os.fstat(file).st_size))
        os.fdatasync(file)

    monkeypatch.setattr(sqlite_file, "_to_disk", note)
    return files


def test_a_charge_is_unflushed_until_its_log_is_on_disk(ledger: OwnerLedger, synced: list[tuple[str, int]]) -> None:
    assert not ledger.unflushed
    ledger.charge([ONE])
    assert ledger.unflushed
    assert synced == []
    ledger.flush()
    assert not ledger.unflushed
    log = f"{ledger.path}-wal"
    assert synced == [(log, os.path.getsize(log))]
    ledger.flush()
    assert len(synced) == 1


def test_the_log_alone_brings_the_charge_back(ledger: OwnerLedger, tmp_path: Path) -> None:
    ledger.charge([ONE])
    ledger.flush()
    for end in ("", "-wal"):
        (tmp_path / f"copy.db{end}").write_bytes(Path(f"{ledger.path}{end}").read_bytes())
    with closing(OwnerLedger(tmp_path / "copy.db")) as copy:
        assert copy.spent() == Epsilon(1)


def test_what_is_written_during_a_flush_waits_for_the_next(
    ledger: OwnerLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.charge([ONE])
    monkeypatch.setattr(sqlite_file, "_to_disk", lambda _: ledger.charge([ONE]))
    ledger.flush()
    assert ledger.unflushed


def test_a_ledger_that_cannot_be_flushed_is_used_no_more(ledger: OwnerLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    ledger.charge([ONE])
    with monkeypatch.context() as broken_disk:
        broken_disk.setattr(sqlite_file, "_to_disk", broken)
        with pytest.raises(LedgerUnavailable, match="cannot be written"):
            ledger.flush()
    assert ledger.unflushed
    with pytest.raises(LedgerUnavailable, match="start the owner again"):
        ledger.flush()  # the system would say that all is well now
    with pytest.raises(LedgerUnavailable, match="start the owner again"):
        ledger.charge([ONE])
    with pytest.raises(LedgerUnavailable, match="start the owner again"):
        ledger.kept_reply(b"r")


def test_a_log_that_vanished_is_not_told_to_be_on_disk(ledger: OwnerLedger) -> None:
    ledger.charge([ONE])
    Path(f"{ledger.path}-wal").unlink()
    with pytest.raises(LedgerUnavailable, match="is away"):
        ledger.flush()
    assert ledger.unflushed


def test_closing_flushes(ledger: OwnerLedger) -> None:
    ledger.charge([ONE])
    ledger.close()
    assert not ledger.unflushed
    with closing(sqlite3.connect(ledger.path)) as books:
        assert books.execute("SELECT nano FROM spent_by_all").fetchone() == (1,)


def answer(ledger: OwnerLedger, reply: bytes) -> bytes:
    ledger.begin_rounds([(b"r", ONE, "1")])
    (kept,) = ledger.keep_replies([(b"r", reply)])
    return kept


def test_a_kept_reply_is_unflushed_for_another_process_may_just_have_written_it(ledger: OwnerLedger) -> None:
    other = OwnerLedger(ledger.path, flushed_later=True)
    answer(other, b"said")
    assert not ledger.unflushed
    assert ledger.kept_reply(b"r") == b"said"
    assert ledger.unflushed
    ledger.flush()
    assert answer(ledger, b"other") == b"said"
    assert ledger.unflushed
    other.close()


def test_other_ledgers_need_no_flush(tmp_path: Path) -> None:
    with closing(OwnerLedger(tmp_path / "ledger.db")) as ledger:
        ledger.charge([ONE])
        assert not ledger.unflushed


def test_the_log_is_held_from_before_the_first_write_so_that_no_error_is_told_to_somebody_else_only(
    tmp_path: Path, synced: list[tuple[str, int]]
) -> None:
    with closing(OwnerLedger(tmp_path / "ledger.db", flushed_later=True)) as ledger:
        held = os.fstat(ledger._log)
        for _ in range(3):
            ledger.charge([ONE])
            ledger.flush()
        assert os.path.samestat(held, os.stat(f"{ledger.path}-wal"))
    assert {file for file, _ in synced} == {f"{ledger.path}-wal"}


def test_what_a_process_left_in_the_log_is_moved_to_the_file_before_anything_is_told_to_be_on_disk(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"
    left = OwnerLedger(path, flushed_later=True)
    answer(left, b"said")
    for end in ("", "-wal"):  # as it is found after kill -9
        (tmp_path / f"copy.db{end}").write_bytes(Path(f"{path}{end}").read_bytes())
    left.close()
    with closing(OwnerLedger(tmp_path / "copy.db", flushed_later=True)) as found:
        (tmp_path / "file-alone.db").write_bytes((tmp_path / "copy.db").read_bytes())
        assert found.kept_reply(b"r") == b"said"
    with closing(OwnerLedger(tmp_path / "file-alone.db")) as alone:
        assert alone.kept_reply(b"r") == b"said"


def test_a_ledger_behind_a_link_is_flushed_beside_the_file_itself(
    tmp_path: Path, synced: list[tuple[str, int]]
) -> None:
    real, link = tmp_path / "real.db", tmp_path / "etc" / "ledger.db"
    OwnerLedger(real).close()
    link.parent.mkdir()
    link.symlink_to(real)
    ledger = OwnerLedger(link, flushed_later=True)
    synced.clear()
    ledger.charge([ONE])
    ledger.flush()
    assert [file for file, _ in synced] == [f"{real}-wal"]
    ledger.charge([ONE])
    with closing(sqlite3.connect(real)) as other:  # whose connection keeps the log from being thrown away
        other.execute("SELECT * FROM facts").fetchall()
        ledger.close()
        assert ledger.unflushed
        assert ledger.spent() == Epsilon(2)  # opened again: all of it was moved to the file
        assert not ledger.unflushed
    ledger.close()


def test_a_ledger_that_somebody_reads_for_long_is_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with closing(OwnerLedger(path)) as first, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        first.charge([ONE])
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM entries").fetchall()
        first.charge([ONE])
        with pytest.raises(LedgerUnavailable, match="somebody else"):
            OwnerLedger(path, flushed_later=True, busy_seconds=0.1)


def test_a_new_ledger_of_a_live_owner_has_small_pages_and_an_older_one_keeps_its_own(tmp_path: Path) -> None:
    with closing(OwnerLedger(tmp_path / "older.db")):
        pass
    for name, size in (("new.db", 1_024), ("older.db", 4_096)):
        with closing(OwnerLedger(tmp_path / name, flushed_later=True)) as ledger:
            ledger.begin_rounds([(b"r" * 16, ONE, "1")])
            assert ledger.keep_replies([(b"r" * 16, bytes(500_000))]) == [bytes(500_000)]
            ledger.flush()
        with closing(OwnerLedger(tmp_path / name, flushed_later=True)) as again:
            assert again.kept_reply(b"r" * 16) == bytes(500_000)
            assert again._connection.execute("PRAGMA page_size").fetchone() == (size,)
