"""Owners of one file that write together: one transaction, all of it or nothing, and never from what is out of date."""

from __future__ import annotations

import sqlite3
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, LedgerUnavailable
from fedgroup.messages.logged import Head
from fedgroup.owner.together import Begin, answered_together
from fedgroup.privacy.budget import Charge
from fedgroup.storage import sqlite_file
from fedgroup.storage.hosted_batch import Batch
from fedgroup.storage.hosted_file import HostedFile
from fedgroup.storage.hosted_ledger import HostedLedger
from fedgroup.storage.owner_ledger import OwnerLedger

NAMES = ("ann", "bob", "cid")
ONE = Epsilon.of(1)


def charge(epsilon: float = 1, **facts: Any) -> Charge:
    return Charge(Epsilon.of(epsilon), "query", "how many?", **facts)


def head(number: int) -> Head:
    return Head(number, bytes([number]) * 32, b"s" * 64, b"r" * 16, b"")


@pytest.fixture
def file(tmp_path: Path) -> Iterator[HostedFile]:
    with closing(HostedFile(tmp_path / "ledgers.db")) as opened:
        yield opened


@pytest.fixture
def owners(file: HostedFile) -> list[HostedLedger]:
    found = [HostedLedger(file, name, new=True) for name in NAMES]
    for each in found:
        each.set_cap(Epsilon.of(10))
    return found


def lines_in(file: HostedFile) -> int:
    """Return how many charges somebody else finds in the file."""
    with closing(sqlite3.connect(file.path)) as other:
        return int(other.execute("SELECT count(*) FROM entries WHERE purpose = 'query'").fetchone()[0])


def test_owners_that_write_together_take_one_transaction(file: HostedFile, owners: list[HostedLedger]) -> None:
    said: list[str] = []
    with file._reading() as connection:
        connection.set_trace_callback(said.append)
    with file.together():
        for number, each in enumerate(owners):
            each.note_head(head(number % 2))
            assert each.begin_rounds([(b"r", charge(), ""), (b"r", charge(), "")]) == [(True, None), (False, None)]
        assert lines_in(file) == 0
    assert lines_in(file) == 3
    with file.together():
        assert [each.keep_replies([(b"r", each.holder.encode())]) for each in owners] == [[b"ann"], [b"bob"], [b"cid"]]
    assert [said.count(word) for word in ("BEGIN IMMEDIATE", "COMMIT")] == [2, 2]
    for each in owners:
        assert (each.spent(), each.kept_reply(b"r"), each.unflushed) == (ONE, each.holder.encode(), True)
        assert [line.question for line in each.entries()] == ["budget set to 10", "how many?"]
    assert [each.last_head() for each in owners] == [(number, head(number).head) for number in (0, 1, 0)]


def test_a_reply_is_kept_once_in_a_batch_and_never_for_a_round_that_did_not_begin(owners: list[HostedLedger]) -> None:
    ann, bob, _ = owners
    with ann.together():
        ann.begin_rounds([(b"r", charge(), "")])
        assert ann.keep_replies([(b"r", b"first")]) == ann.keep_replies([(b"r", b"second")]) == [b"first"]
        with pytest.raises(InvalidInput):
            bob.keep_replies([(b"r", b"never begun")])
    assert (ann.kept_reply(b"r"), bob.kept_reply(b"r")) == (b"first", None)
    assert ann.keep_replies([(b"r", b"third")]) == [b"first"]


def test_what_cannot_be_committed_leaves_nothing_and_is_not_built_on(
    file: HostedFile, owners: list[HostedLedger], monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob, _ = owners
    ann.note_head(head(3))

    def full(_: Batch) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    def both() -> None:
        with file.together():
            for each in (ann, bob):
                assert each.begin_rounds([(b"r", charge(6), "")]) == [(True, None)]

    with monkeypatch.context() as broken:
        broken.setattr(Batch, "write", full)
        with pytest.raises(LedgerUnavailable, match="full"):
            both()
    assert (ann.spent(), bob.spent(), lines_in(file), ann.kept_reply(b"r")) == (Epsilon(0), Epsilon(0), 0, None)
    ann.require_affordable([charge(10)])
    assert ann.begin_rounds([(b"r", charge(6), "")]) == [(True, None)]  # the head comes with it
    assert (ann.spent(), ann.last_head()) == (Epsilon.of(6), (3, head(3).head))


def test_one_owner_that_is_refused_in_a_batch_leaves_nothing_and_holds_up_no_other(owners: list[HostedLedger]) -> None:
    ann, bob, cid = owners
    for each in owners:
        each.begin_rounds([(b"0", charge(), "")])
    with ann.together():
        assert ann.begin_rounds([(b"r", charge(), "")]) == [(True, None)]
        with pytest.raises(InvalidInput, match="not for one person"):
            bob.begin_rounds([(b"r", charge(), ""), (b"s", charge(protection="one person"), "")])
        ((new, exhausted),) = cid.begin_rounds([(b"r", charge(9.5), "")])
    assert (new, exhausted is not None) == (False, True)
    assert [each.spent() for each in owners] == [Epsilon.of(2), ONE, ONE]
    assert [each.kept_reply(b"r") for each in owners] == [b"", None, None]
    assert [len(each.entries()) for each in owners] == [3, 2, 2]


@pytest.mark.parametrize("same_process", [True, False])
def test_what_others_changed_in_the_file_is_seen_by_the_next_batch(
    same_process: bool, file: HostedFile, owners: list[HostedLedger]
) -> None:
    ann = owners[0]
    ann.begin_rounds([(b"1", charge(4), "")])  # its row is known from now on
    with closing(file if same_process else HostedFile(file.path, flushed_later=False)) as used:
        operator = HostedLedger(used, "ann")
        operator.set_cap(Epsilon.of(5))
        ((new, error),) = ann.begin_rounds([(b"2", charge(2), "")])
        assert (new, error is None) == (False, False)
        operator.begin_epoch()
        assert ann.begin_rounds([(b"3", charge(2), "")]) == [(True, None)]
        assert (ann.epoch, ann.spent(), operator.spent()) == (1, Epsilon.of(2), Epsilon.of(2))
        operator.begin_rounds([(b"4", charge(1), "")])
        assert ann.begin_rounds([(b"4", charge(1), "")]) == [(False, None)]
        assert ann.begin_rounds([(b"5", charge(2), "")]) == [(True, None)]
        assert [entry.epsilon for entry in ann.entries() if entry.epoch == 1] == [
            Epsilon(0), Epsilon.of(2), ONE, Epsilon.of(2)
        ]  # fmt: skip


Step = tuple[str, int, int]
STEPS = st.lists(st.tuples(st.sampled_from(["begin", "keep", "head", "end"]), st.integers(0, 2), st.integers(0, 11)))


@given(STEPS)
@settings(max_examples=60, deadline=None)
def test_in_whatever_batches_owners_write_each_reads_as_in_a_file_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    folder = tmp_path_factory.mktemp("both")
    with closing(HostedFile(folder / "many.db")) as file:
        among = [HostedLedger(file, name, new=True) for name in NAMES]
        alone = [OwnerLedger(folder / f"{name}.db", holder=name, flushed_later=True) for name in NAMES]
        for one, other in zip(among, alone, strict=True):
            one.set_cap(Epsilon.of(4))
            other.set_cap(Epsilon.of(4))
        for batch in _batches(steps):
            with file.together():
                said = [_played(among[who], step, number) for step, who, number in batch]
            assert said == [_played(alone[who], step, number) for step, who, number in batch]
        for one, other in zip(among, alone, strict=True):
            assert _story(one) == _story(other)
            other.close()


def _batches(steps: list[Step]) -> Iterator[list[Step]]:
    batch: list[Step] = []
    for at, (step, who, number) in enumerate([*steps, ("end", 0, 0)]):
        if step == "end":
            yield batch
            batch = []
        else:
            batch.append((step, who, at if step == "head" else number))  # heads of a log have growing numbers


def _played(ledger: Any, step: str, number: int) -> Any:
    round_id = b"round %d" % number
    if step == "head":
        return ledger.note_head(head(number))
    if step == "begin":
        return [(new, str(error)) for new, error in ledger.begin_rounds([(round_id, charge(0.75), f"{number}")])]
    try:
        return ledger.keep_replies([(round_id, b"%d" % number)])
    except InvalidInput as error:
        return str(error)


def _story(ledger: Any) -> Any:
    rounds = [b"round %d" % number for number in range(12)]
    lines = [(line.epoch, line.purpose, line.question, line.epsilon) for line in ledger.entries()]
    snapshots = [ledger.snapshot_of(each) for each in rounds]
    return ledger.spent(), ledger.kept_replies(rounds), snapshots, lines, ledger.last_head()


def test_a_look_for_several_owners_finds_what_each_would_find(file: HostedFile, owners: list[HostedLedger]) -> None:
    ann, bob, cid = owners
    first, second = b"1" * 16, b"2" * 16
    for each, round_id in ((ann, first), (bob, first), (bob, second)):
        each.begin_rounds([(round_id, charge(), "")])
    ann.keep_replies([(first, b"said")])
    asked = [(each, round_id) for each in (cid, bob, ann) for round_id in (second, first)]
    assert ann.kept_by_several(asked) == [each.kept_reply(round_id) for each, round_id in asked]
    assert ann.kept_by_several(asked) == [None, None, b"", b"", None, b"said"]


def test_what_is_found_for_several_owners_is_on_disk_before_it_is_said_again(
    file: HostedFile, owners: list[HostedLedger]
) -> None:
    ann, bob, _ = owners
    round_id = b"1" * 16
    ann.begin_rounds([(round_id, charge(), "")])
    ann.keep_replies([(round_id, b"said")])
    ann.flush()
    bob.begin_rounds([(round_id, charge(), "")])  # the file is written to again
    assert not ann.unflushed
    assert bob.kept_by_several([(ann, round_id)]) == [b"said"]
    assert ann.unflushed  # as after `kept_reply`: another process may have written it a moment ago


def test_what_is_found_for_one_owner_reads_nobody_elses_reply(file: HostedFile, owners: list[HostedLedger]) -> None:
    ann, *_ = owners
    long, round_id = bytes(1 << 20), b"1" * 16
    with file.together():
        for each in owners:
            each.begin_rounds([(round_id, charge(), "")])
            each.keep_replies([(round_id, long)])
    tracemalloc.start()
    assert ann.kept_by_several([(ann, round_id)]) == [long]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * len(long)  # SQLite's copy and ours, of one of three


def test_who_replied_before_everything_was_forgotten_replies_no_second_time(
    file: HostedFile, owners: list[HostedLedger]
) -> None:
    ann, bob, cid = owners
    for each in (ann, bob):
        each.begin_rounds([(b"r", charge(), "")])
    ann.keep_replies([(b"r", b"said")])
    file._batch.forget()
    with file.together() as batch:
        assert [batch.has_begun(b"r", each._number) for each in owners] == [True, True, False]
        assert ann.keep_replies([(b"r", b"another")]) == [b"said"]
        assert bob.keep_replies([(b"r", b"first")]) == bob.keep_replies([(b"r", b"second")]) == [b"first"]
    with pytest.raises(InvalidInput):
        cid.keep_replies([(b"r", b"never charged")])
    assert [each.kept_reply(b"r") for each in owners] == [b"said", b"first", None]


def test_where_sqlite_ends_the_transaction_itself_nobodys_part_stays(
    file: HostedFile, owners: list[HostedLedger]
) -> None:
    """As where a disk is full or fails: in the middle of one owner's part, while the others' are in the batch."""
    ann, bob, _ = owners
    ann.note_head(head(1))
    bob.note_head(head(2))
    with file._reading() as connection:
        connection.execute(
            "CREATE TEMP TRIGGER full BEFORE INSERT ON heads WHEN new.number = 2 "
            "BEGIN SELECT RAISE(ROLLBACK, 'disk I/O error'); END"
        )
    came = answered_together([(_charged(bytes([number])), each) for number, each in enumerate(owners)])
    assert all(isinstance(each, Exception) for each in came)
    with closing(sqlite3.connect(file.path)) as other:
        tables = ("rounds", "seen", "heads")
        assert [other.execute(f"SELECT count(*) FROM {each}").fetchone()[0] for each in tables] == [0, 0, 0]
    assert lines_in(file) == 0
    assert [each.spent() for each in owners] == [Epsilon(0)] * 3


def test_what_cannot_be_written_for_one_owner_leaves_the_others_theirs(owners: list[HostedLedger]) -> None:
    snapshots = ("as it is", "\ud800", "as it is")
    several = [(_charged(b"r", snapshot), each) for snapshot, each in zip(snapshots, owners, strict=True)]
    ann, bob, cid = answered_together(several)
    assert (ann, cid) == (True, True)
    assert isinstance(bob, UnicodeEncodeError)
    assert [each.spent() for each in owners] == [ONE, Epsilon(0), ONE]


def _charged(round_id: bytes, snapshot: str = "") -> Any:
    return (yield Begin(round_id, charge(), snapshot))


def test_a_reply_that_a_process_before_left_is_on_disk_before_it_is_said_again(
    file: HostedFile, owners: list[HostedLedger], monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, *_ = owners
    file.flush()
    with closing(HostedFile(file.path)) as before:
        other = HostedLedger(before, "ann")
        other.begin_rounds([(b"r", charge(), "")])
        other.keep_replies([(b"r", b"said")])
        flushed: list[int] = []
        usual = sqlite_file._to_disk
        monkeypatch.setattr(sqlite_file, "_to_disk", lambda log: (flushed.append(log), usual(log)))
        assert ann.kept_by_several([(ann, b"r")]) == [b"said"]
        file.flush()
        assert len(flushed) == 1


def test_a_ledger_that_somebody_else_holds_refuses_soon_and_holds_up_no_other(tmp_path: Path) -> None:
    with closing(OwnerLedger(tmp_path / "ann.db", flushed_later=True)) as ann:
        ann.set_cap(Epsilon.of(10))
        assert ann._connected().execute("PRAGMA busy_timeout").fetchone() == (round(1_000 * sqlite_file._HURRY_S),)
        with closing(sqlite3.connect(ann.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerUnavailable):
                ann.begin_rounds([(b"r", charge(), "")])
        assert ann.begin_rounds([(b"r", charge(), "")]) == [(True, None)]


def test_a_turn_ends_even_where_nothing_can_be_rolled_back(file: HostedFile) -> None:
    class Broken:
        in_transaction = True

        def execute(self, _statement: str) -> None:
            raise sqlite3.OperationalError("disk I/O error")

    use = file._transaction()
    opened = use.__enter__()
    use._connection = Broken()
    with pytest.raises((sqlite3.OperationalError, LedgerUnavailable)):
        use.__exit__(None, None, None)
    opened.execute("ROLLBACK")
    found: list[list[str]] = []
    another = threading.Thread(target=lambda: found.append(file.holders()), daemon=True)
    another.start()
    another.join(60)
    assert found == [[]]
