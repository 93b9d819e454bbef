"""What the provider says to an owner.

`agreed` is the digest of what all parties agreed on: an owner that agreed on something else answers no such message.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from fedgroup.messages.limits import (
    MOST_CELLS,
    MOST_DEALT,
    MOST_FRAME,
    MOST_MEMBERS,
    MOST_NAME,
    MOST_RELAYS,
    MOST_TEXT,
    require,
    require_agreed,
    require_id,
    require_signatures,
    require_text,
)
from fedgroup.messages.logged import Logged
from fedgroup.messages.said import Accepted, Revealed
from fedgroup.messages.wire_query import WireQuery


@dataclass(frozen=True)
class Describe:
    """Count your records in a grid of the agreed domain, add noise, and send the vector."""

    round: bytes
    columns: int
    rows: int
    epsilon_nano: int
    agreed: bytes = b""
    logged: Logged | None = None

    def __post_init__(self) -> None:
        require_agreed(self.agreed)
        require_id(self.round)
        require(self.columns >= 1 and self.rows >= 1, "a grid has columns and rows")
        require(self.columns * self.rows <= MOST_CELLS, f"a grid has at most {MOST_CELLS} cells")
        require(self.epsilon_nano > 0, "a vector has an epsilon greater than 0")


@dataclass(frozen=True)
class Offer:
    """Answer together with these owners, whose certificates are here; you are at `position`.

    In a `trusted` group the member at position 0 leads. In a `masked` one noise is cut into members - colluders -
    dropouts parts, which every owner computes itself.
    """

    plan: str
    mode: str
    certificates: list[bytes]
    position: int
    colluders: int = 1
    dropouts: int = 0
    guarantee: str = ""
    agreed: bytes = b""

    def __post_init__(self) -> None:
        require_agreed(self.agreed)
        require_text(self.plan)
        require(self.mode in ("trusted", "masked"), "a group is trusted or masked")
        members = len(self.certificates)
        require(1 <= members <= MOST_MEMBERS, f"a group has 1 to {MOST_MEMBERS} members")
        require(0 <= self.position < members, "a member has a position in its group")
        require(self.colluders >= 1 and self.dropouts >= 0, "colluders are at least 1, dropouts at least 0")


@dataclass(frozen=True)
class Reveal:
    """All members committed themselves to a number, and signed that, in the order of the roster: tell yours."""

    plan: str
    commitments: list[bytes]
    signatures: list[bytes]

    def __post_init__(self) -> None:
        require_text(self.plan)
        require(all(len(each) == 32 for each in self.commitments), "a commitment has 32 bytes")
        require_signatures(self.signatures, len(self.commitments))
        require(len(self.commitments) <= MOST_MEMBERS, f"a group has at most {MOST_MEMBERS} members")

    @classmethod
    def of(cls, plan: str, accepted: Iterable[Accepted]) -> Self:
        """Return what is told to all members once they accepted, in the order of the roster."""
        replies = list(accepted)
        return cls(plan, [each.commitment for each in replies], [each.signature for each in replies])


@dataclass(frozen=True)
class Seal:
    """All members' numbers, signed: together they are the seed of the mask graph. The group can answer from now on."""

    plan: str
    numbers: list[bytes]
    signatures: list[bytes]

    def __post_init__(self) -> None:
        require_text(self.plan)
        require(all(len(each) == 32 for each in self.numbers), "a number has 32 bytes")
        require_signatures(self.signatures, len(self.numbers))
        require(len(self.numbers) <= MOST_MEMBERS, f"a group has at most {MOST_MEMBERS} members")

    @classmethod
    def of(cls, plan: str, revealed: Iterable[Revealed]) -> Self:
        """Return what is told to all members once they told their numbers, in the order of the roster."""
        replies = list(revealed)
        return cls(plan, [each.number for each in replies], [each.signature for each in replies])


@dataclass(frozen=True)
class Ask:
    """A question, to be answered alone (no plan) or in the group of a plan, within some time; `by` names the asker.

    `logged` tells where it stands in the provider's public log. With `recovers`, members of a masked group deal shares
    of their masks with `Ready` and `Masked`, so that the round stands when some of them fall silent; see `Unmask`.
    """

    round: bytes
    query: WireQuery
    plan: str | None
    within_ms: int
    by: str = ""
    agreed: bytes = b""
    logged: Logged | None = None
    recovers: bool = False

    def __post_init__(self) -> None:
        require_agreed(self.agreed)
        require_id(self.round)
        require(self.plan is not None or not self.recovers, "who answers alone has no masks")
        require(self.plan is None or 0 < len(self.plan) <= MOST_NAME, "a plan has a short name")
        require(0 < self.within_ms <= 600_000, "a deadline lies within ten minutes")
        require(len(self.by) <= MOST_TEXT, "the asker's name is short")


@dataclass(frozen=True)
class Go:
    """The roster of a masked round is fixed: these positions were ready, in ascending order. Send your masked value."""

    round: bytes
    positions: list[int]

    def __post_init__(self) -> None:
        require_id(self.round)
        require(len(self.positions) <= MOST_MEMBERS, f"a group has at most {MOST_MEMBERS} members")
        ascending = self.positions == sorted(set(self.positions))
        require(ascending and min(self.positions, default=0) >= 0, "positions are given once each, ascending")


@dataclass(frozen=True)
class Unmask:
    """The masked values of these positions came, in ascending order: tell your shares of their seeds.

    Of members that are in the roster and not here, tell your shares of their box keys. `sealed` are the shares that
    your neighbours in the roster dealt to you, in their order. In a group without all pairs you sign the set first;
    then it comes again with the signatures of `signers`.
    """

    round: bytes
    survivors: list[int]
    sealed: bytes
    signers: list[int] = field(default_factory=list)
    signatures: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        require_id(self.round)
        require(0 < len(self.survivors) <= MOST_MEMBERS, f"a group has 1 to {MOST_MEMBERS} members")
        for positions in (self.survivors, self.signers):
            ascending = positions == sorted(set(positions))
            require(ascending and min(positions, default=0) >= 0, "positions are given once each, ascending")
        require(len(self.sealed) <= MOST_DEALT, f"shares have at most {MOST_DEALT} bytes")
        require_signatures(self.signatures, len(self.signers))


@dataclass(frozen=True)
class Check:
    """Is your data still what it was in that round? Then its answer can be given again for nothing."""

    round: bytes
    earlier: bytes

    def __post_init__(self) -> None:
        require_id(self.round)
        require_id(self.earlier)


@dataclass(frozen=True)
class Balance:
    """What is left of your cap? Nothing is charged for the answer, and nothing is counted."""

    round: bytes

    def __post_init__(self) -> None:
        require_id(self.round)


@dataclass(frozen=True)
class Relay:
    """A frame of the secure comparison with another owner, sealed by it; an empty one begins as `first` or `second`."""

    session: bytes
    other: bytes
    columns: int
    rows: int
    threshold: float
    first: bool
    frame: bytes = b""
    agreed: bytes = b""

    def __post_init__(self) -> None:
        require_agreed(self.agreed)
        require_id(self.session)
        require(len(self.frame) <= MOST_FRAME, f"a frame has at most {MOST_FRAME} bytes")
        require(0 <= self.threshold < 1, "a threshold lies between 0 and 1")
        require(0 < self.columns * self.rows <= MOST_CELLS, f"a grid has at most {MOST_CELLS} cells")


@dataclass(frozen=True)
class RelayMany:
    """Frames of an owner's comparisons with many others, in their order; the same step again gets the same reply."""

    round: bytes
    relays: list[Relay]
    agreed: bytes = b""

    def __post_init__(self) -> None:
        require_agreed(self.agreed)
        require_id(self.round)
        require(len(self.relays) <= MOST_RELAYS, f"a step has at most {MOST_RELAYS} frames")


@dataclass(frozen=True)
class Recall:
    """Which of these comparisons did the owner begin in the epoch it is in? Their bits hold on, and need no other."""

    round: bytes
    sessions: list[bytes]
    agreed: bytes = b""

    def __post_init__(self) -> None:
        require_agreed(self.agreed)
        require_id(self.round)
        require(len(self.sessions) <= MOST_RELAYS, f"at most {MOST_RELAYS} comparisons are asked about together")
        for session in self.sessions:
            require_id(session)


@dataclass(frozen=True)
class Leave:
    """The plan is over: forget its group."""

    plan: str

    def __post_init__(self) -> None:
        require_text(self.plan)


@dataclass(frozen=True)
class Agreed:
    """What the provider's parties agreed on: it is told to an owner that says otherwise, and is asked nothing."""

    agreed: bytes

    def __post_init__(self) -> None:
        require_agreed(self.agreed)
