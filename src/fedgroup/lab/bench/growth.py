"""`fedgroup bench growth`: how a question and grouping grow with the number of owners; linear is the promise."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

from fedgroup.data.synthetic import synthesize
from fedgroup.federation import Federation
from fedgroup.lab.bench.measuring import BenchRow, median_seconds, peak_mb
from fedgroup.lab.bench.processes import Alone
from fedgroup.space import Circle


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield two rows per size; the reference is ten times what a tenth of the owners took."""
    sizes = (200, 2_000) if quick else (10_000, 100_000, 1_000_000)
    before: tuple[float, float] | None = None
    for owners in sizes:
        query, grouping, peak = Alone(measure_size, owners).result()
        for at, (name, seconds) in enumerate((("a question by dp", query), ("topcell grouping", grouping))):
            linear = None if before is None else 10 * before[at]
            told = None if before is None else "ten times the time of a tenth of the owners"
            yield BenchRow(f"{name}, {owners:,} owners", seconds, peak, told, linear, {"owners": owners})
        before = (query, grouping)


def measure_size(owners: int) -> tuple[float, float, float]:
    """Return the seconds of a question and of grouping, and the peak of memory."""
    Federation(synthesize(100)).group(epsilon=0.3)
    federation = Federation(synthesize(owners, seed=1))
    began = time.perf_counter()
    federation.group(epsilon=0.3)
    grouping = time.perf_counter() - began
    numbers = itertools.count()

    def ask() -> object:
        return federation.count(Circle(10_000 + next(numbers), 10_000, 500), epsilon=0.3)

    for _ in range(4):
        ask()
    return median_seconds(ask, repeats=9), grouping, peak_mb()
