"""What an operator says about the pages: in the provider's file, or on the command line, which goes before it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fedgroup.data.synthetic import synthesize
from fedgroup.errors import InvalidInput
from fedgroup.federation import Federation
from fedgroup.live.config import ProviderConfig, read_config
from fedgroup.live.samples import provider_text
from fedgroup.service.pages.mounting import page_settings
from fedgroup.space import Box
from fixed_noise import fixed_keys

COMMAND = str(Path(sys.executable).with_name("fedgroup"))
FACTS = {"file": "f", "federation": "city", "domain": "0, 0, 9, 9", "host": "127.0.0.1", "port": 0, "http_port": 0}
PLACES = {"folder": "own", "authority": "authority"}
LINE = {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}
POINT = {"type": "Point", "coordinates": [0, 0]}
TILES = "https://tiles.example/{z}/{x}/{y}.png"


@pytest.fixture
def written(tmp_path):
    """Write a provider's file that says this about its pages, beside outlines; return where it is."""
    (tmp_path / "line.geojson").write_text(json.dumps(LINE))
    (tmp_path / "point.geojson").write_text(json.dumps(POINT))

    def write(said: str = "", *, lonlat: bool = True) -> Path:
        text = provider_text(**FACTS, **PLACES, lonlat=lonlat)
        assert "\n[page]" in text
        (tmp_path / "provider.toml").write_text(text.replace("[page]", f"[page]\n{said}\n#", 1))
        return tmp_path / "provider.toml"

    return write


def read(path: Path) -> ProviderConfig:
    return read_config(path, ProviderConfig)


def test_the_file_that_init_writes_says_nothing_about_pages(written):
    settings = page_settings(read(written()))
    assert (settings.outlines, settings.tiles) == (None, None)


def test_its_commented_lines_are_right_once_they_count(written, tmp_path):
    text = written().read_text()
    (tmp_path / "districts.geojson").write_text(json.dumps(LINE))
    (tmp_path / "provider.toml").write_text(text.replace("\n# outlines", "\noutlines").replace("\n# tiles", "\ntiles"))
    settings = page_settings(read(tmp_path / "provider.toml"))
    assert (settings.outlines, settings.tiles) == (LINE, "https://host/{z}/{x}/{y}.png")
    assert set(tomllib.loads((tmp_path / "provider.toml").read_text())["page"]) == {"outlines", "tiles"}


def test_outlines_are_found_from_where_the_file_is(written, monkeypatch):
    monkeypatch.chdir("/")
    said = f'outlines = "line.geojson"\ntiles = "{TILES}"'
    settings = page_settings(read(written(said)))
    assert (settings.outlines, settings.tiles) == (LINE, TILES)


def test_the_command_line_goes_before_the_file(written, tmp_path):
    found = read(written(f'outlines = "line.geojson"\ntiles = "{TILES}"'))
    other = TILES.replace("tiles.", "other.")
    settings = page_settings(found, outlines=tmp_path / "point.geojson", tiles=other)
    assert (settings.outlines, settings.tiles) == (POINT, other)
    assert page_settings(found, tiles=other).outlines == LINE


@pytest.mark.parametrize(("side", "fits"), [(9, True), (10, False)])
def test_maps_that_are_named_are_published_if_they_are_of_the_domain(written, tmp_path, monkeypatch, side, fits):
    with fixed_keys("published"):
        federation = Federation(synthesize(4, records_per_owner=5, seed=1), Box(0, 0, side, side), budget=9)
        federation.map(grid=(3, 3), epsilon=1).save(tmp_path / "map.parquet")
    monkeypatch.chdir("/")
    path = written('maps = ["map.parquet"]', lonlat=False)
    if not fits:
        with pytest.raises(InvalidInput, match="another domain"):
            page_settings(read(path))
        return
    (layer,) = page_settings(read(path)).layers()
    assert (len(layer.cells), layer.epsilon) == (9, 1)


def test_districts_are_named_polygons_that_lie_apart(written, tmp_path):
    square = {"type": "Polygon", "coordinates": [[[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]]]}
    ward = {"type": "Feature", "properties": {"name": "Ward"}, "geometry": square}
    path = written('districts = "wards.geojson"')
    (tmp_path / "wards.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [ward]}))
    assert page_settings(read(path)).districts.names == ("Ward",)
    (tmp_path / "wards.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [ward, ward]}))
    with pytest.raises(InvalidInput, match="different names"):
        page_settings(read(path))


@pytest.mark.parametrize("said", ['colour = "red"', "tiles = 3"])
def test_what_pages_have_not_is_a_mistake(written, said):
    with pytest.raises(InvalidInput, match="page"):
        read(written(said))


@pytest.mark.parametrize("tiles", ["tiles.example", "https://tiles.example/", "https://a b/{z}", "https://a/{z};x"])
def test_addresses_without_tiles_are_refused(written, tiles):
    with pytest.raises(InvalidInput, match="tiles are served"):
        page_settings(read(written()), tiles=tiles)


def test_the_program_reads_the_table_and_refuses_tiles_on_a_plane(written):
    path = written(f'tiles = "{TILES}"', lonlat=False)
    ran = subprocess.run([COMMAND, "provider", "--config", str(path)], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 2
    assert "tiles are for federations in degrees" in " ".join(ran.stderr.split())
