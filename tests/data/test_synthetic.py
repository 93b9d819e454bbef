"""A synthetic city is the same for the same seed, lies in its domain, and its households are alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedgroup.data import synthetic
from fedgroup.data.files import read
from fedgroup.data.residents import HOME, settle
from fedgroup.data.synthetic import synthesize, write_synthetic
from fedgroup.errors import InvalidInput
from fedgroup.owner.records import Records
from fedgroup.space import Box, Grid


def city_rng(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))


def cosines(records: Records, first: Any, second: Any) -> Any:
    assert records.domain is not None
    cell = Grid(records.domain, 10, 10).cell_of(records.x, records.y)
    counts = np.bincount(records.code * 100 + cell, minlength=100 * len(records.owners)).reshape(-1, 100)
    unit = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    return (unit[first] * unit[second]).sum(axis=1)


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        write_synthetic(tmp_path / name, owners=300, records_per_owner=5, seed=seed)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() != (tmp_path / "c").read_bytes()


def test_chunks_made_in_any_order_and_more_than_once_write_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def backwards_and_again(task: Any, items: Any) -> Any:
        items = list(items)
        return [task(item) for item in reversed(items)] and [task(item) for item in items]

    monkeypatch.setattr(synthetic, "_OWNERS_AT_ONCE", 80)
    write_synthetic(tmp_path / "a", owners=300, records_per_owner=5, seed=7)
    write_synthetic(tmp_path / "b", owners=300, records_per_owner=5, seed=7, run=backwards_and_again)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_city_is_the_one_that_it_was_before_there_were_companies() -> None:
    assert synthesize(200, records_per_owner=5, seed=7).snapshot.startswith("5633bc5496151808")


def test_companies_share_the_people_of_a_city_among_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "_OWNERS_AT_ONCE", 80)
    people = synthesize(200, records_per_owner=6, seed=3)
    companies = synthesize(5, subjects=200, records_per_subject=6, seed=3)
    assert (companies.subjects, companies.owners.tolist()) == (200, [0, 1, 2, 3, 4])
    assert (companies.of_subject == people.code).all()
    assert (companies.x == people.x).all()
    sizes = np.bincount([companies.code[companies.subject == car][0] for car in range(200)], minlength=5)
    assert (sizes >= 1).all()
    assert len(set(sizes.tolist())) > 1
    write_synthetic(tmp_path / "cars.parquet", owners=5, subjects=200, records_per_subject=6, seed=3)
    assert read(tmp_path / "cars.parquet").snapshot == companies.snapshot


def test_every_company_has_a_car_even_where_there_is_one_for_each() -> None:
    cars = synthesize(30, subjects=30, records_per_subject=1, seed=1)
    assert (cars.of_subject == cars.code).all()


def test_records_are_said_by_owner_or_by_subject() -> None:
    for wrong in ({"subjects": 9, "records_per_owner": 5}, {"records_per_subject": 5}, {"subjects": 2}):
        with pytest.raises(InvalidInput, match="subject"):
            synthesize(3, **wrong)


def test_chunks_have_randomness_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "_OWNERS_AT_ONCE", 50)
    fares = synthesize(100, records_per_owner=1, seed=7).attribute("fare")
    assert not np.isin(fares[:50], fares[50:]).all()
    assert len(np.unique(fares)) > 80


def test_the_file_holds_the_city_and_its_public_facts(tmp_path: Path) -> None:
    write_synthetic(tmp_path / "city.parquet", owners=400, records_per_owner=6, seed=3)
    read_back = read(tmp_path / "city.parquet")
    made = synthesize(400, records_per_owner=6, seed=3)
    assert read_back.snapshot == made.snapshot
    assert read_back.domain == made.domain == Box(0, 0, 20_000, 20_000)
    assert read_back.owners.tolist() == list(range(400))
    assert not read_back.lonlat


@pytest.mark.parametrize("size_m", [1_000.0, 20_000.0, 64_321.5])
def test_every_place_lies_in_the_domain(size_m: float) -> None:
    records = synthesize(3_000, seed=1, size_m=size_m)
    assert records.domain is not None
    assert records.domain.contains(records.x, records.y).all()
    assert np.ptp(records.x) > 0.8 * size_m


def test_every_owner_has_a_record_and_some_have_many() -> None:
    counts = np.bincount(synthesize(5_000, records_per_owner=20, seed=2).code, minlength=5_000)
    assert counts.min() >= 1
    assert abs(counts.mean() - 20) < 1.5
    assert counts.max() > 100


def test_one_record_per_owner_means_one() -> None:
    assert np.bincount(synthesize(50, records_per_owner=1).code).tolist() == [1] * 50


def test_members_of_a_household_are_alike_and_strangers_are_not() -> None:
    household = settle(city_rng(4), 4_000).household
    order = np.argsort(household, kind="stable")
    together = household[order][1:] == household[order][:-1]
    records = synthesize(4_000, seed=4)
    assert (cosines(records, order[1:][together], order[:-1][together]) > 0.5).mean() > 0.8
    assert (cosines(records, order[1:][~together], order[:-1][~together]) > 0.5).mean() < 0.2


def test_a_household_shares_one_home() -> None:
    people = settle(city_rng(5), 500)
    members = np.flatnonzero(people.household == np.bincount(people.household).argmax())
    assert len(members) > 1
    assert len(np.unique(people.x[members, HOME])) == len(np.unique(people.y[members, HOME])) == 1


def test_density_varies_over_the_city() -> None:
    records = synthesize(5_000, seed=6)
    from_centre = np.hypot(records.x - 10_000, records.y - 10_000)
    in_lake = np.hypot(records.x - 15_700, records.y - 14_600) < 1_450
    share_of_area = np.pi * 1_000**2 / 20_000**2
    assert (from_centre < 1_000).mean() > 8 * share_of_area
    assert not in_lake.any()


def test_fares_are_positive_skewed_and_in_cents() -> None:
    fares = synthesize(3_000, seed=8).attribute("fare")
    assert fares.min() > 0
    assert np.median(fares) < fares.mean()
    assert 0 < (fares > 50).mean() < 0.02
    assert np.array_equal(np.round(fares, 2), fares)


def test_times_follow_days_and_weeks_over_four_weeks() -> None:
    time = synthesize(3_000, seed=9).time
    assert time is not None
    hour = (time // 1_000_000 - 1_767_571_200) // 3_600
    assert hour.min() >= 0
    assert hour.max() < 4 * 168
    by_hour = np.bincount(hour % 24, minlength=24)
    assert by_hour[18] > 5 * by_hour[3]


def test_an_owners_records_come_in_the_order_of_time() -> None:
    records = synthesize(200, seed=10)
    assert records.time is not None
    assert (np.diff(records.code) >= 0).all()
    assert (np.diff(records.time)[np.diff(records.code) == 0] >= 0).all()


@pytest.mark.parametrize(
    "wrong", [{"owners": 0}, {"owners": 2.5}, {"owners": True}, {"records_per_owner": 0}, {"seed": -1}]
)
def test_impossible_cities_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    settings = {"owners": 10, "records_per_owner": 2, "seed": 0} | wrong
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        write_synthetic(tmp_path / "city.parquet", **settings)
    with pytest.raises(InvalidInput):
        synthesize(settings.pop("owners"), **settings)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size_m", [0.0, -5.0, float("nan"), float("inf")])
def test_a_city_needs_room(size_m: float) -> None:
    with pytest.raises(InvalidInput, match="size_m"):
        synthesize(10, size_m=size_m)


def test_a_single_owner_is_a_city_too() -> None:
    assert len(synthesize(1, records_per_owner=3, seed=0).owners) == 1
