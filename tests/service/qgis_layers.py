"""QGIS opens a map from the service and from a file, without a screen: `make test-qgis` (its packages take 1 GB)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_degrees import kept

import fedgroup as fg

HERE = Path(__file__).parent
PYTHON = os.environ.get("QGIS_PYTHON", "/usr/bin/python3")
PICTURE = os.environ.get("QGIS_PICTURE")
"""Where the picture for the documents goes, if it is wanted."""


def city() -> fg.PrivateMap:
    """A city with a few busy places, in hexagons."""
    rng = np.random.default_rng(3)
    places = np.array([(4.89, 52.372), (4.87, 52.342), (4.94, 52.36), (4.85, 52.38), (4.92, 52.392), (4.955, 52.312)])
    of = rng.choice(len(places), 60_000, p=[0.42, 0.18, 0.12, 0.12, 0.08, 0.08])
    spread = rng.normal(0, 1, (2, 60_000)) * np.array([[0.02], [0.009]])
    x, y = places[of].T + spread
    records = fg.Records(owner=np.arange(60_000) % 200, x=x, y=y, owners=range(200), lonlat=True)
    return fg.Federation(records, fg.Box(4.78, 52.28, 5.02, 52.43)).map(h3=9, epsilon=1, method="mpc")


def test_qgis_reads_and_draws_what_is_served(
    running: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, package = city(), tmp_path / "map.gpkg"
    picture = Path(PICTURE) if PICTURE else tmp_path / "qgis.png"
    made.save(package)
    with running(owners=0) as up:
        map_id = kept(up.here, made)
        spent = up.here.spent()
        words = [PYTHON, HERE / "qgis_program.py", up.url, up.here.tokens["ann"], map_id, package, picture]
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PROJ_"))}
        surroundings |= {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
        ran = subprocess.run(words, env=surroundings, capture_output=True, text=True, timeout=600, check=False)
        assert ran.returncode == 0, ran.stderr + ran.stdout
        told = json.loads(ran.stdout.splitlines()[-1])
        assert up.here.spent() == spent
    for source in ("served", "file"):
        assert told[source]["values"] == made.values.tolist(), source
        assert told[source]["crs"] in ("EPSG:4326", "OGC:CRS84")
    assert told["served"]["extent"] == pytest.approx([4.78, 52.28, 5.02, 52.43], abs=0.01)
    assert 0.05 < told["painted"] < 0.95
    assert picture.stat().st_size > 20_000
