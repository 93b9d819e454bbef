"""Tiles: asked of the one server that an operator named, and that server is good for pictures only."""

from __future__ import annotations

import struct
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import httpx
import pytest
from page_city import CREDIT
from page_process import Here
from page_steps import ask, ready
from playwright.sync_api import expect

SIZE = 256


def png(colour: bytes) -> bytes:
    """A square picture in one colour."""
    rows = (b"\0" + colour * SIZE) * SIZE
    parts = {b"IHDR": struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0), b"IDAT": zlib.compress(rows), b"IEND": b""}
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts.items()
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


class TileServer(ThreadingHTTPServer):
    """A server of one picture under all addresses, which remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Tiles)
        self.picture = png(b"\xa9\xc9\xe6")
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.host = f"127.0.0.1:{self.server_address[1]}"


class _Tiles(BaseHTTPRequestHandler):
    server: TileServer

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(200)
        self.send_header("Content-Type", "image/png")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", str(len(self.server.picture)))
        self.end_headers()
        self.wfile.write(self.server.picture)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def tiles():
    with TileServer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def here(tiles):
    found = Here(degrees=True, tiles=f"http://{tiles.host}/{{z}}/{{x}}/{{y}}.png")
    yield found
    found.close()


@pytest.fixture
def page(here, opened, tiles, watch):
    watch.others.add(tiles.host)
    found = opened(token=here.new_user()[1])
    ready(found)
    expect(found.locator("img.leaflet-tile-loaded").first).to_be_visible()
    return found


def test_tiles_come_from_the_server_that_was_named_and_from_no_other(page, here, tiles, watch, picture):
    ask(page)
    assert watch.hosts == {urlsplit(here.url).netloc, tiles.host}
    assert {kind for host, kind in watch.asked if host == tiles.host} == {"image"}
    assert all(path.endswith(".png") and path.count("/") == 3 for path in tiles.paths)
    sources = [urlsplit(tile.get_attribute("src")).netloc for tile in page.locator("img.leaflet-tile").all()]
    assert set(sources) == {tiles.host}
    picture(page)


def test_the_server_of_tiles_is_credited_in_plain_text(page):
    credit = page.locator(".leaflet-control-attribution")
    expect(credit).to_contain_text(CREDIT)
    assert credit.locator("b").count() == 0


def test_tiles_can_be_seen_inside_the_domain(page):
    assert page.evaluate("getComputedStyle(document.querySelector('path.fg-domain')).fill") == "none"


def test_the_server_of_tiles_learns_nothing_about_the_visitor_but_where_it_looks(page, tiles):
    assert tiles.headers
    assert not any({"cookie", "referer", "authorization"} & set(headers) for headers in tiles.headers)


def test_the_policy_allows_that_server_for_pictures_only(page, here, tiles):
    with httpx.Client(base_url=here.url) as client:
        client.post("login", data={"token": here.new_user()[1]})
        policy = client.get("").headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules.pop("img-src") == f"'self' data: http://{tiles.host}"
    assert tiles.host not in str(rules)


LOAD = {
    "fetch": "url => fetch(url).then(() => 'loaded', () => 'refused')",
    "script": """url => new Promise(done => { const it = document.createElement('script');
        it.src = url; it.onload = () => done('loaded'); it.onerror = () => done('refused');
        document.head.append(it) })""",
    "style": """url => new Promise(done => { const it = document.createElement('link'); it.rel = 'stylesheet';
        it.href = url; it.onload = () => done('loaded'); it.onerror = () => done('refused');
        document.head.append(it) })""",
    "img": """url => new Promise(done => { const it = new Image();
        it.onload = () => done('loaded'); it.onerror = () => done('refused'); it.src = url })""",
}


@pytest.mark.parametrize("what", LOAD)
def test_a_browser_takes_pictures_and_nothing_else_from_it(page, tiles, watch, what):
    watch.expected += ["Content Security Policy", "Refused to connect"]
    path = f"/0/0/{what}.png"
    assert page.evaluate(LOAD[what], f"http://{tiles.host}{path}") == ("loaded" if what == "img" else "refused")
    assert (path in tiles.paths) == (what == "img")


def test_a_picture_from_another_server_is_refused(page, tiles, watch):
    watch.expected += ["Content Security Policy"]
    with TileServer() as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        watch.others.add(other.host)
        assert page.evaluate(LOAD["img"], f"http://{other.host}/0/0/0.png") == "refused"
        other.shutdown()
        assert other.paths == []
