"""The files that roles start from: those of a trial federation, and those that `fedgroup init` writes."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedgroup.data.files import read
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.live.config import (
    FederationTable,
    OwnerConfig,
    PolicyTable,
    ProviderConfig,
    StateTable,
    read_config,
)
from fedgroup.live.running import open_silo
from fedgroup.live.samples import owner_text, provider_text
from fedgroup.live.settings import UsualGrouping
from fedgroup.live.trial import WEEK, TrialCity, make_trial
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.silos.settings import settings_of
from fedgroup.space import Circle

FACTS = {"file": "f", "federation": "city", "domain": "0, 0, 9, 9", "lonlat": False, "host": "h", "port": 1}
PLACES = {"folder": "own", "authority": "own"}


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> TrialCity:
    return make_trial(tmp_path_factory.mktemp("trial") / "federation", owners=3, seed=1)


def test_trial_owners_have_fares_and_times_of_one_week(trial: TrialCity) -> None:
    first, end = (second * 1_000_000 for second in WEEK)
    for file in trial.owners:
        records = read(file.with_name("records.parquet"))
        assert set(records.attributes) == {"fare"}
        assert np.all((records.attributes["fare"] > 0) & (records.attributes["fare"] < 1_000))
        assert np.all((records.time >= first) & (records.time < end))
    assert np.array([WEEK[0]], "datetime64[s]").astype(str)[0] == "2026-01-05T00:00:00"
    assert WEEK[1] - WEEK[0] == 7 * 24 * 3600


def test_the_same_seed_makes_the_same_records(trial: TrialCity, tmp_path: Path) -> None:
    again = make_trial(tmp_path / "again", owners=3, seed=1)
    for one, other in zip(trial.owners, again.owners, strict=True):
        assert pq.read_table(one.with_name("records.parquet")) == pq.read_table(other.with_name("records.parquet"))


def test_a_trial_provider_tells_what_can_be_asked_about(trial: TrialCity) -> None:
    settings = read_config(trial.provider, ProviderConfig).settings
    assert (settings.attributes, settings.times) == (("fare",), True)
    assert settings.grouping == UsualGrouping()


def test_a_provider_that_says_nothing_about_attributes_knows_of_none(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(provider_text(**FACTS, **PLACES, http_port=2))
    settings = read_config(tmp_path / "p.toml", ProviderConfig).settings
    assert (settings.attributes, settings.times) == (None, None)


@pytest.mark.parametrize(
    ("usual", "wrong"),
    [("columns = 5", "columns = 0"), ("rows = 5", "rows = 65"), ("likely", "exact"), ("# attributes", "attributes")],
)
def test_settings_that_cannot_be_are_refused(usual: str, wrong: str, tmp_path: Path) -> None:
    text = provider_text(**FACTS, **PLACES, http_port=2).replace('["fare"]', '[""]')
    assert usual in text
    (tmp_path / "p.toml").write_text(text.replace(usual, wrong, 1))
    with pytest.raises(InvalidInput):
        read_config(tmp_path / "p.toml", ProviderConfig)


def test_units_bins_and_cells_are_read_from_files(tmp_path: Path) -> None:
    agreed = 'unit = "subject"\nmax_records = 50\nmax_bins = 8\nsubjects = true\n'
    for name, text in (("p", provider_text(**FACTS, **PLACES, http_port=2)), ("o", owner_text(**FACTS, **PLACES))):
        started = text.replace('unit = "record"', agreed + "#").replace("subjects = false", "#")
        (tmp_path / f"{name}.toml").write_text(
            started.replace("smallest_cell = 0.0", "smallest_cell = 250.0")
            .replace("most_bins = 65536", "most_bins = 4096")
            .replace("vectors_mb = 32", "vectors_mb = 8")
        )
    provider = read_config(tmp_path / "p.toml", ProviderConfig)
    owner = read_config(tmp_path / "o.toml", OwnerConfig)
    expected = Protection("add-remove", "subject", 50, 8, subjects=True)
    assert provider.federation.protection == owner.federation.protection == expected
    assert provider.settings.in_flight_bytes == 8 << 20
    assert (owner.policy.policy.smallest_cell, owner.policy.policy.most_bins) == (250.0, 4096)


@pytest.mark.parametrize("wrong", ["most_bins = 0", "most_bins = 65537", "smallest_cell = -1.0"])
def test_bins_and_cells_that_cannot_be_are_refused(wrong: str, tmp_path: Path) -> None:
    usual = next(line for line in owner_text(**FACTS, **PLACES).splitlines() if line.startswith(wrong.split()[0]))
    (tmp_path / "o.toml").write_text(owner_text(**FACTS, **PLACES).replace(usual, wrong))
    with pytest.raises(InvalidInput):
        read_config(tmp_path / "o.toml", OwnerConfig)


@pytest.mark.parametrize(
    ("silo", "expected"),
    [
        ('kind = "csv"\npath = "a.csv"', {"path": "{here}/a.csv"}),
        ('kind = "sql"\nurl = "sqlite:///a b.db"', {"url": "sqlite:///{here}/a%20b.db"}),
        ('kind = "sql"\nurl = "sqlite:////data/a.db"', {"url": "sqlite:////data/a.db"}),
        ('kind = "sql"\nurl = "duckdb:///a.duckdb"', {"url": "duckdb:///{here}/a.duckdb", "folder": "{here}"}),
        ('kind = "sql"\nurl = "duckdb://"\nfolder = "trips"', {"url": "duckdb://", "folder": "{here}/trips"}),
        ('kind = "postgres"\nurl = "postgresql://h/d"', {"url": "postgresql://h/d"}),
    ],
)
def test_what_a_silo_names_is_found_from_its_file(silo: str, expected: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "o.toml").write_text(owner_text(**FACTS, **PLACES, silo=silo))
    found = read_config(tmp_path / "o.toml", OwnerConfig).silo
    assert {k: v for k, v in found.items() if k != "kind"} == {k: v.format(here=tmp_path) for k, v in expected.items()}


def test_files_and_folders_are_found_from_the_file_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    text = provider_text(**FACTS, **PLACES, http_port=2).replace("# outlines", "outlines")
    Path("here/p.toml").write_text(text)
    Path("here/o.toml").write_text(owner_text(**FACTS, **PLACES))
    provider, owner = read_config(Path("here/p.toml"), ProviderConfig), read_config(Path("here/o.toml"), OwnerConfig)
    found = (provider.identity.folder, provider.page.outlines, provider.state.file, owner.ledger.file)
    names = ("own", "districts.geojson", "provider.db", "ledger.db")
    assert found == tuple(str(tmp_path / "here" / name) for name in names)
    assert (owner.identity.authority, owner.silo["path"]) == (
        str(tmp_path / "here/own"),
        str(tmp_path / "here/records.parquet"),
    )


def test_a_select_over_files_finds_them_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "here" / "trips").mkdir(parents=True)
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0]}), tmp_path / "here" / "trips" / "a.parquet")
    query = "SELECT x, y FROM read_parquet('trips/*.parquet')"
    silo = f'kind = "sql"\nurl = "duckdb://"\nx = "x"\ny = "y"\nquery = "{query}"'
    (tmp_path / "here" / "o.toml").write_text(owner_text(**FACTS, **PLACES, silo=silo))
    monkeypatch.chdir(tmp_path / "elsewhere")
    config = read_config(Path("../here/o.toml"), OwnerConfig)
    found = open_silo(config.silo, config.federation.public_map, protection=config.federation.protection)
    assert found.totals(RangeQuery("count", Circle(1, 1, 3), Epsilon.of(1))) == {"count": 2}


def named(text: str) -> set[str]:
    return set(re.findall(r"^(?:# )?(\w+) = ", text, flags=re.M))


def test_every_setting_is_in_the_file_that_explains_them() -> None:
    provider, owner = provider_text(**FACTS, **PLACES, http_port=2), owner_text(**FACTS, **PLACES)
    agreed = set(FederationTable.__struct_fields__) - {"max_records", "max_bins"}
    assert named(provider) >= {*agreed, *UsualGrouping.__struct_fields__}
    assert named(owner) >= {*(agreed - {"attributes", "times"}), *PolicyTable.__struct_fields__, "time", "order"}
    assert "max_records = K" in owner


def test_what_is_commented_out_can_be_said(tmp_path: Path) -> None:
    sample, shared = owner_text(**FACTS, **PLACES), r"^# (?=shared = |mark = )"  # windows need a ledger of their own
    (tmp_path / "shared.toml").write_text(re.sub(shared, "", sample, flags=re.M))
    assert read_config(tmp_path / "shared.toml", OwnerConfig).ledger.shared
    (tmp_path / "o.toml").write_text(re.sub(r"^# (?!shared|mark )(?=\w+ = )", "", sample, flags=re.M))
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


def test_levels_of_standing_maps_have_names_that_no_other_map_has(tmp_path: Path) -> None:
    said = (
        '[[standing]]\nname = "{}"\nuser = "a"\nevery = "{}"\nlevels = {}\nmap = {{ grid = [2, 2], epsilon = 0.1 }}\n'
    )
    file = tmp_path / "provider.toml"
    file.write_text(provider_text(**FACTS, **PLACES, http_port=2) + said.format("hourly", "hour", 3))
    (found,) = read_config(file, ProviderConfig).standing
    assert [(each.name, each.every // 3_600_000_000) for each in found.tree] == [
        ("hourly", 1), ("hourly-16", 16), ("hourly-256", 256),
    ]  # fmt: skip
    file.write_text(file.read_text() + said.format("hourly-16", "day", 1))
    with pytest.raises(InvalidInput, match="a name of its own"):
        read_config(file, ProviderConfig)
