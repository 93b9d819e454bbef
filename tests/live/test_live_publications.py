"""Maps that live owners publish: equal to exact counts where noise is 0, paid once, and gone on with round by round."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from live_world import PATIENCE_S

from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import InvalidQuery, TooFewHeard
from fedgroup.live.attendance import Quorum
from fedgroup.live.publishing import Progress, planned, published, quietest, until_back
from fedgroup.maps.publishing import Subject
from fedgroup.owner.counting import total_units
from fedgroup.privacy.accounting import Accounting
from fedgroup.rho import PICO, Delta
from fedgroup.space import Box, Circle, PublicMap
from fedgroup.space.blocks import Blocks

MAP = PublicMap(Box(0, 0, 10, 10))
MUCH = Epsilon.of(640)
"""So large that noise is 0 in every bin of every round: the coarse grid has one part in 16 of it."""
RICH = {"highest_epsilon": Epsilon.of(1000), "cap": 1e5}


class ProviderDiedError(Exception):
    """The provider is gone."""


async def some_progress(here: Any, *, method: str | None = "dp", epsilon: Epsilon = MUCH, **said: Any) -> Progress:
    sizes = {"records": 24, "most_cells": 16_384} | said
    return await planned(here.provider, Subject(), epsilon, method=method, **sizes)


async def finished(here: Any, going: Progress, *, dies_after: int = 3, pays: bool = True) -> tuple[Any, list[Any]]:
    """Publish, and die when so many rounds are kept; return the map, if there is one, and all that was kept."""
    kept: list[Any] = []

    async def keep(progress: Progress) -> None:
        kept.append(progress.facts())
        if progress.rounds == dies_after < 3 and not progress.cut_off:
            raise ProviderDiedError

    try:
        made = await published(
            here.provider, going, keep=keep, by="ann", quorum=Quorum(), pay_again=lambda _price: pays
        )
    except ProviderDiedError:
        return None, kept
    return made, kept


def truth(here: Any, query: Any, names: Any = None) -> list[int]:
    chosen = here.owners if names is None else names
    return np.sum(
        [total_units(here.owners[name].silo.records, query, MAP)["count"] for name in chosen], axis=0
    ).tolist()


def spent(here: Any) -> set[Epsilon]:
    return {owner.ledger.spent() for owner in here.owners.values()}


@pytest.mark.parametrize("method", ["dp", "cohorts", "mpc"])
def test_a_published_map_is_the_sum_over_all_owners_for_one_epsilon(method: str, city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, **RICH) as here:
            made, _ = await finished(here, await some_progress(here, method=method))
            assert np.rint(made.values).astype(int).tolist() == truth(here, made.query)
            assert max(made.blocks.depth) > 0
            assert (made.heard, made.missing, made.method, made.epsilon, made.charged) == (6, 0, method, 640.0, 640.0)
            assert made.total().value == pytest.approx(240)
            assert made.count(Circle(3, 3, 2.5)).value == pytest.approx(120, abs=1)
            assert spent(here) == {MUCH}
            words = [entry.question for entry in here.owners["owner-0"].ledger.entries()[-3:]]
            assert len({word.rsplit(", round")[1] for word in words}) == 3

    asyncio.run(story())


def test_what_was_kept_is_gone_on_with_and_no_round_is_asked_twice(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(5, **RICH) as here:
            whole = await some_progress(here)
            shares = whole.publication.sizes.shares
            going, paid = whole, NOTHING
            for rounds in (1, 2):
                made, kept = await finished(here, going, dies_after=rounds)
                paid += shares[rounds - 1]
                assert (made, spent(here)) == (None, {paid})
                going = Progress.of(kept[-1], MAP.domain)
                assert (going.rounds, going.cut_off) == (rounds, False)
            made, _ = await finished(here, going)
            assert spent(here) == {MUCH}
            assert np.rint(made.values).astype(int).tolist() == truth(here, made.query)
            assert made.charged == 640.0

    asyncio.run(story())


def test_a_round_that_was_cut_off_is_asked_again_only_if_it_is_paid_again(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3, **RICH) as here:
            _, kept = await finished(here, await some_progress(here), dies_after=1)
            cut_off = Progress.of(kept[-1] | {"begun": 2}, MAP.domain)
            before = spent(here)
            with pytest.raises(TooFewHeard) as refused:
                await finished(here, cut_off, pays=False)
            assert refused.value.charged
            assert spent(here) == before
            made, _ = await finished(here, cut_off)
            assert made.charged == 640.0 + float(cut_off.publication.sizes.shares[1])
            assert any("asked again" in note for note in made.notes)

    asyncio.run(story())


def test_the_rho_that_a_map_tells_is_what_owners_counted_with_rounds_asked_again(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3, accounting=Accounting(Delta.of("1e-6"))) as here:
            _, kept = await finished(here, await some_progress(here, epsilon=Epsilon.of(1)), dies_after=2)
            made, _ = await finished(here, Progress.of(kept[2], MAP.domain))  # the second answer was lost
            lines = [owner.ledger.entries() for owner in here.owners.values()]
            assert [len([line for line in each if line.purpose == "query"]) for each in lines] == [4] * 3
            assert {sum(line.rho.pico for line in each if line.rho) for each in lines} == {round(made.rho * PICO)}

    asyncio.run(story())


def test_owners_that_left_between_rounds_are_missing_and_the_first_round_shapes_cells_only(
    city: Callable[..., Any],
) -> None:
    async def story() -> None:
        async with city(6, **RICH) as here:
            _, kept = await finished(here, await some_progress(here), dies_after=2)
            await here.kill("owner-5")
            while "owner-5" in here.provider.desk.present:
                await asyncio.sleep(0.01)
            going = Progress.of(kept[-1], MAP.domain)
            await until_back(here.provider, going, Quorum(), seconds=0.01)
            made, _ = await finished(here, going)
            assert (made.heard, made.missing) == (5, 1)
            assert [each.heard for each in made.publication.released] == ["0", "0", "2"]
            left = [name for name in here.owners if name != "owner-5"]
            assert np.rint(made.values).astype(int).tolist() == truth(here, made.query, left)
            assert any("only shapes the cells" in note for note in made.notes)

    asyncio.run(story())


@pytest.mark.parametrize("wrong", ["nothing told", "other counts", "another size", "finer"])
@pytest.mark.parametrize("method", ["dp", "mpc"])
def test_owners_refuse_cells_that_do_not_follow_before_they_pay(
    wrong: str, method: str, city: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import fedgroup.live.publishing as publishing

    usual = publishing._told_of
    lies: dict[str, Callable[[Any], Any]] = {
        "nothing told": lambda _: None,
        "other counts": lambda told: replace(told, answers=[told.answers[0], [7] * len(told.answers[1])]),
        "another size": lambda told: replace(told, records=told.records * 9),
        "finer": lambda told: replace(told, epsilon_nano=told.epsilon_nano * 4),
    }

    async def story() -> None:
        async with city(4, **RICH) as here:
            going = await some_progress(here, method=method, epsilon=Epsilon.of(64))
            _, kept = await finished(here, going, dies_after=2)
            before = spent(here)
            monkeypatch.setattr(publishing, "_told_of", lambda publication: lies[wrong](usual(publication)))
            going = Progress.of(kept[-1], MAP.domain)
            with pytest.raises(TooFewHeard) as refused:
                await finished(here, going)
            assert refused.value.charged  # the rounds before were paid
            if method == "dp":
                assert refused.value.refused == {"cells": 4}
            assert spent(here) == before

    asyncio.run(story())


def test_blocks_are_no_question_of_their_own(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(2) as here:
            query = Subject().question(Blocks(MAP.domain, 1, bytes([0, 1, 2, 3])), Epsilon.of(1))
            with pytest.raises(TooFewHeard) as refused:
                await here.provider.map(query, method="dp")
            assert (refused.value.refused, refused.value.charged) == ({"cells": 2}, False)
            assert spent(here) == {NOTHING}

    asyncio.run(story())


def test_the_first_choice_is_the_method_with_the_fewest_noises(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6) as here:
            assert quietest(here.provider) == "mpc"
            here.provider.settings.__dict__["mpc_most"] = 4
            assert quietest(here.provider) == "cohorts"
            going = await some_progress(here, method=None, epsilon=Epsilon.of(1), records=None)
            assert (going.method, going.guessed, going.publication.sizes.records) == ("cohorts", True, 120)
            with pytest.raises(InvalidQuery, match="add up"):
                await planned(here.provider, Subject("people"), Epsilon.of(1), method="dp", records=1, most_cells=None)
            assert spent(here) == {NOTHING}

    asyncio.run(story())


def test_a_provider_that_comes_back_waits_for_its_owners(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(2, **RICH) as here:
            _, kept = await finished(here, await some_progress(here), dies_after=1)
            going = replace(Progress.of(kept[-1], MAP.domain), heard_of=(("a", "b", "c"),))
            waiting = asyncio.create_task(until_back(here.provider, going, Quorum(), seconds=PATIENCE_S))
            await asyncio.sleep(0)
            assert not waiting.done()
            await here.add("owner-2", **RICH)
            await asyncio.wait_for(waiting, PATIENCE_S)
            assert len(here.provider.desk.present) == 3

    asyncio.run(story())
