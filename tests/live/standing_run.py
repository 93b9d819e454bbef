"""Hourly maps of a week by 50 live owners, while their provider is killed over and over: no hour is paid twice or lost.

Owner number i has i % 3 + 1 records in every hour of a week that is over. The provider catches up, without a wait.
It dies by kill -9 whenever so many more hours are published, a moment after the last of them. In the end every map must
hold all records of everybody, and every owner must have paid once for each hour: its ledger's windows tell.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from live_world import PATIENCE_S, Nursery, World, eventually

from fedgroup.epsilon import Epsilon
from fedgroup.storage.owner_ledger import OwnerLedger

MUCH = Epsilon.of(40)
"""So large that noise is 0."""
HOUR = 3_600
START = 1_772_409_600
"""2026-03-02, a Monday, in seconds."""


@dataclass(frozen=True)
class Run:
    """How many owners, hours and deaths there are, by which method they answer, and in how many processes they run."""

    owners: int = 50
    hours: int = 168
    kills: int = 20
    processes: int = 5
    method: str = "mpc"
    seed: int = 1


def main() -> None:
    said, usual = argparse.ArgumentParser(), Run()
    for name in ("owners", "hours", "kills", "processes", "seed"):
        said.add_argument(f"--{name}", type=int, default=getattr(usual, name))
    said.add_argument("--method", default=usual.method)
    asked = Run(**vars(said.parse_args()))
    nursery = Nursery()
    with tempfile.TemporaryDirectory() as folder:
        try:
            print(run(Path(folder) / "city", nursery, asked))
        finally:
            nursery.close()


def run(folder: Path, nursery: Nursery, asked: Run) -> str:
    """Run it all, and return what came of it in words; whatever is wrong is an assertion that fails."""
    world = World(folder, nursery, asked.owners, records_of=lambda number: number % 3 + 1)
    _write(world, asked)
    world.add_user("standing")
    began, pick = time.monotonic(), random.Random(asked.seed)
    try:
        world.start_shared(asked.processes, hasty=True)
        for kill in range(asked.kills):
            world.start("provider")
            due = max(1, asked.hours * (kill + 1) // (asked.kills + 1))
            eventually(lambda: _ended(world), lambda hours, due=due: hours >= due, seconds=10 * PATIENCE_S)
            time.sleep(pick.random() * 0.05)  # in the middle of whatever comes then
            world.kill("provider")
        world.start("provider")
        eventually(lambda: _ended(world), lambda hours: hours >= asked.hours, seconds=10 * PATIENCE_S)
        wall = time.monotonic() - began
    finally:
        world.end()
    _require_right(world, asked)
    return (
        f"{asked.hours} hourly maps by {asked.owners} owners ({asked.method}), the provider killed {asked.kills} times:"
        f" every hour published once with all records, every owner charged once for each; {wall:.1f} s"
    )


def _write(world: World, asked: Run) -> None:
    """Give owners records with times and a budget for one map an hour, and the provider a standing map."""
    for number, name in enumerate(world.names):
        place, many = world.owner_folder(name), number % 3 + 1
        times = [START + hour * HOUR + 60 for hour in range(asked.hours) for _ in range(many)]
        here = [10_000.0] * len(times)
        pq.write_table(
            pa.table({"owner": [name] * len(times), "x": here, "y": here, "time": times}), place / "records.parquet"
        )
        file = place / "owner.toml"
        windows = f'[ledger]\nper = "hour"\nwindow_cap = {float(MUCH)}\n#'
        text = file.read_text().replace("[ledger] ", windows, 1)
        assert windows in text
        file.write_text(text.replace("[policy] ", '[policy]\ncomplete_after = "10m"\n#', 1))
    # a provider that knows nobody yet would ask the first hour of whoever came first
    least = f"least_share = 1.0, least_owners = {asked.owners}"
    with world.provider_file.open("a") as more:
        more.write(
            f'\n[[standing]]\nname = "hourly"\nuser = "standing"\nevery = "hour"\nsince = {START}\ncatch_up = 10000\n'
            f'map = {{ grid = [4, 4], epsilon = {float(MUCH)}, method = "{asked.method}", {least} }}\n'
        )


def _ended(world: World) -> int:
    """Return how many hours have ended, however they did."""
    with closing(sqlite3.connect(f"{(world.folder / 'provider.db').as_uri()}?mode=ro", uri=True)) as books:
        if books.execute("SELECT 1 FROM sqlite_master WHERE name = 'standing_windows'").fetchone() is None:
            return 0
        (ended,) = books.execute("SELECT count(*) FROM standing_windows WHERE state <> 'asked'").fetchone()
        return int(ended)


def _require_right(world: World, asked: Run) -> None:
    truth = sum(number % 3 + 1 for number in range(asked.owners))
    with closing(sqlite3.connect(world.folder / "provider.db")) as books:
        rows = books.execute(
            "SELECT begin, standing_windows.state, answer FROM standing_windows JOIN questions ON question = id"
            " ORDER BY begin LIMIT ?",
            (asked.hours,),
        ).fetchall()
    assert [begin // 1_000_000 for begin, _, _ in rows] == [START + hour * HOUR for hour in range(asked.hours)]
    assert {state for _, state, _ in rows} == {"published"}
    for _, _, answer in rows:
        found = json.loads(answer)
        told = sum(found["values"]), found["heard"], found["missing"]
        assert told == (truth, asked.owners, 0), told
    for name in world.names:
        with closing(OwnerLedger(world.owner_folder(name) / "ledger.db")) as ledger:
            budget, spent = ledger.window_budget, ledger.windows_spent()
            assert budget is not None
            first = budget.window_of(START * 1_000_000)
            assert [spent.at(first + hour) for hour in range(asked.hours)] == [MUCH.nano] * asked.hours
            assert (spent.every, spent.at(first - 1)) == (0, 0)


if __name__ == "__main__":
    main()
