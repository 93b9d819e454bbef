"""What an owner agrees to: its own rules, checked before anything is counted. No message changes them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import shapely

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages import RangeQuery
from fedgroup.messages.asked import Describe, Offer
from fedgroup.space import Circle, PublicMap, Range, Rectangle
from fedgroup.space.geodesy import geodesic_m

KINDS = ("count", "sum", "avg")
MODES = ("trusted", "masked")
_NEARLY = 0.98
"""Circles are drawn with many corners, and on a lon/lat map slightly out of shape."""


@dataclass(frozen=True)
class Policy:
    """An owner's veto, in numbers.

    highest_epsilon   the most a single question may cost
    highest_setup     the most a noisy vector may cost; None: as a question
    kinds, modes      the questions it answers, and the groups it joins; trusted groups show its leader exact answers
    trusted_with      the owners it consents to be in trusted groups with; `*` for all
    fewest_members    the fewest members of a masked group that answer together, itself included
    fewest_colluders  the fewest members that may pool what they know without harm
    smallest_radius   of a circle that must fit into a range, in units of the map, metres if it is in degrees
    attributes        the columns that may be summed; None: all that the silo has
    comparisons       how many secure comparisons it takes part in per epoch; each shows one exact bit
    """

    highest_epsilon: Epsilon = Epsilon(1_000_000_000)  # noqa: RUF009  frozen
    highest_setup: Epsilon | None = None
    kinds: tuple[str, ...] = KINDS
    modes: tuple[str, ...] = ("masked",)
    trusted_with: tuple[str, ...] = ()
    fewest_members: int = 3
    fewest_colluders: int = 1
    smallest_radius: float = 0.0
    attributes: tuple[str, ...] | None = None
    comparisons: int = 0
    paused: bool = False

    def __post_init__(self) -> None:
        if not set(self.kinds) <= set(KINDS) or not set(self.modes) <= set(MODES):
            raise InvalidInput(f"kinds are of {', '.join(KINDS)}, modes of {', '.join(MODES)}")
        if self.fewest_members < 2 or min(self.smallest_radius, self.comparisons, self.fewest_colluders - 1) < 0:
            raise InvalidInput("fewest_members is at least 2, fewest_colluders 1, smallest_radius and comparisons 0")

    def against_question(self, query: RangeQuery, public_map: PublicMap) -> str | None:
        """Return the reason to refuse a question, None if there is none."""
        if self.paused:
            return "paused"
        if query.epsilon > self.highest_epsilon:
            return "epsilon"
        if query.kind not in self.kinds:
            return "kind"
        if self.attributes is not None and query.measure and query.measure.attribute not in self.attributes:
            return "attribute"
        return None if _holds_a_circle(query.range, self.smallest_radius, public_map) else "radius"

    def against_vector(self, asked: Describe, public_map: PublicMap) -> str | None:
        """Return the reason to refuse to be described, None if there is none: a vector is a count of every cell."""
        if self.paused:
            return "paused"
        highest = self.highest_epsilon if self.highest_setup is None else self.highest_setup
        if asked.epsilon_nano > highest.nano:
            return "epsilon"
        if "count" not in self.kinds:
            return "kind"
        grid = public_map.grid(asked.columns, asked.rows)
        cells = [
            Rectangle(float(w), float(s), float(e), float(n))
            for s, n in (grid.y_edges[:2], grid.y_edges[-2:])
            for w, e in (grid.x_edges[:2],)
        ]
        return None if all(_holds_a_circle(cell, self.smallest_radius, public_map) for cell in cells) else "radius"

    def against_group(self, offer: Offer) -> str | None:
        """Return the reason to refuse a group, None if there is none."""
        if self.paused:
            return "paused"
        if offer.mode not in self.modes:
            return "mode"
        if offer.mode == "trusted":
            return None
        few = len(offer.certificates) < self.fewest_members or offer.colluders < self.fewest_colluders
        return "members" if few else None

    def trusts(self, names: Collection[str]) -> bool:
        """Tell whether the owner consented to a trusted group with these others; `*` stands for everybody."""
        return "*" in self.trusted_with or set(names) <= set(self.trusted_with)


def _holds_a_circle(asked: Range, radius: float, public_map: PublicMap) -> bool:
    """Tell whether a circle of this radius fits into the part of a range that lies in the domain, give or take 2 %.

    On a lon/lat map the range is looked at on a plane of metres around its middle.
    """
    if radius <= 0:
        return True
    domain = public_map.domain
    west, south, east, north = _sides(asked)
    middle, centre = (south + north) / 2, (west + east) / 2
    metres = (1.0, 1.0)
    if public_map.lonlat:
        metres = (
            geodesic_m(centre, middle, centre + 1e-3, middle) * 1e3,
            geodesic_m(centre, middle, centre, middle + 1e-3) * 1e3,
        )

    def planar(shape: shapely.Geometry) -> shapely.Geometry:
        return shapely.transform(shape, lambda xy: (xy - (centre, middle)) * metres)

    shape: shapely.Geometry
    if isinstance(asked, Circle):
        shape = shapely.Point(0, 0).buffer(asked.radius, quad_segs=64)
    else:
        shape = planar(shapely.box(*asked.box.sides) if isinstance(asked, Rectangle) else asked.shape)
    turns = (-360.0, 0.0, 360.0) if public_map.lonlat else (0.0,)
    inside = [
        shapely.intersection(shape, planar(shapely.box(domain.west + t, domain.south, domain.east + t, domain.north)))
        for t in turns
    ]
    return any(not shapely.is_empty(shapely.buffer(part, -radius * _NEARLY)) for part in inside)


def _sides(asked: Range) -> tuple[float, float, float, float]:
    if isinstance(asked, Circle):
        return asked.x, asked.y, asked.x, asked.y
    west, south, east, north = asked.box.sides if isinstance(asked, Rectangle) else asked.shape.bounds
    return west, south, east, north
