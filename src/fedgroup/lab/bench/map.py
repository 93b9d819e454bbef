"""`fedgroup bench map`: a map of many cells over a million owners, against DuckDB's exact GROUP BY of the same cells.

The exact part is what owners count before any noise; the whole is a private map with its durable charge. The masked one
is `mpc` among 1,000 owners, every mask made, against the same map by `dp`. `bytes_per_owner` is what a live one sends.
A published map holds both rounds and its reconstruction, its noise drawn from the law of the sum, its masks left out; a
free answer is read from it, against DuckDB's exact count of the same circle.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedgroup.data.synthetic import synthesize
from fedgroup.epsilon import Epsilon
from fedgroup.federation import Federation
from fedgroup.lab.bench.measuring import BenchRow, median_seconds, peak_mb
from fedgroup.lab.bench.processes import Alone
from fedgroup.owner.counting import total_units
from fedgroup.owner.records import Records
from fedgroup.questions.methods import COHORT_SIZE
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.round import MaskSettings
from fedgroup.secure.widths import word_bytes
from fedgroup.space import Circle, Grid

SIDE, QUICK_SIDE = 128, 16
EPSILON = 1.0
MOST_PUBLISHED = 400_000


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield rows of the exact part and of whole maps."""
    side = QUICK_SIDE if quick else SIDE
    yield from Alone(measure_city, 200 if quick else 1_000_000, side, 1 if quick else 7).result()
    yield from Alone(measure_masked, 50 if quick else 1_000, side, 1 if quick else 3).result()


def measure_city(owners: int, side: int, repeats: int) -> list[BenchRow]:
    """Return the rows of a city of so many owners with 20 records each, and of so many cells a side."""
    records = synthesize(owners, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        federation = Federation(records, ledger=Path(folder) / "ledger.db")
        grid = federation.public_map.grid(side, side)
        reference = "DuckDB, exact and non-private, GROUP BY of the same cells, 2 threads"
        reference_s = _duckdb_seconds(records, grid, repeats=repeats)
        query = RangeQuery("count", grid, Epsilon.of(EPSILON))
        exact_s = median_seconds(lambda: total_units(records, query, federation.public_map), repeats=repeats)
        rows = [BenchRow(f"exact part, {owners:,} owners", exact_s, peak_mb(), reference, reference_s)]
        for method, how in {"cohorts of 50": {"method": "cohorts"}, "mpc": {"method": "mpc"}}.items():
            rows.append(_row(f"{method}, {owners:,} owners", federation, how, side, (reference, reference_s), repeats))
        return [*rows, *_published_rows(federation, records, owners, reference, reference_s, repeats)]


def _published_rows(
    federation: Federation, records: Records, owners: int, reference: str, reference_s: float, repeats: int
) -> list[BenchRow]:
    """Return the rows of a published map, and of an answer that is read from it."""
    said: dict[str, Any] = {"epsilon": EPSILON, "method": "mpc", "records": 20 * owners, "most_cells": MOST_PUBLISHED}
    made = federation.publish(**said)
    publish_s = median_seconds(lambda: federation.publish(**said, fresh=True), repeats=1 if repeats == 1 else 2)
    counts = {"noises": made.noises, "cells": made.bins, "masks": "left out"}
    whole = BenchRow(f"published, {owners:,} owners, both rounds", publish_s, peak_mb(), reference, reference_s, counts)
    west, south, east, north = federation.public_map.domain.sides
    circle = Circle((west + east) / 2, (south + north) / 2, 1_000)
    made.count(circle)
    free_s = median_seconds(lambda: made.count(circle), repeats=max(repeats, 3))
    exact_s = _duckdb_circle_seconds(records, circle, repeats=repeats)
    beside = "DuckDB, exact and non-private, the same circle, 2 threads"
    return [whole, BenchRow(f"free answer, {owners:,} owners, 1 km", free_s, peak_mb(), beside, exact_s)]


def measure_masked(owners: int, side: int, repeats: int) -> list[BenchRow]:
    """Return the row of a masked map whose masks are all made."""
    with tempfile.TemporaryDirectory() as folder:
        records, ledger = synthesize(owners, seed=1), Path(folder) / "ledger.db"
        federation = Federation(records, unit="owner", max_records=20, ledger=ledger)
        plain = median_seconds(_asker(federation, {"method": "dp"}, side), repeats=repeats)
        case = f"mpc with masks, {owners:,} owners"
        return [_row(case, federation, {"method": "mpc"}, side, ("by dp", plain), repeats)]


def _row(
    case: str, federation: Federation, how: dict[str, Any], side: int, reference: tuple[str, float], repeats: int
) -> BenchRow:
    ask = _asker(federation, how, side)
    made = ask()
    terms = MaskSettings().terms(made.owners if how["method"] == "mpc" else COHORT_SIZE)
    return BenchRow(
        case=f"{case}, {side}x{side} cells",
        ours_s=median_seconds(ask, repeats=repeats),
        peak_mb=peak_mb(),
        reference=reference[0],
        reference_s=reference[1],
        more={
            "noises": made.noises,
            "bytes_per_owner": word_bytes(made.query, federation.protection, terms) * made.bins,
            "masks": "left out" if any("masks were left out" in note for note in made.notes) else "made",
        },
    )


def _asker(federation: Federation, how: dict[str, Any], side: int) -> Any:
    return lambda: federation.map(grid=(side, side), epsilon=EPSILON, fresh=True, **how)


def _duckdb_circle_seconds(records: Records, circle: Circle, *, repeats: int) -> float:
    connection = _loaded(records)
    question = "SELECT count(*) FROM records WHERE (x - ?) * (x - ?) + (y - ?) * (y - ?) < ?"
    values = [circle.x, circle.x, circle.y, circle.y, circle.radius**2]
    return median_seconds(lambda: connection.execute(question, values).fetchall(), repeats=repeats)


def _loaded(records: Records) -> Any:
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect(config={"threads": 2})
    connection.register("arrow_records", pa.table({"x": records.x, "y": records.y}))
    connection.execute("CREATE TABLE records AS SELECT * FROM arrow_records")
    return connection


def _duckdb_seconds(records: Records, grid: Grid, *, repeats: int) -> float:
    connection = _loaded(records)
    west, south, _, _ = grid.box.sides
    wide, high = grid.box.width / grid.columns, grid.box.height / grid.rows
    cell = "floor((y - ?) / ?)::INTEGER * ? + floor((x - ?) / ?)::INTEGER"
    question = f"SELECT {cell} AS cell, count(*) FROM records GROUP BY cell"  # noqa: S608  our own words
    values = [south, high, grid.columns, west, wide]

    def ask() -> object:
        return connection.execute(question, values).fetchall()

    ask()
    return median_seconds(ask, repeats=repeats)
