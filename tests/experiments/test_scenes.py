"""Where experiments play: given data or a synthetic city, asked about at public places."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fedgroup as fg
from fedgroup.data.synthetic import write_synthetic
from fedgroup.errors import InvalidInput
from fedgroup.evaluation.selection import select_owners
from fedgroup.lab.experiments.places import NEW_YORK, WORLD, public_places
from fedgroup.lab.experiments.scenes import open_scenes
from fedgroup.lab.experiments.trial import PAPER_OWNERS, PAPER_TRUTH, QUICK
from fedgroup.space import Box

SMALL = replace(QUICK, owners=20, min_records=5)


def checkins(path, *, owners: int = 40, each: int = 12) -> None:
    """Write check-ins around the Empire State Building."""
    rng = np.random.default_rng(5)
    columns = {
        "owner": np.repeat(np.arange(owners), each),
        "lon": -73.9857 + rng.normal(0, 0.01, owners * each),
        "lat": 40.7484 + rng.normal(0, 0.01, owners * each),
    }
    pq.write_table(pa.table(columns), path)


@pytest.mark.parametrize(("domain", "least"), [(NEW_YORK, 50), (WORLD, 50), (Box(0, 0, 8, 6), 50)])
def test_there_are_50_public_places_inside_every_domain(domain, least):
    places = public_places(domain)
    assert len(set(places)) >= least
    assert all(domain.west < x < domain.east and domain.south < y < domain.north for x, y in places)


def test_without_data_there_is_a_city_with_the_papers_true_count():
    (scene,) = open_scenes(None, QUICK)
    assert scene.name == "synthetic city"
    counts = np.mean([scene.stage(QUICK.owners, seed).truths for seed in range(8)])
    assert counts * PAPER_OWNERS / QUICK.owners == pytest.approx(PAPER_TRUTH, rel=0.15)


def test_a_folder_is_searched_for_known_files(tmp_path):
    checkins(tmp_path / "gowalla_nyc_u40.parquet")
    checkins(tmp_path / "gowalla_nyc_u40_edges.parquet", owners=2)
    (scene,) = open_scenes(tmp_path, SMALL)
    assert (scene.name, scene.domain, scene.owners) == ("New York", NEW_YORK, 40)


def test_a_published_check_in_file_is_looked_at_in_new_york_and_worldwide(tmp_path):
    rng = np.random.default_rng(6)
    lines = [
        f"{owner}\t2010-10-19T23:55:27Z\t{40.75 + rng.normal(0, 0.01)}\t{-73.99 + rng.normal(0, 0.01)}\t22847"
        for owner in range(30)
        for _ in range(8)
    ]
    (tmp_path / "loc-gowalla_totalCheckins.txt").write_text("\n".join(lines) + "\n")
    assert [scene.name for scene in open_scenes(tmp_path, SMALL)] == ["New York", "worldwide"]


def test_degrees_without_a_domain_are_looked_at_in_new_york_and_worldwide(tmp_path):
    checkins(tmp_path / "mine.parquet")
    assert [scene.name for scene in open_scenes(tmp_path / "mine.parquet", SMALL)] == ["New York", "worldwide"]


def test_a_file_may_state_its_domain_or_be_given_one(tmp_path):
    write_synthetic(tmp_path / "city.parquet", owners=60, records_per_owner=20, seed=1)
    (own,) = open_scenes(tmp_path / "city.parquet", SMALL)
    (given,) = open_scenes(tmp_path / "city.parquet", SMALL, stated=lambda _: Box(0, 0, 16_000, 16_000))
    assert (own.name, own.domain.east, given.domain.east) == ("given data", 20_000, 16_000)


def test_selections_are_those_of_the_command_line(tmp_path):
    write_synthetic(tmp_path / "city.parquet", owners=60, records_per_owner=12, seed=1)
    (scene,) = open_scenes(tmp_path / "city.parquet", SMALL)
    chosen = select_owners(fg.read(tmp_path / "city.parquet"), 20, min_records=5, seed=3)
    assert scene.stage(20, 3).index.records.owners.tolist() == chosen.owners.tolist()


def test_too_few_owners_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="holds none of"):
        open_scenes(tmp_path, SMALL)
    checkins(tmp_path / "few.parquet", owners=5)
    with pytest.raises(InvalidInput, match="fewer than 20 owners"):
        open_scenes(tmp_path / "few.parquet", SMALL)
