"""A provider or an owner that runs already is not run twice; who only looks at its files is not kept from them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from live_world import PATIENCE_S, until
from msgspec.structs import replace

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.live import hosting, ledgers
from fedgroup.live.config import OwnerConfig, ProviderConfig, read_config
from fedgroup.live.ledgers import take_restored
from fedgroup.live.running import running_owners, running_provider
from fedgroup.live.trial import TrialCity, make_trial
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.storage.provider_state import ProviderState
from fedgroup.storage.sole_use import AlreadyRunning

COMMAND = [sys.executable, "-c", "from fedgroup.cli.main import main; main()"]
HERE = f"already running as process {os.getpid()}"


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrialCity:
    monkeypatch.setattr(hosting, "PATIENCE_S", 0.3)
    return make_trial(tmp_path / "trial", owners=2, seed=1)


def configs(trial: TrialCity) -> list[OwnerConfig]:
    return [read_config(file, OwnerConfig) for file in trial.owners]


def test_a_second_provider_is_refused_and_users_can_be_added_meanwhile(trial: TrialCity) -> None:
    config = read_config(trial.provider, ProviderConfig)

    async def story() -> None:
        async with running_provider(config) as up:
            with pytest.raises(AlreadyRunning, match=f"the provider is {HERE}"):
                async with running_provider(config):
                    pass
            with closing(ProviderState(config.state.file)) as state:
                state.add_user("ann", allowance=Epsilon.of(1))
            assert up.state.user("ann") is not None
        async with running_provider(config):
            pass

    asyncio.run(story())


def test_an_owner_that_runs_already_is_refused_also_among_others(trial: TrialCity) -> None:
    first, second = configs(trial)

    async def story() -> None:
        async with running_owners([second], port=9, new_ledger=True):
            with pytest.raises(AlreadyRunning, match=f"owner-001 is {HERE}"):
                async with running_owners([first, second], port=9, new_ledger=True):
                    pass
            assert not Path(first.ledger.file).exists()
            with pytest.raises(AlreadyRunning, match=HERE):
                take_restored(second, new_ledger=False)
            words = [*COMMAND, "ledger", second.ledger.file, "--json"]
            looked = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
            assert json.loads(looked.stdout)["spent"] == 0
        async with running_owners([first, second], port=9, new_ledger=True) as nodes:
            assert len(nodes) == 2

    asyncio.run(story())


def test_a_copy_of_a_ledger_is_not_used_beside_it_with_the_same_keys(trial: TrialCity) -> None:
    first = configs(trial)[0]
    copy = replace(first, ledger=replace(first.ledger, file=f"{first.ledger.file}-copy"))

    async def story() -> None:
        async with running_owners([first], port=9, new_ledger=True):
            with closing(OwnerLedger(first.ledger.file)) as ledger:
                ledger.backup(copy.ledger.file)
            told = f"owner-000, with the keys in .*, is {HERE}; stop that first: one owner has one ledger"
            with pytest.raises(AlreadyRunning, match=told):
                async with running_owners([copy], port=9):
                    pass
            with pytest.raises(AlreadyRunning, match=told):
                take_restored(copy, new_ledger=False)
        async with running_owners([copy], port=9):
            pass

    asyncio.run(story())


def attempts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whose lock was asked for from now on."""
    tried, usual = [], ledgers.sole_use

    def asked_for(file: Any, *, of: str, **more: str) -> Any:
        tried.append(of)
        return usual(file, of=of, **more)

    monkeypatch.setattr(ledgers, "sole_use", asked_for)
    return tried


def test_an_owner_waits_for_the_one_before_it_to_end(trial: TrialCity, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "PATIENCE_S", PATIENCE_S)
    config = configs(trial)[0]

    async def story() -> None:
        before = running_owners([config], port=9, new_ledger=True)
        await before.__aenter__()

        async def come() -> None:
            async with running_owners([config], port=9):
                pass

        tried = attempts(monkeypatch)
        waiting = asyncio.create_task(come())
        await until(lambda: len(tried) >= 2)
        assert not waiting.done()
        await before.__aexit__(None, None, None)
        await asyncio.wait_for(waiting, PATIENCE_S)

    asyncio.run(story())


def test_a_start_that_fails_leaves_no_lock_behind(trial: TrialCity) -> None:
    config = configs(trial)[0]
    records = Path(config.silo["path"])

    async def story() -> None:
        records.rename(records.with_suffix(".away"))
        with pytest.raises(InvalidInput):
            async with running_owners([config], port=9, new_ledger=True):
                pass
        records.with_suffix(".away").rename(records)
        async with running_owners([config], port=9):
            pass

    asyncio.run(story())


def test_without_its_ledger_an_owner_makes_no_file(trial: TrialCity) -> None:
    config = configs(trial)[0]

    async def story() -> None:
        async with running_owners([config], port=9):
            pass

    with pytest.raises(InvalidInput, match="--new-ledger"):
        asyncio.run(story())
    assert list(Path(config.ledger.file).parent.glob("ledger*")) == []
