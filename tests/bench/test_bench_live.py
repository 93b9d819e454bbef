"""The bench of live federations runs at a small size, with every broker that is here; times are not judged."""

from __future__ import annotations

import pytest

from fedgroup.lab.bench import obstacle, run
from fedgroup.lab.bench.mosquitto_server import program


def test_the_bench_tells_questions_beside_echoes() -> None:
    assert program(), "mosquitto is not installed: run `make services`"
    sealing, *rows = run("live", quick=True).as_json()["rows"]
    assert (sealing["case"], sealing["microseconds_each"] > 0) == ("1,000 answers sealed and opened", True)
    assert [row["case"] for row in rows] == [
        f"{method}, 6 owners, {broker} broker"
        for broker in ("embedded", "mosquitto")
        for method in ("dp", "masked cohorts")
    ]
    assert all(min(row["ours_s"], row["reference_s"], row["kept_echo_s"]) > 0 for row in rows)
    assert [row["messages"] for row in rows] == [12, 24, 12, 24]


def test_without_its_extra_the_bench_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedgroup.lab.bench.live.find_spec", lambda name: None)
    assert "[live]" in str(obstacle("live"))
