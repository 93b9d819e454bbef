"""How much long windows help short ones: days and months of published maps, against daily maps added up.

Everything is measured against the truth, so nothing here is private. Every record costs epsilon 1 in all: one map of
its day, or half of it for its day and half for its 28 days. Days are shaped by the 28 days *before*, as they are live.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.lab.experiments.published_maps import SCENES, plane_of
from fedgroup.maps.answering import Atlas
from fedgroup.maps.ladder import Pixels, Shaped, before, rungs, shape_of
from fedgroup.maps.publishing import Publication, Released
from fedgroup.maps.sizing import MapSizes
from fedgroup.space import Box, Circle, Grid, PublicMap

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DAYS, LONG = 448, 28
NOISES = (1, 142)
ASKED = (7, 30, 365)
RADIUS_M = 2_000.0
_DAY_S = 86_400


@dataclass(frozen=True)
class Row:
    """Mean absolute errors for windows of so many days, and what they hold: daily maps alone, and with the ladder."""

    noises: int
    days: int
    true_mean: float
    daily: float
    ladder: float


def measure(data: Path | None, *, quick: bool, seeds: int = 2, circles: int = 40, windows: int = 6) -> Iterator[Row]:
    """Yield a row for each number of noises and length of a window, on Gowalla's New York."""
    file, sides, _ = SCENES["New York, Gowalla"]
    if data is None or not (data / file).is_file():
        raise InvalidInput(f"the ladder is measured on {file}; give the folder with the check-ins: --data FOLDER")
    seeds, circles, windows = (1, 6, 2) if quick else (seeds, circles, windows)
    x, y, time, domain = plane_of(data / file, Box(*sides))
    day = DAYS - 1 - (time.max() - time) // _DAY_S
    order = np.argsort(day[day >= 0], kind="stable")
    x, y, day = x[day >= 0][order], y[day >= 0][order], day[day >= 0][order]
    start, pick = np.searchsorted(day, np.arange(DAYS + 1)), np.random.default_rng(3)
    at = pick.integers(0, len(x), circles)
    asked = [Circle(float(x[i]), float(y[i]), RADIUS_M) for i in at.tolist()]
    times = {many: pick.integers(0, DAYS - many + 1, windows).tolist() for many in ASKED}
    plane, pixels = PublicMap(domain), Pixels(domain)
    covers = [pixels.covered_by(each, plane) for each in asked]
    inside = np.array([np.concatenate([[0], np.cumsum(plane.contains(each, x, y))])[start] for each in asked])
    for noises in NOISES:
        off: dict[tuple[int, str], list[float]] = {}
        for seed in range(seeds):
            rng = np.random.default_rng((seed, noises))
            alone = _maps(x, y, start, domain, length=1, share=1.0, noises=noises, rng=rng)
            plain = np.array([[each.value(each.weights(one)) for one in asked] for each in alone])
            found = _climbed(x, y, start, domain, noises=noises, rng=rng, asked=asked, covers=covers, pixels=pixels)
            for many, begins in times.items():
                for begin in begins:
                    true = inside[:, begin + many] - inside[:, begin]
                    for name, value in (
                        ("daily", plain[begin : begin + many].sum(axis=0)),
                        ("ladder", found[0][rungs(begin, begin + many, found[1])].sum(axis=0)),
                    ):
                        off.setdefault((many, name), []).extend(np.abs(np.maximum(value, 0) - true).tolist())
        for many, begins in times.items():
            true_mean = float(np.mean([inside[:, begin + many] - inside[:, begin] for begin in begins]))
            daily, ladder = (float(np.mean(off[many, name])) for name in ("daily", "ladder"))
            yield Row(noises, many, true_mean, daily, ladder)


def table(rows: list[Row]) -> str:
    """Return the rows as Markdown."""
    lines = ["| noises | days | records | daily maps | ladder |", "| --- | --- | --- | --- | --- |"]
    told = (f"| {r.noises} | {r.days} | {r.true_mean:.0f} | {r.daily:.0f} | {r.ladder:.0f} |" for r in rows)
    return "\n".join([*lines, *told])


def _climbed(
    x: Floats, y: Floats, start: Ints, domain: Box, *, noises: int, rng: Any, asked: Any, covers: Any, pixels: Pixels
) -> tuple[Floats, list[tuple[int, int]]]:
    """Return the answers of long and short maps, half of epsilon each, and their windows in days."""
    windows = [(at, at + length) for length in (LONG, 1) for at in range(0, DAYS, length)]
    maps = [
        made
        for length in (LONG, 1)
        for made in _maps(x, y, start, domain, length=length, share=0.5, noises=noises, rng=rng)
    ]
    answers, shapes = [], {at: shape_of(made, pixels) for at, made in enumerate(maps[: DAYS // LONG])}
    for number, made in enumerate(maps):
        longer = before(number, windows)
        shaped = None if longer is None else Shaped(made, shapes[longer], pixels)
        taken = [
            made.weights(one) if shaped is None else shaped.weights(one, cover)
            for one, cover in zip(asked, covers, strict=True)
        ]
        answers.append([made.value(each) for each in taken])
    return np.array(answers), windows


def _maps(
    x: Floats, y: Floats, start: Ints, domain: Box, *, length: int, share: float, noises: int, rng: Any
) -> list[Atlas]:
    """Return a map of each window of so many days, with noise drawn from the law of the sum."""
    sizes = MapSizes(domain, Epsilon.of(share), noises, max(1, round(len(x) * length / DAYS)))
    made = []
    for first in range(0, DAYS, length):
        here = slice(start[first], start[first + length])
        going = Publication(sizes)
        for law in sizes.laws:
            question = going.next_question
            assert question is not None  # noqa: S101  there are three
            bins: Any = question.range
            many = bins.cells if isinstance(bins, Grid) else len(bins)
            exact = np.bincount(bins.cell_of(x[here], y[here]), minlength=many)
            up, down = rng.negative_binomial(noises, 1 - law.a, (2, len(exact)))
            going = going.after(Released(exact + up - down, noises))
        made.append(Atlas(going.reconstruct(), PublicMap(domain)))
    return made
