"""Browsers that go away in the middle of a request: nothing failed, and nothing is logged as if it had."""

from __future__ import annotations

import asyncio
import re
import socket
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware

from fedgroup.service.bodies import LimitedBodies
from fedgroup.service.pages.policy import PolicyHeaders

READ = (0, 1, 300, 3_000)
"""How much of a reply somebody reads before it goes away."""


@pytest.fixture
def signed_in(here):
    with httpx.Client(base_url=here.url) as client:
        client.post("login", data={"token": here.new_user()[1]})
        yield client


def hurried(here, request: str, read: int = 0) -> None:
    """Send a request, or its beginning, read so many bytes of what comes, and go away."""
    place = urlsplit(here.url)
    with socket.create_connection((place.hostname, place.port)) as connection:
        connection.sendall(request.replace("HOST", place.netloc).encode())
        while read > 0 and (got := connection.recv(read)):
            read -= len(got)


def test_pages_and_files_that_nobody_waits_for_are_no_failures(here, signed_in):
    files = re.findall(r'(?:src|href)="(/map/[^"]+)"', signed_in.get("").text)
    assert len(files) > 5
    known = f"Cookie: fedgroup={signed_in.cookies['fedgroup']}\r\nAccept-Encoding: gzip"
    for path in ("/map/", "/map/federation", "/map/learn", "/map/history.csv", *files * 3):
        for read in READ:
            hurried(here, f"GET {path} HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n{known}\r\n\r\n", read)
    signed_in.get("")
    assert here.tell("failures") == []


def test_a_token_that_was_sent_by_half_is_no_failure(here):
    half = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ntoken=abc"
    for path in ("/map/login", "/v1/queries"):
        hurried(here, f"POST {path} HTTP/1.1\r\nHost: HOST\r\n{half}")
    httpx.get(f"{here.url}login")
    assert here.tell("failures") == []


async def pass_on(request, call_next):
    return await call_next(request)


def replies(app, messages) -> list[dict]:
    """What an application sends to somebody from whom these messages come, and then nothing more."""
    sent, waiting = [], list(messages)

    async def receive():
        return waiting.pop(0) if waiting else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"accept-encoding", b"gzip")], "asgi": {}}
    asyncio.run(asyncio.wait_for(app(scope, receive, send), 60))
    return sent


WHOLE, GONE = {"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}


def around(app):
    """An application as NiceGUI wraps it."""
    return BaseHTTPMiddleware(GZipMiddleware(BaseHTTPMiddleware(PolicyHeaders(app), pass_on)), pass_on)


@pytest.mark.parametrize("begins", [False, True], ids=["at-once", "begun"])
def test_a_reply_to_somebody_who_is_gone_is_ended_in_good_order(begins):
    async def leaves(_scope, receive, send):
        if begins:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
        while (await receive())["type"] != "http.disconnect":
            pass

    sent = replies(around(leaves), [WHOLE, GONE])
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]


def test_an_application_that_forgets_to_reply_is_still_a_failure():
    async def forgets(_scope, receive, _send):
        await receive()

    with pytest.raises(RuntimeError, match="No response"):
        replies(around(forgets), [WHOLE])


def test_a_request_that_never_became_whole_reaches_nobody():
    async def asked(*_):
        raise AssertionError

    assert replies(LimitedBodies(asked), [GONE]) == []
