"""`fedgroup bench setup`: grouping of many owners, against reading their file."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedgroup.data.files import read
from fedgroup.data.synthetic import write_synthetic
from fedgroup.federation import Federation
from fedgroup.lab.bench.measuring import BenchRow, peak_mb
from fedgroup.lab.bench.processes import Alone


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield a row for `topcell` over all owners, and one for the `thresholded` graph of a tenth of them."""
    owners = 2_000 if quick else 1_000_000
    yield Alone(measure_grouping, owners, {"graph": "topcell"}).result()
    yield Alone(measure_grouping, owners // 10, {"graph": "noisy", "estimate": "thresholded"}).result()


def measure_grouping(owners: int, settings: dict[str, Any]) -> BenchRow:
    """Return how long grouping takes, against reading the owners' Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "city.parquet"
        write_synthetic(path, owners=owners, records_per_owner=20, seed=1)
        began = time.perf_counter()
        records = read(path)
        reading = time.perf_counter() - began
    _warm_up(settings)
    began = time.perf_counter()
    plan = Federation(records).group(epsilon=0.3, **settings)
    return BenchRow(
        case=f"{settings.get('estimate', settings['graph'])}, {owners:,} owners x 20 records, 100 cells",
        ours_s=time.perf_counter() - began,
        peak_mb=peak_mb(),
        reference="reading the Parquet file",
        reference_s=reading,
        more={"groups": plan.groups, "edges": plan.grouping.edges},
    )


def _warm_up(settings: dict[str, Any]) -> None:
    """Compile the kernels on a village first."""
    from fedgroup.data.synthetic import synthesize

    Federation(synthesize(100)).group(epsilon=0.3, **settings)
