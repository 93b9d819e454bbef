"""What a live federation agreed on, and how its provider goes about questions and plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fedgroup.live.attendance import Quorum
from fedgroup.privacy.sensitivity import Protection
from fedgroup.secure.round import MaskSettings
from fedgroup.space import PublicMap


@dataclass(frozen=True)
class UsualGrouping:
    """How owners are grouped where a request for a plan does not say it."""

    columns: int = 5
    rows: int = 5
    graph: Literal["topcell", "likely", "noisy"] = "likely"
    leftovers: Literal["alone", "cohort"] = "cohort"


@dataclass(frozen=True)
class LiveSettings:
    """What everybody agreed on, how long the provider waits, and what can be asked about (None: nobody said)."""

    federation: str
    public_map: PublicMap
    protection: Protection
    masks: MaskSettings = field(default_factory=MaskSettings)
    cohort_size: int = 50
    seconds: float = 10.0
    attributes: tuple[str, ...] | None = None
    times: bool | None = None
    grouping: UsualGrouping = UsualGrouping()
    quorum: Quorum = field(default_factory=Quorum)
    messages_at_once: int = 1_000
