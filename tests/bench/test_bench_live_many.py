"""The bench of many hosted owners runs at a small size; times are not judged."""

from __future__ import annotations

import pytest

from fedgroup.errors import InvalidInput
from fedgroup.lab.bench import run


def test_the_bench_tells_of_every_owner_beside_echoes() -> None:
    rows = run("live-many", quick=True).as_json()["rows"]
    assert [row["case"].split(",")[0] for row in rows] == ["dp", "masked cohorts"]
    for row in rows:
        assert (row["owners"], row["heard"]) == (6, 6)
        assert min(row[name] for name in ("ours_s", "reference_s", "joined_s", "first_s")) > 0
        assert min(row[name] for name in ("provider_mb", "owners_mb", "broker_bytes")) > 0
        assert 0 < 6 * row["owner_kb"] < 1_000 * row["owners_mb"]
        assert 0 < 6 * row["provider_kb"] < 1_000 * row["provider_mb"]
        assert len(row["reply_s"].split()) == len(row["alone_s"].split()) == 10


def test_only_benches_that_can_be_had_in_any_size_take_one() -> None:
    with pytest.raises(InvalidInput, match="has its own sizes"):
        run("noise", quick=True, owners=5)
    with pytest.raises(InvalidInput, match="2 to 100,000 owners"):
        run("live-many", owners=1)
