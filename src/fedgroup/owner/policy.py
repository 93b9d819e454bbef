"""What an owner agrees to: its own rules, checked before anything is counted. No message changes them.

Guarantee: every part of a range that is answered has room for circles of `smallest_radius` (`space/room.py`), and every
           time window that is answered is at least `shortest_window` long up to now.
Not covered: whether anything is in the rest of a range or a window, and what two allowed answers tell together: each is
             charged, and the cap is what holds. See docs/guarantees.md#a-live-federation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages.asked import Describe, Offer
from fedgroup.messages.limits import MOST_WORDS
from fedgroup.questions.kinds import KINDS
from fedgroup.questions.methods import MODES
from fedgroup.questions.query import RangeQuery
from fedgroup.rho import Rho
from fedgroup.space import PublicMap, Range
from fedgroup.space.places import Places, smallest_of
from fedgroup.space.room import has_room

_MOST_RECORDS = 1 << 40
_SECOND = 1_000_000
"""In microseconds, as questions tell times."""


@dataclass(frozen=True)
class Policy:
    """An owner's veto, in numbers.

    highest_epsilon   the most a single question may cost; of one for a rho, half the square of it
    highest_setup     the most a noisy vector may cost; None: as a question
    kinds, modes      the questions it answers, and the groups it joins; trusted groups show its leader exact answers
    trusted_with      the owners it consents to be in trusted groups with; `*` for all
    fewest_members    the fewest members of a masked group that answer together, itself included
    fewest_colluders  the fewest members that may pool what they know without harm
    smallest_radius   of a circle that every part of a range has room for, in the map's units, metres if in degrees
    smallest_cell     of a square that every place of a map has room for, in the map's units, metres if in degrees
    most_bins         the most bins of one question
    most_records      the most records it counts in one bin, told to all: more count as so many; None: no bound
    shortest_window   the least length of a time window, and of each of its steps, in seconds
    complete_after    how many seconds ago a question's time must be over by the owner's own clock; None: it need not
    attributes        the columns that may be summed; None: all that the silo has
    tell_left         whether the provider is told what is left of its cap; no answer depends on it
    comparisons       how many secure comparisons it takes part in per epoch; each shows one exact bit
    now               what tells the seconds since 1970: a time window ends there at the latest; None: it does not
    """

    highest_epsilon: Epsilon = Epsilon(1_000_000_000)  # noqa: RUF009  frozen
    highest_setup: Epsilon | None = None
    kinds: tuple[str, ...] = tuple(KINDS)
    modes: tuple[str, ...] = ("masked",)
    trusted_with: tuple[str, ...] = ()
    fewest_members: int = 3
    fewest_colluders: int = 1
    smallest_radius: float = 0.0
    smallest_cell: float = 0.0
    most_bins: int = MOST_WORDS
    most_records: int | None = None
    shortest_window: float = 0.0
    complete_after: float | None = None
    attributes: tuple[str, ...] | None = None
    tell_left: bool = False
    comparisons: int = 0
    paused: bool = False
    now: Callable[[], float] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not set(self.kinds) <= set(KINDS) or not set(self.modes) <= set(MODES):
            raise InvalidInput(f"kinds are of {', '.join(KINDS)}, modes of {', '.join(MODES)}")
        if self.fewest_members < 2 or min(self.comparisons, self.fewest_colluders - 1) < 0:
            raise InvalidInput("fewest_members is at least 2, fewest_colluders 1, comparisons 0")
        least = (self.smallest_radius, self.smallest_cell, self.shortest_window, self.complete_after or 0.0)
        if not all(0 <= each < math.inf for each in least):
            names = "smallest_radius, smallest_cell, shortest_window and complete_after"
            raise InvalidInput(f"{names} are at least 0, and finite")
        if self.most_bins < 1:
            raise InvalidInput("most_bins is at least 1")
        if self.most_records is not None and not 1 <= self.most_records < _MOST_RECORDS:
            raise InvalidInput(f"most_records is at least 1 and below {_MOST_RECORDS}")

    def against_question(self, query: RangeQuery, public_map: PublicMap) -> str | None:
        """Return the reason to refuse a question, None if there is none."""
        if self.paused:
            return "paused"
        if query.epsilon > self.highest_epsilon if query.rho is None else query.rho > Rho.of_pure(self.highest_epsilon):
            return "epsilon"
        if query.kind not in self.kinds:
            return "kind"
        if self.attributes is not None and query.measure and query.measure.attribute not in self.attributes:
            return "attribute"
        if query.by is not None and self.attributes is not None and query.by.attribute not in self.attributes:
            return "attribute"
        if query.bins > self.most_bins:
            return "bins"
        if self._is_short(query.since, query.until) or self._has_short_step(query):
            return "window"
        if self._is_open(query):
            return "incomplete"
        return None if self._has_room(query.range, public_map) else "radius"

    def _has_room(self, places: Places, public_map: PublicMap) -> bool:
        """Tell whether every place is large enough for a circle; of a map also for that in a smallest cell."""
        if isinstance(places, Range):
            return has_room(places, self.smallest_radius, public_map)
        least = max(self.smallest_radius, self.smallest_cell / 2)
        return least == 0 or all(has_room(each, least, public_map) for each in smallest_of(places))

    def against_vector(self, asked: Describe, public_map: PublicMap) -> str | None:
        """Return the reason to refuse to be described, None if there is none: a vector is a count of every cell."""
        if self.paused:
            return "paused"
        highest = self.highest_epsilon if self.highest_setup is None else self.highest_setup
        if asked.epsilon_nano > highest.nano:
            return "epsilon"
        if "count" not in self.kinds:
            return "kind"
        return None if self._has_room(public_map.grid(asked.columns, asked.rows), public_map) else "radius"

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

    def _is_open(self, query: RangeQuery) -> bool:
        """Tell whether a question is about a time that is not over, or not for so long that late records are in.

        It is decided by the clock alone: by the records it would tell something of them.
        """
        if self.complete_after is None or self.now is None or (query.since is None and query.until is None):
            return False
        return query.until is None or query.until > math.floor((self.now() - self.complete_after) * _SECOND)

    def _has_short_step(self, query: RangeQuery) -> bool:
        """Tell whether a step of time is shorter than the shortest window: the last one may be, or one cut at now."""
        if query.every is None or query.since is None or query.until is None or self.shortest_window == 0:
            return False
        now = None if self.now is None else math.floor(self.now() * _SECOND)
        end = query.until if now is None else min(query.until, now)
        last = (end - query.since) % query.every if end > query.since else 0
        steps = [query.every, *([last] if last else [])]
        return min(steps) < self.shortest_window * _SECOND

    def _is_short(self, since: int | None, until: int | None) -> bool:
        """Tell whether a time window, up to now, is shorter than the shortest; one that is open to the past is not."""
        if since is None or self.shortest_window == 0:
            return False
        now = None if self.now is None else math.floor(self.now() * _SECOND)
        ends = [end for end in (until, now) if end is not None]
        return bool(ends) and min(ends) - since < self.shortest_window * _SECOND
