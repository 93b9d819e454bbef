"""An owner that is started from its file goes by the time of its last public moment."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from fedgroup.identity import Identity, Trust
from fedgroup.live.config import OwnerConfig, read_config
from fedgroup.live.ledgers import open_ledger
from fedgroup.live.running import open_node
from fedgroup.live.trial import make_trial
from fedgroup.live.vouching import Vouching
from fedgroup.owner.public_time import PublicTime


def test_within_a_period_its_time_stands_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = make_trial(tmp_path / "trial", owners=2, seed=1, records_per_owner=2).owners[0]
    clock = {"monotonic": 5.0, "time": 1_000.0}
    for name in clock:
        monkeypatch.setattr(time, name, lambda name=name: clock[name])
    config = read_config(file, OwnerConfig)
    assert config.pace.every_ms == 10
    with closing(open_ledger(config, holder=file.parent.name, new_ledger=True).ledger) as ledger:
        identity = Identity.load(Path(config.identity.folder))
        node = open_node(config, identity, ledger, vouching=Vouching(Trust.load(Path(config.identity.authority))))
        assert node.policy.now is not None
        told = []
        for _ in range(25):
            told.append((round(node._clock(), 6), round(node.policy.now(), 6)))
            clock = {name: at + 0.001 for name, at in clock.items()}
    assert told == [(5.0, 1_000.0)] * 10 + [(5.01, 1_000.01)] * 10 + [(5.02, 1_000.02)] * 5


def test_when_a_message_came_is_the_last_moment_before_it() -> None:
    public = PublicTime(lambda: 7.0139, every_s=0.01)
    assert [round(public(waited_s), 6) for waited_s in (0.0, 0.003, 0.004, 0.02)] == [7.01, 7.01, 7.0, 6.99]
    assert PublicTime(lambda: 7.0139)(0.0039) == pytest.approx(7.01)
    assert PublicTime()() == 0
