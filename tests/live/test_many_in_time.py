"""Deadlines, and what is under way at once, follow from how many owners there are, which is public."""

from __future__ import annotations

import pytest

from fedgroup.live.forming import _at_once
from fedgroup.live.plans import Roster
from fedgroup.live.settings import LiveSettings
from fedgroup.privacy.sensitivity import Protection
from fedgroup.space import Box, PublicMap


@pytest.mark.parametrize(("owners", "seconds"), [(0, 8.0), (1_000, 8.0), (1_500, 12.0), (10_000, 80.0)])
def test_a_round_of_many_owners_may_take_longer_in_proportion(owners: int, seconds: float) -> None:
    settings = LiveSettings("city", PublicMap(Box(0, 0, 1, 1)), Protection(), seconds=8.0)
    assert settings.seconds_with(owners) == seconds


@pytest.mark.parametrize(("members", "groups"), [(2, 16), (50, 16), (100, 6), (500, 1)])
def test_fewer_large_groups_are_formed_at_the_same_time(members: int, groups: int) -> None:
    rosters = [Roster("masked", tuple(map(str, range(members))))] * 40
    assert _at_once(rosters) == groups
    assert groups == 1 or groups * members * members * 512 <= 32 << 20


def test_to_form_nothing_is_possible() -> None:
    assert _at_once([]) == 16
