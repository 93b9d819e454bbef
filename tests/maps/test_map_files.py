"""A map that was saved is read back to the last digit, and other programs read the same values."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from some_maps import IN_DEGREES, SAID, some_map

import fedgroup as fg
from fedgroup.maps.private_map import told_of
from fedgroup.space.places import canonical_places

ENDINGS = (".gpkg", ".parquet", ".geojson", ".csv")


def saved(made: fg.PrivateMap, path: Path) -> Path:
    made.save(path)
    return path


def same(one: Any, other: Any) -> bool:
    return bool(one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", SAID)
def test_a_map_is_read_back_to_the_last_digit(name: str, ending: str, tmp_path: Path) -> None:
    made = some_map(name, evaluate=name == "grid")
    read = fg.load_map(saved(made, tmp_path / f"m{ending}"))
    for array in ("values", "low", "high"):
        assert same(getattr(read, array), getattr(made, array))
    assert (read.true_values is None) == (made.true_values is None)
    assert told_of(read) == told_of(made)
    assert (read.half_width_all, read.scales, read.protection) == (made.half_width_all, made.scales, made.protection)
    assert (read.public_map, read.shape, read.names()) == (made.public_map, made.shape, made.names())
    assert canonical_places(read.places) == canonical_places(made.places)
    assert (read.query.epsilon, read.query.measure, read.query.by) == (
        made.query.epsilon,
        made.query.measure,
        made.query.by,
    )
    assert (read.starts(), read.categories(), read.intervals.shape) == (
        made.starts(),
        made.categories(),
        made.intervals.shape,
    )


@pytest.mark.parametrize("name", ["grid", "districts", "hexagons", "times"])
@pytest.mark.parametrize("ending", [".gpkg", ".parquet", ".geojson"])
def test_geopandas_reads_the_same_values(name: str, ending: str, tmp_path: Path) -> None:
    made = some_map(name)
    path = saved(made, tmp_path / f"m{ending}")
    frame = gpd.read_parquet(path) if ending == ".parquet" else gpd.read_file(path)
    own = made.to_geodataframe()
    assert frame["value"].tolist() == own["value"].tolist()
    assert frame["high"].tolist() == own["high"].tolist()
    assert shapely.equals_exact(frame.geometry.to_numpy(), own.geometry.to_numpy(), 1e-9).all()
    if name in IN_DEGREES:
        assert frame.crs == own.crs == "EPSG:4326"
    elif ending != ".geojson":  # which is degrees to everybody
        assert own.crs is None
        assert frame.crs is None or not frame.crs.is_geographic


@pytest.mark.parametrize("name", ["grid", "hexagons"])
@pytest.mark.parametrize("ending", [".gpkg", ".geojson", ".csv"])
def test_gdal_reads_the_same_values(name: str, ending: str, tmp_path: Path) -> None:
    made = some_map(name)
    path = saved(made, tmp_path / f"m{ending}")
    ran = subprocess.run(["ogrinfo", "-al", "-geom=NO", str(path)], capture_output=True, text=True, check=True)
    told = [line.split("=")[1] for line in ran.stdout.splitlines() if line.strip().startswith("value (")]
    assert [float(value) for value in told] == made.values.tolist()
    assert "Warning" not in ran.stderr


def test_a_geopackage_tells_what_was_promised(tmp_path: Path) -> None:
    path = saved(some_map("grid"), tmp_path / "m.gpkg")
    ran = subprocess.run(["ogrinfo", "-so", str(path), "map"], capture_output=True, text=True, check=True)
    for told in ("epsilon=1", "protection=one record, add-remove", "kind=count", "method=mpc", "trust=no party"):
        assert told in ran.stdout


def test_pandas_reads_the_csv_and_its_facts_are_beside_it(tmp_path: Path) -> None:
    made = some_map("districts")
    path = saved(made, tmp_path / "m.csv")
    frame = pd.read_csv(path)
    assert (frame["name"].tolist(), frame["value"].tolist()) == (made.names(), made.values.tolist())
    facts = json.loads((tmp_path / "m.csv.json").read_text())
    assert (facts["epsilon"], facts["kind"], facts["notes"]) == (1.0, "people", list(made.notes))


@pytest.mark.parametrize("name", ["m.txt", "m", "m.gpkg.zip"])
def test_a_name_of_no_known_kind_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(fg.InvalidInput, match=r"ends in \.gpkg, \.parquet, \.geojson, \.csv"):
        some_map("grid").save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_no_map_is_refused_in_one_sentence(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"m{ending}"
    with pytest.raises(fg.InvalidInput, match="there is no file"):
        fg.load_map(path)
    path.write_text("[1, 2]")
    with pytest.raises(fg.InvalidInput, match="damaged, or is no map"):
        fg.load_map(path)


def test_a_map_whose_rows_were_moved_is_refused(tmp_path: Path) -> None:
    path = saved(some_map("grid"), tmp_path / "m.csv")
    head, first, *others = path.read_text().splitlines()
    path.write_text("\n".join([head, *others, first]))
    with pytest.raises(fg.InvalidInput, match="damaged"):
        fg.PrivateMap.load(path)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    for ending in ENDINGS:
        with pytest.raises(fg.InvalidInput, match="cannot be written"):
            some_map("grid").save(tmp_path / "nowhere" / f"m{ending}")
