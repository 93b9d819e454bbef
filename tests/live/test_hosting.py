"""Owners whose ledgers are in one file: locks, marks and restored backups hold as for ledgers of their own."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from live_world import PATIENCE_S
from msgspec import structs

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.live import hosting as live_hosting
from fedgroup.live.config import OwnerConfig, ProviderConfig, read_config
from fedgroup.live.hosting import hosting, take_restored_file
from fedgroup.live.ledgers import MARK_FILE, open_ledger, take_another_log, take_restored
from fedgroup.live.running import running_owners, running_provider
from fedgroup.live.trial import TrialCity, make_trial
from fedgroup.privacy.budget import Charge
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle
from fedgroup.storage.hosted_file import HostedFile
from fedgroup.storage.hosted_ledger import HostedLedger
from fedgroup.storage.marks import read_mark
from fedgroup.storage.sole_use import AlreadyRunning

CAP = Epsilon.of(10)
ROUNDS = itertools.count()


class Host:
    """The files of owners with one shared file."""

    def __init__(self, folder: Path, owners: int = 2) -> None:
        self.trial: TrialCity = make_trial(folder, owners=owners, seed=1, hosts=1)
        self.file, self.mark = folder / "hosts" / "0" / "ledgers.db", folder / "hosts" / "0.mark"
        self.names = [file.parent.name for file in self.trial.owners]

    @property
    def configs(self) -> list[OwnerConfig]:
        return [read_config(file, OwnerConfig) for file in self.trial.owners]

    def use(self, *charges: float, new_ledger: bool = False, epochs: int = 0) -> None:
        """Start all, let the first begin epochs, charge everybody, and stop in good order."""

        async def story() -> None:
            async with hosting(self.configs, self.names, new_ledger=new_ledger) as (hosted, ledgers):
                for _ in range(epochs):
                    ledgers[self.names[0]].begin_epoch()
                for epsilon in charges:
                    name, charge = b"%d" % next(ROUNDS), Charge(Epsilon.of(epsilon), "query", "how many?")
                    for ledger in ledgers.values():
                        assert ledger.begin_rounds([(name, charge, "")]) == [(True, None)]
                for each in hosted.files:
                    each.update()

        asyncio.run(story())

    def back_up(self) -> None:
        with closing(HostedFile(self.file)) as opened:
            opened.backup(self.file.with_name("backup.db"))

    def restore(self) -> None:
        for file in self.file.parent.glob("ledgers.db*"):
            file.unlink()
        shutil.copy(self.file.with_name("backup.db"), self.file)

    def standing(self) -> list[tuple[int, Epsilon]]:
        with closing(HostedFile(self.file)) as opened:
            ledgers = [HostedLedger(opened, name) for name in self.names]
            return [(ledger.epoch, ledger.spent()) for ledger in ledgers]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two owners that spent 1 each, whose file was backed up, and that spent 2 more."""
    host = Host(tmp_path_factory.mktemp("hosting") / "federation")
    host.use(1.0, new_ledger=True)
    host.back_up()
    host.use(2.0)
    return host.trial.folder


@pytest.fixture
def host(made: Path, tmp_path: Path) -> Host:
    """The same owners in a folder of the test's own."""
    return Host(shutil.copytree(made, tmp_path / "federation"))


def test_hosted_owners_answer_and_pay_as_others_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_hosting, "PATIENCE_S", 0.0)
    host = Host(tmp_path / "federation", owners=5)
    config = read_config(host.trial.provider, ProviderConfig)
    config = structs.replace(config, answers=structs.replace(config.answers, seconds=PATIENCE_S))

    async def story() -> None:
        async with (
            running_provider(config) as up,
            running_owners(host.configs, port=up.broker_port, new_ledger=True) as nodes,
        ):
            assert await up.provider.desk.until_present(5, PATIENCE_S)
            for number, method in enumerate(("dp", "cohorts", "cohorts")):
                query = RangeQuery("count", Circle(10_000 + number, 10_000, 3_000), Epsilon.of(1))
                answer = await up.provider.ask(query, method=method)
                assert (answer.heard, answer.missing) == (5, 0)
            ledgers: list[Any] = [node.ledger for node in nodes]
            assert {ledger.spent() for ledger in ledgers} == {Epsilon.of(3)}
            assert len({id(ledger.disk) for ledger in ledgers}) == 1
            with pytest.raises(AlreadyRunning, match="is already running"):
                async with hosting(host.configs, host.names, new_ledger=False):
                    raise AssertionError("the file is in use")

    asyncio.run(story())
    assert host.standing() == [(0, Epsilon.of(3))] * 5


def test_the_file_and_each_owners_own_mark_are_told_of(host: Host) -> None:
    with closing(HostedFile(host.file)) as opened:
        assert read_mark(host.mark) == opened.mark()
        for config, name in zip(host.configs, host.names, strict=True):
            own = read_mark(Path(config.identity.folder) / MARK_FILE)
            assert own is not None
            assert own.ledger == HostedLedger(opened, name).mark().ledger


def test_a_restored_file_is_refused_and_left_as_it_is(host: Host) -> None:
    told = host.mark.read_bytes()
    host.restore()
    for new_ledger in (False, True):
        with pytest.raises(InvalidInput, match=r"lacks charges .* --restored-ledger"):
            host.use(new_ledger=new_ledger)
    assert host.standing() == [(0, Epsilon.of(1))] * 2
    assert host.mark.read_bytes() == told


def test_a_restored_file_is_gone_on_with_when_nothing_is_left_for_any_of_its_owners(host: Host) -> None:
    host.restore()
    for _ in range(2):  # to say it again changes nothing
        take_restored(host.configs[1], new_ledger=False)
        assert host.standing() == [(0, CAP)] * 2
    host.use()
    host.use(epochs=1)
    assert host.standing() == [(1, Epsilon(0)), (0, CAP)]


def test_an_epoch_that_the_backup_does_not_know_counts_as_spent(host: Host) -> None:
    host.use(epochs=2)
    host.restore()
    take_restored(host.configs[0], new_ledger=False)
    assert host.standing() == [(2, CAP)] * 2


def test_the_newer_file_is_not_taken_once_the_older_one_went_on(host: Host) -> None:
    newest = host.file.with_name("newest.db")
    with closing(HostedFile(host.file)) as opened:
        opened.backup(newest)
    host.restore()
    take_restored(host.configs[0], new_ledger=False)
    shutil.copy(newest, host.file)
    with pytest.raises(InvalidInput, match="lacks charges"):
        host.use()


def test_a_lost_file_is_not_made_anew_in_silence(host: Host) -> None:
    for file in host.file.parent.glob("ledgers.db*"):
        file.unlink()
    for new_ledger in (False, True):
        with pytest.raises(InvalidInput, match="tells that there was one"):
            host.use(new_ledger=new_ledger)
    with pytest.raises(InvalidInput, match="--new-ledger"):
        take_restored_file(host.configs[0], new_ledger=False)
    take_restored_file(host.configs[0], new_ledger=True)
    with pytest.raises(InvalidInput, match=f"no ledger of '{host.names[1]}', and .* tells that there was one"):
        host.use(new_ledger=True)  # the other owner has not said so
    take_restored_file(host.configs[1], new_ledger=True)
    assert host.standing() == [(0, CAP)] * 2
    host.use()


def test_no_owner_gets_a_second_budget_by_another_file(host: Host, tmp_path: Path) -> None:
    mine = host.trial.owners[0]
    shared = mine.read_text()
    mine.write_text(shared.replace("../../hosts/0/ledgers.db", "ledger.db").replace("shared = true", "")
                    .replace('mark = "../../hosts/0.mark"', ""))  # fmt: skip
    with pytest.raises(InvalidInput, match="tells that there was one"):
        open_ledger(host.configs[0], holder=host.names[0], new_ledger=True)
    mine.write_text(shared.replace("hosts/0", "hosts/1"))
    (host.trial.folder / "hosts" / "1").mkdir()
    with pytest.raises(InvalidInput, match="tells that there was one"):
        host.use(new_ledger=True)
    alone = Host(tmp_path / "other")
    file = alone.trial.owners[0]
    hosted = file.read_text()
    file.write_text(hosted.replace("../../hosts/0/ledgers.db", "ledger.db").replace("shared = true", "")
                    .replace('mark = "../../hosts/0.mark"', ""))  # fmt: skip
    open_ledger(alone.configs[0], holder=alone.names[0], new_ledger=True).ledger.close()
    file.write_text(hosted)
    with pytest.raises(InvalidInput, match="tells that there was one"):
        alone.use(new_ledger=True)


def test_another_log_is_believed_by_the_one_owner_that_says_so(host: Host) -> None:
    take_another_log(host.configs[0])
    with closing(HostedFile(host.file)) as opened:
        lines = [[each.question for each in HostedLedger(opened, name).entries()] for name in host.names]
    assert "another log" in lines[0][-1]
    assert "another log" not in lines[1][-1]
    host.use(1.0)


def test_what_a_shared_file_cannot_keep_is_refused_when_the_owners_file_is_read(host: Host) -> None:
    file = host.trial.owners[0]
    text = file.read_text()
    for old, new in (('mark = "../../hosts/0.mark"', ""), ("cap = 10.0", 'cap = 10.0\nper = "day"\nwindow_cap = 1.0')):
        file.write_text(text.replace(old, new))
        with pytest.raises(InvalidInput, match="shared"):
            read_config(file, OwnerConfig)
    file.write_text(text)
    with pytest.raises(InvalidInput, match="run its owners together"):
        open_ledger(host.configs[0], holder=host.names[0], new_ledger=False)
