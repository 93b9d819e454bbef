"""Epsilon, unit, window, promise and noise go with a map into every file, where other programs find them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from some_maps import EVERY, PLANE, records

import fedgroup as fg
from fedgroup.maps.about import about, about_in_texts, step_windows

NAMES = {"epsilon", "unit", "window", "promise", "noise"}


def made() -> fg.PrivateMap:
    return fg.Federation(records(), PLANE).map(grid=(2, 2), epsilon=0.5, method="mpc", **EVERY)


def test_a_map_tells_what_it_promises_in_words() -> None:
    found = made()
    told = about_in_texts(found)
    assert set(told) == NAMES
    assert (told["epsilon"], told["unit"]) == ("0.5", "one record, add-remove")
    assert told["window"] == "1970-01-01T00:00:00Z/1970-01-02T00:00:00Z"
    assert told["promise"].startswith("epsilon-differential privacy with epsilon 0.5 (one record, add-remove); ")
    assert f"{found.half_width_all:g} holds in all 16 bins at once" in told["noise"]
    assert json.loads(json.dumps(about(found), allow_nan=False))["window"]["step_seconds"] == 21_600


def test_a_map_for_evaluation_promises_nothing() -> None:
    found = fg.Federation(records(), PLANE, evaluation=True, seed=1).map(
        grid=(2, 2), epsilon=1, method="mpc", evaluate=True
    )
    assert about_in_texts(found)["promise"].startswith("none")
    assert about_in_texts(found)["window"] == "../.."


def test_the_last_step_ends_with_the_window() -> None:
    found = fg.Federation(records(), PLANE).map(grid=(1, 1), epsilon=1, method="mpc", every="7h", since=0, until=86_400)
    assert [end.hour for _, end in step_windows(found) if end] == [7, 14, 21, 0]


def test_a_geopackage_has_them_in_its_metadata_tables(tmp_path: Path) -> None:
    found = made()
    found.save(tmp_path / "m.gpkg")
    with sqlite3.connect(tmp_path / "m.gpkg") as connection:
        (text,) = connection.execute("SELECT metadata FROM gpkg_metadata WHERE metadata LIKE '%promise%'").fetchone()
    for name, told in about_in_texts(found).items():
        assert f'<MDI key="{name}">{told}</MDI>' in text
    ran = subprocess.run(
        ["ogrinfo", "-ro", "-so", tmp_path / "m.gpkg", "map"], capture_output=True, text=True, check=True
    )
    for name, told in about_in_texts(found).items():
        assert f"  {name}={told}" in ran.stdout


def test_a_parquet_file_has_them_as_key_values(tmp_path: Path) -> None:
    found = made()
    found.save(tmp_path / "m.parquet")
    told = pq.read_schema(tmp_path / "m.parquet").metadata
    assert {name: told[name.encode()].decode() for name in NAMES} == about_in_texts(found)


@pytest.mark.filterwarnings("ignore:GeoJSON is in degrees")
@pytest.mark.parametrize("ending", ["geojson", "csv"])
def test_json_has_them_beside_all_else(ending: str, tmp_path: Path) -> None:
    found, path = made(), tmp_path / f"m.{ending}"
    found.save(path)
    told = (
        json.loads(path.read_text())["fedgroup"]
        if ending == "geojson"
        else json.loads(Path(f"{path}.json").read_text())
    )
    assert told["epsilon"] == 0.5
    assert {name: told[name] for name in NAMES - {"epsilon"}} == {
        name: text for name, text in about_in_texts(found).items() if name != "epsilon"
    }
