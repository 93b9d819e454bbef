"""The other end of the HTTP API: ask a federation that runs somewhere.

    with fg.connect("https://federation.example", token) as federation:
        answer = federation.count(fg.Circle(10_000, 10_000, 500), epsilon=0.3)

Every question has an idempotency key, so one that is sent again after a lost connection is charged once.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

from fedgroup.errors import FedgroupError, InvalidInput
from fedgroup.given import path_like
from fedgroup.maps.private_map import PrivateMap
from fedgroup.maps.published import PublishedMap
from fedgroup.questions.answers import Answer, Expectation, answer_from, expectation_from
from fedgroup.questions.instants import When
from fedgroup.service.calls import (
    AskDetails,
    Call,
    ExpectMapDetails,
    MapAskDetails,
    PlanDetails,
    PublishAskDetails,
    expect_map_call,
    guessed,
    guessing,
    map_call,
    map_made,
    map_of,
    map_query,
    map_read,
    newest_published,
    plan_call,
    publication_call,
    published_read,
    question_call,
    read_reply,
    require_unpriced,
    required_url,
    unreachable,
    window_of,
)
from fedgroup.service.window_reading import MOST_LISTED, maps_between
from fedgroup.service.wrong_addresses import mistake_in, plain_mistake
from fedgroup.space import Range
from fedgroup.space.shapes import as_range

try:
    import httpx
except ImportError:
    raise InvalidInput("asking a service needs httpx: pip install 'fedgroup[serve]'") from None

SECONDS = 120.0
"""How long to wait for a reply."""

PAUSES = (0.2, 1.0)
"""How long to wait before a call is sent again because its connection was lost."""

_LOST = (httpx.NetworkError, httpx.RemoteProtocolError)


def connect(url: str, token: str | None = None, *, ca: str | Path | None = None, timeout: float = SECONDS) -> Client:
    """Return a client for the service at `url`.

    token  of a user there; by default what FEDGROUP_TOKEN holds
    ca     certificate of the authority that signed the service's own, if it is no public one
    """
    return Client(httpx.Client(**_settings(url, token, ca, timeout)))


def aconnect(
    url: str, token: str | None = None, *, ca: str | Path | None = None, timeout: float = SECONDS
) -> AsyncClient:
    """Return an asynchronous client, otherwise as `connect` does."""
    return AsyncClient(httpx.AsyncClient(**_settings(url, token, ca, timeout)))


class Client:
    """A federation that runs somewhere, asked over HTTP."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self._read: PublishedMap | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({str(self._http.base_url)!r})"  # without the token

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def count(
        self, asked: Any, *, epsilon: float | None = None, from_map: bool = False, **details: Unpack[AskDetails]
    ) -> Answer:
        """Return how many records lie in a range: one of ours, or a polygon of shapely, GeoJSON or GeoPandas.

        With `from_map` it is read from the newest published map: nobody is asked, and nothing is charged.
        """
        if not from_map:
            return self.ask("count", asked, epsilon=epsilon, **details)
        require_unpriced(epsilon, details)
        return self.published(**window_of(details)).count(asked)

    def publish(
        self, *, kind: str = "count", epsilon: float | None = None, **details: Unpack[PublishAskDetails]
    ) -> PublishedMap:
        """Publish a map for everybody to read for nothing; `epsilon` pays for all its rounds, once."""
        return published_read(self._call(publication_call(kind, epsilon, details)))

    def published(self, *, kind: str = "count", since: When | None = None, until: When | None = None) -> PublishedMap:
        """Return the newest published map of a kind and window, whoever published it; nothing is charged.

        It is fetched once, and again when a newer one is there.
        """
        newest = newest_published(self.maps(), kind, since=since, until=until)
        if self._read is None or self._read.id != newest:
            self._read = published_read(self._call(Call("GET", f"/v1/maps/{newest}")))
        return self._read

    def people(self, asked: Any, *, epsilon: float | None = None, **details: Unpack[AskDetails]) -> Answer:
        """Return how many subjects have records in a range, each counted once."""
        return self.ask("people", asked, epsilon=epsilon, **details)

    def map(self, *, kind: str = "count", epsilon: float | None = None, **details: Unpack[MapAskDetails]) -> PrivateMap:
        """Return counts, people, sums or means of many bins at once; one epsilon pays for the whole map."""
        query, public_map = map_query(kind, epsilon, details, self.federation())
        return map_made(self._call(map_call(query, details)), query, public_map, details)

    def expect_map(
        self, *, kind: str = "count", epsilon: float | None = None, **details: Unpack[ExpectMapDetails]
    ) -> Expectation:
        """Return what every bin of a map would be like, or with `adaptive` one to publish; nothing is spent."""
        return expectation_from(self._call(expect_map_call(kind, epsilon, details, self.federation())))

    def maps(self) -> list[dict[str, Any]]:
        """Return which maps the user asked for lately, without their values, the newest first."""
        found: list[dict[str, Any]] = (self._call(Call("GET", "/v1/maps")))["maps"]
        return found

    def standing(self, *, limit: int = 48) -> list[dict[str, Any]]:
        """Return the standing maps: which of the latest windows are published, and what comes next."""
        return list(self._call(Call("GET", f"/v1/standing?limit={limit:d}"))["standing"])

    def window_maps(self, name: str, *, since: When, until: When) -> tuple[PrivateMap, ...]:
        """Return the maps of a standing map that a time is read from, for `WindowMaps` or, if adaptive, a `Ladder`."""
        found = maps_between(self.standing(limit=MOST_LISTED), name, since, until)
        return tuple(self.load_map(each) for each in found)

    def load_map(self, question_id: str) -> PrivateMap:
        """Return a map that was asked for before."""
        return map_read(self._call(Call("GET", f"/v1/maps/{question_id}")))

    def sum(self, asked: Any, *, epsilon: float | None = None, **details: Unpack[AskDetails]) -> Answer:
        """Return the sum of an attribute over the records in a range."""
        return self.ask("sum", asked, epsilon=epsilon, **details)

    def avg(self, asked: Any, *, epsilon: float | None = None, **details: Unpack[AskDetails]) -> Answer:
        """Return the mean of an attribute over the records in a range."""
        return self.ask("avg", asked, epsilon=epsilon, **details)

    def ask(self, kind: str, asked: Any, *, epsilon: float | None = None, **details: Unpack[AskDetails]) -> Answer:
        """Return the answer to a question; `calls.Details` lists what can be said about it."""
        about = self._range(asked)
        if guessing(details):
            free = self.published(kind=kind, **window_of(details)).count(about)
            return self.ask(kind, about, epsilon=epsilon, **guessed(details, free.value))
        return answer_from(self._call(question_call(kind, about, epsilon, details)), range=about)

    def expect(
        self, kind: str, asked: Any, *, epsilon: float | None = None, **details: Unpack[AskDetails]
    ) -> Expectation:
        """Return what an answer would be like; nothing is spent."""
        return expectation_from(self._call(question_call(kind, self._range(asked), epsilon, details, dry_run=True)))

    def budget(self) -> dict[str, Any]:
        """Return the user's allowance, what was spent of it and what is left."""
        return self._call(Call("GET", "/v1/budget"))

    def queries(self) -> list[dict[str, Any]]:
        """Return the user's latest questions with their answers, the newest first."""
        found: list[dict[str, Any]] = (self._call(Call("GET", "/v1/queries")))["queries"]
        return found

    def federation(self) -> dict[str, Any]:
        """Return what the federation agreed on, which attributes can be asked about, and its methods."""
        return self._call(Call("GET", "/v1/federation"))

    def owners(self) -> dict[str, Any]:
        """Return how many owners are here; operators get their names too."""
        return self._call(Call("GET", "/v1/owners"))

    def retire(self, owner: str) -> dict[str, Any]:
        """Count an owner that left for good no more; for operators."""
        return self._call(Call("POST", f"/v1/owners/{owner}/retire"))

    def asked_with(self, key: str) -> dict[str, Any]:
        """Return what became of the question with this key, and what it was charged."""
        return self._call(Call("GET", f"/v1/keys/{key}"))

    def groups(self) -> list[dict[str, Any]]:
        """Return how many groups each method has, and how large; operators get their members too."""
        found: list[dict[str, Any]] = (self._call(Call("GET", "/v1/groups")))["plans"]
        return found

    def regroup(self, *, epsilon: float | None = None, **details: Unpack[PlanDetails]) -> dict[str, Any]:
        """Group all owners that are here anew, for operators; `calls.PlanDetails` lists what can be said about it.

        Every owner, and the operator's allowance, is charged `epsilon`.
        """
        return self._call(plan_call(epsilon, details))

    def _range(self, asked: Any) -> Range:
        """Return the range asked about; what others made is brought to the federation's map, which is looked up."""
        return asked if isinstance(asked, Range) else as_range(asked, map_of(self.federation()))

    def _call(self, call: Call) -> dict[str, Any]:
        attempts, content, headers = _Attempts(call), call.content(), call.sent_headers()
        while True:
            try:
                reply = self._http.request(call.method, call.path, content=content, headers=headers)
                return read_reply(reply.status_code, reply.text)
            except httpx.TransportError as error:
                pause, fault = attempts.pause_after(error), error
            if pause is None:
                raise _given_up(fault, attempts, str(self._http.base_url)) from None
            time.sleep(pause)


class AsyncClient:
    """A federation that runs somewhere, asked over HTTP by a coroutine."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._read: PublishedMap | None = None

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({str(self._http.base_url)!r})"  # without the token

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def count(
        self, asked: Any, *, epsilon: float | None = None, from_map: bool = False, **details: Unpack[AskDetails]
    ) -> Answer:
        """Return how many records lie in a range: one of ours, or a polygon of shapely, GeoJSON or GeoPandas.

        With `from_map` it is read from the newest published map: nobody is asked, and nothing is charged.
        """
        if not from_map:
            return await self.ask("count", asked, epsilon=epsilon, **details)
        require_unpriced(epsilon, details)
        return (await self.published(**window_of(details))).count(asked)

    async def publish(
        self, *, kind: str = "count", epsilon: float | None = None, **details: Unpack[PublishAskDetails]
    ) -> PublishedMap:
        """Publish a map for everybody to read for nothing; `epsilon` pays for all its rounds, once."""
        return published_read(await self._call(publication_call(kind, epsilon, details)))

    async def published(
        self, *, kind: str = "count", since: When | None = None, until: When | None = None
    ) -> PublishedMap:
        """Return the newest published map of a kind and window, whoever published it; nothing is charged.

        It is fetched once, and again when a newer one is there.
        """
        newest = newest_published(await self.maps(), kind, since=since, until=until)
        if self._read is None or self._read.id != newest:
            self._read = published_read(await self._call(Call("GET", f"/v1/maps/{newest}")))
        return self._read

    async def people(self, asked: Any, *, epsilon: float | None = None, **details: Unpack[AskDetails]) -> Answer:
        """Return how many subjects have records in a range, each counted once."""
        return await self.ask("people", asked, epsilon=epsilon, **details)

    async def map(
        self, *, kind: str = "count", epsilon: float | None = None, **details: Unpack[MapAskDetails]
    ) -> PrivateMap:
        """Return counts, people, sums or means of many bins at once; one epsilon pays for the whole map."""
        query, public_map = map_query(kind, epsilon, details, await self.federation())
        return map_made(await self._call(map_call(query, details)), query, public_map, details)

    async def expect_map(
        self, *, kind: str = "count", epsilon: float | None = None, **details: Unpack[ExpectMapDetails]
    ) -> Expectation:
        """Return what every bin of a map would be like, or with `adaptive` one to publish; nothing is spent."""
        return expectation_from(await self._call(expect_map_call(kind, epsilon, details, await self.federation())))

    async def maps(self) -> list[dict[str, Any]]:
        """Return which maps the user asked for lately, without their values, the newest first."""
        found: list[dict[str, Any]] = (await self._call(Call("GET", "/v1/maps")))["maps"]
        return found

    async def standing(self, *, limit: int = 48) -> list[dict[str, Any]]:
        """Return the standing maps: which of the latest windows are published, and what comes next."""
        return list((await self._call(Call("GET", f"/v1/standing?limit={limit:d}")))["standing"])

    async def window_maps(self, name: str, *, since: When, until: When) -> tuple[PrivateMap, ...]:
        """Return the maps of a standing map that a time is read from, for `WindowMaps` or, if adaptive, a `Ladder`."""
        found = maps_between(await self.standing(limit=MOST_LISTED), name, since, until)
        return tuple([await self.load_map(each) for each in found])

    async def load_map(self, question_id: str) -> PrivateMap:
        """Return a map that was asked for before."""
        return map_read(await self._call(Call("GET", f"/v1/maps/{question_id}")))

    async def sum(self, asked: Any, *, epsilon: float | None = None, **details: Unpack[AskDetails]) -> Answer:
        """Return the sum of an attribute over the records in a range."""
        return await self.ask("sum", asked, epsilon=epsilon, **details)

    async def avg(self, asked: Any, *, epsilon: float | None = None, **details: Unpack[AskDetails]) -> Answer:
        """Return the mean of an attribute over the records in a range."""
        return await self.ask("avg", asked, epsilon=epsilon, **details)

    async def ask(
        self, kind: str, asked: Any, *, epsilon: float | None = None, **details: Unpack[AskDetails]
    ) -> Answer:
        """Return the answer to a question; `calls.Details` lists what can be said about it."""
        about = await self._range(asked)
        if guessing(details):
            free = (await self.published(kind=kind, **window_of(details))).count(about)
            return await self.ask(kind, about, epsilon=epsilon, **guessed(details, free.value))
        return answer_from(await self._call(question_call(kind, about, epsilon, details)), range=about)

    async def expect(
        self, kind: str, asked: Any, *, epsilon: float | None = None, **details: Unpack[AskDetails]
    ) -> Expectation:
        """Return what an answer would be like; nothing is spent."""
        about = await self._range(asked)
        return expectation_from(await self._call(question_call(kind, about, epsilon, details, dry_run=True)))

    async def budget(self) -> dict[str, Any]:
        """Return the user's allowance, what was spent of it and what is left."""
        return await self._call(Call("GET", "/v1/budget"))

    async def queries(self) -> list[dict[str, Any]]:
        """Return the user's latest questions with their answers, the newest first."""
        found: list[dict[str, Any]] = (await self._call(Call("GET", "/v1/queries")))["queries"]
        return found

    async def federation(self) -> dict[str, Any]:
        """Return what the federation agreed on, which attributes can be asked about, and its methods."""
        return await self._call(Call("GET", "/v1/federation"))

    async def owners(self) -> dict[str, Any]:
        """Return how many owners are here; operators get their names too."""
        return await self._call(Call("GET", "/v1/owners"))

    async def retire(self, owner: str) -> dict[str, Any]:
        """Count an owner that left for good no more; for operators."""
        return await self._call(Call("POST", f"/v1/owners/{owner}/retire"))

    async def asked_with(self, key: str) -> dict[str, Any]:
        """Return what became of the question with this key, and what it was charged."""
        return await self._call(Call("GET", f"/v1/keys/{key}"))

    async def groups(self) -> list[dict[str, Any]]:
        """Return how many groups each method has, and how large; operators get their members too."""
        return list((await self._call(Call("GET", "/v1/groups")))["plans"])

    async def regroup(self, *, epsilon: float | None = None, **details: Unpack[PlanDetails]) -> dict[str, Any]:
        """Group all owners that are here anew, for operators; `calls.PlanDetails` lists what can be said about it.

        Every owner, and the operator's allowance, is charged `epsilon`.
        """
        return await self._call(plan_call(epsilon, details))

    async def _range(self, asked: Any) -> Range:
        """Return the range asked about; what others made is brought to the federation's map, which is looked up."""
        return asked if isinstance(asked, Range) else as_range(asked, map_of(await self.federation()))

    async def _call(self, call: Call) -> dict[str, Any]:
        attempts, content, headers = _Attempts(call), call.content(), call.sent_headers()
        while True:
            try:
                reply = await self._http.request(call.method, call.path, content=content, headers=headers)
                return read_reply(reply.status_code, reply.text)
            except httpx.TransportError as error:
                pause, fault = attempts.pause_after(error), error
            if pause is None:
                raise await asyncio.to_thread(_given_up, fault, attempts, str(self._http.base_url)) from None
            await asyncio.sleep(pause)


class _Attempts:
    """Whether a call is worth sending again: a lost connection is, an address where nobody listens is not."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.may_have_arrived = False
        self._pauses = list(PAUSES)

    def pause_after(self, error: httpx.TransportError) -> float | None:
        """Return how long to wait before the next attempt; None: give up."""
        self.may_have_arrived |= not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        if self.may_have_arrived and self._pauses and isinstance(error, _LOST):
            return self._pauses.pop(0)
        return None


def _given_up(error: httpx.TransportError, attempts: _Attempts, url: str) -> FedgroupError:
    """Return why no reply came; where only the address is wrong, what is right."""
    url = url.rstrip("/")
    mistake = mistake_in(error, url)
    if mistake is None and isinstance(error, _LOST) and attempts.may_have_arrived:
        mistake = plain_mistake(url)
    return mistake or unreachable(error, attempts.call, may_have_arrived=attempts.may_have_arrived)


def _settings(url: str, token: str | None, ca: str | Path | None, timeout: float) -> dict[str, Any]:
    token = os.environ.get("FEDGROUP_TOKEN") if token is None or (isinstance(token, str) and not token) else token
    if token is not None and not (isinstance(token, str) and token.isascii() and token.isprintable()):
        raise InvalidInput("a token is one line of printable characters, as 'fedgroup users add' shows it")
    try:
        httpx.URL(required_url(url))
    except httpx.InvalidURL:
        raise InvalidInput(f"this is not an address: {url!r}") from None
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return {"base_url": required_url(url), "headers": headers, "timeout": timeout, "verify": _verification(ca)}


def _verification(ca: str | Path | None) -> ssl.SSLContext | bool:
    if ca is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(path_like(ca, name="ca")))
    except OSError:
        raise InvalidInput(f"{ca} is not a file with a certificate of an authority (PEM)") from None
