"""Ledgers of many owners in one file keep what a ledger of its own keeps, and none touches another's."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted, InvalidInput, LedgerUnavailable
from fedgroup.messages.logged import Head
from fedgroup.privacy.accounting import Accounting
from fedgroup.privacy.budget import Charge
from fedgroup.rho import Rho
from fedgroup.storage import hosted_ledger, sqlite_file
from fedgroup.storage.hosted_file import HostedFile, is_hosted
from fedgroup.storage.hosted_ledger import HostedLedger
from fedgroup.storage.marks import Mark
from fedgroup.storage.owner_ledger import OwnerLedger

Open = Callable[[Path], Any]


def charge(epsilon: float, text: str = "how many?", **facts: Any) -> Charge:
    return Charge(Epsilon.of(epsilon), "query", text, **facts)


def head(number: int, tag: bytes = b"") -> Head:
    return Head(number, bytes([number]) * 32, b"s" * 64, b"r" * 16, tag)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[HostedFile]:
    with closing(HostedFile(tmp_path / "ledgers.db")) as opened:
        yield opened


def own(path: Path) -> OwnerLedger:
    return OwnerLedger(path / "own.db", holder="ann", flushed_later=True)


def hosted(path: Path) -> HostedLedger:
    """Return a ledger between two others that did something, too."""
    file = HostedFile(path / "many.db")
    before, ledger, after = (HostedLedger(file, name, new=True) for name in ("bob", "ann", "cid"))
    for other in (before, after):
        other.set_cap(Epsilon.of(3))
        other.begin_rounds([(b"r1", charge(1, "another's"), "other"), (b"r9", charge(1, "another's"), "other")])
        other.keep_replies([(b"r1", b"another's")])
        other.count_offer(limit=1)
        other.begin_comparison(b"s1", over="other", limit=9, freeze=lambda: b"other")
        other.note_head(head(9))
    return ledger


def trace(ledger: Any) -> list[Any]:
    """Use a ledger in every way, and return all that it says."""
    said: list[Any] = []

    def told(value: Any) -> None:
        said.append(str(value) if isinstance(value, BudgetExhausted) else value)

    def refused(work: Callable[[], Any]) -> None:
        with pytest.raises((InvalidInput, BudgetExhausted)) as raised:
            work()
        said.append(str(raised.value))

    told((ledger.cap, ledger.epoch, ledger.spent(), ledger.left(), ledger.last_head()))
    ledger.set_cap(Epsilon.of(2))
    ledger.note_head(head(1))
    ledger.note_head(head(2, b"tag"))
    for new, error in ledger.begin_rounds([(b"r1", charge(1), "a"), (b"r1", charge(1), "b"), (b"r2", charge(5), "c")]):
        told((new, str(error)))
    told(ledger.kept_replies([b"r1", b"r2", b"r9"]))
    told(ledger.keep_replies([(b"r1", b"said")]))
    told(ledger.keep_replies([(b"r1", b"otherwise")]))
    refused(lambda: ledger.keep_replies([(b"r9", b"never begun")]))
    told(ledger.begin_rounds([(b"r3", charge(0.25, rho=None), "a"), (b"r4", charge(0.25), "a")]))
    told(ledger.keep_replies([(b"r3", b"three"), (b"r4", b"four")]))
    told([ledger.snapshot_of(each) for each in (b"r1", b"r2", b"r4", b"r9")])
    refused(lambda: ledger.require_affordable([charge(0.6)]))
    ledger.require_affordable([charge(0.5)])
    refused(lambda: ledger.begin_rounds([(b"r5", charge(0.1, protection="one person, add-remove"), "a")]))
    told((ledger.spent(), ledger.left(), ledger.left_rho(), ledger.last_head()))
    told([ledger.count_offer(limit=2) for _ in range(3)])
    for session, over in ((b"s1", "cells"), (b"s1", "cells"), (b"s2", "others"), (b"s3", "cells"), (b"s4", "cells")):
        told(ledger.begin_comparison(session, over=over, limit=2, freeze=lambda: b"vector"))
    told(ledger.comparisons())
    ledger.note_fork(head(3), base=b"base", links=b"links")
    ledger.accept_another_log()
    told(ledger.last_head())
    ledger.count_as(Accounting.of("zcdp", 1e-6), agreed=True)
    told((ledger.spent(), ledger.left(), ledger.left_rho(), str(ledger.accounting)))
    told(ledger.begin_epoch())
    told(ledger.begin_rounds([(b"r6", charge(0.1, rho=Rho(5)), "a")]))
    told(ledger.snapshot_of(b"r1"))
    told([ledger.count_offer(limit=1) for _ in range(2)])
    ledger.give_up_epoch(ledger.mark(), cap=Epsilon.of(2), why="lost")
    told((ledger.spent(), ledger.left(), ledger.epoch))
    told(ledger.begin_comparison(b"s9", over="cells", limit=9, freeze=lambda: b"vector"))
    told([(each.epoch, each.purpose, each.question, each.epsilon, each.rho) for each in ledger.entries()])
    ledger.flush()
    told(ledger.unflushed)
    return said


def test_a_hosted_ledger_says_all_that_an_own_one_says(tmp_path: Path) -> None:
    with closing(own(tmp_path)) as alone, closing(hosted(tmp_path)) as among:
        assert trace(among) == trace(alone)
        assert among.mark().entries == len(among.entries())


def test_each_owner_has_its_own_balance_lines_and_heads(file: HostedFile) -> None:
    ann, bob = (HostedLedger(file, name, new=True) for name in ("ann", "bob"))
    for number, ledger in enumerate((ann, bob, ann, bob, ann)):
        ledger.note_head(head(number))
        ledger.note_head(head(7))  # kept once, seen by both
        ledger.begin_rounds([(b"%d" % number, charge(1, f"question {number}"), "")])
    assert [entry.question for entry in ann.entries()] == ["question 0", "question 2", "question 4"]
    assert [entry.question for entry in bob.entries()] == ["question 1", "question 3"]
    assert (ann.spent(), bob.spent()) == (Epsilon.of(3), Epsilon.of(2))
    assert [each.number for each in ann.heads()] == [0, 2, 4, 7]
    assert ann.last_head() == bob.last_head() == (7, head(7).head)
    assert (file.holders(), is_hosted(file.path), is_hosted(__file__)) == (["ann", "bob"], True, False)
    with file._reading() as connection:
        assert connection.execute("SELECT count(*) FROM heads").fetchone() == (6,)


def test_an_unknown_owner_is_refused_and_so_is_another_kind_of_file(file: HostedFile, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"holds no ledger of 'ann'.*--new-ledger"):
        HostedLedger(file, "ann")
    with pytest.raises(InvalidInput, match="not a fedgroup ledger"):
        OwnerLedger(file.path)
    OwnerLedger(tmp_path / "own.db").close()
    with pytest.raises(InvalidInput, match="not a file of many owners' ledgers"):
        HostedFile(tmp_path / "own.db")


def test_one_flush_brings_all_owners_to_disk_and_a_failed_one_stops_all(
    file: HostedFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def note(log: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{log}"))

    monkeypatch.setattr(sqlite_file, "_to_disk", note)
    ledgers = [HostedLedger(file, f"owner {number}", new=True) for number in range(50)]
    file.flush()
    synced.clear()
    for ledger in ledgers[1:]:
        ledger.begin_rounds([(b"r", charge(1), "")])
        ledger.keep_replies([(b"r", b"said")])
    assert not ledgers[0].unflushed
    assert all(ledger.unflushed for ledger in ledgers[1:])
    ledgers[7].flush()
    assert not any(ledger.unflushed for ledger in ledgers)
    assert synced == [f"{file.path}-wal"]

    def broken(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(sqlite_file, "_to_disk", broken)
    ledgers[3].begin_rounds([(b"r2", charge(1), "")])
    for ledger in (ledgers[3], ledgers[4]):
        with pytest.raises(LedgerUnavailable):
            ledger.flush()
        assert ledger.unflushed
        with pytest.raises(LedgerUnavailable, match="start the owner again"):
            ledger.begin_rounds([(b"r3", charge(1), "")])


@pytest.mark.parametrize(("flushed", "kept"), [(True, True), (False, True), (False, False)])
def test_an_owner_killed_after_its_charge_stays_charged_and_says_nothing_new(
    tmp_path: Path, flushed: bool, kept: bool
) -> None:
    path = tmp_path / "ledgers.db"
    child = os.fork()
    if child == 0:  # pragma: no cover - dies by its own hand
        ledger = HostedLedger(HostedFile(path), "ann", new=True)
        ledger.begin_rounds([(b"r", charge(1), "snapshot")])
        if kept:
            ledger.keep_replies([(b"r", b"said")])
        if flushed:
            ledger.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    with closing(HostedFile(path)) as again:
        ledger = HostedLedger(again, "ann")
        assert ledger.spent() == Epsilon.of(1)
        assert ledger.kept_reply(b"r") == (b"said" if kept else b"")
        assert ledger.begin_rounds([(b"r", charge(1), "snapshot")]) == [(False, None)]
        assert ledger.spent() == Epsilon.of(1)


@pytest.mark.parametrize("kind", [HostedFile, OwnerLedger])
def test_a_mark_that_was_being_written_when_a_process_forked_holds_up_no_child(
    tmp_path: Path, kind: type[HostedFile] | type[OwnerLedger]
) -> None:
    """Whoever held the lock is in the parent only."""
    with closing(kind(tmp_path / "ledger.db", flushed_later=True)) as ledger, ledger._marking:
        child = os.fork()
        if child == 0:  # pragma: no cover - another process
            signal.alarm(60)
            try:
                ledger.write_mark()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_mark_that_is_due_for_one_owner_is_written_before_flush_returns_and_tells_of_all(file: HostedFile) -> None:
    told: list[Mark] = []
    file.keep_marked(told.append)
    ann, bob = (HostedLedger(file, name, new=True) for name in ("ann", "bob"))
    for ledger in (ann, bob):
        ledger.set_cap(Epsilon.of(10))
    for number in range(3):
        ann.begin_rounds([(b"%d" % number, charge(0.5), "")])
        bob.begin_rounds([(b"%d" % number, charge(0.25), "")])
        ann.flush()
        assert len(told) == (number == 2)  # more than a tenth of ann's cap
        assert not ann.unflushed
    assert told == [file.mark()]
    bob.begin_rounds([(b"more", charge(0.5), "")])  # bob's 1.25 since, of which the mark told 0.75
    bob.flush()
    assert len(told) == 1
    bob.begin_rounds([(b"rest", charge(8.75), "")])  # the last of the cap
    assert bob.unflushed
    bob.flush()
    assert told[1:] == [file.mark()]


def test_a_mark_that_cannot_be_written_keeps_everything_back(file: HostedFile) -> None:
    def full(_: Mark) -> None:
        raise InvalidInput("the disk is full")

    ann = HostedLedger(file, "ann", new=True)
    ann.set_cap(Epsilon.of(1))
    file.keep_marked(full)
    ann.begin_rounds([(b"r", charge(1), "")])
    for _ in range(2):
        with pytest.raises(LedgerUnavailable, match="full"):
            ann.flush()
        assert ann.unflushed


def test_old_replies_are_dropped_and_their_charges_stay(file: HostedFile, monkeypatch: pytest.MonkeyPatch) -> None:
    now = ["2026-01-01T00:00:00+00:00"]
    monkeypatch.setattr(hosted_ledger, "now_in_words", lambda: now[0])
    file.keep_days = 10
    ann, bob = (HostedLedger(file, name, new=True) for name in ("ann", "bob"))
    for ledger in (ann, bob):
        ledger.begin_rounds([(b"old", charge(1), ""), (b"silent", charge(1), "")])
        ledger.keep_replies([(b"old", b"said")])
    now[0] = "2026-01-20T00:00:00+00:00"
    ann.begin_rounds([(b"new", charge(1), "")])
    assert [ann.kept_reply(each) for each in (b"old", b"silent", b"new", b"none")] == [b"", b"", b"", None]
    assert bob.kept_reply(b"old") == b""
    assert bob.begin_rounds([(b"old", charge(1), "")]) == [(False, None)]
    assert bob.spent() == Epsilon.of(2)


def test_survivors_of_a_round_are_kept_once_for_each_owner(file: HostedFile) -> None:
    ann, bob = (HostedLedger(file, name, new=True) for name in ("ann", "bob"))
    ann.flush()
    assert not ann.unflushed
    assert ann.keep_survivors(b"r", b"first") == b"first"
    assert ann.unflushed
    assert ann.keep_survivors(b"r", b"second") == b"first"
    assert bob.keep_survivors(b"r", b"third") == b"third"
