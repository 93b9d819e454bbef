"""How good published maps are: errors, coverage of intervals, and from how many questions on they beat asking.

Everything is measured against the truth, so nothing here is private; noise is drawn with numpy from the law of the sum.
New York and the synthetic cities are those that constants were chosen on; Foursquare's two cities were set aside.

Answers of one map share its noise, and questions about one place share what is uneven there: few maps, or few places,
would make coverage a matter of luck. So there are many maps, and each is asked about places of its own.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.maps.answering import Atlas
from fedgroup.maps.free import nothing_note
from fedgroup.maps.intervals import interval_of, rough_note
from fedgroup.maps.publishing import Publication, Released
from fedgroup.maps.sizing import MapSizes
from fedgroup.maps.unevenness import Unevenness
from fedgroup.privacy.law import NoiseSum
from fedgroup.space import Box, Circle, Grid, PublicMap, Range, Rectangle

Floats = npt.NDArray[np.float64]

EPSILONS = (0.1, 0.3, 1.0, 2.0)
NOISES = (1, 10, 142, 7_115)
RADII_M = (200, 500, 2_000, 5_000)
SIDES_M = {"small": (500, 1_500), "medium": (3_000, 6_000), "large": (12_000, 24_000)}
SCENES = {
    "New York, Gowalla": ("gowalla_nyc_u7115.parquet", (-74.26, 40.48, -73.70, 40.92), True),
    "New York, Foursquare": ("foursquare_us_u7642.parquet", (-74.26, 40.48, -73.70, 40.92), False),
    "San Francisco, Foursquare": ("foursquare_us_u7642.parquet", (-122.6, 37.2, -121.7, 38.0), False),
}
"""Files of check-ins, the domain, and whether constants were chosen on it."""
UNEVEN = {"synthetic, even": 0.35, "synthetic, clumped": 0.8}
"""Synthetic cities, by how unevenly quarters of quarters share records."""
HELD = (0.93, 0.99)
"""Between these a 95 % interval ought to hold the truth."""
_EARTH_M = 111_195.08
_FLOOR = 0.001
"""Relative errors are of no less than this share of all records."""


@dataclass(frozen=True, eq=False)
class MapScene:
    """A city on a plane, in metres, and the questions to each map of it with their true answers."""

    name: str
    tuned: bool
    x: Floats
    y: Floats
    domain: Box
    asked: Sequence[Sequence[tuple[str, Range]]]
    truth: Floats

    @property
    def kinds(self) -> npt.NDArray[np.str_]:
        """The kinds of the questions to one map, which are those to every map."""
        return np.array([kind for kind, _ in self.asked[0]])


@dataclass(frozen=True)
class MapRow:
    """How well one kind of questions was answered at one setting.

    `first_error` is the mean absolute error without peaks, as the method was first designed; `break_even` the number of
    questions from which on asking each with a share of epsilon is worse. `rough`, `nothing` and `noted` are the shares
    of answers that say that their interval is rough, that there may be nothing, or either. `coverage` is that of so
    many `answers`; `deviation` is its standard deviation, by how much maps differ.
    """

    city: str
    tuned: bool
    noises: int
    epsilon: float
    kind: str
    true_mean: float
    error: float
    relative_error: float
    first_error: float
    first_relative_error: float
    coverage: float
    half_width: float
    rough: float
    nothing: float
    noted: float
    break_even: float
    cells: int
    answers: int
    deviation: float

    @property
    def told(self) -> bool:
        """Whether most answers say that their interval may hold more often, or less, than in 95 of 100 cases."""
        return self.noted > 0.5

    def too_often(self, *, beyond_chance: bool = False) -> bool:
        """Tell whether intervals hold in more than 99 % and most answers do not say so."""
        return not self.told and self.coverage - HELD[1] > (self._by_chance(HELD[1]) if beyond_chance else 0.0)

    def too_seldom(self, *, beyond_chance: bool = False) -> bool:
        """Tell whether intervals hold in less than 93 %."""
        return HELD[0] - self.coverage > (self._by_chance(HELD[0]) if beyond_chance else 0.0)

    def _by_chance(self, held: float) -> float:
        """Return how far chance moves a coverage in one of twenty cases; answers of a map may be alike."""
        alone = self.coverage * (1 - self.coverage) / self.answers
        alike = max(self.deviation**2 / alone, 1.0) if alone else 1.0
        return 1.645 * math.sqrt(held * (1 - held) * alike / self.answers)


def measure(data: Path | None, *, quick: bool, questions: int = 18, maps: int = 20) -> Iterator[MapRow]:
    """Yield a row for every city, number of noises, epsilon and kind of questions."""
    questions, maps = (6, 1) if quick else (questions, maps)
    for scene in scenes(data, questions=questions, maps=maps, quick=quick):
        for noises in NOISES[::2] if quick else NOISES:
            for epsilon in EPSILONS[2:3] if quick else EPSILONS:
                yield from _rows(scene, epsilon, noises)


def scenes(data: Path | None, *, questions: int, maps: int, quick: bool) -> Iterator[MapScene]:
    """Yield the cities: synthetic ones, and those of the check-ins in a folder."""
    for name, uneven in UNEVEN.items():
        x, y = cascade(5_000 if quick else 100_000, uneven, seed=1)
        yield _scene(name, True, x, y, Box(0, 0, 50_000, 50_000), (maps, questions))
    if data is None:
        return
    for name, (file, sides, tuned) in SCENES.items():
        path = data / file
        if not path.is_file():
            raise InvalidInput(f"there is no file {path}; give the folder with the check-ins")
        x, y, _, domain = plane_of(path, Box(*sides), timed=False)
        yield _scene(name, tuned, x, y, domain, (maps, questions))


def cascade(records: int, uneven: float, *, seed: int, levels: int = 11) -> tuple[Floats, Floats]:
    """Return places in a square of 50 km, of which quarters share records as unevenly as v says, at all scales."""
    rng = np.random.default_rng(seed)
    shares = np.ones((1, 1))
    for _ in range(levels):
        side = len(shares)
        four = rng.dirichlet([(1 / uneven - 1) / 4] * 4, size=side * side).reshape(side, side, 2, 2)
        shares = (shares[:, :, None, None] * four).transpose(0, 2, 1, 3).reshape(2 * side, 2 * side)
    counts = rng.multinomial(records, (shares / shares.sum()).ravel())
    row, column = np.divmod(np.repeat(np.arange(counts.size), counts), len(shares))
    step = 50_000 / len(shares)
    return (column + rng.uniform(size=records)) * step, (row + rng.uniform(size=records)) * step


def published(scene: MapScene, epsilon: float, noises: int, *, seed: int) -> Publication:
    """Return a map of a city, with noise drawn from the law of the sum of so many noises."""
    sizes = MapSizes(scene.domain, Epsilon.of(epsilon), noises, len(scene.x))
    going, rng = Publication(sizes), np.random.default_rng(seed)
    for law in sizes.laws:
        question = going.next_question
        assert question is not None  # noqa: S101  there are three
        bins: Any = question.range
        exact = np.bincount(
            bins.cell_of(scene.x, scene.y), minlength=bins.cells if isinstance(bins, Grid) else len(bins)
        )
        up, down = rng.negative_binomial(noises, 1 - law.a, (2, len(exact)))
        going = going.after(Released(exact + up - down, noises))
    return going


def write(rows: Sequence[MapRow], folder: Path) -> list[Path]:
    """Write rows as a sheet, and their tables as a page."""
    folder.mkdir(parents=True, exist_ok=True)
    sheet, page = folder / "published-maps.csv", folder / "published-maps.md"
    with sheet.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [each.name for each in fields(MapRow)])
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in asdict(row).items()} for row in rows)
    page.write_text(tables(rows), encoding="utf-8")
    return [page, sheet]


def tables(rows: Sequence[MapRow]) -> str:
    """Return the tables of errors, of coverage and of break-even numbers, as Markdown."""
    text = ["# Published maps, measured", ""]
    for city in dict.fromkeys(row.city for row in rows):
        mine = [row for row in rows if row.city == city]
        aside = "" if mine[0].tuned else " (set aside: no constant was chosen on it)"
        kinds = list(dict.fromkeys(row.kind for row in mine))
        text += [f"## {city}{aside}", "", _errors(mine, kinds), "", _coverage(mine, kinds), ""]
    return "\n".join(text)


def _errors(rows: Sequence[MapRow], kinds: Sequence[str]) -> str:
    near = [kind for kind in kinds if not kind.startswith("anywhere")]
    head = ["noises", "epsilon", "first design", "now", *near, "break-even"]
    lines = [_line(head), _line(["---"] * len(head))]
    for (noises, epsilon), mine in _settings(rows).items():
        chosen = [row for row in mine if row.kind in near]
        means = [
            float(np.mean([getattr(row, name) for row in chosen]))
            for name in ("first_relative_error", "relative_error")
        ]
        even = [round(row.break_even) for row in chosen]
        errors = [f"{row.error:.0f} of {row.true_mean:.0f}" for row in chosen]
        lines.append(_line([noises, epsilon, *(f"{mean:.2%}" for mean in means), *errors, f"{min(even)}-{max(even)}"]))
    return "Mean relative errors, and mean absolute errors by kind of question:\n\n" + "\n".join(lines)


def _coverage(rows: Sequence[MapRow], kinds: Sequence[str]) -> str:
    head = ["noises", "epsilon", *kinds]
    lines = [_line(head), _line(["---"] * len(head))]
    for (noises, epsilon), mine in _settings(rows).items():
        told = [f"{row.coverage:.2f}{'*' if row.told else ''}" for row in mine]
        lines.append(_line([noises, epsilon, *told]))
    lines.append(_line(["all", "without *", *(_together(rows, kind) for kind in kinds)]))
    note = (
        "* most answers said that their range may hold nothing, that it is small against the cells it cuts, or that "
        "the map has too few cells."
    )
    return "How often the 95 % interval held the truth:\n\n" + "\n".join(lines) + f"\n\n{note}\n\n{_outside(rows)}"


def _together(rows: Sequence[MapRow], kind: str) -> str:
    """Return the mean coverage of a kind of questions over all settings where most answers carry no note."""
    found = [row.coverage for row in rows if row.kind == kind and not row.told]
    return f"{np.mean(found):.3f}" if found else "-"


def _outside(rows: Sequence[MapRow]) -> str:
    """Return how many settings are outside of what a 95 % interval ought to hold, by count and by more than chance."""
    above, below = (
        [sum(tell(row, beyond_chance=beyond) for row in rows) for beyond in (False, True)]
        for tell in (MapRow.too_often, MapRow.too_seldom)
    )
    starred = sum(row.told for row in rows if row.too_seldom())
    nothing, rough, noted = (np.mean([getattr(row, name) for row in rows]) for name in ("nothing", "rough", "noted"))
    return (
        f"Of {len(rows)} settings {below[0]} hold in less than {HELD[0]}, {starred} of them with a star and {below[1]} "
        f"by more than chance; {above[0]} without a star in more than {HELD[1]}, {above[1]} by more than chance. Of "
        f"all answers {nothing:.0%} said that there may be nothing, {rough:.0%} that they are rough or guess, "
        f"{noted:.0%} either."
    )


def _settings(rows: Sequence[MapRow]) -> dict[tuple[int, float], list[MapRow]]:
    found: dict[tuple[int, float], list[MapRow]] = {}
    for row in rows:
        found.setdefault((row.noises, row.epsilon), []).append(row)
    return found


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _rows(scene: MapScene, epsilon: float, noises: int) -> Iterator[MapRow]:
    plane, kinds = PublicMap(scene.domain), scene.kinds
    found: list[Any] = []
    for number, (asked, truth) in enumerate(zip(scene.asked, scene.truth.tolist(), strict=True)):
        going = published(scene, epsilon, noises, seed=1_000 + number)
        made, first = (Atlas(going.reconstruct(peaks=peaks), plane) for peaks in (True, False))
        uneven = Unevenness.learnt(made.made)
        answers = []
        for (_, about), true in zip(asked, truth, strict=True):
            weights = made.weights(about)
            one = interval_of(made, weights, uneven, noises=noises)
            off, before = (abs(max(value, 0.0) - true) for value in (one.value, first.value(weights)))
            held, half = one.low <= true <= one.high, (one.high - one.low) / 2
            rough, nothing = bool(rough_note(one, uneven)), bool(nothing_note((one.low, one.high)))
            answers.append((off, before, held, half, rough, nothing, rough or nothing, len(going.cut)))
        found.append(answers)
    each = np.array(found, dtype=float)
    least = np.maximum(scene.truth, _FLOOR * len(scene.x))
    law = NoiseSum(MapSizes(scene.domain, Epsilon.of(epsilon), noises, len(scene.x)).laws[2], noises)
    one_question = law.mean_absolute() * 0.75
    for kind in dict.fromkeys(kinds.tolist()):
        mine = kinds == kind
        error, first_error, coverage, half, rough, nothing, noted, cells = each[:, mine].mean(axis=(0, 1)).tolist()
        relative, before = (float((each[:, mine, at] / least[:, mine]).mean()) for at in (0, 1))
        yield MapRow(
            city=scene.name,
            tuned=scene.tuned,
            noises=noises,
            epsilon=epsilon,
            kind=kind,
            true_mean=float(scene.truth[:, mine].mean()),
            error=error,
            relative_error=relative,
            first_error=first_error,
            first_relative_error=before,
            coverage=coverage,
            half_width=half,
            rough=rough,
            nothing=nothing,
            noted=noted,
            break_even=error / one_question,
            cells=round(cells),
            answers=each[:, mine, 0].size,
            deviation=float(each[:, mine, 2].mean(axis=1).std(ddof=1)) / math.sqrt(len(each)) if len(each) > 1 else 0.0,
        )


def _scene(name: str, tuned: bool, x: Floats, y: Floats, domain: Box, many: tuple[int, int]) -> MapScene:
    maps, questions = many
    asked = [list(_questions(x, y, domain, questions, seed=21 + number)) for number in range(maps)]
    plane = PublicMap(domain)
    truth = np.array([[plane.contains(each, x, y).sum() for _, each in some] for some in asked], dtype=float)
    return MapScene(name, tuned, x, y, domain, asked, truth)


def _questions(x: Floats, y: Floats, domain: Box, many: int, *, seed: int) -> Iterator[tuple[str, Range]]:
    """Yield circles and rectangles near records, as people ask about busy places, and circles anywhere."""
    rng = np.random.default_rng(seed)

    def near(reach: float) -> tuple[float, float]:
        at, angle, far = rng.integers(len(x)), rng.uniform(0, 2 * np.pi), reach * np.sqrt(rng.uniform())
        return float(x[at] + far * np.cos(angle)), float(y[at] + far * np.sin(angle))

    for radius in RADII_M:
        for _ in range(many):
            yield f"circle {radius} m", Circle(*near(radius / 2), radius)
    for size, sides in SIDES_M.items():
        for _ in range(many):
            wide, high = rng.uniform(*sides, 2)
            at_x, at_y = near(min(wide, high) / 2)
            west, south = max(0.0, at_x - wide / 2), max(0.0, at_y - high / 2)
            east, north = min(domain.east, at_x + wide / 2), min(domain.north, at_y + high / 2)
            yield f"{size} rectangle", Rectangle(west, south, max(west + 1, east), max(south + 1, north))
    for radius in RADII_M:
        for _ in range(many):
            place = rng.uniform(domain.west, domain.east), rng.uniform(domain.south, domain.north)
            yield f"anywhere, {radius} m", Circle(*place, radius)


def plane_of(path: Path, box: Box, *, timed: bool = True) -> tuple[Floats, Floats, npt.NDArray[np.int64], Box]:
    """Return the check-ins of a domain in metres from its south-west corner, and their seconds if `timed`."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["lon", "lat", *(["t"] if timed else [])])
    lon, lat = (table[name].to_numpy() for name in ("lon", "lat"))
    inside = box.contains(lon, lat)
    across = _EARTH_M * np.cos(np.radians((box.south + box.north) / 2))
    x, y = (lon[inside] - box.west) * across, (lat[inside] - box.south) * _EARTH_M
    time = table["t"].to_numpy()[inside].astype(np.int64) if timed else np.zeros(0, dtype=np.int64)
    return x, y, time, Box(0, 0, box.width * across, box.height * _EARTH_M)
