"""An owner's veto cannot be got around by the shape of a range, a grid, or the terms of a group."""

from __future__ import annotations

import pytest

from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages.asked import Describe, Offer
from fedgroup.owner.policy import Policy
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Box, Circle, MultiPolygon, Polygon, PublicMap, Rectangle
from fedgroup.space.places import Districts

PLANE = PublicMap(Box(0, 0, 10, 10))
CITY = PublicMap(Box(-74.26, 40.48, -73.70, 40.92), lonlat=True)
ISLANDS = PublicMap(Box(170, -20, 190, -10), lonlat=True)
NOW = 1_767_225_600_000_000
"""The beginning of 2026, in microseconds."""


def refused(policy: Policy, asked: object, public_map: PublicMap = PLANE) -> str | None:
    return policy.against_question(RangeQuery("count", asked, Epsilon.of(0.5)), public_map)


def square(x: float, y: float, side: float) -> list[tuple[float, float]]:
    return [(x, y), (x + side, y), (x + side, y + side), (x, y + side)]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (Circle(5, 5, 2.01), None),
        (Circle(5, 5, 1.9), "radius"),
        (Circle(0.1, 5, 2.01), "radius"),  # mostly outside the domain
        (Rectangle(1, 1, 5.1, 5.1), None),
        (Rectangle(1, 1, 9, 4), "radius"),
        (Rectangle(-9, 1, 3, 9), "radius"),
        (Polygon(square(1, 1, 4.1)), None),
        (Polygon([(0, 0), (10, 10), (10, 9.9), (0.1, 0)]), "radius"),
        (MultiPolygon([Polygon(square(0.5, 0.5, 0.1)), Polygon(square(9, 9, 0.1))]), "radius"),
        (MultiPolygon([Polygon(square(0.5, 0.5, 0.1)), Polygon(square(4, 4, 4.1))]), "radius"),
        (MultiPolygon([Polygon(square(0.5, 0.5, 4.1)), Polygon(square(5, 5, 4.1))]), None),
    ],
)
def test_a_circle_must_fit_into_every_part_of_what_is_asked(asked: object, reason: str | None) -> None:
    assert refused(Policy(smallest_radius=2), asked) == reason


@pytest.mark.parametrize(
    ("asked", "public_map", "reason"),
    [
        (Circle(-74, 40.7, 510), CITY, None),
        (Circle(-74, 40.7, 480), CITY, "radius"),
        (Rectangle(-74.02, 40.70, -74.00, 40.72), CITY, None),
        (Rectangle(-74.02, 40.70, -74.01, 40.72), CITY, "radius"),
        (Circle(179.99, -15, 510), ISLANDS, None),
        (Circle(-179.99, -15, 510), ISLANDS, None),
        (Polygon([(-181, -15), (-180.98, -15), (-180.98, -14.98), (-181, -14.98)]), ISLANDS, None),
    ],
)
def test_on_a_map_in_degrees_the_radius_is_in_metres(asked: object, public_map: PublicMap, reason: str | None) -> None:
    assert refused(Policy(smallest_radius=500), asked, public_map) == reason


@pytest.mark.parametrize("policy", [Policy(smallest_radius=2), Policy(smallest_cell=4)])
def test_every_district_of_a_map_is_large_enough(policy: Policy) -> None:
    large, small = Polygon(square(0.5, 0.5, 4.1)), Polygon(square(9, 9, 0.1))
    assert refused(policy, Districts(("large",), (large,))) is None
    assert refused(policy, Districts(("large", "decoy"), (small, large))) == "radius"


def test_a_vector_is_a_count_of_every_cell() -> None:
    fine, coarse = (Describe(b"d" * 16, cells, cells, 100) for cells in (10, 2))
    assert Policy(smallest_radius=2).against_vector(fine, PLANE) == "radius"
    assert Policy(smallest_radius=2).against_vector(coarse, PLANE) is None
    assert Policy(kinds=("sum",)).against_vector(coarse, PLANE) == "kind"
    assert Policy(highest_setup=NOTHING).against_vector(coarse, PLANE) == "epsilon"


@pytest.mark.parametrize(
    ("since", "until", "reason"),
    [
        (None, None, None),  # about no time
        (0, NOW - 600_000_000, None),
        (0, NOW - 599_999_999, "incomplete"),
        (None, NOW, "incomplete"),
        (0, None, "incomplete"),
        (0, NOW + 1, "incomplete"),
    ],
)
def test_a_time_must_be_over_for_as_long_as_the_owner_says(
    since: int | None, until: int | None, reason: str | None
) -> None:
    policy = Policy(complete_after=600, now=lambda: NOW / 1e6)
    query = RangeQuery("count", Circle(5, 5, 2), Epsilon.of(0.5), since=since, until=until)
    assert policy.against_question(query, PLANE) == reason
    assert Policy(now=lambda: NOW / 1e6).against_question(query, PLANE) is None


@pytest.mark.parametrize(
    ("since", "until", "reason"),
    [
        (None, None, None),
        (None, 0, None),  # all there was before
        (0, 3_600_000_000, None),
        (0, 3_599_999_999, "window"),
        (NOW - 3_600_000_000, None, None),
        (NOW - 3_599_999_999, None, "window"),  # the last hour, and a little less
        (NOW - 60_000_000, NOW + 3_600_000_000, "window"),  # the last minute: nothing happened yet in the rest
        (NOW + 1, NOW + 3_700_000_000, "window"),
    ],
)
def test_a_time_window_is_as_long_as_the_shortest_up_to_now(
    since: int | None, until: int | None, reason: str | None
) -> None:
    policy = Policy(shortest_window=3600, now=lambda: NOW / 1e6)
    query = RangeQuery("count", Circle(5, 5, 2), Epsilon.of(0.5), since=since, until=until)
    assert policy.against_question(query, PLANE) == reason
    assert Policy(now=lambda: NOW / 1e6).against_question(query, PLANE) is None


def test_a_masked_group_needs_members_and_may_need_to_withstand_more() -> None:
    offer = Offer("p", "masked", [b"x"] * 5, 0, colluders=1)
    assert Policy().against_group(offer) is None
    assert Policy(fewest_members=6).against_group(offer) == "members"
    assert Policy(fewest_colluders=2).against_group(offer) == "members"


def test_trusted_groups_need_consent_to_every_member() -> None:
    assert not Policy().trusts({"a"})
    assert Policy(trusted_with=("a", "b")).trusts({"a"})
    assert not Policy(trusted_with=("a", "b")).trusts({"a", "c"})
    assert Policy(trusted_with=("*",)).trusts({"a", "c"})


@pytest.mark.parametrize(
    "wrong",
    [
        {"fewest_members": 1},
        {"smallest_radius": -1},
        {"smallest_radius": float("nan")},
        {"shortest_window": -1},
        {"shortest_window": float("inf")},
        {"fewest_colluders": 0},
        {"kinds": ("x",)},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        Policy(**wrong)


@pytest.mark.parametrize(
    ("every_s", "until_s", "now_s", "reason"),
    [
        (3_600, 7_200, None, None),
        (3_600, 3_601, None, "window"),  # the last step is one second long
        (1_800, 7_200, None, "window"),
        (3_600, 7_200, 3_601, "window"),  # a step that began a second ago holds a second
        (3_600, 7_200, 7_200, None),
    ],
)
def test_every_step_of_time_is_as_long_as_the_shortest_window(
    every_s: int, until_s: int, now_s: int | None, reason: str | None
) -> None:
    second = 1_000_000
    query = RangeQuery(
        "count", Circle(5, 5, 2), Epsilon.of(0.1), since=0, until=until_s * second, every=every_s * second
    )
    now = None if now_s is None else lambda: float(now_s)
    assert Policy(shortest_window=3_600, now=now).against_question(query, PublicMap(Box(0, 0, 10, 10))) == reason
