"""What a live federation agreed on, and how its provider goes about questions and plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.given import one_of
from fedgroup.live.attendance import Quorum
from fedgroup.live.waves import IN_FLIGHT_BYTES
from fedgroup.messages.limits import MOST_MEMBERS
from fedgroup.privacy.accounting import PURE, Accounting
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.graphs import LEFTOVERS, PRIVATE
from fedgroup.questions.methods import Method
from fedgroup.secure.round import MaskSettings
from fedgroup.space import PublicMap

try:
    import msgspec
except ImportError:
    raise InvalidInput("live roles need the extra [live]: pip install 'fedgroup[live]'") from None
import hashlib
import json

from fedgroup.messages.limits import AGREED_BYTES


def agreed_on(federation: str, public_map: PublicMap, protection: Protection, accounting: Accounting = PURE) -> bytes:
    """Return the digest of what all parties agreed on: a federation's name, map, protection, accounting. It is shown.

    An owner that counts in degrees what others count in metres would make answers wrong without anybody noticing. So
    the provider admits nobody with another digest than its own, and an owner refuses messages with another one.
    """
    domain = [float(side) + 0.0 for side in public_map.domain.sides]  # -0 is 0
    protected: list[object] = [protection.neighbours, protection.unit, protection.max_records]
    if protection.max_bins is not None or protection.subjects:
        protected += [protection.max_bins, protection.subjects]
    if accounting.delta is not None:
        protected += [accounting.kind, accounting.delta.atto]
    facts = json.dumps([federation, domain, public_map.lonlat, *protected])
    return hashlib.sha256(b"fedgroup agreed v1 " + facts.encode()).digest()[:AGREED_BYTES]


MOST_SIDE = 64
"""The most columns, or rows, of a grid that owners are compared on: a vector travels as one message."""
MPC_MOST = 500
"""The most owners in one group unless a provider's file says otherwise: 500 tell each other 150 MB to form it."""


class UsualGrouping(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How owners are grouped where a request for a plan does not say it: a table of the provider's file."""

    columns: Annotated[int, msgspec.Meta(ge=1, le=MOST_SIDE)] = 5
    rows: Annotated[int, msgspec.Meta(ge=1, le=MOST_SIDE)] = 5
    graph: str = "likely"
    leftovers: str = "cohort"

    def __post_init__(self) -> None:
        one_of(self.graph, PRIVATE, name="graph")
        one_of(self.leftovers, LEFTOVERS, name="leftovers")


OWNERS_IN_TIME = 1_000
"""So many owners are asked within the seconds that a provider's file says; more get longer, in proportion."""


def longer_with(owners: int) -> float:
    """Return how many times as long as the file says a round with so many owners may take."""
    return max(1.0, owners / OWNERS_IN_TIME)


@dataclass(frozen=True)
class LiveSettings:
    """What everybody agreed on, how long the provider waits, and what can be asked about (None: nobody said).

    `mpc_most` is the most members of a group: every member is told of all others, which takes their square in bytes.
    With `recovery` masked rounds withstand members that fall silent in the middle.
    """

    federation: str
    public_map: PublicMap
    protection: Protection
    masks: MaskSettings = field(default_factory=MaskSettings)
    cohort_size: int = 50
    mpc_most: int = MPC_MOST
    seconds: float = 10.0
    attributes: tuple[str, ...] | None = None
    times: bool | None = None
    grouping: UsualGrouping = UsualGrouping()  # noqa: RUF009  frozen
    quorum: Quorum = field(default_factory=Quorum)
    messages_at_once: int = 4_000
    in_flight_bytes: int = IN_FLIGHT_BYTES
    most_records: int | None = None
    accounting: Accounting = PURE
    recovery: bool = True

    def __post_init__(self) -> None:
        if not 2 <= self.mpc_most <= MOST_MEMBERS:
            raise InvalidInput(f"mpc_most must be between 2 and {MOST_MEMBERS}, got {self.mpc_most}")
        if not 1 <= self.cohort_size <= self.mpc_most:
            text = f"cohort_size must be between 1 and mpc_most, which is {self.mpc_most}, got {self.cohort_size}"
            raise InvalidInput(text)

    def seconds_with(self, owners: int) -> float:
        """Return how long a round with so many owners may take: what everybody may know decides it."""
        return self.seconds * longer_with(owners)

    def is_possible(self, method: Method, *, owners: int) -> bool:
        """Tell whether no group of a method would be larger than groups may be."""
        return method.together is None or method.together(owners, self.cohort_size) <= self.mpc_most

    def require_possible(self, method: Method, *, owners: int) -> None:
        """Refuse a method that so many owners cannot be asked by: all of them would be in one group."""
        if not self.is_possible(method, owners=owners):
            raise InvalidQuery(
                f"{owners} owners are here, and {method.name}, which puts all of them into one group, is for at most "
                f"{self.mpc_most} (mpc_most in the provider's file); ask with the method cohorts"
            )
