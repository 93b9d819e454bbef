"""OGC API - Features: every page of every map, for whoever may read it, strictly and for nothing."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
import schemathesis
import shapely
from kept_degrees import DAY, kept, some

import fedgroup as fg
from fedgroup.epsilon import Epsilon

Service = Callable[..., Any]
DISTRICTS = {
    "west": fg.Polygon([(4.8, 52.3), (4.9, 52.3), (4.9, 52.4), (4.8, 52.4)]),
    "east": fg.Polygon([(4.9, 52.3), (5.0, 52.35), (4.9, 52.4)]),
}


def run(coroutine: Any) -> None:
    asyncio.run(coroutine)


async def paged(client: httpx.AsyncClient, url: str) -> list[dict[str, Any]]:
    """All features that a first page leads to."""
    found: list[dict[str, Any]] = []
    while url:
        page = (await client.get(url)).raise_for_status().json()
        assert page["numberReturned"] == len(page["features"])
        found += page["features"]
        url = next((link["href"] for link in page["links"] if link["rel"] == "next"), "")
    assert len(found) == page["numberMatched"]
    return found


def test_a_program_finds_its_way_from_the_landing_page_to_every_value(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann:
            made = some()
            map_id = kept(here, made)
            links = {link["rel"]: link for link in (await ann.get("/ogc")).json()["links"]}
            assert {"self", "service-desc", "conformance", "data"} <= set(links)
            conforms = (await ann.get(links["conformance"]["href"])).json()["conformsTo"]
            assert [each.rpartition("/")[2] for each in conforms] == ["core", "oas30", "geojson"]
            (collection,) = (await ann.get(links["data"]["href"])).json()["collections"]
            assert collection["id"] == map_id
            assert collection["extent"]["spatial"]["bbox"] == [[4.8, 52.3, 5.0, 52.4]]
            items = next(link for link in collection["links"] if link["rel"] == "items")
            assert items["type"] == "application/geo+json"
            found = await paged(ann, items["href"] + "?limit=7")
            assert [each["id"] for each in found] == list(range(48))
            assert [each["properties"]["value"] for each in found] == made.values.tolist()
            sure = (made.values > made.half_width_all) & (made.low > 0)
            assert [each["properties"]["told_apart"] for each in found] == sure.tolist()
            assert 0 < sure.sum() < 48
            shapes = [shapely.geometry.shape(each["geometry"]) for each in found]
            assert all(shape.equals(own) for shape, own in zip(shapes, made.geometries(), strict=True))
            one = (await ann.get(f"/ogc/collections/{map_id}/items/13")).json()
            assert (one["id"], one["properties"]) == (13, found[13]["properties"])

    run(story())


def test_a_collection_tells_what_was_promised(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann:
            made = some(grid=(2, 2), **DAY)
            map_id = kept(here, made)
            told = (await ann.get(f"/ogc/collections/{map_id}")).json()
            about = told["fedgroup"]
            assert (about["epsilon"], about["unit"]) == (1.0, "one record, add-remove")
            assert about["window"]["until"] == "1970-01-02T00:00:00Z"
            assert about["noise"]["half_width_all"] == made.half_width_all
            assert "epsilon-differential privacy with epsilon 1 (one record, add-remove)" in about["promise"]
            assert told["extent"]["temporal"]["interval"] == [["1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z"]]

    run(story())


BOXES = ["4.81,52.31,4.82,52.32", "4.85,52.33,4.95,52.37", "-180,-90,180,90", "5.1,52,5.2,52.4", "5,52.3,-170,53"]


@pytest.mark.parametrize("said", [{}, {"h3": 7, "grid": None}, {"districts": DISTRICTS, "grid": None}], ids=str)
def test_a_box_finds_what_meets_it(service: Service, said: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann:
            made = some(**said)
            map_id = kept(here, made)
            for text in BOXES:
                west, south, east, north = (float(each) for each in text.split(","))
                box = shapely.box(west, south, east if west <= east else east + 360, north)
                expected = [at for at, shape in enumerate(made.geometries()) if shapely.intersects(shape, box)]
                found = await paged(ann, f"/ogc/collections/{map_id}/items?bbox={text}&limit=20")
                assert [each["id"] for each in found] == expected, text

    run(story())


TIMES = {
    "1970-01-01T07:00:00Z": [1],
    "1970-01-01T06:00:00Z": [1],
    "../1970-01-01T00:00:00Z": [0],
    "1970-01-01T11:00:00Z/1970-01-01T12:00:00Z": [1, 2],
    "1970-01-01T20:00:00+01:00/..": [3],
    "1970-01-02T00:00:00Z/..": [],
    "../..": [0, 1, 2, 3],
}


def test_a_time_finds_the_steps_that_meet_it(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann:
            made = some(grid=(2, 1), **DAY, by={"kind": ["bus", "other"]})
            map_id = kept(here, made)
            for text, steps in TIMES.items():
                said = {"datetime": text, "limit": 3}
                url = str(httpx.URL(f"http://service/ogc/collections/{map_id}/items", params=said))
                found = await paged(ann, url)
                bins = made.at(np.arange(made.bins))[:, steps].ravel().tolist()
                assert [each["id"] for each in found] == bins, text
            first = (await ann.get(f"/ogc/collections/{map_id}/items/2")).json()["properties"]
            assert (first["time"], first["time_end"]) == ("1970-01-01T06:00:00.000000Z", "1970-01-01T12:00:00Z")
            assert first["category"] == "bus"

    run(story())


WRONG = [
    "limit=0", "limit=-1", "limit=x", "limit=1e3", "limit=10000000000", "offset=-1", "offset=1.5", "bbox=1,2,3",
    "bbox=nan,0,1,1", "bbox=0,0,inf,1", "bbox=0,5,1,4", "bbox=0,-91,1,4", "bbox=0,0,9999,1", "bbox=a,b,c,d",
    "bbox=1,2,3,4,5", "datetime=yesterday", "datetime=2026-01-02/2026-01-01", "datetime=..", "datetime=a/b/c",
    "f=html", "colour=red", "crs=EPSG:28992", f"bbox={'1' * 300},0,1,1",
]  # fmt: skip


def test_what_is_wrong_in_an_address_is_told_with_400(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann:
            map_id = kept(here, some())
            for said in WRONG:
                reply = await ann.get(f"/ogc/collections/{map_id}/items?{said}")
                assert (reply.status_code, reply.json()["type"]) == (400, "urn:fedgroup:problem:invalid-parameter"), (
                    said
                )
            page = (await ann.get(f"/ogc/collections/{map_id}/items?limit=999999999")).json()
            assert page["numberReturned"] == 48
            past = (await ann.get(f"/ogc/collections/{map_id}/items?offset=999999999")).json()
            assert (past["numberMatched"], past["features"]) == (48, [])
            for path in ("items/48", "items/-1", "items/x", "items/1e0", f"items/{'9' * 99}"):
                assert (await ann.get(f"/ogc/collections/{map_id}/{path}")).status_code == 404, path

    run(story())


def test_maps_of_others_look_like_unknown_ones(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann, here.client("bob") as bob, here.client("op") as operator:
            mine = kept(here, some())
            paths = ["", "/items", "/items/0"]
            assert (await ann.get(f"/ogc/collections/{mine}")).status_code == 200  # it is open now
            for other in (bob, operator):
                assert (await other.get("/ogc/collections")).json()["collections"] == []
                for path in [f"/ogc/collections/{{}}{path}" for path in paths] + ["/v1/maps/{}/tiles/0/0/0.png"]:
                    unknown = await other.get(path.format("0123456789abcdef01234567"))
                    reply = await other.get(path.format(mine))
                    assert (reply.status_code, reply.content) == (404, unknown.content), path

    run(story())


def test_a_token_is_a_bearers_or_a_password(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here, here.client(None) as stranger:
            kept(here, some())
            token = here.tokens["ann"]
            for name in ("ann", "", "anybody"):
                reply = await stranger.get("/ogc/collections", auth=(name, token))
                assert len(reply.json()["collections"]) == 1
            wrong = [
                f"Basic {base64.b64encode(each).decode()}" for each in (b"ann:x", b"ann", token.encode(), b"\xff:")
            ]
            for words in (*wrong, "Basic !!!", "Basic", "", f"Digest {token}"):
                reply = await stranger.get("/ogc/collections", headers={"Authorization": words})
                assert reply.status_code == 401
                assert reply.headers["WWW-Authenticate"] == 'Bearer, Basic realm="fedgroup"'
            asked = await stranger.post("/v1/maps", json={"grid": [2, 2], "epsilon": 1}, auth=("ann", token))
            assert asked.status_code == 401  # asking takes a bearer's token, as before

    run(story())


def test_a_map_on_a_plane_is_told_to_have_no_coordinate_system(service: Service) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            plane = (await ann.post("/v1/maps", json={"grid": [2, 2], "epsilon": 30, "method": "dp"})).json()["id"]
            page = (await ann.get("/ogc/collections")).json()
            assert (page["collections"], page["description"][:16]) == ([], "1 of your maps a")
            for path in (f"/ogc/collections/{plane}", f"/ogc/collections/{plane}/items", f"/v1/maps/{plane}/legend"):
                reply = await ann.get(path)
                assert (reply.status_code, reply.json()["type"]) == (409, "urn:fedgroup:problem:no-crs")
                assert "format=geojson" in reply.json()["detail"]

    run(story())


def test_a_domain_over_the_antimeridian_is_cut_there(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann:
            map_id = kept(here, some(fg.Box(177, -20, 182, -15), grid=(5, 1)))
            collection = (await ann.get(f"/ogc/collections/{map_id}")).json()
            assert collection["extent"]["spatial"]["bbox"] == [[177, -20, -178, -15]]
            found = await paged(ann, f"/ogc/collections/{map_id}/items")
            bounds = [shapely.geometry.shape(each["geometry"]).bounds for each in found]
            assert bounds[2:4] == [(179, -20, 180, -15), (-180, -20, -179, -15)]
            east = await paged(ann, f"/ogc/collections/{map_id}/items?bbox=-179.5,-16,-179.2,-15.5")
            over = await paged(ann, f"/ogc/collections/{map_id}/items?bbox=179.5,-16,-179.2,-15.5")
            assert ([each["id"] for each in east], [each["id"] for each in over]) == ([3], [2, 3])
            wide = kept(here, some(fg.Box(178, -20, 182, -16), grid=(1, 1)))
            (one,) = await paged(ann, f"/ogc/collections/{wide}/items")
            assert one["geometry"]["type"] == "MultiPolygon"

    run(story())


def test_looking_spends_nothing_and_writes_nothing(service: Service) -> None:
    async def story() -> None:
        async with service(3, allowance=1000) as here, here.client() as ann:
            map_id = kept(here, some(grid=(4, 4), **DAY))
            plane = (await ann.post("/v1/maps", json={"grid": [2, 2], "epsilon": 30, "method": "dp"})).json()["id"]
            spent, owners, before = here.spent(), here.owners_spent(), dump(here)
            document = (await ann.get("/openapi.json")).json()
            gets = [path for path, verbs in document["paths"].items() if "get" in verbs]
            assert len(gets) >= 20
            parts = {"map_id": map_id, "question_id": map_id, "feature_id": 1, "key": "k", "z": 1, "x": 0, "y": 0}
            for path in gets:
                for where in (parts, parts | {"map_id": plane, "question_id": plane}):
                    assert (await ann.get(path.format(**where))).status_code < 500, path
            assert (here.spent(), here.owners_spent()) == (spent, owners)
            assert dump(here) == before

    run(story())


def dump(here: Any) -> list[str]:
    return list(here.city.state._connection.iterdump())


def test_links_say_https_where_a_proxy_speaks_it(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann:
            headers = {"X-Forwarded-Proto": "https", "Host": "maps.example"}
            links = (await ann.get("/ogc", headers=headers)).json()["links"]
            assert {link["href"].partition("/ogc")[0] for link in links if "/ogc" in link["href"]} == {
                "https://maps.example"
            }

    run(story())


def test_the_description_is_openapi_3_0(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann:
            reply = await ann.get("/ogc/api")
            assert reply.headers["content-type"] == "application/vnd.oai.openapi+json;version=3.0"
            document = reply.json()
            assert (document["openapi"], sorted(document["paths"])[0]) == ("3.0.3", "/ogc")
            schemathesis.openapi.from_dict(document).validate()
            limit = document["paths"]["/ogc/collections/{map_id}/items"]["get"]["parameters"]
            (found,) = [each for each in limit if each["name"] == "limit"]
            assert (found["schema"]["type"], found["schema"]["minimum"]) == ("integer", 1)

    run(story())


def test_charges_are_those_of_asking_alone(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann:
            map_id = kept(here, some())
            for _ in range(3):
                assert (await ann.get(f"/ogc/collections/{map_id}/items")).status_code == 200
            assert here.spent() == Epsilon.of(1)

    run(story())
