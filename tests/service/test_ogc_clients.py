"""Programs that others wrote read the service: GDAL's driver for OGC API - Features, and OWSLib."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import service_city
from kept_degrees import DAY, kept, some
from owslib.ogcapi.features import Features

from fedgroup.space import Box, PublicMap

Running = Callable[..., Any]


def ogr(program: str, url: str, token: str, *words: str, basic: bool = False) -> str:
    """What one of GDAL's programs prints; the token is sent in a header, or as a password."""
    how = {"GDAL_HTTP_USERPWD": f"ann:{token}", "GDAL_HTTP_AUTH": "BASIC"}
    how = how if basic else {"GDAL_HTTP_HEADERS": f"Authorization: Bearer {token}"}
    command = [program, *words[:-1], f"OAPIF:{url}/ogc", *words[-1:]]
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith(("GDAL_", "PROJ_"))}
    ran = subprocess.run(command, env=surroundings | how, capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr + ran.stdout
    return ran.stdout


@pytest.mark.parametrize("basic", [False, True], ids=["bearer", "basic"])
def test_gdal_reads_all_features_of_a_map(running: Running, basic: bool) -> None:
    with running(owners=0) as up:
        made = some(grid=(60, 40), epsilon=5)
        map_id = kept(up.here, made)
        spent = up.here.spent()
        token = up.here.tokens["ann"]
        told = ogr("ogrinfo", up.url, token, "-ro", "-al", "-so", map_id, basic=basic)
        assert "Feature Count: 2400" in told
        assert "Extent: (4.800000, 52.300000) - (5.000000, 52.400000)" in told
        assert 'ID["OGC","CRS84"]' in told or "WGS 84" in told
        every = ogr("ogrinfo", up.url, token, "-ro", "-al", map_id, basic=basic)
        values = [float(found) for found in re.findall(r"^  value \(\w+\) = (\S+)$", every, flags=re.M)]
        assert values == made.values.tolist()
        assert up.here.spent() == spent


def test_gdal_asks_for_a_box_and_turns_a_map_into_a_file(running: Running, tmp_path: Path) -> None:
    with running(owners=0) as up:
        made = some(grid=(20, 10))
        map_id, token = kept(up.here, made), up.here.tokens["ann"]
        box = ("-spat", "4.801", "52.301", "4.829", "52.309")
        assert "Feature Count: 3" in ogr("ogrinfo", up.url, token, "-ro", "-al", "-so", *box, map_id)
        out = tmp_path / "map.geojson"
        command = ("-f", "GeoJSON", str(out))
        ogr("ogr2ogr", up.url, token, *command, map_id)
        found = [each["properties"]["value"] for each in json.loads(out.read_text())["features"]]
        assert found == made.values.tolist()


def test_gdal_reads_what_was_just_asked_for(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_city, "MAP", PublicMap(Box(0, 0, 10, 10), lonlat=True))
    with running(owners=3, allowance=100) as up:
        token = up.here.tokens["ann"]
        headers = {"Authorization": f"Bearer {token}"}
        body = {"grid": [4, 4], "epsilon": 30, "method": "dp"}
        made = httpx.post(f"{up.url}/v1/maps", json=body, headers=headers, timeout=60).raise_for_status().json()
        told = ogr("ogrinfo", up.url, token, "-ro", "-al", made["id"])
        values = [float(found) for found in re.findall(r"^  value \(\w+\) = (\S+)$", told, flags=re.M)]
        assert values == made["values"]
        assert abs(sum(values) - 3 * service_city.RECORDS) <= 16


def test_owslib_reads_collections_and_items(running: Running) -> None:
    with running(owners=0) as up:
        made = some(grid=(6, 5), **DAY)
        map_id = kept(up.here, made)
        kept(up.here, some(), user="bob")
        client = Features(f"{up.url}/ogc", headers={"Authorization": f"Bearer {up.here.tokens['ann']}"})
        assert len(client.conformance()["conformsTo"]) == 3
        assert client.feature_collections() == [map_id]
        told: Any = client.collection(map_id)
        assert (told["fedgroup"]["epsilon"], told["extent"]["spatial"]["bbox"]) == (1.0, [[4.8, 52.3, 5.0, 52.4]])
        first: Any = client.collection_items(map_id, limit=50)
        rest: Any = client.collection_items(map_id, limit=100, offset=50)
        values = [each["properties"]["value"] for each in first["features"] + rest["features"]]
        assert values == made.values.tolist()
        noon: Any = client.collection_items(map_id, datetime_="1970-01-01T12:00:00Z", bbox=[4.8, 52.3, 4.81, 52.31])
        assert [each["id"] for each in noon["features"]] == [2]
        assert client.collection_item(map_id, "7")["properties"]["value"] == made.values[7]
        assert client.api()["openapi"] == "3.0.3"
