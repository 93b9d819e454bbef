"""Maps of live owners by every method: equal to the exact sums where noise is 0, paid once, whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from live_world import PATIENCE_S

from driven_time import in_driven_time
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery, ProtocolViolation, TooFewHeard
from fedgroup.live.asking import _side_by_side
from fedgroup.live.replies import Switchboard
from fedgroup.live.tally import Counted, SecondStep, Tally
from fedgroup.live.waves import FEW_WORDS, Flow, lanes_of, shares_of, waves_of
from fedgroup.maps.private_map import PrivateMap
from fedgroup.messages.limits import MOST_WORDS
from fedgroup.messages.said import Masked, Ready
from fedgroup.owner.counting import total_units
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.bins import Categories
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Box, Circle, Grid, Polygon, PublicMap
from fedgroup.space.places import Districts
from fedgroup.transport.codec import encode

MAP = PublicMap(Box(0, 0, 10, 10))
PRECISE = Epsilon.of(40)
"""So large that noise is 0: other than 0 in one of 100 bins with a chance below 10^-14."""
MUCH = Epsilon.of(2_000)
LONG_NAMES = tuple("é" * 190 + str(i) for i in range(2_000))


def grid(columns: int = 8, rows: int = 8, *, kind: str = "count", epsilon: Epsilon = PRECISE) -> RangeQuery:
    return RangeQuery(kind, Grid(MAP.domain, columns, rows), epsilon)


def halves() -> Districts:
    west, east = (Polygon([(a, 0), (b, 0), (b, 10), (a, 10)]) for a, b in ((0, 5), (5, 10)))
    return Districts(("west", "east"), (west, east))


def truth(here: Any, query: RangeQuery, names: Any = None) -> list[int]:
    chosen = here.owners if names is None else names
    (part,) = query.parts
    vectors = [total_units(here.owners[name].silo.records, query, MAP)[part] for name in chosen]
    return np.sum(vectors, axis=0).tolist()


def spent(here: Any) -> set[Epsilon]:
    return {owner.ledger.spent() for owner in here.owners.values()}


@pytest.mark.parametrize("method", ["dp", "cohorts", "mpc"])
def test_a_map_is_the_sum_over_all_owners_and_costs_one_epsilon(method: str, city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6) as here:
            made = await here.provider.map(grid(), method=method, by="ann")
            assert isinstance(made, PrivateMap)
            assert made.values.tolist() == truth(here, grid())
            assert made.values.sum() == 240
            assert (made.heard, made.missing, made.bins, made.epsilon) == (6, 0, 64, 40.0)
            assert spent(here) == {PRECISE}
            assert "in 8x8 cells" in here.owners["owner-0"].ledger.entries()[-1].question

    asyncio.run(story())


@pytest.mark.parametrize("mode", ["trusted", "masked"])
def test_a_plan_with_owners_alone_answers_maps(mode: str, city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8) as here:
            await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(20), grid=(2, 2), mode=mode)
            await here.add("late")
            await here.provider.desk.until_present(9, PATIENCE_S)
            made = await here.provider.map(grid())
            assert made.values.tolist() == truth(here, grid())
            assert (made.method, made.in_group, made.groups, made.heard) == ("fedgroup", mode, 3, 9)

    asyncio.run(story())


def test_a_plan_of_trusted_and_masked_groups_answers_maps(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4) as here:
            for name, where in (("north", (1, 9)), ("south", (9, 1)), ("corner", (0.5, 0.5))):
                await here.add(name, where=where)
            await here.provider.desk.until_present(7, PATIENCE_S)
            settings = GroupingSettings(leftovers="cohort")
            plan = await here.provider.regroup(settings, epsilon=Epsilon.of(20), grid=(5, 5), mode="trusted")
            modes = {group.mode: set(group.members) for group in plan.groups}
            assert modes["masked"] == {"north", "south", "corner"}
            assert [group.mode for group in plan.groups].count("trusted") == 2
            for query in (grid(), grid(4, 4, kind="people", epsilon=Epsilon.of(38))):
                made = await here.provider.map(query)
                assert made.values.tolist() == truth(here, query)
                assert (made.groups, made.heard, made.missing) == (3, 7, 0)
            assert made.noises == 2 + float(next(g for g in plan.groups if g.mode == "masked").terms.shape(3))
            assert spent(here) == {Epsilon.of(20 + 40 + 38)}

    asyncio.run(story())


@pytest.mark.parametrize("kind", ["count", "people"])
def test_districts_are_counted_and_people_are_owners_without_subjects(kind: str, city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(5) as here:
            query = RangeQuery(kind, halves(), PRECISE)
            made = await here.provider.map(query, method="mpc")
            assert made.values.tolist() == truth(here, query)
            assert made.names() == ["west", "east"]
            if kind == "people":
                assert made.values.tolist() == [2, 3]
            assert any("two owners is two people" in note for note in made.notes) == (kind == "people")

    asyncio.run(story())


def test_live_maps_tell_what_is_cut(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3, protection=Protection(unit="owner", max_records=40, max_bins=2)) as here:
            people = await here.provider.map(grid(kind="people"), method="dp")
            assert "each subject counts in the first 2 of the bins it is in" in " ".join(people.notes)
            count = await here.provider.ask(RangeQuery("count", Circle(5, 5, 3.2), PRECISE), method="dp")
            assert "of each owner only the first 40 records" in " ".join(count.notes)

    asyncio.run(story())


def test_the_same_map_is_free_until_somebodys_data_changes(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3) as here:
            query = grid(epsilon=Epsilon.of(1))
            first = await here.provider.map(query, method="dp")
            again = await here.provider.map(query, method="dp")
            assert (again.stored, again.charged, again.bins) == (True, 0.0, 64)
            assert np.array_equal(again.values, first.values)
            assert np.array_equal(again.intervals, first.intervals)
            assert spent(here) == {Epsilon.of(1)}
            here.owners["owner-1"].silo.changes += 1
            assert not (await here.provider.map(query, method="dp")).stored
            assert not (await here.provider.map(grid(4, 16, epsilon=Epsilon.of(1)), method="dp")).stored
            assert spent(here) == {Epsilon.of(3)}

    asyncio.run(story())


def test_a_range_asked_for_as_a_map_is_one_bin(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3) as here:
            query = RangeQuery("count", Circle(5, 5, 3.2), PRECISE)
            made = await here.provider.map(query, method="dp")
            plain = await here.provider.ask(query, method="dp")
            assert (made.values.tolist(), plain.value) == ([here.true_count(query)], here.true_count(query))
            assert (await here.provider.map(query, method="dp")).stored

    asyncio.run(story())


def test_the_error_of_a_map_is_told_for_nothing(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6) as here:
            async with here.provider.question(grid(epsilon=Epsilon.of(0.3)), method="dp") as asked:
                errors = (await asked.expect(left=Epsilon.of(1))).errors
            made = await here.provider.map(grid(epsilon=Epsilon.of(0.3)), method="dp")
            assert made.high[0] - made.values[0] == errors["count"].half_width
            assert made.half_width_all > errors["count"].half_width
            assert spent(here) == {Epsilon.of(0.3)}

    asyncio.run(story())


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: grid(300, 300), f"at most {MOST_WORDS} bins"),
    (lambda: RangeQuery("count", Grid(Box(0, 0, 5, 5), 2, 2), PRECISE), "covers the domain"),
    (lambda: RangeQuery("count", halves(), PRECISE, every=0, since=0, until=9), "every"),
    (lambda: RangeQuery("count", halves(), PRECISE, every=5), "since and until"),
    (lambda: Districts(("a", "b"), (halves().shapes_of[0],) * 2), "overlap"),
    (lambda: RangeQuery("count", Districts(("far",), (Polygon([(20, 20), (21, 20), (21, 21)]),)), PRECISE), "far"),
    (lambda: RangeQuery("count", halves(), PRECISE, by=Categories("x", LONG_NAMES)), "bytes"),
]


def test_bad_bins_are_refused_before_anybody_is_asked(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(2) as here:
            for asked, what in WRONG:
                with pytest.raises(InvalidQuery, match=what):
                    await here.provider.map(asked(), method="dp")
            assert spent(here) == {Epsilon(0)}

    asyncio.run(story())


@pytest.mark.parametrize(
    ("query", "policy", "reason"),
    [
        (grid(), {"most_bins": 63}, "bins"),
        (grid(), {"smallest_cell": 1.3}, "radius"),
        (grid(), {"kinds": ("sum",)}, "kind"),
        (RangeQuery("count", halves(), PRECISE, by=Categories("colour", ("red",))), {}, "attribute"),
        (RangeQuery("count", halves(), PRECISE, since=0, until=4, every=2), {}, "attribute"),
    ],
)
def test_owners_refuse_bins_before_they_pay(
    query: RangeQuery, policy: dict[str, Any], reason: str, city: Callable[..., Any]
) -> None:
    async def story() -> None:
        async with city(2, **policy) as here:
            with pytest.raises(TooFewHeard) as refused:
                await here.provider.map(query, method="dp")
            assert (refused.value.refused, refused.value.charged) == ({reason: 2}, False)
            assert spent(here) == {Epsilon(0)}

    asyncio.run(story())


def test_who_falls_silent_in_the_middle_is_in_no_bin(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, dropouts=0.2, cap=1e4) as here:
            here.provider.settings.__dict__["cohort_size"] = 6
            await here.provider.map(grid(4, 4), method="cohorts")
            node = here.owners["owner-5"].node
            usual, fallen = node.prepare, []

            def falls_silent(sender: str, message: Any, **named: Any) -> Any:
                if type(message).__name__ == "Go" and not fallen:
                    fallen.append(1)
                    return []
                return usual(sender, message, **named) if not fallen else []

            node.prepare = falls_silent
            made = await here.provider.map(grid(), method="cohorts", fresh=True)
            heard = [name for name in here.owners if name != "owner-5"]
            assert made.values.tolist() == truth(here, grid(), heard)
            assert (made.heard, made.missing, made.epsilon) == (5, 1, 40.0)

    in_driven_time(story())


def test_a_vector_that_is_too_short_spoils_its_group_and_counts_nowhere(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4) as here:
            plan = await here.provider._cohorts(method("mpc"), method("mpc").together)
            (group,) = plan.groups
            tally = Tally(grid(4, 4))
            taking = SecondStep(tally, [group], {group.name: [0, 1, 2, 3]}, Protection())
            kept = {
                name: taking(name, Masked(b"r" * 16, bytes(8 * 16 - 8 * (i == 2))))
                for i, name in enumerate(group.members)
            }
            counted = [name for name, reply in kept.items() if isinstance(reply, Counted)]
            assert len(counted) == 3
            assert not taking.finish(group, counted)
            assert (tally.heard, tally.masked) == (set(), 0)

    asyncio.run(story())


@pytest.mark.parametrize("by", ["dp", "mpc"])
def test_many_bins_are_asked_for_in_waves_and_no_vector_is_kept(by: str, city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(7) as here:
            here.provider._asking._flow = Flow(3 * 8 * 100)
            desk, usual, asked = here.provider.desk, here.provider.desk.ask, []

            async def noted(about: bytes, messages: Any, kinds: Any, **named: Any) -> Any:
                found = await usual(about, messages, kinds, **named)
                asked.append((len(messages), found))
                return found

            desk.ask = noted
            made = await here.provider.map(grid(10, 10), method=by)
            assert made.values.tolist() == truth(here, grid(10, 10))
            waves = [size for size, found in asked if any(isinstance(kept, Counted) for kept in found.said.values())]
            assert waves == [3, 3, 1]
            assert not any(
                hasattr(kept, "sums") or hasattr(kept, "words") for _, r in asked for kept in r.said.values()
            )
            assert spent(here) == {PRECISE}
            again = await here.provider.map(grid(10, 10), method=by)
            assert again.stored

    asyncio.run(story())


def test_where_owners_are_cut_to_few_records_masked_words_have_half_the_bytes(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(5, protection=Protection(unit="owner", max_records=40), cap=1e6, highest_epsilon=MUCH) as here:
            lengths: list[int] = []
            for owner in here.owners.values():
                owner.node._encode = lambda message: noted(message, lengths)
            made = await here.provider.map(grid(epsilon=MUCH), method="mpc")
            assert made.values.tolist() == truth(here, grid())
            assert lengths == [4 * 64] * 5

    asyncio.run(story())


def noted(message: Any, lengths: list[int]) -> bytes:
    lengths += [len(message.words)] if isinstance(message, Masked) else []
    return encode(message)


def test_ranges_are_asked_of_everybody_at_once_whatever_is_under_way() -> None:
    async def story() -> None:
        flow = Flow(8_000)
        assert flow.owners_at_once(FEW_WORDS) is None
        assert flow.owners_at_once(100) == 10
        assert flow.owners_at_once(5_000) == 1
        order: list[str] = []

        async def question(name: str, words: int, until: asyncio.Event) -> None:
            async with flow.room(words, owners=50):
                order.append(name)
                await until.wait()

        first, second = asyncio.Event(), asyncio.Event()
        names = [("large", 100, first), ("second", 100, second), ("range", 1, second)]
        running = [asyncio.create_task(question(*each)) for each in names]
        for _ in range(5):
            await asyncio.sleep(0)
        assert order == ["large", "range"]
        first.set()
        second.set()
        await asyncio.gather(*running)
        assert order == ["large", "range", "second"]

    asyncio.run(story())


def test_waves_and_shares_hold_everybody_once() -> None:
    assert list(waves_of([], ["a", "b", "c"], most=2)) == [([], ["a", "b"]), ([], ["c"])]
    assert list(waves_of([], ["a", "b"], most=None)) == [([], ["a", "b"])]
    assert list(waves_of([], [], most=2)) == [([], [])]
    assert [list(share) for share in shares_of({"a": 1, "b": 2, "c": 3}, 2)] == [["a", "b"], ["c"]]
    assert list(shares_of({}, 2)) == list(shares_of({}, None)) == [{}]


def test_lanes_hold_everybody_once_and_are_few() -> None:
    assert lanes_of([], ["a"] * 5_000) == [([], ["a"] * 5_000)]  # one step: nothing goes on meanwhile
    for members, groups, lanes in ((50, 3, 1), (50, 20, 4), (50, 200, 4), (300, 3, 3)):
        cohorts = [SimpleNamespace(name=f"{at}", members=["m"] * members) for at in range(groups)]
        found = lanes_of(cohorts, ["alone"])
        assert len(found) in (lanes, lanes + 1)
        assert [each.name for some, _ in found for each in some] == [each.name for each in cohorts]
        assert [name for _, single in found for name in single] == ["alone"]


def test_several_wait_for_replies_about_one_thing_each_for_its_owners() -> None:
    async def story() -> None:
        board, about = Switchboard(), b"r" * 16
        with board.expecting(about, (Ready,), ["a"]) as one, board.expecting(about, (Ready,), ["b"]) as other:
            for name in ("b", "a"):
                board.deliver(name, Ready(about))
            await one.wait(60)
            await other.wait(60)
            assert (list(one.said), list(other.said)) == (["a"], ["b"])

    asyncio.run(story())


def test_a_lane_that_fails_ends_the_others_before_its_error_is_raised() -> None:
    ended: list[str] = []

    async def waits() -> list[Any]:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waits")
        return []

    async def fails() -> list[Any]:
        await asyncio.sleep(0)
        raise ProtocolViolation("a lane fails")

    with pytest.raises(ProtocolViolation, match="a lane fails"):
        asyncio.run(_side_by_side([fails(), waits()]))
    assert ended == ["waits"]


def test_the_largest_map_travels(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4, cap=1e4) as here:
            query = grid(256, 256, epsilon=Epsilon.of(45))
            for by in ("dp", "mpc"):
                made = await here.provider.map(query, method=by)
                assert (made.heard, made.bins) == (4, 65_536)
                assert np.abs(made.values - truth(here, query)).sum() <= 1
            await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(5), grid=(2, 2), mode="trusted")
            assert (await here.provider.map(query)).heard == 4

    asyncio.run(story())


def method(name: str) -> Any:
    from fedgroup.questions.methods import METHODS

    return METHODS[name]
