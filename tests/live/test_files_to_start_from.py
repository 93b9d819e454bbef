"""The files that roles start from: those of a trial federation, and those that `fedgroup init` writes."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from fedgroup.data.files import read
from fedgroup.errors import InvalidInput
from fedgroup.live.config import (
    FederationTable,
    GroupingTable,
    OwnerConfig,
    PolicyTable,
    ProviderConfig,
    StateTable,
    read_config,
)
from fedgroup.live.samples import owner_text, provider_text
from fedgroup.live.settings import UsualGrouping
from fedgroup.live.trial import WEEK, Trial, make_trial
from fedgroup.silos.settings import settings_of

FACTS = {"file": "f", "federation": "city", "domain": "0, 0, 9, 9", "lonlat": False, "host": "h", "port": 1}
PLACES = {"folder": "own", "authority": "own"}


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return make_trial(tmp_path_factory.mktemp("trial") / "federation", owners=3, seed=1)


def test_trial_owners_have_fares_and_times_of_one_week(trial: Trial) -> None:
    first, end = (second * 1_000_000 for second in WEEK)
    for file in trial.owners:
        records = read(file.with_name("records.parquet"))
        assert set(records.attributes) == {"fare"}
        assert np.all((records.attributes["fare"] > 0) & (records.attributes["fare"] < 1_000))
        assert np.all((records.time >= first) & (records.time < end))
    assert np.array([WEEK[0]], "datetime64[s]").astype(str)[0] == "2026-01-05T00:00:00"
    assert WEEK[1] - WEEK[0] == 7 * 24 * 3600


def test_the_same_seed_makes_the_same_records(trial: Trial, tmp_path: Path) -> None:
    again = make_trial(tmp_path / "again", owners=3, seed=1)
    for one, other in zip(trial.owners, again.owners, strict=True):
        assert pq.read_table(one.with_name("records.parquet")) == pq.read_table(other.with_name("records.parquet"))


def test_a_trial_provider_tells_what_can_be_asked_about(trial: Trial) -> None:
    settings = read_config(trial.provider, ProviderConfig).settings
    assert (settings.attributes, settings.times) == (("fare",), True)
    assert settings.grouping == UsualGrouping()


def test_a_provider_that_says_nothing_about_attributes_knows_of_none(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(provider_text(**FACTS, **PLACES, http_port=2))
    settings = read_config(tmp_path / "p.toml", ProviderConfig).settings
    assert (settings.attributes, settings.times) == (None, None)


@pytest.mark.parametrize(
    ("usual", "wrong"),
    [("columns = 5", "columns = 0"), ("rows = 5", "rows = 65"), ("likely", "hybrid"), ("# attributes", "attributes")],
)
def test_settings_that_cannot_be_are_refused(usual: str, wrong: str, tmp_path: Path) -> None:
    text = provider_text(**FACTS, **PLACES, http_port=2).replace('["fare"]', '[""]')
    assert usual in text
    (tmp_path / "p.toml").write_text(text.replace(usual, wrong, 1))
    with pytest.raises(InvalidInput):
        read_config(tmp_path / "p.toml", ProviderConfig)


def named(text: str) -> set[str]:
    return set(re.findall(r"^(?:# )?(\w+) = ", text, flags=re.M))


def test_every_setting_is_in_the_file_that_explains_them() -> None:
    provider, owner = provider_text(**FACTS, **PLACES, http_port=2), owner_text(**FACTS, **PLACES)
    agreed = set(FederationTable.__struct_fields__) - {"max_records"}
    assert named(provider) >= {*agreed, *GroupingTable.__struct_fields__}
    assert named(owner) >= {*(agreed - {"attributes", "times"}), *PolicyTable.__struct_fields__, "time", "order"}
    assert "max_records = K" in owner


def test_what_is_commented_out_can_be_said(tmp_path: Path) -> None:
    text = re.sub(r"^# (\w+ = )", r"\1", owner_text(**FACTS, **PLACES), flags=re.M)
    (tmp_path / "o.toml").write_text(text)
    config = read_config(tmp_path / "o.toml", OwnerConfig)
    silo = settings_of(config.silo)
    assert (silo.time, silo.order, silo.attributes) == ("time", "time", ("fare",))
    assert (config.policy.attributes, config.policy.highest_setup) == (("fare",), 0.5)


def test_what_is_kept_is_kept_for_90_days_unless_a_file_says_how_long(tmp_path: Path) -> None:
    provider, owner = provider_text(**FACTS, **PLACES, http_port=2), owner_text(**FACTS, **PLACES)
    (tmp_path / "p.toml").write_text(provider)
    (tmp_path / "o.toml").write_text(owner)
    assert read_config(tmp_path / "p.toml", ProviderConfig).state.keep_days == StateTable().keep_days == 90
    assert read_config(tmp_path / "o.toml", OwnerConfig).ledger.keep_days == 90
    (tmp_path / "p.toml").write_text(provider.replace("keep_days = 90", "keep_days = 0"))
    with pytest.raises(InvalidInput, match="keep_days"):
        read_config(tmp_path / "p.toml", ProviderConfig)


@pytest.mark.parametrize(
    ("said", "seconds"), [("90", 90), ("0.5", 0.5), ('"90s"', 90), ('"15m"', 900), ('"1.5h"', 5400), ('"7 d"', 604_800)]
)
def test_a_length_of_time_is_seconds_or_has_its_unit(said: str, seconds: float, tmp_path: Path) -> None:
    text = owner_text(**FACTS, **PLACES).replace("shortest_window = 0 ", f"shortest_window = {said} ")
    (tmp_path / "o.toml").write_text(text)
    policy = read_config(tmp_path / "o.toml", OwnerConfig).policy.policy
    assert (policy.shortest_window, policy.now) == (seconds, time.time)


@pytest.mark.parametrize("said", ["-1", "inf", "nan", '"1 hour"', '"-1h"', '"h"', '""', "true"])
def test_a_length_of_time_that_cannot_be_is_refused(said: str, tmp_path: Path) -> None:
    text = owner_text(**FACTS, **PLACES).replace("shortest_window = 0 ", f"shortest_window = {said} ")
    (tmp_path / "o.toml").write_text(text)
    with pytest.raises(InvalidInput, match="shortest_window"):
        read_config(tmp_path / "o.toml", OwnerConfig)
