"""Owners that stop take leave one after the other, and of a broker that hangs one of them waits for all."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from fedgroup.live.running import _close_all


@dataclass
class Link:
    """Takes leave in time or not, and notes how long it was to wait."""

    in_time: bool
    within: list[float]

    async def close(self, *, within_s: float) -> bool:
        self.within.append(within_s)
        return self.in_time


@dataclass
class Leaving:
    """An owner that is to leave."""

    link: Link

    def close(self) -> None: ...


@pytest.mark.parametrize(("in_time", "within"), [(True, [2.0, 2.0, 2.0]), (False, [2.0, 0.0, 0.0])])
def test_of_a_broker_that_hangs_one_owner_waits_for_all(in_time: bool, within: list[float]) -> None:
    waited: list[float] = []
    owners: list[Any] = [Leaving(Link(in_time, waited)) for _ in range(3)]
    asyncio.run(_close_all(owners, owners))
    assert waited == within
