"""Hourly maps by owners in a process of their own, while their provider is killed; `make standing` is the long run."""

from __future__ import annotations

from pathlib import Path

from live_world import Nursery
from standing_run import Run, run


def test_no_hour_is_charged_twice_or_lost_while_the_provider_is_killed(nursery: Nursery, tmp_path: Path) -> None:
    told = run(tmp_path / "city", nursery, Run(owners=4, hours=6, kills=2, processes=1))
    assert "6 hourly maps by 4 owners (mpc), the provider killed 2 times" in told
