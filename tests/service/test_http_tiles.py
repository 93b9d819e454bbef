"""Tiles over HTTP: drawn once, given again from memory or not at all, and a bounded number of them."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kept_degrees import DAY, kept, some
from PIL import Image

from fedgroup.maps.tiles import Painting
from fedgroup.service.kept_maps import Bounded, KeptMaps
from fedgroup.service.problems import Problem

Service = Callable[..., Any]
TILE = "tiles/11/1051/673.png"


def run(coroutine: Any) -> None:
    asyncio.run(coroutine)


def test_a_tile_is_a_picture_with_a_tag_that_saves_drawing_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[int, int, int]] = []
    usual = Painting.png
    monkeypatch.setattr(Painting, "png", lambda self, *at: drawn.append(at) or usual(self, *at))

    async def story() -> None:
        async with service(0) as here, here.client() as ann:
            path = f"/v1/maps/{kept(here, some(epsilon=20))}/{TILE}"
            first = await ann.get(path)
            assert (first.status_code, first.headers["content-type"]) == (200, "image/png")
            assert first.headers["cache-control"].startswith("private")
            picture = np.asarray(Image.open(io.BytesIO(first.content)).convert("RGBA"))
            assert 0 < (picture[:, :, 3] > 0).mean() < 1
            again = await ann.get(path)
            assert again.content == first.content
            for tag in (first.headers["etag"], f'W/{first.headers["etag"]}, "x"'):
                unchanged = await ann.get(path, headers={"If-None-Match": tag})
                assert (unchanged.status_code, unchanged.content) == (304, b"")
            other = await ann.get(path, params={"per": "km2"})
            assert other.headers["etag"] != first.headers["etag"]
            assert len(drawn) == 2

    run(story())


def test_a_tag_opens_nothing_to_others(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann, here.client("bob") as bob:
            path = f"/v1/maps/{kept(here, some())}/{TILE}"
            tag = (await ann.get(path)).headers["etag"]
            assert (await bob.get(path, headers={"If-None-Match": tag})).status_code == 404

    run(story())


@pytest.mark.parametrize(
    "tile",
    ["23/0/0", "3/8/0", "3/0/8", "-1/0/0", "0/0/00000000000", "1.0/0/0", "a/b/c", f"{9**99}/0/0", "22/4194304/0"],
)
def test_what_is_no_tile_is_not_there(service: Service, tile: str) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann:
            reply = await ann.get(f"/v1/maps/{kept(here, some())}/tiles/{tile}.png")
            assert (reply.status_code, reply.json()["type"]) == (404, "urn:fedgroup:problem:unknown-map")

    run(story())


def test_tiles_are_of_one_step_and_category_or_of_all(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann:
            made = some(grid=(2, 2), **DAY, by={"kind": ["bus", "other"]}, epsilon=20)
            path = f"/v1/maps/{kept(here, made)}"
            for said in ({}, {"step": 3}, {"category": "bus"}, {"step": 0, "category": "other", "per": "km2"}):
                assert (await ann.get(f"{path}/{TILE}", params=said)).status_code == 200
            for wrong in ({"step": 4}, {"step": -1}, {"category": "tram"}, {"per": "acre"}):
                assert (await ann.get(f"{path}/{TILE}", params=wrong)).status_code == 422, wrong
            legend = (await ann.get(f"{path}/legend", params={"step": 3})).json()
            assert legend["unit"] == "records"
            drawn = await ann.get(f"{path}/legend", headers={"Accept": "image/svg+xml"})
            assert drawn.text.startswith("<svg")

    run(story())


def test_open_maps_and_tiles_are_bounded(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here:
            maps = KeptMaps(here.city.state, most_bins=100)
            ann = here.city.state.user("ann")
            ids = [kept(here, some(grid=(8, 5))) for _ in range(4)]
            for map_id in ids:
                layer = await maps.layer(ann, map_id)
                assert layer is await maps.layer(ann, map_id)
            assert len(maps._layers) == 2
            assert len(await maps.listed(ann)) == 4
            here.city.state.finish(here.city.state.question(ids[0]), None)
            with pytest.raises(Problem, match="no map with this id"):
                await maps.layer(ann, ids[0])

    run(story())


def test_what_was_used_last_is_kept() -> None:
    kept_few: Bounded[str] = Bounded(10)
    for name, weight in (("a", 4), ("b", 4), ("a", 4), ("c", 4)):
        kept_few.get(name) or kept_few.put(name, name, weight=weight)
    assert [kept_few.get(name) for name in "abc"] == ["a", None, "c"]
    kept_few.put("huge", "huge", weight=99)
    assert (len(kept_few), kept_few.get("huge")) == (1, "huge")
