"""`fedgroup bench query`: a private count over a million owners, against DuckDB's exact, non-private one.

Every answer of ours includes its durable charge in an SQLite ledger; every question is a new one.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fedgroup.data.plans import Plan
from fedgroup.data.synthetic import synthesize
from fedgroup.federation import Federation
from fedgroup.lab.bench.measuring import BenchRow, median_seconds, peak_mb
from fedgroup.lab.bench.processes import Alone
from fedgroup.owner.records import Records
from fedgroup.space import Circle

RADIUS_M = 500.0
EPSILON = 0.3


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield a row per method, and one for a batch of questions."""
    yield from Alone(measure_city, 2_000 if quick else 1_000_000, quick).result()


def measure_city(owners: int, quick: bool) -> list[BenchRow]:
    """Return the rows of a city of so many owners."""
    records = synthesize(owners, seed=1)
    places = _places()
    reference = _duckdb_seconds(records, next(places), repeats=1 if quick else 9)
    with tempfile.TemporaryDirectory() as folder:
        federation = Federation(records, ledger=Path(folder) / "ledger.db")
        plan = federation.group(epsilon=EPSILON, false_cells=1)
        ways: dict[str, dict[str, Any]] = {
            "fedgroup, topcell": {"plan": plan},
            "dp": {"method": "dp"},
            "cohorts of 50": {"method": "cohorts"},
            "mpc": {"method": "mpc"},
        }
        rows = [_row(name, federation, places, how, reference, quick) for name, how in ways.items()]
        return [*rows, _batch_row(federation, places, plan, rows[0].ours_s, quick)]


def _row(
    name: str, federation: Federation, places: Iterator[Circle], how: dict[str, Any], reference: float, quick: bool
) -> BenchRow:
    ask = _asker(federation, places, how)
    for _ in range(4):
        ask()
    answer = ask()
    return BenchRow(
        case=f"{name}, {answer.owners:,} owners",
        ours_s=median_seconds(ask, repeats=1 if quick else 15),
        peak_mb=peak_mb(),
        reference="DuckDB, exact and non-private, the same records in memory, 2 threads",
        reference_s=reference,
        more={"groups": answer.groups, "in_group": answer.in_group},
    )


def _asker(federation: Federation, places: Iterator[Circle], how: dict[str, Any]) -> Callable[[], Any]:
    return lambda: federation.count(next(places), epsilon=EPSILON, **how)


def _batch_row(
    federation: Federation, places: Iterator[Circle], plan: Plan, one_by_one: float, quick: bool
) -> BenchRow:
    size = 10 if quick else 1_000

    def ask() -> None:
        federation.count_many(list(itertools.islice(places, size)), epsilon=EPSILON, plan=plan)

    return BenchRow(
        case=f"fedgroup, {size:,} questions in a batch, each",
        ours_s=median_seconds(ask, repeats=1 if quick else 3) / size,
        peak_mb=peak_mb(),
        reference="the same, one by one",
        reference_s=one_by_one,
    )


def _places() -> Iterator[Circle]:
    """Yield circles over the inner city, no two alike."""
    for i in itertools.count():
        yield Circle(8_000 + 37.0 * (i % 101) + i * 1e-6, 8_000 + 41.0 * (i % 97), RADIUS_M)


def _duckdb_seconds(records: Records, circle: Circle, *, repeats: int) -> float:
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect(config={"threads": 2})
    table = pa.table({"owner": records.code, "x": records.x, "y": records.y})
    connection.register("arrow_records", table)
    connection.execute("CREATE TABLE records AS SELECT * FROM arrow_records")
    question = "SELECT count(*) FROM records WHERE (x - ?) * (x - ?) + (y - ?) * (y - ?) < ? * ?"
    values = [circle.x, circle.x, circle.y, circle.y, circle.radius, circle.radius]

    def ask() -> object:
        return connection.execute(question, values).fetchone()

    ask()
    return median_seconds(ask, repeats=repeats)
