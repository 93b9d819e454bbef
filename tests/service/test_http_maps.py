"""Maps over HTTP: every way to say bins, charged once, kept, given again and given back, and read as files."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from typing import Any

import geopandas
import numpy as np
import pytest

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery, TooFewHeard
from fedgroup.questions.query import RangeQuery
from fedgroup.service.client import AsyncClient, connect
from fedgroup.space import Box, Grid
from fedgroup.space.places import canonical_places

Service = Callable[..., Any]
HALVES = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"name": name},
            "geometry": {"type": "Polygon", "coordinates": [[[a, 0], [b, 0], [b, 10], [a, 10], [a, 0]]]},
        }
        for name, a, b in (("west", 0, 5), ("east", 5, 10))
    ],
}
GRID = {"grid": [4, 4], "epsilon": 30, "method": "dp"}
PLANE = Grid(Box(0, 0, 10, 10), 4, 4)


def run(coroutine: Any) -> None:
    asyncio.run(coroutine)


def truth(here: Any) -> list[int]:
    query = RangeQuery("count", PLANE, Epsilon.of(1))
    return sum(owner.silo.totals(query)["count"] for owner in here.city.owners.values()).tolist()


def close(found: list[float], exact: list[int]) -> bool:
    return bool(np.abs(np.array(found) - exact).max() <= 2)


def test_a_grid_is_charged_once_and_given_again_for_nothing(service: Service) -> None:
    async def story() -> None:
        async with service(4, allowance=1000) as here, here.client() as ann:
            reply = await ann.post("/v1/maps", json=GRID)
            assert reply.status_code == 200, reply.text
            made = reply.json()
            assert close(made["values"], truth(here))
            assert (made["kind"], made["shape"], made["epsilon"], made["heard"]) == ("count", [16, 1, 1], 30, 4)
            assert all(low <= high for low, high in zip(made["low"], made["high"], strict=True))
            assert here.spent() == Epsilon.of(30)
            assert here.owners_spent() == {Epsilon.of(30)}
            again = (await ann.post("/v1/maps", json=GRID)).json()
            assert (again["values"], again["stored"]) == (made["values"], True)
            assert here.spent() == Epsilon.of(30)
            kept = (await ann.get(f"/v1/maps/{made['id']}")).json()
            assert kept == made
            listed = (await ann.get("/v1/maps")).json()["maps"]
            assert [each["id"] for each in listed] == [again["id"], made["id"]]
            assert (await ann.get("/v1/queries")).json()["queries"] == []

    run(story())


SAID: list[tuple[dict[str, Any], list[int]]] = [
    ({"districts": HALVES}, [2, 1, 1]),
    ({"circle": {"x": 5, "y": 5, "radius": 3}}, [1, 1, 1]),
    ({"districts": HALVES, "by": {"fare": [2, "other"]}}, [2, 1, 2]),
    ({"grid": [3, 2], "kind": "people"}, [6, 1, 1]),
    ({"grid": [3, 2], "kind": "avg", "attribute": "fare", "clip": 4}, [6, 1, 1]),
]


def test_bins_are_said_in_json(service: Service) -> None:
    async def story() -> None:
        async with service(3, allowance=1000) as here, here.client() as ann:
            for bins, shape in SAID:
                reply = await ann.post("/v1/maps", json={"epsilon": 20, "method": "mpc", **bins})
                assert reply.status_code == 200, reply.text
                made = reply.json()
                assert made["shape"] == shape
                assert len(made["values"]) == np.prod(shape)
                for name in ("geojson", "parquet"):
                    assert (await ann.get(f"/v1/maps/{made['id']}?format={name}")).status_code == 200
            assert here.spent() == Epsilon.of(20 * len(SAID))

    run(story())


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"grid": [300, 300]}, "65536 numbers"),
    ({"grid": [65_536, 65_536]}, "1,000,000 cells"),
    ({}, "one kind of places"),
    ({"grid": [2, 2], "districts": HALVES}, "one kind of places"),
    ({"grid": [2, 2], "every": "0h", "since": 0, "until": 9}, "every"),
    ({"grid": [2, 2], "every": 0, "since": 0, "until": 9}, "every"),
    ({"grid": [2, 2], "every": "1h"}, "since and until"),
    ({"h3": 5}, "degrees"),
    ({"grid": [2, 2], "by": {"fare": []}}, "categories"),
    ({"grid": [2, 2], "by": {"a": ["x"], "b": ["y"]}}, "categories"),
    ({"districts": {"type": "FeatureCollection", "features": []}}, "at least one"),
    ({"districts": {**HALVES, "features": HALVES["features"][:1] * 2}}, "comes twice"),
    ({"districts": json.loads(json.dumps(HALVES).replace("5", "6", 2))}, "overlap"),
]


def test_bad_bins_are_refused_and_cost_nothing(service: Service) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            for wrong, what in WRONG:
                reply = await ann.post("/v1/maps", json={"epsilon": 1, "method": "dp", **wrong})
                assert reply.status_code == 422, reply.text
                assert what in reply.json()["detail"]
            assert here.spent() == Epsilon(0)
            assert here.owners_spent() == {Epsilon(0)}

    run(story())


def test_an_unknown_attribute_costs_nothing_told_or_not(service: Service) -> None:
    async def story() -> None:
        async with service(2, attributes=("fare",)) as here, here.client() as ann:
            body = {"epsilon": 1, "method": "dp", "grid": [2, 2], "by": {"colour": ["red"]}}
            assert "no attribute 'colour'" in (await ann.post("/v1/maps", json=body)).json()["detail"]
            here.city.provider.settings.__dict__["attributes"] = None
            problem = (await ann.post("/v1/maps", json=body)).json()
            assert problem["charged"] is False
            assert here.spent() == Epsilon(0)

    run(story())


def test_a_key_is_charged_once_and_tells_of_its_map(service: Service) -> None:
    async def story() -> None:
        async with service(3) as here, here.client() as ann:
            headers = {"Idempotency-Key": "one"}
            body = GRID | {"fresh": True}
            replies = [(await ann.post("/v1/maps", json=body, headers=headers)).json() for _ in range(2)]
            assert replies[0] == replies[1]
            assert here.spent() == Epsilon.of(30)
            other = await ann.post("/v1/maps", json=body | {"grid": [2, 2]}, headers=headers)
            assert other.status_code == 409
            known = (await ann.get("/v1/keys/one")).json()
            assert (known["state"], known["answer"], known["request"]["map"]["grid"]) == ("answered", None, [4, 4])

    run(story())


def test_maps_are_their_users_own(service: Service) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann, here.client("bob") as bob:
            made = (await ann.post("/v1/maps", json=GRID)).json()
            assert (await bob.get(f"/v1/maps/{made['id']}")).status_code == 404
            assert (await ann.get(f"/v1/queries/{made['id']}")).status_code == 404
            assert (await bob.get("/v1/maps")).json() == {"maps": []}

    run(story())


def test_a_map_that_no_owner_paid_for_is_given_back(service: Service) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            here.city.break_silos()
            reply = await ann.post("/v1/maps", json=GRID, headers={"Idempotency-Key": "k"})
            assert (reply.status_code, reply.json()["charged"]) == (503, False)
            assert here.spent() == Epsilon(0)
            assert (await ann.get(f"/v1/maps/{reply.json()['id']}")).status_code == 409

    run(story())


def test_a_dry_run_tells_the_error_of_a_bin_for_nothing(service: Service) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            told = (await ann.post("/v1/maps", json=GRID | {"epsilon": 0.5, "dry_run": True})).json()
            assert told["errors"]["count"]["half_width"] > 3
            assert here.spent() == Epsilon(0)

    run(story())


def test_a_map_is_read_as_geojson_and_geoparquet(service: Service) -> None:
    async def story() -> None:
        async with service(3) as here, here.client() as ann:
            made = (await ann.post("/v1/maps", json={"districts": HALVES, "epsilon": 30, "method": "dp"})).json()
            path = f"/v1/maps/{made['id']}"
            reply = await ann.get(path, headers={"Accept": "application/geo+json"})
            assert reply.headers["content-type"] == "application/geo+json"
            frame = geopandas.read_file(io.BytesIO(reply.content), engine="pyogrio")
            assert (frame["name"].tolist(), frame["value"].tolist()) == (["west", "east"], made["values"])
            reply = await ann.get(path, params={"format": "parquet"})
            frame = geopandas.read_parquet(io.BytesIO(reply.content))
            assert frame["value"].tolist() == made["values"]
            assert frame.geometry.area.tolist() == [50.0, 50.0]
            assert (await ann.get(path, params={"format": "xlsx"})).status_code == 422

    run(story())


def test_districts_may_take_a_megabyte_and_other_requests_may_not(service: Service) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            long = json.dumps({"districts": HALVES, "epsilon": 20, "method": "dp"}) + " " * 500_000
            headers = {"Content-Type": "application/json"}
            assert (await ann.post("/v1/maps", content=long, headers=headers)).status_code == 200
            assert (await ann.post("/v1/maps", content=long + " " * 600_000, headers=headers)).status_code == 413
            assert (await ann.post("/v1/queries", content=long, headers=headers)).status_code == 413

    run(story())


def test_clients_ask_for_maps_and_people(running: Callable[..., Any]) -> None:
    with running(owners=3, allowance=1e4) as up, connect(up.url, up.here.tokens["ann"]) as ann:
        west, east = (fg.Polygon([(a, 0), (b, 0), (b, 10), (a, 10)]) for a, b in ((0, 5), (5, 10)))
        made = ann.map(districts={"west": west, "east": east}, kind="people", epsilon=30, method="dp")
        assert made.names() == ["west", "east"]
        assert close(made.values.tolist(), [1, 2])
        (kept,) = ann.maps()
        loaded = ann.load_map(kept["id"])
        assert canonical_places(loaded.places) == canonical_places(made.places)
        assert loaded.values.tolist() == made.values.tolist()
        assert abs(ann.people(fg.Rectangle(0, 0, 10, 10), epsilon=30, method="dp").value - 3) <= 2
        assert ann.expect_map(grid=(2, 2), epsilon=1, method="dp").errors["count"].half_width > 1
        with pytest.raises(InvalidQuery, match="overlap"):
            ann.map(districts={"a": west, "b": west}, epsilon=1)
        with pytest.raises(InvalidQuery, match="a map has no evry"):
            ann.map(grid=(2, 2), evry="1h", epsilon=1)  # type: ignore[call-arg]


def test_asynchronous_clients_ask_for_maps(service: Service) -> None:
    async def story() -> None:
        async with service(3) as here, here.client() as http:
            ann = AsyncClient(http)
            made = await ann.map(grid=(4, 4), by={"fare": [2.0]}, epsilon=30, method="dp")
            assert made.shape == (16, 1, 1)
            assert close(made.values.tolist(), truth(here))
            assert (await ann.load_map((await ann.maps())[0]["id"])).query == made.query
            here.city.break_silos()
            with pytest.raises(TooFewHeard):
                await ann.map(grid=(4, 4), epsilon=1, method="dp")

    run(story())
