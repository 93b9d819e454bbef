"""What a live federation agreed on, and how its provider goes about questions and plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.live.attendance import Quorum
from fedgroup.messages.limits import MOST_MEMBERS
from fedgroup.privacy.sensitivity import Protection
from fedgroup.secure.round import MaskSettings
from fedgroup.space import PublicMap

MPC_MOST = 500
"""The most owners in one group unless a provider's file says otherwise: 500 tell each other 150 MB to form it."""


@dataclass(frozen=True)
class UsualGrouping:
    """How owners are grouped where a request for a plan does not say it."""

    columns: int = 5
    rows: int = 5
    graph: Literal["topcell", "likely", "noisy"] = "likely"
    leftovers: Literal["alone", "cohort"] = "cohort"


@dataclass(frozen=True)
class LiveSettings:
    """What everybody agreed on, how long the provider waits, and what can be asked about (None: nobody said).

    `mpc_most` is the most members of a group: every member is told of all others, which takes their square in bytes.
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
    grouping: UsualGrouping = UsualGrouping()
    quorum: Quorum = field(default_factory=Quorum)
    messages_at_once: int = 2_000

    def __post_init__(self) -> None:
        if not 2 <= self.mpc_most <= MOST_MEMBERS:
            raise InvalidInput(f"mpc_most must be between 2 and {MOST_MEMBERS}, got {self.mpc_most}")
        if not 1 <= self.cohort_size <= self.mpc_most:
            text = f"cohort_size must be between 1 and mpc_most, which is {self.mpc_most}, got {self.cohort_size}"
            raise InvalidInput(text)

    def require_possible(self, method: str, *, owners: int) -> None:
        """Refuse a method that so many owners cannot be asked by: all of them would be in one group."""
        if method == "mpc" and owners > self.mpc_most:
            raise InvalidQuery(
                f"{owners} owners are here, and mpc, which puts all of them into one group, is for at most "
                f"{self.mpc_most} (mpc_most in the provider's file); ask with the method cohorts"
            )
