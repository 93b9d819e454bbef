"""A ledger that forgot charges, as a restored backup does, is known by its mark, and its epoch counts as spent."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from live_world import PATIENCE_S, PRECISE, World, count, until

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted, InvalidInput
from fedgroup.live import ledgers
from fedgroup.live.config import OwnerConfig, read_config
from fedgroup.live.ledgers import MARK_FILE, open_ledger, take_restored
from fedgroup.live.running import running_owners, running_provider
from fedgroup.live.trial import make_trial
from fedgroup.privacy.budget import Charge
from fedgroup.storage.marks import read_mark
from fedgroup.storage.owner_ledger import OwnerLedger

CAP = Epsilon.of(10)
COMMAND = [sys.executable, "-c", "from fedgroup.cli.main import main; main()"]


class Owner:
    """One owner's files: its ledger, its mark and backups."""

    def __init__(self, folder: Path) -> None:
        self.file = make_trial(folder, owners=2, seed=1).owners[0]
        self.ledger = self.file.with_name("ledger.db")
        self.mark = self.file.parent / "identity" / MARK_FILE
        self._backup = folder / "backup.db"

    @property
    def config(self) -> OwnerConfig:
        return read_config(self.file, OwnerConfig)

    def use(self, *charges: float, new_ledger: bool = False, epochs: int = 0, compares: int = 0) -> None:
        """Start, charge, compare, begin epochs, and stop in good order."""
        marked = open_ledger(self.config, holder=self.file.parent.name, new_ledger=new_ledger)
        for _ in range(epochs):
            marked.ledger.begin_epoch()
        for epsilon in charges:
            marked.ledger.charge([Charge(Epsilon.of(epsilon), "query", "how many?")])
        for number in range(compares):
            marked.ledger.begin_comparison(bytes([number]), over="cells", limit=9, freeze=lambda: b"vector")
        marked.update()
        marked.ledger.close()

    def take_restored(self, *, new_ledger: bool = False) -> None:
        take_restored(self.config, new_ledger=new_ledger)

    def back_up(self) -> None:
        with closing(OwnerLedger(self.ledger)) as ledger:
            self._backup.unlink(missing_ok=True)
            ledger.backup(self._backup)

    def restore(self) -> None:
        self.lose()
        shutil.copy(self._backup, self.ledger)

    def lose(self) -> None:
        for file in self.ledger.parent.glob("ledger.db*"):
            file.unlink()

    def standing(self) -> tuple[int, Epsilon]:
        with closing(OwnerLedger(self.ledger)) as ledger:
            return ledger.epoch, ledger.spent()


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    """An owner that spent 1, made a backup, and spent 2 more."""
    made = Owner(tmp_path / "federation")
    made.use(1.0, new_ledger=True)
    made.back_up()
    made.use(2.0)
    return made


def test_a_mark_is_for_its_owner_alone_and_tells_how_far_the_ledger_came(owner: Owner) -> None:
    assert stat.S_IMODE(owner.mark.stat().st_mode) == 0o600
    with closing(OwnerLedger(owner.ledger)) as ledger:
        assert read_mark(owner.mark) == ledger.mark()
        assert len(ledger.entries()) == ledger.mark().entries == 3
    assert [file.name for file in owner.mark.parent.glob("ledger*")] == [MARK_FILE]


def test_a_restored_ledger_is_refused_and_left_as_it_is(owner: Owner) -> None:
    told = owner.mark.read_bytes()
    owner.restore()
    for new_ledger in (False, True):
        with pytest.raises(InvalidInput, match=r"lacks charges .* --restored-ledger"):
            owner.use(new_ledger=new_ledger)
    assert owner.standing() == (0, Epsilon.of(1))
    assert owner.mark.read_bytes() == told


def test_a_restored_ledger_is_gone_on_with_when_nothing_is_left_of_its_epoch(owner: Owner) -> None:
    owner.restore()
    owner.take_restored()
    assert owner.standing() == (0, CAP)
    with closing(OwnerLedger(owner.ledger)) as ledger:
        line = ledger.entries()[-1]
        assert (line.purpose, line.epsilon, line.epoch) == ("lost", Epsilon.of(9), 0)
        assert "restored" in line.question
    with pytest.raises(BudgetExhausted):
        owner.use(0.001)
    owner.use(epochs=1)
    owner.use(3.0)
    assert owner.standing() == (1, Epsilon.of(3))


def test_to_say_it_again_changes_nothing(owner: Owner) -> None:
    owner.restore()
    for _ in range(2):
        owner.take_restored()
    assert owner.standing() == (0, CAP)
    owner.use()


def test_an_epoch_that_the_backup_does_not_know_counts_as_spent(owner: Owner) -> None:
    owner.use(4.0, epochs=2)
    owner.restore()
    with pytest.raises(InvalidInput, match="epoch 2"):
        owner.use()
    owner.take_restored()
    assert owner.standing() == (2, CAP)


def test_a_cap_that_was_higher_when_the_charges_were_lost_counts(owner: Owner) -> None:
    owner.file.write_text(owner.file.read_text().replace("cap = 10.0", "cap = 20.0"))
    owner.use(15.0)
    owner.file.write_text(owner.file.read_text().replace("cap = 20.0", "cap = 5.0"))
    owner.restore()
    owner.take_restored()
    assert owner.standing() == (0, Epsilon.of(20))


def test_nothing_is_left_of_windows_by_the_highest_cap_that_is_told_of(owner: Owner) -> None:
    first = owner.file.read_text()
    owner.file.write_text(first.replace("cap = 10.0", 'cap = 10.0\nper = "hour"\nwindow_cap = 3.5'))
    owner.use()
    owner.back_up()
    owner.file.write_text(first.replace("cap = 10.0", 'cap = 10.0\nper = "hour"\nwindow_cap = 9.0'))
    owner.use(1.0)
    owner.restore()
    owner.take_restored()
    owner.file.write_text(first.replace("cap = 10.0", 'cap = 50.0\nper = "hour"\nwindow_cap = 9.0'))
    with pytest.raises(BudgetExhausted):
        owner.use(0.001)


def test_forgotten_comparisons_are_missed_too_and_none_follows_in_this_epoch(owner: Owner) -> None:
    owner.use(compares=1)
    owner.back_up()
    owner.use(compares=3)
    owner.restore()
    with pytest.raises(InvalidInput, match="lacks"):
        owner.use()
    owner.take_restored()
    with closing(OwnerLedger(owner.ledger)) as ledger:
        assert ledger.begin_comparison(b"new", over="cells", limit=9, freeze=lambda: b"other") is None
        ledger.begin_epoch()
        assert ledger.begin_comparison(b"new", over="cells", limit=9, freeze=lambda: b"other") == b"other"


def test_a_lost_ledger_is_not_begun_anew_without_saying_that_it_was_lost(owner: Owner) -> None:
    owner.use(epochs=1)
    owner.lose()
    for new_ledger in (False, True):
        with pytest.raises(InvalidInput, match=r"there was one; .* --restored-ledger"):
            owner.use(new_ledger=new_ledger)
    assert not owner.ledger.exists()
    with pytest.raises(InvalidInput, match="--new-ledger"):
        owner.take_restored()
    owner.take_restored(new_ledger=True)
    assert owner.standing() == (1, CAP)
    owner.use()


def test_another_ledger_is_refused_however_far_it_came_and_its_charges_come_on_top(owner: Owner) -> None:
    owner.lose()
    with closing(OwnerLedger(owner.ledger, holder=owner.file.parent.name)) as other:
        for _ in range(20):
            other.begin_epoch()
        other.charge([Charge(Epsilon.of(3), "query", "how many?")])
    with pytest.raises(InvalidInput, match="another ledger"):
        owner.use()
    owner.take_restored()
    assert owner.standing() == (20, Epsilon.of(13))


def test_the_newer_ledger_is_refused_once_the_older_one_went_on(owner: Owner, tmp_path: Path) -> None:
    newest = tmp_path / "newest.db"
    with closing(OwnerLedger(owner.ledger)) as ledger:
        ledger.backup(newest)
    owner.restore()
    owner.take_restored()
    owner.lose()
    shutil.copy(newest, owner.ledger)
    with pytest.raises(InvalidInput, match="another ledger"):
        owner.use()


def test_a_ledger_ahead_of_its_mark_is_fine(owner: Owner) -> None:
    with closing(OwnerLedger(owner.ledger)) as ledger:
        ledger.charge([Charge(Epsilon.of(1), "query", "killed before it could mark this")])
    owner.use(1.0)
    assert owner.standing() == (0, Epsilon.of(5))


def test_a_ledger_from_before_there_were_marks_gets_one(owner: Owner) -> None:
    owner.mark.unlink()
    with closing(sqlite3.connect(owner.ledger)) as books:
        books.execute("DROP TABLE ledger_name")
    owner.use(1.0)
    owner.restore()
    with pytest.raises(InvalidInput, match="--restored-ledger"):
        owner.use()


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"ledger": 1, "epoch": 0, "entries": 0, "comparisons": 0, "cap": 1}']
)
def test_a_mark_that_says_nothing_is_refused(owner: Owner, text: str) -> None:
    owner.mark.write_text(text)
    with pytest.raises(InvalidInput, match="not the mark of a ledger"):
        owner.use()


def test_a_mark_never_tells_what_is_not_on_disk(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    marked = open_ledger(owner.config, holder=owner.file.parent.name, new_ledger=False)
    marked.ledger.charge([Charge(Epsilon.of(1), "query", "how many?")])
    written = []
    monkeypatch.setattr(ledgers, "write_mark", lambda *_: written.append(marked.ledger.unflushed))
    marked.update()
    marked.update()
    assert written == [False]
    marked.ledger.close()


def test_a_running_owner_marks_what_it_charges(
    owner: Owner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ledgers, "MARK_EACH_S", 0.05)

    async def story() -> None:
        async with running_owners([owner.config], port=9) as (node,):
            before = read_mark(owner.mark)
            node.ledger.charge([Charge(Epsilon.of(1), "query", "how many?")])  # type: ignore[attr-defined]
            await until(lambda: read_mark(owner.mark).entries == before.entries + 1)

    asyncio.run(story())
    assert "mark" not in caplog.text


def test_an_owner_that_stops_marks_what_it_charged_last(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "MARK_EACH_S", 1e6)

    async def story() -> None:
        async with running_owners([owner.config], port=9) as (node,):
            before = read_mark(owner.mark)
            node.ledger.charge([Charge(Epsilon.of(1), "query", "just before it stops")])  # type: ignore[attr-defined]
            assert read_mark(owner.mark) == before
        assert read_mark(owner.mark).entries == before.entries + 1

    asyncio.run(story())


def test_a_mark_that_cannot_be_written_stops_a_start_but_no_answer(
    owner: Owner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise InvalidInput("no room")

    async def story() -> None:
        async with running_owners([owner.config], port=9) as (node,):
            node.ledger.charge([Charge(Epsilon.of(1), "query", "how many?")])  # type: ignore[attr-defined]
            monkeypatch.setattr(ledgers, "write_mark", full)

    asyncio.run(story())
    assert "the mark of a ledger cannot be written" in caplog.text
    with pytest.raises(InvalidInput, match="no room"):
        owner.use()


def test_the_command_refuses_a_restored_ledger_and_goes_on_when_told(owner: Owner) -> None:
    owner.restore()
    words = [*COMMAND, "owner", "--config", str(owner.file), "--broker-port", "9", "--log-level", "error"]
    refused = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert refused.returncode == 2
    assert "--restored-ledger" in refused.stderr
    with subprocess.Popen([*words, "--restored-ledger"], stderr=subprocess.PIPE, text=True) as running:
        assert "nothing is left" in running.stderr.readline()
        running.send_signal(signal.SIGTERM)
    assert owner.standing() == (0, CAP)


def test_several_owners_are_not_given_up_at_once(owner: Owner) -> None:
    other = owner.file.parents[1] / "owner-001" / "owner.toml"
    words = [*COMMAND, "owner", "--config", str(owner.file), "--config", str(other), "--restored-ledger"]
    refused = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (refused.returncode, "by itself" in refused.stderr) == (2, True)
    assert owner.standing() == (0, Epsilon.of(3))


def test_a_killed_owner_comes_back_and_a_restored_one_does_not(world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(3)
        victim = world.names[1]
        ledger = world.owner_folder(victim) / "ledger.db"
        async with running_provider(world.config) as up:
            world.start_owners()
            await until(lambda: len(up.provider.desk.present) == 3)
            with closing(OwnerLedger(ledger)) as opened:
                opened.backup(world.folder / "backup.db")
            for _ in range(2):
                answer = await up.provider.ask(count(), method="dp", fresh=True)
                assert (answer.value, answer.heard) == (world.everybody, 3)
                world.kill(victim)
                await until(lambda: victim not in up.provider.desk.present)
                world.start(victim)
                await until(lambda: victim in up.provider.desk.present)
            assert world.spent(victim) == 2 * PRECISE.nano
            world.kill(victim)
            for file in ledger.parent.glob("ledger.db*"):
                file.unlink()
            os.replace(world.folder / "backup.db", ledger)
            await until(lambda: victim not in up.provider.desk.present)
            pid = world.start(victim)
            await until(lambda: world._nursery.status(pid) is not None)
            del world._running[victim]
            assert "--restored-ledger" in (world.folder / f"{victim}.log").read_text()
            assert world.spent(victim) == 0

    asyncio.run(story())
