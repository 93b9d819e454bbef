"""`fedgroup between`: maps of windows in files, added up for nothing."""

from __future__ import annotations

import numpy as np
import pytest

import fedgroup as fg

START = 1_772_409_600
"""2026-03-02, in seconds."""
TIME = ("--since", "2026-03-02", "--until", "2026-03-02T03:00")


@pytest.fixture(scope="module")
def federation():
    pick = np.random.default_rng(4)
    place, when = pick.uniform(0, 1_000, (2, 600)), pick.integers(0, 3 * 3_600, 600)
    records = fg.Records(pick.integers(0, 5, 600), *place, time=START + when)
    zcdp = {"accounting": "zcdp", "delta": 1e-6}
    with fg.Federation(records, fg.Box(0, 0, 1_000, 1_000), budget=1_000, seed=6, **zcdp) as opened:
        yield opened


def hours(number):
    return {"since": START + number * 3_600, "until": START + (number + 1) * 3_600, "method": "mpc"}


def test_maps_of_hours_add_up_to_one_of_their_time_with_what_a_record_lost(fedgroup, federation, tmp_path):
    files = [tmp_path / f"{number}.parquet" for number in range(3)]
    for number, file in enumerate(files):
        federation.map(grid=(3, 3), rho=50, **hours(number)).save(file)
    out = tmp_path / "sum.parquet"
    told = fedgroup("between", *files, *TIME, "--out", out, "--json").json
    assert sum(told["values"]) == pytest.approx(600, abs=10)
    assert (told["charged"], told["rho"], told["delta"]) == (0, 50, 1e-6)
    assert np.allclose(fg.load_map(out).values, told["values"])
    assert fedgroup("between", *files[:2], *TIME).code == 2  # the third hour is missing
    assert "leave the range out" in fedgroup("between", *files, *TIME, "--near", "1,1", "--within", "9").err
    assert "say which time" in fedgroup("between", *files).err
    mixed = tmp_path / "mixed.parquet"
    federation.publish(rho=50, records=200, most_cells=64, **hours(0)).save(mixed)
    assert "one sort" in fedgroup("between", mixed, *files[1:], *TIME).err


def test_published_maps_of_hours_answer_a_range_in_their_time(fedgroup, federation, tmp_path):
    files = [tmp_path / f"{number}.parquet" for number in range(3)]
    for number, file in enumerate(files):
        federation.publish(rho=50, records=200, most_cells=64, **hours(number)).save(file)
    ran = fedgroup("between", *files, *TIME, "--rectangle", "0,0,1000,1000")
    assert (ran.code, "free; the maps cost epsilon 12.8932" in ran.out, "(rho 50) once" in ran.out) == (0, True, True)
    told = fedgroup("between", *files, *TIME, "--rectangle", "0,0,1000,1000", "--json").json
    assert told["value"] == pytest.approx(600, abs=20)
    assert 49.99 < told["rho"] <= 50
    assert fedgroup("between", *files, *TIME, "--near", "1,1", "--within", "9", "--out", "x.csv").code == 2
