"""However fast an owner answers, a restored ledger can lack no more epsilon unnoticed than its mark lets it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from live_world import PATIENCE_S

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, LedgerUnavailable
from fedgroup.live import ledgers
from fedgroup.live.config import OwnerConfig, read_config
from fedgroup.live.flushing import Flushing
from fedgroup.live.ledgers import MARK_FILE, MarkedLedger, open_ledger
from fedgroup.live.owner import RunningOwner
from fedgroup.live.trial import make_trial
from fedgroup.privacy.budget import Charge
from fedgroup.storage import marks
from fedgroup.storage.marks import Mark, read_mark
from fedgroup.transport.links import Hear

TENTH = Epsilon.of(1).nano


class Owner:
    """An owner with a cap of 10 that charges and flushes as it does before each reply."""

    def __init__(self, folder: Path, ledger_says: str = "") -> None:
        file = make_trial(folder, owners=2, seed=1).owners[0]
        file.write_text(file.read_text().replace("cap = 10.0", f"cap = 10.0\n{ledger_says}"))
        config = read_config(file, OwnerConfig)
        self.mark = Path(config.identity.folder) / MARK_FILE
        self.marked: MarkedLedger = open_ledger(config, holder=file.parent.name, new_ledger=True)
        self.ledger = self.marked.ledger
        self._rounds = 0

    def charge(self, epsilon: float) -> None:
        self._rounds += 1
        charge = Charge(Epsilon.of(epsilon), "query", "how many?")
        assert self.ledger.begin_rounds([(self._rounds.to_bytes(16, "big"), charge, "1")]) == [(True, None)]

    def answer(self, epsilon: float) -> None:
        self.charge(epsilon)
        self.ledger.flush()

    def unnoticed(self) -> int:
        """What would be lost, and not missed, if the ledger of the last mark were restored now."""
        told = read_mark(self.mark)
        with closing(sqlite3.connect(self.ledger.path)) as books:
            return int(books.execute("SELECT sum(nano) FROM entries WHERE id > ?", (told.entries,)).fetchone()[0] or 0)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Mark]:
    """The marks that were written."""
    told: list[Mark] = []

    def write(file: Path, mark: Mark) -> None:
        told.append(mark)
        marks.write_mark(file, mark)

    monkeypatch.setattr(ledgers, "write_mark", write)
    return told


def test_a_restored_ledger_lacks_a_tenth_of_the_cap_at_most_however_fast_it_was_spent(
    tmp_path: Path, written: list[Mark]
) -> None:
    owner = Owner(tmp_path)
    for _ in range(99):
        owner.answer(0.1)
        assert owner.unnoticed() <= TENTH
    assert len(written) <= 11
    owner.answer(0.1)
    assert owner.unnoticed() == 0, "the last of the cap is marked at once"
    owner.ledger.close()


def test_a_charge_above_the_bound_is_marked_before_it_is_answered(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    for epsilon in (1.5, 0.2, 0.9, 1.0):
        owner.answer(epsilon)
        assert owner.unnoticed() <= TENTH
    owner.ledger.close()


def test_an_owner_says_itself_how_much_may_be_missed(tmp_path: Path) -> None:
    owner = Owner(tmp_path, "mark_every = 0.25")
    for _ in range(20):
        owner.answer(0.1)
        assert owner.unnoticed() <= TENTH // 4
    owner.ledger.close()
    with pytest.raises(InvalidInput, match="mark_every"):
        Owner(tmp_path / "other", "mark_every = 0")


def test_a_lower_cap_is_marked_more_often_at_once(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    owner.ledger.set_cap(Epsilon.of(1))
    for _ in range(9):
        owner.answer(0.1)
        assert owner.unnoticed() <= TENTH // 10
    owner.ledger.close()


def test_comparisons_are_marked_by_a_tenth_of_their_limit(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    for number in range(20):
        owner.ledger.begin_comparison(bytes([number]), over="cells", limit=20, freeze=lambda: b"vector")
        owner.ledger.flush()
        assert number + 1 - read_mark(owner.mark).comparisons <= 2
    assert read_mark(owner.mark).comparisons == 20
    owner.ledger.close()


def test_where_the_mark_cannot_be_written_nothing_beyond_the_bound_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = Owner(tmp_path)
    with monkeypatch.context() as full:
        full.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        owner.answer(1.0)
        for _ in range(2):
            owner.charge(0.1)
            with pytest.raises(LedgerUnavailable, match=r"ledger\.mark cannot be written"):
                owner.ledger.flush()
            assert owner.ledger.unflushed
    owner.ledger.flush()
    assert (owner.unnoticed(), owner.ledger.unflushed) == (0, False)
    owner.ledger.close()


class Node:
    """A node whose one answer costs more than may be unmarked."""

    name = "a"

    def __init__(self, owner: Owner) -> None:
        self.ledger = owner.ledger
        self._owner = owner

    def agrees(self, _: object) -> bool:
        return True

    def prepare(self, *_: object, **__: object) -> list[tuple[str, bytes]]:
        self._owner.charge(5.0)
        return [("provider", b"answer")]

    def refusal(self, *_: object) -> list[tuple[str, bytes]]:
        return [("provider", b"refused")]


class Link:
    """One message, and what was said to it, with what the mark could not tell then."""

    def __init__(self, owner: Owner) -> None:
        self.said: list[tuple[bytes, int]] = []
        self.answered = asyncio.Event()
        self._owner = owner

    def listen(self, hear: Hear) -> None:
        hear("provider", [b"ask"], 0.0)

    def say(self, messages: Sequence[tuple[str, bytes]]) -> None:
        self.said += [(payload, self._owner.unnoticed()) for _, payload in messages]
        self.answered.set()

    def when_left(self, call: Callable[[], None]) -> None:
        call()

    def hold(self) -> None: ...

    def go_on(self) -> None: ...


async def answered(owner: Owner) -> list[tuple[bytes, int]]:
    link, flushing = Link(owner), Flushing()
    RunningOwner(Node(owner), link, decode=lambda data, _: data, flushing=flushing)
    await asyncio.wait_for(link.answered.wait(), PATIENCE_S)
    flushing.close()
    return link.said


def run(owner: Owner) -> list[tuple[bytes, int]]:
    return asyncio.run(answered(owner))


def test_an_owner_sends_nothing_before_its_mark_tells_enough(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    assert run(owner) == [(b"answer", 0)]
    owner.ledger.close()


def test_an_owner_refuses_where_its_mark_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = Owner(tmp_path)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert [payload for payload, _ in run(owner)] == [b"refused"]
    owner.ledger.close()


def test_a_mark_is_on_disk_with_its_folder_and_after_its_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, order, usual, replace = Owner(tmp_path), list[str](), os.fsync, os.replace

    def synced(descriptor: int) -> None:
        order.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        usual(descriptor)

    def replaced(*places: Path) -> None:
        order.append("replaced")
        replace(*places)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr("fedgroup.storage.sqlite_file._to_disk", synced)
    monkeypatch.setattr(os, "replace", replaced)
    owner.answer(5.0)
    assert order == ["ledger.db-wal", "ledger.mark.new", "replaced", "identity"]
    owner.ledger.close()
