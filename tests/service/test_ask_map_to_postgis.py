"""`fedgroup ask map --to postgresql://...`: PostGIS adds up what the service tells, place by place."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg
import pytest
import service_city

from fedgroup.cli.main import main
from fedgroup.lab.bench.postgres_server import postgres_server
from fedgroup.space import Box, PublicMap


def test_postgis_adds_up_what_the_service_tells(
    running: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(service_city, "MAP", PublicMap(Box(0, 0, 10, 10), lonlat=True))
    with (
        postgres_server() as server,
        running(owners=3, allowance=100) as up,
        psycopg.connect(server.url, autocommit=True) as database,
    ):
        database.execute("CREATE EXTENSION postgis")
        monkeypatch.setenv("FEDGROUP_URL", up.url)
        monkeypatch.setenv("FEDGROUP_TOKEN", up.here.tokens["ann"])
        said = ["ask", "map", "--grid", "10x10", "--epsilon", "20", "--method", "dp", "--json", "--to", server.url]
        monkeypatch.setattr(sys, "argv", ["fedgroup", *said])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code in (0, None)
        values = np.array(json.loads(capsys.readouterr().out)["values"]).reshape(10, 10)
        for west, south, east, north in ((0, 0, 10, 10), (6, 6, 8, 9), (2, 2, 4, 4)):
            box = f"ST_MakeEnvelope({west - 1e-6}, {south - 1e-6}, {east + 1e-6}, {north + 1e-6}, 4326)"
            found = database.execute(f"SELECT sum(value) FROM fedgroup_map WHERE ST_Within(geometry, {box})")
            assert found.fetchone() == (values[south:north, west:east].sum(),)
