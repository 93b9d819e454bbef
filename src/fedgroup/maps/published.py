"""A published map: paid once, read for ever. Ranges, hot spots, comparisons and radii are read from it for nothing.

Guarantee: everything here is made of what was released and of public sizes. It costs nothing and can be done for ever.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import shapely

from fedgroup.epsilon import weak_notes
from fedgroup.errors import InvalidQuery
from fedgroup.given import number, whole_number, written
from fedgroup.maps.answering import Atlas
from fedgroup.maps.areas import square_km
from fedgroup.maps.free import Comparison, FreeAnswer, HotSpot, Radius, nothing_note, quantile
from fedgroup.maps.intervals import interval_of, rough_note
from fedgroup.maps.kept import publication_facts, publication_from
from fedgroup.maps.private_map import Array, PrivateMap, told_of
from fedgroup.maps.publishing import Publication
from fedgroup.maps.reconstruction import foreseen
from fedgroup.maps.sharpening import Known, agree, combined, compared
from fedgroup.maps.sizing import MapSizes
from fedgroup.maps.unevenness import Unevenness
from fedgroup.privacy.law import NoiseSum
from fedgroup.questions.answers import Answer, PrivateAnswer, Told
from fedgroup.questions.query import Measure
from fedgroup.space import Circle, PublicMap, Range, Rectangle
from fedgroup.space.blocks import Blocks
from fedgroup.space.geodesy import degrees_m
from fedgroup.space.places import Districts
from fedgroup.space.ranges import MultiPolygon, Polygon
from fedgroup.space.shapes import as_districts, as_range

CONFIDENCE = 0.95
FREE = "read from the published map: nothing was asked of anybody, nothing is charged"
_PHANTOMS = 0.1
"""Twice the chance that noise alone shows any cell of a map as more than nothing."""
_HALVINGS = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedMap(PrivateMap):
    """A map of cells that are small where records are many, with free answers about any range.

    `values` are non-negative and add up (those of signed sums may be negative); `low` and `high` hold each of them with
    95 %. `shown` tells which cells hold more than noise alone explains anywhere in the map.
    """

    publication: Publication

    # --- free answers ---------------------------------------------------------------------------------------------

    def count(self, asked: Any) -> FreeAnswer:
        """Return what lies in a range: one of ours, or a polygon of shapely, GeoJSON or GeoPandas."""
        return self._answer(as_range(asked, self.public_map))

    def sum(self, asked: Any) -> FreeAnswer:
        """Return the sum over a range, for a map of sums."""
        if self.kind != "sum":
            raise InvalidQuery(f"this map is of {self.kind}, not of sums; publish one with kind='sum'")
        return self.count(asked)

    def districts(self, districts: Any, *, names: Any = None) -> dict[str, FreeAnswer]:
        """Return what lies in every district, by their names."""
        found = districts if isinstance(districts, Districts) else as_districts(districts, self.public_map, names)
        return {name: self._answer(shape) for name, shape in zip(found.names, found.shapes_of, strict=True)}

    def total(self) -> FreeAnswer:
        """Return what lies in the whole domain."""
        return self._answer(Rectangle(*self.public_map.domain.sides))

    def compare(
        self, one: Any, other: Any, *, paid: tuple[PrivateAnswer | None, PrivateAnswer | None] = (None, None)
    ) -> Comparison:
        """Return how much more there is in one range than in another; noise that both share cancels.

        What was `paid` about one, or the other, counts together with what the map knows; a paid answer that does not
        agree with the map (`agree`) counts alone.
        """
        first, second = (self._known(*each) for each in zip((one, other), paid, strict=True))
        return compared(self.atlas, first, second, step=self.step, noises=self.noises, confidence=CONFIDENCE)

    def top(self, most: int = 10) -> list[HotSpot]:
        """Return the densest cells among those that hold more than noise alone explains, at most so many."""
        whole_number(most, name="top", least=1, refusal=InvalidQuery)
        density = np.where(self.shown, self.density, -np.inf)
        order = np.argsort(-density, kind="stable")[:most]
        names, boxes = self.names(), self.blocks.boxes
        return [
            HotSpot(
                names[at],
                Rectangle(*(float(side[at]) for side in boxes)),
                float(self.values[at]),
                (float(self.low[at]), float(self.high[at])),
                float(self.density[at]),
            )
            for at in order.tolist()
            if self.shown[at]
        ]

    def radius_holding(self, holding: float, x: float, y: float) -> Radius:
        """Return the radius around a place that holds so much, with its interval."""
        wanted = number(holding, name="what a radius holds", refusal=InvalidQuery)
        if wanted <= 0:
            raise InvalidQuery(f"a radius holds more than 0, got {written(holding)}")

        def reach(end: Any) -> float | None:
            return self._bisected(lambda radius: end(self._answer(Circle(x, y, radius))) >= wanted)

        nearest = reach(lambda answer: answer.interval[1])
        low = 0.0 if nearest is None else nearest
        return Radius(wanted, reach(lambda a: a.value), (low, reach(lambda a: a.interval[0])))

    def quantiles_of_distance(
        self, x: float, y: float, *, shares: Sequence[float] = (0.25, 0.5, 0.75), within: float | None = None
    ) -> list[Radius]:
        """Return within which distances of a place these shares lie, of all there is or of all `within` a radius."""
        whole = self.total() if within is None else self._answer(Circle(x, y, within))
        if whole.value is None or whole.value <= 0:
            raise InvalidQuery("there is nothing there, as far as this map knows")
        if not all(0 < share < 1 for share in shares):
            raise InvalidQuery("shares lie between 0 and 1")
        return [self.radius_holding(share * whole.value, x, y) for share in shares]

    def snap(self, asked: Any) -> Polygon | MultiPolygon:
        """Return the cells that a range covers by half or more, as one range: nothing in it is cut."""
        weights = self.atlas.weights(as_range(asked, self.public_map))
        whole = self.atlas.cells_of(weights.blocks[weights.share == 1.0])
        cells = np.concatenate([whole, weights.cells[weights.part >= 0.5]])
        if not len(cells):
            raise InvalidQuery("the range covers no cell of the map by half; take a larger one")
        union = shapely.union_all(shapely.box(*(side[cells] for side in self.blocks.boxes)))
        found = as_range(union, self.public_map)
        assert isinstance(found, Polygon | MultiPolygon)  # noqa: S101  a union of boxes
        return found

    def combined(self, paid: PrivateAnswer, *, free: FreeAnswer | None = None) -> FreeAnswer:
        """Return a paid answer about a range together with what the map knows of it, by inverse variances.

        The paid answer alone keeps its own interval; this one is narrower than both.
        """
        if free is None:
            if not isinstance(paid, Answer) or paid.range is None:
                raise InvalidQuery("this answer does not know its range")
            free = self._answer(paid.range)
        if paid.kind != self.kind or paid.value is None or free.value is None:
            raise InvalidQuery(f"a map of {self.kind} is combined with answers of that kind")
        return combined(paid, free, signed=self.publication.sizes.signed)

    # --- what the map is made of ----------------------------------------------------------------------------------

    @property
    def blocks(self) -> Blocks:
        """The cells."""
        return self.publication.cut

    @cached_property
    def atlas(self) -> Atlas:
        """The reconstructed map, in whole units."""
        return Atlas(self.publication.reconstruct(), self.public_map)

    @cached_property
    def unevenness(self) -> Unevenness:
        """How unevenly records lie inside cells, as the map tells itself."""
        return Unevenness.learnt(self.atlas.made)

    @property
    def step(self) -> float:
        """The value of one whole unit."""
        return step_of(self.query.measure)

    @cached_property
    def threshold(self) -> float:
        """What noise alone passes somewhere in the whole map with a chance of 5 %, in the map's values."""
        return threshold_of(self.publication) * self.step

    @cached_property
    def shown(self) -> Array:
        """Which cells hold more than noise alone explains; told by what was released, before it was made to add up."""
        noisy = self.publication.released[2].counts * self.step
        return np.abs(noisy) > self.threshold if self.publication.sizes.signed else noisy > self.threshold

    @cached_property
    def density(self) -> Array:
        """The value of every cell per square kilometre; on a plane per 1,000 x 1,000 units."""
        return self.values / square_km(self.blocks.boxes, self.public_map)

    def more_columns(self) -> dict[str, Array]:
        """Return what a table of this map has besides."""
        return {"noisy": self.publication.released[2].counts, "shown": self.shown, "density": self.density}

    def more_facts(self) -> dict[str, Any]:
        """Return what is needed to read the map back, with its table."""
        return {"published": publication_facts(self.publication, cells=False), "shown_above": self.threshold}

    def _answer(self, asked: Range) -> FreeAnswer:
        self.public_map.require_reachable(asked)
        weights = self.atlas.weights(asked)
        found = interval_of(self.atlas, weights, self.unevenness, noises=self.noises)
        told = {each.name: getattr(self, each.name) for each in fields(Told)}
        notes = (FREE, *self.notes, *rough_note(found, self.unevenness), *nothing_note((found.low, found.high)))
        told |= {"charged": 0.0, "stored": False, "seconds": 0.0, "notes": notes}
        return FreeAnswer(
            **told,
            kind=self.kind,
            # blocks may be negative, so that sums of many are not biased; what there is in a range is not
            value=(found.value if self.publication.sizes.signed else max(found.value, 0.0)) * self.step,
            interval=(found.low * self.step, found.high * self.step),
            noise=found.noise * self.step,
            uneven=found.uneven * self.step,
            range=asked,
            lonlat=self.public_map.lonlat,
        )

    def _known(self, asked: Any, paid: PrivateAnswer | None) -> Known:
        found = as_range(asked, self.public_map)
        free, weights = self._answer(found), self.atlas.weights(found)
        held = self.atlas.value(weights) * self.step
        return Known(weights, free, held, paid, alone=paid is not None and not agree(paid, free))

    def _bisected(self, holds: Any) -> float | None:
        """Return the smallest radius for which something holds; None where it holds for none on the map."""
        low, high = 0.0, farthest(self.public_map)
        if not holds(high):
            return None
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if holds(middle) else (middle, high)
            if high - low < 1e-4 * high:
                break
        return high


def published_map(
    publication: Publication,
    public_map: PublicMap,
    *,
    method: Mapping[str, Any],
    charged: float,
    notes: Iterable[str],
    **told: Any,
) -> PublishedMap:
    """Return the map that three answers stand for: a value and a 95 % interval in every cell."""
    question = publication.questions[2]
    made = publication.reconstruct()
    step = step_of(question.measure)
    half = _half_widths(Atlas(made, public_map), noises=publication.released[2].noises) * step
    values = made.cells * step
    lowest = values - half if publication.sizes.signed else np.maximum(values - half, 0.0)
    sizes = publication.sizes
    return PublishedMap(
        query=question,
        public_map=public_map,
        publication=publication,
        values=values,
        low=lowest,
        high=values + half,
        half_width_all=threshold_of(publication) * step,
        scales={question.parts[0]: float(sizes.laws[2].scale)},
        confidence=CONFIDENCE,
        epsilon=float(sizes.epsilon),
        charged=charged,
        notes=(*notes, *_map_notes(publication, public_map), *weak_notes(sizes.epsilon)),
        **method,
        **told,
    )


def published_facts(made: PublishedMap) -> dict[str, Any]:
    """Return a published map as JSON values: what was released, and what is told; the rest follows."""
    return told_of(made) | {
        "protection": made.protection,
        "published": publication_facts(made.publication),
    }


def published_from(
    facts: Mapping[str, Any], public_map: PublicMap, *, cells: Array | None = None, **changed: Any
) -> PublishedMap:
    """Return a published map from JSON values, with some of them `changed`."""
    publication = publication_from(facts["published"], public_map.domain, cells=cells)
    told = {each.name: facts[each.name] for each in fields(Told) if each.name in facts} | changed
    kept = {name: told.pop(name, None) for name in ("confidence", "epsilon", "notes")}
    how = {name: told.pop(name) for name in ("charged",)}
    made = published_map(publication, public_map, method=told, notes=(), protection=facts.get("protection", ""), **how)
    return replace(made, notes=tuple(kept["notes"] or ()))


def forecast(sizes: MapSizes, asked: Any, public_map: PublicMap, *, like: PublishedMap | None = None) -> FreeAnswer:
    """Return what a range would be like on a map that is not made yet, from its sizes alone; nothing is spent.

    Records are thought to lie as an earlier map has them (`like`), else evenly; `value` is that guess, `noise` is exact
    for it.
    """
    blocks = sizes.blocks
    counts = np.full(blocks.cells, sizes.records * sizes.unit / blocks.cells)
    if like is not None:
        cells = Blocks(sizes.domain, sizes.level, bytes(blocks.cells))
        found = np.array([_of_box(like, box) for box in _rectangles(cells)])
        counts = np.maximum(found, 0) * (sizes.records * sizes.unit / max(found.sum(), 1e-9))
    atlas = Atlas(foreseen(sizes, counts), public_map)
    flat = Unevenness.unknown()
    found_one = interval_of(atlas, atlas.weights(as_range(asked, public_map)), flat, noises=sizes.noises)
    return FreeAnswer(
        kind="count",
        value=found_one.value,
        interval=(found_one.low, found_one.high),
        noise=found_one.noise,
        uneven=found_one.uneven,
        confidence=CONFIDENCE,
        epsilon=float(sizes.epsilon),
        method="",
        in_group=None,
        trust="",
        groups=0,
        noises=sizes.noises,
        owners=0,
        heard=0,
        missing=0,
        private=True,
        notes=("a forecast: nothing was spent",),
    )


def threshold_of(publication: Publication) -> float:
    """Return what noise alone passes in the whole map with a chance of 5 %, in whole units."""
    cells = publication.released[2]
    law = NoiseSum(publication.sizes.laws[2], cells.noises)
    return law.half_width(1 - _PHANTOMS / len(publication.cut))


def farthest(public_map: PublicMap) -> float:
    """Return a radius that reaches from anywhere over the whole domain."""
    west, south, east, north = public_map.domain.sides
    if not public_map.lonlat:
        return math.hypot(east - west, north - south) * 2
    across, up = degrees_m(min(abs(south), abs(north)))
    return math.hypot((east - west) * across, (north - south) * up)


def stretch_of(public_map: PublicMap) -> float:
    """Return by which share the widths of cells differ in metres over a domain in degrees."""
    if not public_map.lonlat:
        return 0.0
    _, south, _, north = public_map.domain.sides
    widths = [math.cos(math.radians(lat)) for lat in (south, north, min(max(0.0, south), north))]
    return max(widths) / max(min(widths), 1e-9) - 1


def _map_notes(publication: Publication, public_map: PublicMap) -> list[str]:
    notes = []
    if publication.subject.kind == "people":
        notes.append("each subject is counted once, at its first place: this is no count of who was ever in a cell")
    stretch = stretch_of(public_map)
    if stretch:
        notes.append(f"cells are equal in degrees; their widths in metres differ by up to {stretch:.1%}")
    heard = {each.heard for each in publication.released}
    if len(heard) > 1:
        notes.append("the second round heard other owners than the first, which therefore only shapes the cells")
    return notes


def _half_widths(atlas: Atlas, *, noises: float) -> Array:
    """Return how far noise moves each cell in 95 %, as least squares leave it."""
    made = atlas.made
    cells = np.power(4.0, made.cut.depth)
    own = made.variances[2] * (1 - 1 / cells)
    coarse, together = atlas.coarse
    tied = made.block_variance / cells**2
    known = made.block_variance / together[coarse]
    # a block's own count, less what the coarse grid knows of it
    of_block = tied * (1 - known) + made.coarse_variance[coarse] * (known / cells) ** 2
    half: Array = quantile(3 / max(noises, 1)) * np.sqrt(own + of_block)
    return half[made.cut.block_of]


def _rectangles(blocks: Blocks) -> list[Rectangle]:
    return [Rectangle(*sides) for sides in zip(*(side.tolist() for side in blocks.boxes), strict=True)]


def _of_box(made: PublishedMap, box: Rectangle) -> float:
    return made.atlas.value(made.atlas.weights(box))


def step_of(measure: Measure | None) -> float:
    """Return the value of one whole unit."""
    return 1.0 if measure is None else float(measure.step)
