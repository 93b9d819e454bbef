"""What an owner agrees to: its own rules, checked before anything is counted. No message changes them."""

from __future__ import annotations

from dataclasses import dataclass

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages import RangeQuery
from fedgroup.messages.asked import Describe, Offer
from fedgroup.space import Circle, PublicMap, Rectangle
from fedgroup.space.geodesy import geodesic_m

KINDS = ("count", "sum", "avg")
MODES = ("trusted", "masked")


@dataclass(frozen=True)
class Policy:
    """An owner's veto, in numbers.

    highest_epsilon   the most a single question may cost
    highest_setup     the most a noisy vector may cost; None: as a question
    kinds, modes      the questions it answers, and the groups it joins; trusted groups show its leader exact answers
    fewest_members    the fewest members of a masked group, itself included
    smallest_radius   in units of the map, metres if it is in degrees; of other ranges, half their shorter side
    attributes        the columns that may be summed; None: all that the silo has
    comparisons       how many secure comparisons it takes part in per epoch; each shows one exact bit
    """

    highest_epsilon: Epsilon = Epsilon(1_000_000_000)  # noqa: RUF009  frozen
    highest_setup: Epsilon | None = None
    kinds: tuple[str, ...] = KINDS
    modes: tuple[str, ...] = ("masked",)
    fewest_members: int = 3
    smallest_radius: float = 0.0
    attributes: tuple[str, ...] | None = None
    comparisons: int = 0
    paused: bool = False

    def __post_init__(self) -> None:
        if not set(self.kinds) <= set(KINDS) or not set(self.modes) <= set(MODES):
            raise InvalidInput(f"kinds are of {', '.join(KINDS)}, modes of {', '.join(MODES)}")
        if self.fewest_members < 2 or self.smallest_radius < 0 or self.comparisons < 0:
            raise InvalidInput("fewest_members is at least 2, smallest_radius and comparisons are at least 0")

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
        return "radius" if _radius(query, public_map) < self.smallest_radius else None

    def against_vector(self, asked: Describe) -> str | None:
        """Return the reason to refuse to be described, None if there is none."""
        if self.paused:
            return "paused"
        highest = self.highest_epsilon if self.highest_setup is None else self.highest_setup
        return "epsilon" if asked.epsilon_nano > highest.nano else None

    def against_group(self, offer: Offer) -> str | None:
        """Return the reason to refuse a group, None if there is none."""
        if self.paused:
            return "paused"
        if offer.mode not in self.modes:
            return "mode"
        members = len(offer.certificates)
        return "members" if offer.mode == "masked" and members < self.fewest_members else None


def _radius(query: RangeQuery, public_map: PublicMap) -> float:
    asked = query.range
    if isinstance(asked, Circle):
        return asked.radius
    sides = (asked.west, asked.south, asked.east, asked.north) if isinstance(asked, Rectangle) else asked.shape.bounds
    west, south, east, north = sides
    if not public_map.lonlat:
        return min(east - west, north - south) / 2
    middle = (south + north) / 2
    return min(geodesic_m(west, middle, east, middle), geodesic_m(west, south, west, north)) / 2
