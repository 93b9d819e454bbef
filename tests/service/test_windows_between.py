"""A long time of a standing map: read from as few of its windows as make it up, on the command line too."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from test_standing import HOUR, MUCH, OWNERS, START, table, timed_city

from fedgroup.cli.main import main
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.live.config import StandingTable
from fedgroup.privacy.windows import WindowBudget
from fedgroup.service.app import create_app
from fedgroup.service.client import aconnect
from fedgroup.service.serving import served
from fedgroup.service.window_reading import maps_between


def level(name: str, hours: int, count: int, *, missing: int | None = None, adaptive: bool = False) -> dict[str, Any]:
    """So many windows of a standing map as the service lists them, the latest first."""
    windows = []
    for number in reversed(range(count)):
        since, until = (START + (number + each) * hours * 3_600 for each in (0, 1))
        there = number != missing
        state, made = ("published", f"{name}:{number}") if there else ("failed", None)
        windows.append({"since": str(since), "until": str(until), "state": state, "map": made})
    return {"name": name, "windows": windows, "map": {"adaptive": True} if adaptive else {}}


def hours(first: int, last: int) -> tuple[int, int]:
    return START + first * 3_600, START + last * 3_600


def test_a_time_is_read_from_few_windows_of_all_levels() -> None:
    listed = [level("hourly", 1, 40), level("hourly-16", 16, 2), level("hourly-long", 1, 40), level("daily", 24, 1)]
    assert set(maps_between(listed, "hourly", *hours(0, 33))) == {"hourly-16:0", "hourly-16:1", "hourly:32"}
    assert set(maps_between(listed, "daily", *hours(0, 24))) == {"daily:0"}
    gone = [level("hourly", 1, 40, missing=3), level("hourly-16", 16, 2)]
    assert "hourly-16:0" in maps_between(gone, "hourly", *hours(3, 4))  # 16 hours less the 15 others
    shaped = [level("hourly", 1, 40, adaptive=True), level("hourly-16", 16, 2, adaptive=True)]
    assert set(maps_between(shaped, "hourly", *hours(33, 34))) == {"hourly:33", "hourly-16:1"}
    with pytest.raises(InvalidInput, match="no standing map 'weekly'; there are: daily, hourly"):
        maps_between(listed, "weekly", *hours(0, 1))
    with pytest.raises(InvalidQuery, match="do not make up this time"):
        maps_between(listed, "hourly", *hours(50, 60))


def test_windows_of_standing_maps_are_added_up_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = {"adaptive": True, "epsilon": MUCH, "method": "dp", "records": 16, "most_cells": 64}
    tables = [table(), StandingTable(name="cells", user="ann", every="hour", since=START, map=cells)]

    def between(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fedgroup", "ask", "between", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    async def story() -> None:
        async with timed_city(tmp_path) as city:
            for owner in city.owners.values():
                owner.ledger.set_window_budget(WindowBudget(HOUR, Epsilon.of(2 * MUCH)), raising=True)
            app = create_app(city.provider, city.state, standing=tables, clock=lambda: START + 3 * 3_600 + 600)
            maps = app.state.service.standing
            for standing in maps.maps:
                for _ in range(3):
                    assert await maps.step(standing) == 0, maps.waits_for(standing)
            token = city.state.add_user("bob", allowance=Epsilon.of(1))
            everything = 3 * OWNERS * (OWNERS + 1) / 2
            monkeypatch.setenv("FEDGROUP_TOKEN", token)
            async with served(app) as url, aconnect(url, token) as federation:
                monkeypatch.setenv("FEDGROUP_URL", url)
                assert len(await federation.window_maps("hourly", since=START, until=START + 2 * 3_600)) == 2
                when = ("--since", "2026-03-02", "--until", "2026-03-02T03:00")
                out = tmp_path / "sum.csv"
                code, told, err = await asyncio.to_thread(between, "hourly", *when, "--out", out, "--json")
                assert (code, out.exists()) == (0, True), err
                made = json.loads(told)
                assert (sum(made["values"]), made["charged"], made["epsilon"]) == (everything, 0, MUCH)
                area = ("--rectangle", "0,0,10,10")
                code, told, err = await asyncio.to_thread(between, "cells", *when, *area, "--json")
                assert code == 0, err
                assert json.loads(told)["value"] == pytest.approx(everything, abs=6)
                for wrong in (("hourly",), ("hourly", *when, *area), ("cells", *when), ("cells", *when, "--out", out)):
                    assert (await asyncio.to_thread(between, *wrong))[0] == 2
            assert city.state.user("bob").spent == Epsilon(0)

    asyncio.run(story())
