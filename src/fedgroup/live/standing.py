"""When which window of a standing map is asked for: in order, each once, those that were missed first.

Windows are those of `privacy/windows.py`, counted from a Monday in UTC, so they fall together with owners' budgets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fedgroup.errors import InvalidInput
from fedgroup.live.plans import LivePlan
from fedgroup.privacy.windows import ORIGIN, SHORTEST, length_in_words


@dataclass(frozen=True)
class Schedule:
    """How often a standing map is asked for; times are microseconds."""

    name: str
    every: int
    grace: int = 0
    since: int | None = None
    catch_up: int = 168

    def __post_init__(self) -> None:
        if self.every < SHORTEST or self.grace < 0 or self.catch_up < 1:
            raise InvalidInput("a standing map has windows of a second at least, and no negative grace or catch_up")

    def first(self, now: int) -> int:
        """Return when the first window begins: at `since` or next after it, or else next after now."""
        begin = now if self.since is None else self.since
        return ORIGIN - (ORIGIN - begin) // self.every * self.every

    def due_at(self, begin: int) -> int:
        """Return when a window is asked for."""
        return begin + self.every + self.grace

    def is_due(self, begin: int, now: int) -> bool:
        return now >= self.due_at(begin)

    def oldest(self, begin: int, now: int) -> int:
        """Return the window to go on with instead of one that was missed: older than `catch_up` are left out."""
        latest = begin + max(0, (now - self.due_at(begin)) // self.every) * self.every
        return max(begin, latest - (self.catch_up - 1) * self.every)

    @property
    def late_note(self) -> str:
        return (
            f"records that came later than {length_in_words(self.grace)} after the end of this window are in no map: "
            "a window is asked for once"
        )


@dataclass(frozen=True)
class Begun:
    """What is kept of a window before anybody is asked: it can be gone on with by a later process.

    round     the id of its one round
    plan      who answers with whom
    left_out  who is not asked with its group
    fixed     the rosters that were told to answer
    paid      whether any owner may have charged itself in it
    """

    round: bytes
    method: str
    plan: LivePlan | None
    left_out: frozenset[str] = frozenset()
    fixed: Mapping[str, list[int]] | None = None
    paid: bool = False

    def facts(self) -> dict[str, Any]:
        """Return it as JSON values."""
        plan = None if self.plan is None else asdict(self.plan)
        told = {"round": self.round.hex(), "method": self.method, "left_out": sorted(self.left_out)}
        return told | {"plan": plan, "fixed": dict(self.fixed or {}), "paid": self.paid}

    @classmethod
    def in_told(cls, told: Mapping[str, Any]) -> Begun | None:
        """Return the round that was begun of what is kept of a window; None between two rounds."""
        return cls.of(told) if "round" in told else None

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Begun:
        """Return it from JSON values."""
        plan = None if facts["plan"] is None else LivePlan.of(facts["plan"])
        fixed = {name: list(roster) for name, roster in facts["fixed"].items()}
        paid = facts.get("paid", True)  # an earlier version did not tell
        return cls(bytes.fromhex(facts["round"]), facts["method"], plan, frozenset(facts["left_out"]), fixed, paid)
