"""Maps published over HTTP: charged once for all rounds, gone on with after a crash, read by everybody for nothing."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import service_city
from PIL import Image

import fedgroup as fg
from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.maps.published import PublishedMap
from fedgroup.service.app import create_app
from fedgroup.service.calls import map_read
from fedgroup.service.client import connect
from fedgroup.space import PublicMap
from fedgroup.storage.provider_state import ProviderState

Service = Callable[..., Any]
SAID = {"adaptive": True, "epsilon": 40, "method": "dp", "records": 24, "most_cells": 16_384}
NEAR = "/v1/maps/{}/count?near=3,3&within=2"


def run(coroutine: Any) -> None:
    asyncio.run(coroutine)


def dies_after(here: Any, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the provider end when so many rounds are on disk, as kill -9 would."""
    usual = ProviderState.keep_progress

    def keep(self: Any, question: Any, progress: Any) -> None:
        usual(self, question, progress)
        if len(progress["publication"]["released"]) == rounds == progress["begun"]:
            for task in here.work._tasks:
                task.get_loop().call_soon_threadsafe(task.cancel)

    monkeypatch.setattr(ProviderState, "keep_progress", keep)


async def cut_off(here: Any, rounds: int, monkeypatch: pytest.MonkeyPatch, **headers: str) -> None:
    """Publish, and die after some rounds; then another provider's application takes over the same file."""
    with monkeypatch.context() as fatal:
        dies_after(here, rounds, fatal)
        async with here.client() as ann:
            with pytest.raises(asyncio.CancelledError):
                await ann.post("/v1/maps", json=SAID, headers=headers)
    here.app = create_app(here.city.provider, here.city.state)


def test_a_map_is_published_for_one_charge_and_read_by_everybody(service: Service) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann, here.client("bob") as bob:
            reply = await ann.post("/v1/maps", json=SAID)
            assert reply.status_code == 200, reply.text
            made = reply.json()
            assert (made["kind"], made["epsilon"], made["charged"], made["heard"]) == ("count", 40, 40, 4)
            assert (here.spent(), here.owners_spent()) == (Epsilon.of(40), {Epsilon.of(40)})
            for user in (ann, bob):
                free = (await user.get(NEAR.format(made["id"]))).json()
                assert (free["epsilon"], free["free"], free["map_epsilon"]) == (0, True, 40)
                assert free["value"] == pytest.approx(80, abs=8)
                assert free["interval"][0] <= free["value"] <= free["interval"][1]
                assert free["uneven"] >= 0
                sides = (await user.get(f"/v1/maps/{made['id']}/count?rectangle=0,0,10,10")).json()
                assert sides["value"] == pytest.approx(160, abs=5)
                assert (await user.get(f"/v1/maps/{made['id']}")).json() == made
                (listed,) = (await user.get("/v1/maps")).json()["maps"]
                assert (listed["id"], listed["request"]["adaptive"]) == (made["id"], True)
            read = map_read(made)
            assert isinstance(read, PublishedMap)
            assert np.allclose(read.values, made["values"])
            assert (here.spent(), here.spent("bob")) == (Epsilon.of(40), NOTHING)
            assert here.owners_spent() == {Epsilon.of(40)}

    run(story())


def test_a_dry_run_tells_what_a_map_would_be_like_for_nothing(service: Service) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann:
            said = SAID | {"epsilon": 2}
            reply = await ann.post("/v1/maps", json=said | {"dry_run": True})
            assert reply.status_code == 200, reply.text
            told = reply.json()
            assert (told["dry_run"], told["charge"], told["epsilon"], told["method"]) == (True, 2, 2, "dp")
            assert (told["affordable"], told["owners"], told["bins"] > 0) == (True, 4, True)
            assert 0 < told["errors"]["count"]["half_width"] < 20
            assert any("the map is better from" in note for note in told["notes"])
            assert (await ann.get("/v1/maps")).json()["maps"] == []
            assert (here.spent(), here.owners_spent()) == (NOTHING, {NOTHING})
            made = (await ann.post("/v1/maps", json=said)).json()
            assert (here.owners_spent(), made["charged"]) == ({Epsilon.of(told["charge"])}, 2)
            refused = await ann.post("/v1/maps", json=said | {"dry_run": True, "grid": [2, 2]})
            assert refused.status_code == 422

    run(story())


def test_a_map_of_a_user_is_still_its_own_and_has_no_free_ranges(service: Service) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann, here.client("bob") as bob:
            made = (await ann.post("/v1/maps", json={"grid": [2, 2], "epsilon": 1, "method": "dp"})).json()
            assert (await bob.get(NEAR.format(made["id"]))).json()["type"].endswith("unknown-map")
            assert (await ann.get(NEAR.format(made["id"]))).json()["type"].endswith("invalid-query")
            assert (await bob.get("/v1/maps")).json()["maps"] == []

    run(story())


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"grid": [2, 2]}, "whole domain"),
    ({"kind": "avg", "attribute": "fare", "clip": 5}, "add up"),
    ({"kind": "people"}, "add up"),
    ({"epsilon": 1e-9}, "too small"),
    ({"adaptive": False, "grid": [2, 2]}, "for adaptive maps"),
]


@pytest.mark.parametrize(("said", "what"), WRONG)
def test_what_cannot_be_published_is_refused_for_nothing(said: dict[str, Any], what: str, service: Service) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            reply = await ann.post("/v1/maps", json=SAID | said)
            assert reply.status_code == 422, reply.text
            assert what in reply.json()["detail"]
            assert (here.spent(), here.owners_spent()) == (NOTHING, {NOTHING})

    run(story())


def test_what_live_owners_publish_in_degrees_is_served_to_other_programs(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_city, "MAP", PublicMap(fg.Box(0, 0, 10, 10), lonlat=True))

    async def story() -> None:
        async with service(4) as here, here.client() as ann, here.client("bob") as bob:
            made = (await ann.post("/v1/maps", json=SAID)).json()
            (collection,) = (await bob.get("/ogc/collections")).json()["collections"]
            assert (collection["id"], collection["extent"]["spatial"]["bbox"]) == (made["id"], [[0, 0, 10, 10]])
            items = f"/ogc/collections/{made['id']}/items?limit=10000"
            found = (await bob.get(items)).json()["features"]
            assert len(found) == len(made["values"])
            assert sum(each["properties"]["value"] for each in found) == pytest.approx(160, abs=5)
            corner = (await bob.get(f"{items}&bbox=0,0,4.9,4.9")).json()["features"]
            free = (await bob.get(f"/v1/maps/{made['id']}/count?rectangle=0,0,5,5")).json()
            assert sum(each["properties"]["value"] for each in corner) == pytest.approx(free["value"])
            tile = await bob.get(f"/v1/maps/{made['id']}/tiles/5/16/15.png")
            assert (tile.status_code, tile.headers["content-type"]) == (200, "image/png")
            colours = np.asarray(Image.open(io.BytesIO(tile.content)).convert("RGBA"))
            assert 0 < (colours[:, :, 3] > 0).mean() < 0.5
            assert "km²" in (await bob.get(f"/v1/maps/{made['id']}/legend")).text
            assert (here.spent("bob"), here.owners_spent()) == (NOTHING, {Epsilon.of(40)})

    run(story())


BAD_RANGES = [
    "",
    "near=3,3",
    "within=3",
    "near=3,3&within=1&rectangle=0,0,1,1",
    "rectangle=1,1,0,0",
    "near=50,50&within=1",
]


def test_bad_ranges_are_said_to_be_so(service: Service) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            made = (await ann.post("/v1/maps", json=SAID)).json()
            for said in BAD_RANGES:
                reply = await ann.get(f"/v1/maps/{made['id']}/count?{said}")
                assert (said, reply.status_code) == (said, 422)
            async with here.client(None) as nobody:
                assert (await nobody.get(NEAR.format(made["id"]))).status_code == 401

    run(story())


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_provider_that_died_between_rounds_goes_on_and_charges_nobody_twice(
    rounds: int, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with service(4) as here:
            await cut_off(here, rounds, monkeypatch, **{"Idempotency-Key": "map"})
            assert here.spent() == Epsilon.of(40)
            assert max(here.owners_spent()) < Epsilon.of(40)
            here.app.state.service.publications.resume()
            async with here.client() as ann:
                made = (await ann.post("/v1/maps", json=SAID, headers={"Idempotency-Key": "map"})).json()
                assert (made["charged"], made["heard"]) == (40, 4)
                assert (here.spent(), here.owners_spent()) == (Epsilon.of(40), {Epsilon.of(40)})
                assert here.city.state.unfinished() == []
                assert here.app.state.service.publications.resume() == []
                assert (await ann.get("/v1/maps")).json()["maps"][0]["state"] == "answered"

    run(story())


def test_a_map_tells_also_of_what_was_paid_again_in_a_round_that_was_cut_off(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with service(2) as here:
            await cut_off(here, 1, monkeypatch, **{"Idempotency-Key": "map"})
            ((question, _, _),) = here.city.state.unfinished()
            assert here.city.state.spend_more(question, Epsilon.of(5))  # a spoilt round is asked again; and it dies
            here.app.state.service.publications.resume()
            async with here.client() as ann:
                made = (await ann.post("/v1/maps", json=SAID, headers={"Idempotency-Key": "map"})).json()
            assert (here.spent(), made["charged"]) == (Epsilon.of(45), 45)

    run(story())


def test_a_provider_that_stops_while_owners_are_away_goes_on_another_time(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with service(2) as here:
            await cut_off(here, 1, monkeypatch)
            await here.city.drop_all()
            (task,) = here.app.state.service.publications.resume()
            await asyncio.sleep(0)
            await here.work.all_done()
            assert task.cancelled()
            assert len(here.city.state.unfinished()) == 1

    run(story())


def test_a_map_that_nobody_answers_is_given_back_and_is_not_published(service: Service) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            here.city.break_silos()
            reply = await ann.post("/v1/maps", json=SAID)
            assert (reply.status_code, reply.json()["charged"]) == (503, False)
            assert (here.spent(), here.city.state.unfinished()) == (NOTHING, [])
            async with here.client("bob") as bob:
                assert (await bob.get("/v1/maps")).json()["maps"] == []

    run(story())


def test_the_client_publishes_and_reads_for_nothing(running: Callable[..., Any]) -> None:
    with running(owners=3) as up:
        with connect(up.url, up.here.tokens["ann"]) as ann:
            with pytest.raises(InvalidInput, match="published"):
                ann.published()
            made = ann.publish(epsilon=40, method="dp", records=24)
            assert made.total().value == pytest.approx(120, abs=5)
        with connect(up.url, up.here.tokens["bob"]) as bob:
            again = bob.published()
            assert np.allclose(again.values, made.values)
            assert again.id == made.id
            free = bob.count(fg.Circle(3, 3, 2), from_map=True)
            assert (free.charged, free.value) == (0.0, again.count(fg.Circle(3, 3, 2)).value)
            with pytest.raises(InvalidQuery, match="from_map"):
                bob.count(fg.Circle(3, 3, 2), epsilon=1, from_map=True)
            with pytest.raises(InvalidInput, match="published"):
                bob.published(kind="sum")
            assert bob.budget()["spent"] == 0
        assert up.here.owners_spent() == {Epsilon.of(40)}
