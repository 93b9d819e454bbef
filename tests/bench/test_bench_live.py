"""The bench of live federations runs at a small size, with the broker that is here; times are not judged."""

from __future__ import annotations

import pytest

from fedgroup.lab.bench import obstacle, run
from fedgroup.lab.bench.mosquitto_server import program


def test_the_bench_tells_questions_beside_echoes() -> None:
    assert program(), "mosquitto is not installed: run `make services`"
    sealing, *rows = run("live", quick=True).as_json()["rows"]
    *rows, by_dp, by_mpc, grouping, load = rows
    assert by_dp["case"] == "map of 64 cells by dp, 6 owners, mosquitto broker"
    assert min(by_dp["ours_s"], by_mpc["ours_s"], by_mpc["reference_s"]) > 0
    assert (sealing["case"], sealing["microseconds_each"] > 0) == ("1,000 answers sealed and opened", True)
    assert [row["case"] for row in rows] == [
        f"{method}, 6 owners, mosquitto broker" for method in ("dp", "masked cohorts")
    ]
    assert all(min(row["ours_s"], row["reference_s"], row["kept_echo_s"]) > 0 for row in rows)
    assert all("by aiomqtt" in row["reference"] for row in rows)
    assert [row["messages"] for row in rows] == [12, 36]
    assert grouping["case"] == "hybrid grouping, 8 owners, mosquitto broker"
    assert min(grouping["rounds"], grouping["comparisons"], grouping["ours_s"], grouping["reference_s"]) > 0
    assert load["case"] == "3 users x 6 owners, 1 s, mosquitto broker"
    assert min(load["questions_a_second"], load["echoes_a_second"]) > 0
    assert 0 < load["p50_s"] <= load["p99_s"]
    assert (load["failed"], load["charged_but_unanswered"]) == (0, 0)


def test_without_its_extra_the_bench_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedgroup.lab.bench.live.find_spec", lambda name: None)
    assert "[live]" in str(obstacle("live"))
