"""Live owners that count rho: charged exactly, noise of the right law by every method, and nobody else's promise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, InvalidQuery, ProtocolViolation, TooFewHeard
from fedgroup.live.config import OwnerConfig, read_config
from fedgroup.live.ledgers import open_ledger
from fedgroup.live.settings import agreed_on
from fedgroup.live.trial import make_trial
from fedgroup.messages.wire_query import WireQuery
from fedgroup.privacy.accounting import PURE, Accounting
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.sensitivity import Protection
from fedgroup.privacy.zcdp import epsilon_of, rho_within
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.query import RangeQuery
from fedgroup.rho import Delta, Rho
from fedgroup.space import Box, Circle, Grid, PublicMap
from fedgroup.storage.owner_ledger import OwnerLedger

MAP = PublicMap(Box(0, 0, 10, 10))
DELTA = Delta.of("1e-6")
ZCDP = Accounting(DELTA)
RHO = Rho.of(2)


def count(rho: Rho = RHO) -> RangeQuery:
    return RangeQuery("count", Circle(5, 5, 3.2), Epsilon(1), rho=rho)


def run(coroutine: Any) -> None:
    asyncio.run(coroutine)


def counted(owner: Any) -> int:
    return sum(entry.rho.pico for entry in owner.ledger.entries() if entry.rho is not None)


@pytest.mark.parametrize("method", ["dp", "cohorts", "mpc"])
def test_every_owner_pays_the_rho_once(method: str, city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, accounting=ZCDP) as here:
            answer = await here.provider.ask(count(), method=method, by="ann")
            half = (answer.interval[1] - answer.interval[0]) / 2
            assert abs(answer.value - here.true_count(count())) <= 3 * half
            assert (answer.heard, answer.rho, answer.epsilon) == (6, 2.0, float(epsilon_of(RHO, DELTA)))
            assert answer.delta == pytest.approx(1e-6)
            assert {counted(owner) for owner in here.owners.values()} == {RHO.pico}
            async with here.provider.question(count(), method=method) as asked:
                expected = await asked.expect(left=Epsilon.of(100))
            assert expected.errors["count"].half_width == half
            assert (expected.rho, expected.delta) == (2.0, pytest.approx(1e-6))
            masked = method != "dp"
            assert ("rho if alone" in here.owners["owner-0"].ledger.entries()[-1].question) == masked

    run(story())


@pytest.mark.parametrize("mode", ["trusted", "masked"])
def test_groups_answer_maps_for_a_rho_and_a_vector_counts_half_its_square(mode: str, city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8, accounting=ZCDP, cap=500.0) as here:
            await here.provider.regroup(
                GroupingSettings(graph="topcell"), epsilon=Epsilon.of(20), grid=(2, 2), mode=mode
            )
            asked = RangeQuery("count", Grid(MAP.domain, 3, 3), Epsilon(1), rho=Rho.of(5))
            made = await here.provider.map(asked)
            assert (made.rho, made.heard) == (5.0, 8)
            assert abs(made.values.sum() - 320) <= 9 * made.half_width_all
            assert {counted(owner) for owner in here.owners.values()} == {Rho.of(205).pico}

    run(story())


def test_an_owner_that_counts_pure_epsilon_answers_no_rho_and_keeps_its_budget(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3) as here:
            with pytest.raises(InvalidQuery, match="pure epsilon"):
                await here.provider.ask(count(), method="dp")
            here.provider.settings = replace(here.provider.settings, accounting=ZCDP)  # as if it lied
            with pytest.raises(TooFewHeard):
                await here.provider.ask(count(), method="dp")
            assert {owner.ledger.spent() for owner in here.owners.values()} == {Epsilon(0)}

    run(story())


def test_the_last_of_a_cap_is_refused_by_the_owner(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3, accounting=ZCDP, cap=1.0) as here:
            cap = rho_within(Epsilon.of(1), DELTA)
            await here.provider.ask(count(cap), method="dp")
            with pytest.raises(TooFewHeard, match="budget"):
                await here.provider.ask(count(Rho(1)), method="dp")
            assert {owner.ledger.left_rho() for owner in here.owners.values()} == {Rho(0)}

    run(story())


def test_a_policy_limits_a_rho_by_half_the_square_of_its_epsilon(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3, accounting=ZCDP, highest_epsilon=Epsilon.of(0.1)) as here:
            assert (await here.provider.ask(count(Rho.of(0.005)), method="dp")).heard == 3
            with pytest.raises(TooFewHeard, match="policy allows"):
                await here.provider.ask(count(Rho(Rho.of(0.005).pico + 1)), method="dp")

    run(story())


def test_a_question_for_a_rho_travels_with_the_epsilon_that_costs_as_much() -> None:
    wire = WireQuery.of(count())
    assert wire.read(MAP.domain) == count()
    for wrong in ({"rho_pico": 0}, {"rho_pico": -1}, {"rho_pico": RHO.pico + 10**9}, {"rho_pico": 10**40}):
        with pytest.raises(ProtocolViolation):
            replace(wire, **wrong)


def test_what_is_counted_is_agreed_on() -> None:
    digests = {agreed_on("city", MAP, Protection(), each) for each in (PURE, ZCDP, Accounting(Delta.of("1e-7")))}
    assert len(digests) == 3
    assert agreed_on("city", MAP, Protection()) in digests


def test_a_restored_ledger_of_rho_has_nothing_left(tmp_path: Path) -> None:
    ledger = OwnerLedger(tmp_path / "ledger.db")
    ledger.count_as(ZCDP)
    ledger.set_cap(Epsilon.of(1))
    ledger.charge([Charge(Rho.of(0.01).pure, "query", "how many?", rho=Rho.of(0.01))])
    ledger.give_up_epoch(None, cap=Epsilon.of(1), why="a backup was restored")
    assert (ledger.left_rho(), ledger.spent()) == (Rho(0), Epsilon.of(1))
    ledger.close()
    with pytest.raises(InvalidInput, match="for its life"):
        OwnerLedger(tmp_path / "ledger.db").count_as(PURE)


def test_a_mark_is_due_by_what_is_counted(tmp_path: Path) -> None:
    ledger, told = OwnerLedger(tmp_path / "ledger.db"), []
    ledger.count_as(ZCDP)
    ledger.set_cap(Epsilon.of(1))
    ledger.keep_marked(told.append)
    tenth = rho_within(Epsilon.of(1), DELTA).pico // 10
    for pico in (tenth, 1):
        ledger.begin_rounds(
            [(bytes([len(told) + pico % 251] * 16), Charge(Rho(pico).pure, "query", "?", rho=Rho(pico)), "s")]
        )
        ledger.flush()
    assert len(told) == 1
    ledger.close()


def test_an_owners_file_says_how_it_counts_and_its_ledger_moves_once(tmp_path: Path) -> None:
    file = make_trial(tmp_path, owners=2, seed=1).owners[0]

    def opened(*, new: bool = False) -> OwnerLedger:
        return open_ledger(read_config(file, OwnerConfig), holder=file.parent.name, new_ledger=new).ledger

    pure = opened(new=True)
    pure.charge([Charge(Epsilon.of(0.3), "query", "how many?")])
    pure.close()
    text = file.read_text()
    file.write_text(text.replace('# accounting = "zcdp"', 'accounting = "zcdp"').replace("# delta = ", "delta = "))
    moved = opened()
    cap = rho_within(moved.cap, DELTA)
    assert (moved.accounting, moved.left_rho()) == (ZCDP, Rho(cap.pico - Rho.of_pure(Epsilon.of(0.3)).pico))
    moved.close()
    file.write_text(text)
    with pytest.raises(InvalidInput, match="for its life"):
        opened()
    file.write_text(text.replace('# accounting = "zcdp"', 'accounting = "zcdp"'))
    with pytest.raises(InvalidInput, match="needs a delta"):
        read_config(file, OwnerConfig)
