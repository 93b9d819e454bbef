"""Who agreed on something else is not asked, is told so, and answers nobody who asks it all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from live_world import PATIENCE_S, World, count, eventually, until

from fedgroup.epsilon import Epsilon
from fedgroup.live.running import running_provider
from fedgroup.live.settings import agreed_on
from fedgroup.messages.asked import Agreed
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Box, Circle, PublicMap
from fedgroup.transport.codec import decode
from owner_keys import Keys

QUERY = RangeQuery("count", Circle(5, 5, 3.2), Epsilon.of(1))
MAP = PublicMap(Box(2.0, 48.0, 3.0, 49.0), lonlat=True)
OTHER = bytes(range(16))
DIFFERENT = {
    "name": ("town", MAP, Protection()),
    "domain": ("city", PublicMap(Box(2.0, 48.0, 3.0, 49.5), lonlat=True), Protection()),
    "lonlat": ("city", PublicMap(Box(2.0, 48.0, 3.0, 49.0)), Protection()),
    "neighbours": ("city", MAP, Protection("replace")),
    "unit": ("city", MAP, Protection("add-remove", "owner", 5)),
    "max_records": ("city", MAP, Protection("add-remove", "owner", 6)),
    "subject": ("city", MAP, Protection("add-remove", "subject", 5)),
    "max_bins": ("city", MAP, Protection("add-remove", "subject", 5, 3)),
    "subjects": ("city", MAP, Protection("add-remove", "owner", 5, subjects=True)),
}


def test_every_fact_that_must_be_agreed_on_is_in_the_digest() -> None:
    digests = [agreed_on("city", MAP, Protection()), *(agreed_on(*facts) for facts in DIFFERENT.values())]
    assert len(set(digests)) == len(digests)


def test_other_spellings_of_the_same_numbers_make_no_difference() -> None:
    boxes = (Box(0, -5, 3, 4), Box(-0.0, -5.0, 3.0, 4.0))
    assert len({agreed_on("city", PublicMap(box), Protection()) for box in boxes}) == 1


def test_an_owner_that_agreed_on_something_else_is_not_counted(
    city: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with city(2) as here:
            await here.add("other", agreed=OTHER)
            await until(lambda: here.provider.desk.differing == {"other"})
            answer = await here.provider.ask(QUERY, method="dp")
            assert (answer.owners, answer.heard) == (2, 2)
            assert here.owners["other"].ledger.entries()[1:] == []
            await until(lambda: "this owner's [federation] table differs" in caplog.text)

    asyncio.run(story())
    warned = [record for record in caplog.records if record.getMessage().startswith("an owner's [federation]")]
    assert [vars(record)["owner"] for record in warned] == ["other"]
    (noticed,) = [record for record in caplog.records if record.getMessage().startswith("this owner's")]
    assert vars(noticed)["party"] == "other"


def test_an_owner_is_told_at_each_arrival_and_let_in_once_it_agrees(
    city: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with city(1) as here:
            der = Keys("other").der
            for _ in range(2):
                told = here.hub.owner("other", der, OTHER).received()
                _, payload = await asyncio.wait_for(anext(told), PATIENCE_S)
                assert decode(payload, (Agreed,)) == Agreed(b"")
            here.hub.owner("other", der)
            assert await here.provider.desk.until_present(2, PATIENCE_S)
            assert here.provider.desk.differing == set()

    asyncio.run(story())
    assert caplog.text.count("an owner's [federation] table differs") == 2


def test_an_owner_that_comes_back_with_another_table_is_out(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(2) as here:
            owner = here.owners["owner-1"]
            await here.kill("owner-1")
            owner.agreed = OTHER
            await here.start(owner)
            await until(lambda: here.provider.desk.differing == {"owner-1"})
            answer = await here.provider.ask(QUERY, method="dp")
            assert (answer.heard, answer.missing, answer.absent) == (1, 1, 1)

    asyncio.run(story())


def test_an_owner_whose_file_differs_is_kept_out_and_says_so(world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(3)
        odd = world.names[2]
        file = world.owner_folder(odd) / "owner.toml"
        file.write_text(file.read_text().replace('neighbours = "add-remove"', 'neighbours = "replace"'))
        async with running_provider(world.config) as up:
            world.start_owners()
            await until(lambda: len(up.provider.desk.present) == 2 and up.provider.desk.differing == {odd})
            answer = await up.provider.ask(count(), method="dp")
            assert (answer.value, answer.heard) == (3, 2)
            assert world.spent(odd) == 0
        log = world.folder / f"{odd}.log"
        eventually(log.read_text, lambda text: "this owner's [federation] table differs from the provider's" in text)

    asyncio.run(story())
