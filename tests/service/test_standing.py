"""Standing maps: every window once, in order, whatever dies; who is behind the time is waited for, uncharged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from service_city import MAP, City, FragileSilo, Owner, open_city

from answering import answering
from driven_time import in_driven_time
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.live.config import StandingTable
from fedgroup.live.desk import Desk
from fedgroup.live.provider import LiveProvider
from fedgroup.maps.published import PublishedMap
from fedgroup.maps.window_sums import WindowMaps
from fedgroup.owner.records import Records
from fedgroup.privacy.accounting import PURE, RHO_IN_PURE, Accounting
from fedgroup.privacy.windows import WindowBudget
from fedgroup.rho import PICO, Delta
from fedgroup.service.app import create_app
from fedgroup.service.pages.published_layers import Layers
from fedgroup.service.problems import Problem
from fedgroup.service.standing import StandingMap, StandingMaps
from fedgroup.storage.provider_state import ProviderState
from fedgroup.storage.standing_book import StandingBook

HOUR = 3_600_000_000
START = 1_772_409_600
"""2026-03-02, a Monday, in seconds."""
MUCH = 40.0
"""So large that noise is 0."""
OWNERS = 4
HOURS = 24


class Killed(BaseException):
    """As kill -9."""


class Killer:
    """Ends a process at one of the points where something is on disk, or was sent, or is about to be."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at: int | None = None
        kept = ((ProviderState, ("begin", "give_back", "finish")), (StandingBook, ("keep", "publish", "fail")))
        for owner, name in ((owner, name) for owner, names in kept for name in names):
            monkeypatch.setattr(owner, name, self._around(getattr(owner, name)))
        usual = Desk.ask

        async def ask(desk: Desk, *said: Any, **named: Any) -> Any:
            self.point()
            found = await usual(desk, *said, **named)
            self.point()
            return found

        monkeypatch.setattr(Desk, "ask", ask)

    def _around(self, usual: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*said: Any, **named: Any) -> Any:
            self.point()
            found = usual(*said, **named)
            self.point()
            return found

        return wrapped

    def point(self) -> None:
        if self.at is not None:
            self.at -= 1
            if self.at < 0:
                self.at = None
                raise Killed


def table(**said: Any) -> StandingTable:
    map_ = {"grid": [2, 2], "epsilon": MUCH, "method": said.pop("method", "dp")}
    return StandingTable(name="hourly", user="ann", map=map_, every="hour", since=START, **{"grace": "10m"} | said)


@asynccontextmanager
async def timed_city(folder: Path, *, accounting: Accounting = PURE, **policy: Any) -> AsyncIterator[City]:
    """A city in which owner i has i + 1 records in every hour of a day, and a budget for one map of each hour."""
    async with open_city(folder, OWNERS, dropouts=0.0, accounting=accounting) as city:
        city.state.add_user("ann", allowance=Epsilon.of(1e5))
        for number, owner in enumerate(city.owners.values()):
            give_records(owner, number + 1, **policy)
        yield city


def give_records(owner: Owner, in_an_hour: int, **policy: Any) -> None:
    times = [START + hour * 3_600 + 60 for hour in range(HOURS) for _ in range(in_an_hour)]
    many = len(times)
    owner.silo = FragileSilo(Records([0] * many, [3.0] * many, [3.0] * many, time=times), MAP)
    owner.node._silo = owner.silo
    owner.node.policy = replace(owner.node.policy, **policy)
    owner.ledger.set_window_budget(WindowBudget(HOUR, Epsilon.of(MUCH)))


def restarted(city: City, said: StandingTable, now: Callable[[], float], **how: Any) -> StandingMaps:
    """A provider that knows what is on disk, and nothing else."""
    provider = LiveProvider(city.provider.desk, city.provider.settings, store=city.state)
    app = create_app(provider, city.state)
    return StandingMaps([said], provider, city.state, app.state.service.questions, clock=now, **how)


def published(maps: StandingMaps) -> list[tuple[int, str]]:
    """The hours that ended, the first one first, and how."""
    found = maps.book.windows("hourly", most=100)
    return [((window.begin // 1_000_000 - START) // 3_600, window.state) for window in reversed(found)]


def require_right(city: City, maps: StandingMaps, hours: int) -> None:
    """Every hour is published with all records of everybody, and every owner paid once for each of them."""
    assert published(maps) == [(hour, "published") for hour in range(hours)]
    for window in maps.book.windows("hourly", most=100):
        answer = city.state.question(window.question).answer
        assert sum(answer["values"]) == OWNERS * (OWNERS + 1) / 2
        assert (answer["heard"], answer["missing"]) == (OWNERS, 0)
        assert city.state.is_published(window.question)
    for owner in city.owners.values():
        spent, budget = owner.ledger.windows_spent(), owner.ledger.window_budget
        begin = budget.window_of(START * 1_000_000)
        charged = [spent.at(begin + hour) for hour in range(-1, hours + 1)]
        assert charged == [0, *[Epsilon.of(MUCH).nano] * hours, 0]
        assert owner.ledger.spent() == Epsilon.of(MUCH * hours)
    assert city.state.user("ann").spent == Epsilon.of(MUCH * hours)


@pytest.mark.parametrize("method", ["dp", "mpc"])
def test_a_provider_that_dies_anywhere_charges_no_window_twice_and_loses_none(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> int:
        killer = Killer(monkeypatch)
        async with timed_city(tmp_path) as city:
            said, hour = table(method=method), 0
            while hour < HOURS:
                maps = restarted(city, said, lambda: START + 3_600 * HOURS * 2)
                (standing,) = maps.maps
                killer.at = hour
                try:
                    assert await maps.step(standing) == 0, maps.waits_for(standing)
                    survived = killer.at is not None
                except Killed:
                    survived = False
                    maps = restarted(city, said, lambda: START + 3_600 * HOURS * 2)
                    while maps.next_window(standing) == (START + hour * 3_600) * 1_000_000:
                        assert await maps.step(standing) == 0, maps.waits_for(standing)
                hour += 1
                if survived:
                    break
            killer.at = None
            require_right(city, maps, hour)
            return hour

    points = in_driven_time(story())
    assert 8 < points < HOURS  # every point was died at once, and one window came through


@pytest.mark.parametrize("method", ["dp", "mpc"])
def test_an_owner_whose_clock_is_behind_is_waited_for_and_nobody_is_charged_twice(method: str, tmp_path: Path) -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()

        def now() -> float:
            return START + 3_600 + loop.time()

        async with timed_city(tmp_path, complete_after=300.0, now=now) as city:
            slow = city.owners["owner-1"].node
            slow.policy = replace(slow.policy, now=lambda: now() - 45)
            maps = restarted(city, table(grace="5m", method=method), now)
            (standing,) = maps.maps
            assert await maps.step(standing) == pytest.approx(300 - loop.time(), abs=1)
            await asyncio.sleep(301)
            assert await maps.step(standing) == 0, maps.waits_for(standing)
            assert loop.time() > 345
            require_right(city, maps, 1)

    in_driven_time(story())


def test_windows_of_a_standing_map_are_shown_on_the_page(tmp_path: Path) -> None:
    async def story() -> None:
        async with timed_city(tmp_path) as city:
            maps = restarted(city, table(), lambda: START + 3_600 * HOURS)
            (standing,) = maps.maps
            for _ in range(2):
                assert await maps.step(standing) == 0
            service = create_app(city.provider, city.state).state.service
            layers, ann = Layers(service), city.state.user("ann")
            listed = await layers.listed()
            assert [each.since for each in listed] == [(START + hour * 3_600) * 1_000_000 for hour in range(2)]
            for each in listed:
                shown = (await layers.layer(ann, each.name)).shown
                assert shown[:, 4].sum() == OWNERS * (OWNERS + 1) / 2
            hidden = city.state.begin("ann", {"map": {"grid": [2, 2]}}, Epsilon.of(1))
            with pytest.raises(Problem):
                await layers.layer(ann, hidden.id)

    in_driven_time(story())


def test_nobody_is_charged_for_a_window_that_no_owner_holds_for_complete(tmp_path: Path) -> None:
    async def story() -> None:
        async with timed_city(tmp_path, complete_after=300.0, now=lambda: START + 3_600.0) as city:
            maps = restarted(city, table(grace="0s"), lambda: START + 3_601)
            (standing,) = maps.maps
            assert await maps.step(standing) > 0
            assert "not over yet" in maps.waits_for(standing)
            assert {owner.ledger.spent() for owner in city.owners.values()} == {Epsilon(0)}
            for owner in city.owners.values():
                owner.node.policy = replace(owner.node.policy, now=lambda: START + 7_200.0)
            assert await maps.step(standing) == 0
            require_right(city, maps, 1)

    in_driven_time(story())


def test_windows_that_were_missed_are_caught_up_in_order_and_older_ones_left_out(tmp_path: Path) -> None:
    async def story() -> None:
        async with timed_city(tmp_path) as city:
            maps = restarted(city, table(catch_up=3), lambda: START + 6 * 3_600 + 600)
            (standing,) = maps.maps
            for _ in range(4):
                assert await maps.step(standing) == 0
            assert published(maps) == [(0, "left out"), *((hour, "published") for hour in (3, 4, 5))]
            assert await maps.step(standing) == pytest.approx(3_600)
            with pytest.raises(InvalidInput, match="another one before"):
                restarted(city, replace_map(table(), epsilon=1.0), lambda: START)

    in_driven_time(story())


def replace_map(said: StandingTable, **changes: Any) -> StandingTable:
    return StandingTable(name=said.name, user=said.user, every=said.every, map=said.map | changes)


def test_a_window_whose_budget_is_spent_fails_for_nothing_and_the_next_one_is_asked(tmp_path: Path) -> None:
    async def story() -> None:
        async with timed_city(tmp_path) as city:
            for owner in city.owners.values():
                spent = owner.ledger.window_budget
                begin = spent.begin_of(spent.window_of(START * 1_000_000))
                owner.ledger.charge([charge_of(begin)])
            app = create_app(city.provider, city.state, standing=[table()], clock=lambda: START + 3 * 3_600)
            maps = app.state.service.standing
            (standing,) = maps.maps
            for _ in range(2):
                assert await maps.step(standing) == 0
            assert published(maps) == [(0, "failed"), (1, "published")]
            assert city.state.user("ann").spent == Epsilon.of(MUCH)
            token = city.state.add_user("bob", allowance=Epsilon.of(1))
            headers = {"Authorization": f"Bearer {token}"}
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://service", headers=headers) as bob:
                (shown,) = (await bob.get("/v1/standing")).json()["standing"]
                last, first = shown["windows"]
                read = (await bob.get(f"/v1/maps/{last['map']}")).json()
            assert (first["state"], first["map"], "budget" in first["why"]) == ("failed", None, True)
            assert (last["since"], last["until"]) == ("2026-03-02T01:00:00+00:00", "2026-03-02T02:00:00+00:00")
            assert any("in no map" in note for note in read["notes"])
            assert shown["next"] == {
                "since": "2026-03-02T02:00:00+00:00",
                "until": "2026-03-02T03:00:00+00:00",
                "due_at": "2026-03-02T03:10:00+00:00",
                "waits_for": None,
            }

    in_driven_time(story())


def charge_of(begin: int) -> Any:
    from fedgroup.privacy.budget import Charge
    from fedgroup.privacy.windows import Span

    return Charge(Epsilon.of(1), "query", "before", span=Span(begin, begin + HOUR))


def test_an_owner_that_comes_back_in_time_is_in_the_map_and_pays_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with timed_city(tmp_path) as city:
            silent = city.owners["owner-2"].node
            usual, asked = silent.prepare, []

            def now_and_then(*said: Any, **named: Any) -> Any:
                asked.append(said)
                letters = usual(*said, **named)
                return letters if len(asked) > 1 else []

            silent.prepare = now_and_then
            maps = restarted(city, table(), lambda: START + 2 * 3_600)
            assert await maps.step(maps.maps[0]) == 0
            require_right(city, maps, 1)

    in_driven_time(story())


def test_an_owner_that_was_asked_alone_and_left_pays_once_though_the_provider_died(tmp_path: Path) -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()

        def now() -> float:
            return START + 3_600 + loop.time()

        async with timed_city(tmp_path, complete_after=300.0, now=now) as city, AsyncExitStack() as held:
            slow = city.owners["owner-1"].node
            slow.policy = replace(slow.policy, now=lambda: now() - 3_600)
            desk = city.provider.desk

            async def comes() -> None:
                if "late" not in city.owners:
                    city.add("late", 3, cap=1e4)
                    give_records(city.owners["late"], 1, complete_after=300.0, now=now)
                    city.owners["late"].ledger.set_window_budget(WindowBudget(HOUR, Epsilon.of(3 * MUCH)))
                    held.callback(city.owners["late"].ledger.close)
                    held.callback(lambda: city.owners["late"].running.close())
                else:
                    late = city.owners["late"]
                    late.link = city.hub.owner("late", desk.known["late"])
                    late.running = answering(late.node, late.link)
                assert await desk.until_present(OWNERS + 1, 60)

            async def run_once(*, dies: bool) -> None:
                sleeps = 0

                async def sleep(seconds: float) -> None:
                    nonlocal sleeps
                    sleeps += 1
                    if sleeps == 1:
                        await comes()
                    elif dies:
                        raise Killed
                    await asyncio.sleep(seconds)

                maps = restarted(city, table(grace="5m", method="mpc"), now, sleep=sleep)
                await maps.step(maps.maps[0])

            await asyncio.sleep(301)
            with pytest.raises(Killed):
                await run_once(dies=True)
            late = city.owners["late"]
            assert late.ledger.spent() == Epsilon.of(MUCH)
            late.link.drop()
            late.running.close()
            while "late" in desk.present:
                await asyncio.sleep(0.01)
            await run_once(dies=False)
            assert {float(owner.ledger.spent()) for owner in city.owners.values()} <= {0.0, MUCH}
            assert late.ledger.spent() == Epsilon.of(MUCH)

    in_driven_time(story())


def test_an_owner_that_paid_and_left_is_in_the_map_and_its_charge_is_kept(tmp_path: Path) -> None:
    async def story() -> None:
        async with timed_city(tmp_path) as city:
            paying, *others = city.owners.values()
            for owner in others:
                owner.ledger.charge([charge_of(START * 1_000_000)])
            silent = others[-1].node
            usual, silent.prepare = silent.prepare, lambda *_said, **_named: []

            async def sleep(_: float) -> None:
                silent.prepare = usual
                paying.link.drop()
                paying.running.close()

            maps = restarted(city, table(), lambda: START + 2 * 3_600, sleep=sleep)
            assert await maps.step(maps.maps[0]) == 0, maps.waits_for(maps.maps[0])
            assert published(maps) == [(0, "published")]
            answer = city.state.question(maps.book.windows("hourly", most=1)[0].question).answer
            assert (sum(answer["values"]), answer["heard"], answer["missing"]) == (1, 1, OWNERS - 1)
            assert city.state.user("ann").spent == paying.ledger.spent() == Epsilon.of(MUCH)

    in_driven_time(story())


def test_a_window_that_may_have_been_paid_for_before_is_not_given_back(tmp_path: Path) -> None:
    async def story() -> None:
        async with timed_city(tmp_path) as city:
            paying, *others = city.owners.values()
            for owner in others:
                owner.link.drop()
                owner.running.close()
            city.hush("owner-0")
            maps = restarted(city, table(), lambda: START + 2 * 3_600)
            (standing,) = maps.maps
            assert await maps.step(standing) > 0  # it paid, and nobody heard it
            assert paying.ledger.spent() == Epsilon.of(MUCH)
            paying.node.policy = replace(paying.node.policy, paused=True)
            del paying.node.prepare
            maps = restarted(city, table(), lambda: START + 2 * 3_600)
            assert await maps.step(standing) == 0
            assert published(maps) == [(0, "failed")]
            assert city.state.user("ann").spent == Epsilon.of(MUCH)

    in_driven_time(story())


def test_a_window_that_fails_is_given_back_and_ended_at_once_wherever_its_provider_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> int:
        killer = Killer(monkeypatch)
        async with timed_city(tmp_path) as city:
            hour, survived = 0, False
            while not survived:
                begin = (START + hour * 3_600) * 1_000_000
                for owner in city.owners.values():
                    owner.ledger.set_window_budget(WindowBudget(HOUR, Epsilon.of(MUCH)))
                    owner.ledger.charge([charge_of(begin)])
                maps = restarted(city, table(), lambda: START + 3_600 * HOURS)
                killer.at = hour
                try:
                    assert await maps.step(maps.maps[0]) == 0
                    survived = killer.at is not None
                    killer.at = None
                except Killed:  # owners allow more in the meantime: a window that has not failed is asked for again
                    for owner in city.owners.values():
                        owner.ledger.set_window_budget(WindowBudget(HOUR, Epsilon.of(MUCH + 1)))
                    maps = restarted(city, table(), lambda: START + 3_600 * HOURS)
                    while maps.next_window(maps.maps[0]) == begin:
                        assert await maps.step(maps.maps[0]) == 0
                hour += 1
                ends = [state for _, state in published(maps)]
                assert city.state.user("ann").spent == Epsilon.of(MUCH * ends.count("published"))
            assert set(ends) == {"published", "failed"}
            return hour

    assert 8 < in_driven_time(story()) < HOURS


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({"grid": [2, 2], "epsilon": 1.0, "since": 3}, "gets its time"),
        ({"grid": [2], "epsilon": 1.0}, r"map\.grid"),
        ({"grid": [2, 2], "epsilon": 1.0, "colour": "red"}, "colour"),
    ],
)
def test_a_standing_map_that_cannot_be_asked_is_refused_at_the_start(said: dict[str, Any], wrong: str) -> None:
    with pytest.raises(InvalidInput, match=wrong):
        StandingMap.of(StandingTable(name="hourly", user="ann", every="hour", map=said))


def test_levels_of_a_standing_map_nest_and_a_record_pays_for_one_window_of_each(tmp_path: Path) -> None:
    async def story() -> None:
        async with timed_city(tmp_path) as city:
            for owner in city.owners.values():
                owner.ledger.set_window_budget(WindowBudget(HOUR, Epsilon.of(2 * MUCH)), raising=True)
            maps = restarted(city, table(levels=2), lambda: START + 20 * 3_600)
            hourly, long = maps.maps
            assert (hourly.windows.name, long.windows.name, long.windows.every) == ("hourly", "hourly-16", 16 * HOUR)
            for _ in range(16):
                assert await maps.step(hourly) == 0
            assert await maps.step(long) == 0
            assert await maps.step(long) > 0  # the next 16 hours are not over yet
            for owner in city.owners.values():
                spent, begin = owner.ledger.windows_spent(), owner.ledger.window_budget.window_of(START * 1_000_000)
                assert {spent.at(begin + hour) for hour in range(16)} == {2 * Epsilon.of(MUCH).nano}
                assert spent.at(begin + 16) == 0
            kept = [window.question for each in ("hourly", "hourly-16") for window in maps.book.windows(each, most=20)]
            service, ann = create_app(city.provider, city.state).state.service, city.state.user("ann")
            found = WindowMaps(tuple([await service.maps.made(ann, each) for each in kept]))
            made = found.between(START, START + 15 * 3_600)
            assert made.values.sum() == pytest.approx(15 * OWNERS * (OWNERS + 1) / 2)
            assert (made.epsilon, made.noises < 3 * OWNERS) == (2 * MUCH, True)  # 15 maps have 15 times as many

    in_driven_time(story())


def test_an_adaptive_map_is_charged_once_wherever_its_provider_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> int:
        killer = Killer(monkeypatch)
        async with timed_city(tmp_path) as city:
            said = StandingTable(
                name="hourly", user="ann", every="hour", since=START, grace="10m", catch_up=100,
                map={"adaptive": True, "epsilon": MUCH, "method": "dp", "records": 16, "most_cells": 64},
            )  # fmt: skip
            hour, survived = 0, False
            while not survived:  # it dies at every second point or so, an hour later each time
                maps = restarted(city, said, lambda: START + 3_600 * 100)
                killer.at = 2 * hour + hour % 2
                try:
                    assert await maps.step(maps.maps[0]) == 0, maps.waits_for(maps.maps[0])
                    survived = killer.at is not None
                except Killed:
                    maps = restarted(city, said, lambda: START + 3_600 * 100)
                    while maps.next_window(maps.maps[0]) == (START + hour * 3_600) * 1_000_000:
                        assert await maps.step(maps.maps[0]) == 0, maps.waits_for(maps.maps[0])
                hour += 1
            assert published(maps) == [(each, "published") for each in range(hour)]
            for owner in city.owners.values():
                spent, begin = owner.ledger.windows_spent(), owner.ledger.window_budget.window_of(START * 1_000_000)
                assert {spent.at(begin + each) for each in range(hour)} == {Epsilon.of(MUCH).nano}
            assert city.state.user("ann").spent == Epsilon.of(MUCH * hour)
            service, ann = create_app(city.provider, city.state).state.service, city.state.user("ann")
            first = await service.maps.made(ann, maps.book.windows("hourly", most=100)[-1].question)
            assert isinstance(first, PublishedMap)
            assert (first.query.since, first.query.until) == (START * 1_000_000, START * 1_000_000 + HOUR)
            assert first.total().value == pytest.approx(OWNERS * (OWNERS + 1) / 2, abs=3)
            return hour

    assert 7 < in_driven_time(story()) < 50


def test_windows_of_an_adaptive_map_for_a_rho_are_charged_what_they_tell(tmp_path: Path) -> None:
    said = StandingTable(
        name="hourly", user="ann", every="hour", since=START, grace="10m",
        map={"adaptive": True, "rho": 10, "method": "dp", "records": 16, "most_cells": 64},
    )  # fmt: skip

    async def story() -> None:
        async with timed_city(tmp_path, accounting=Accounting(Delta.of("1e-6"))) as city:
            maps = restarted(city, said, lambda: START + 3_600 * 3)
            for _ in range(2):
                assert await maps.step(maps.maps[0]) == 0, maps.waits_for(maps.maps[0])
            told = [city.state.question(each.question).answer["rho"] for each in maps.book.windows("hourly", most=9)]
            assert 9.99 < told[0] == told[1] <= 10
            for owner in city.owners.values():
                spent, begin = owner.ledger.windows_spent(), owner.ledger.window_budget.window_of(START * 1_000_000)
                assert [spent.at(begin + hour) for hour in range(3)] == [*(round(rho * PICO) for rho in told), 0]
            city.provider.settings = replace(city.provider.settings, accounting=PURE)
            with pytest.raises(InvalidInput) as refused:
                restarted(city, said, lambda: START)
            assert str(refused.value) == RHO_IN_PURE

    in_driven_time(story())
