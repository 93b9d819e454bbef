"""What a client says and reads, without a network: both clients send these and understand the replies."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, TypedDict, cast

from fedgroup.epsilon import HARDLY_PROTECTS
from fedgroup.errors import InvalidInput, InvalidQuery, ServiceUnavailable
from fedgroup.given import written
from fedgroup.maps.private_map import PrivateMap, map_from
from fedgroup.maps.published import PublishedMap, published_from
from fedgroup.questions.instants import When, as_instant
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.said import (
    MapSaid,
    Said,
    is_said,
    naming_notes,
    places_said,
    question_of,
    require_known,
    said_places,
    said_range,
    some_price,
)
from fedgroup.questions.said_maps import map_said
from fedgroup.rho import Rho
from fedgroup.service.problems import KEY, error_of
from fedgroup.space import Box, PublicMap, Range
from fedgroup.user.pricing import error_said, needs_guess, with_guess


class AskDetails(Said, total=False):
    """All that can be said about a question besides its kind, its range and its epsilon; see also `Said`.

    least_owners, least_share
                refuse the question, for nothing, if fewer owners, or a smaller share of those known, are here
    key         idempotency key: the same question with the same key is charged once; a new one by default
    error       instead of a price: how far off in 95 %, such as 10, "10% of 500", or "10%" where a map was published;
                what that map knows is not paid, unless `fresh`
    """

    error: float | str | None
    least_owners: int | None
    least_share: float | None
    key: str | None


class MapAskDetails(MapSaid, AskDetails, total=False):
    """All that can be said about a map besides its kind and its epsilon; see `MapSaid` and `AskDetails`."""


class PublishAskDetails(AskDetails, total=False):
    """All that can be said about a map to publish besides its kind and its epsilon; see `AskDetails`.

    records     a public guess of how many records there are; never looked up (default: 20 for every owner)
    most_cells  a public cap on the cells of the map
    """

    records: int | None
    most_cells: int | None


class ExpectMapDetails(MapAskDetails, PublishAskDetails, total=False):
    """All that can be said about a map that is not asked for yet; see `MapAskDetails` and `PublishAskDetails`.

    adaptive    it would be published: a map of the whole domain that finds its cells itself
    """

    adaptive: bool


class PlanDetails(TypedDict, total=False):
    """Everything about a new plan besides its epsilon; what is left out is what `[grouping]` of the provider says.

    rho         the price in concentrated accounting, instead of an epsilon
    columns, rows
                the grid that owners are compared on
    graph       how similar owners are found
    mode        masked, or trusted where owners' policies allow it
    leftovers   owners that could not be placed stay alone, or form masked cohorts (cohort)
    cohort_size, largest
                the most members of such a cohort, and of any group
    threshold, estimate, algorithm, false_cells, misplaced
                how the graph decides
    lower, upper, comparisons
                for hybrid: which noisy similarities decide, and how many secure comparisons there may be
    key         idempotency key: the same plan with the same key is charged once; a new one by default
    """

    rho: float | Rho | None
    columns: int | None
    rows: int | None
    graph: str | None
    mode: str
    leftovers: str | None
    cohort_size: int
    largest: int | None
    threshold: float
    estimate: str
    algorithm: str | None
    false_cells: float
    misplaced: float
    lower: float | None
    upper: float | None
    comparisons: int | None
    key: str | None


@dataclass(frozen=True)
class Call:
    """One request, to be sent by any means; one with a key may be sent again."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str | None:
        return self.headers.get("Idempotency-Key")

    def sent_headers(self) -> dict[str, str]:
        """Return the headers of the request."""
        return dict(self.headers) | ({} if self.body is None else {"Content-Type": "application/json"})

    def content(self) -> bytes | None:
        """Return the body as JSON."""
        try:
            return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()
        except (TypeError, ValueError):
            raise InvalidQuery("a question is made of finite numbers, texts and times") from None


def map_of(federation: Mapping[str, Any]) -> PublicMap:
    """Return the public map of a federation, as its service tells it."""
    return PublicMap(Box(*federation["domain"]), federation["lonlat"])


def guessing(details: AskDetails) -> bool:
    """Return whether a question is to be as sharp as a share of what a published map expects, such as 10%."""
    return needs_guess(details.get("error"))


def window_of(details: AskDetails) -> dict[str, Any]:
    """Return the time of a question."""
    return {"since": details.get("since"), "until": details.get("until")}


def guessed(details: AskDetails, expected: float | None) -> AskDetails:
    """Return the same with the guess that a map makes."""
    return {**details, "error": with_guess(str(details["error"]), expected)}


def question_call(
    kind: str, asked: Range, epsilon: float | None, details: AskDetails, *, dry_run: bool = False
) -> Call:
    """Return the request that asks a question."""
    require_known(details, AskDetails)
    said = {name: _plain(value) for name, value in details.items() if name != "key" and is_said(value)}
    body = {"kind": kind, **said_range(asked), **said, **_price(epsilon, details)}
    if dry_run:
        return Call("POST", "/v1/queries", body | {"dry_run": True})
    return Call("POST", "/v1/queries", body, {"Idempotency-Key": _required_key(details.get("key"))})


def _price(epsilon: float | None, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the one price of a question: its epsilon, its rho, or how far off it may be."""
    rho, error = details.get("rho"), details.get("error")
    if error is not None:
        if (epsilon, rho) != (None, None):
            raise InvalidQuery("a question has one price: an epsilon, a rho, or an error that it may have")
        error_said(error)
        return {"error": error}
    price = some_price(epsilon, rho)
    return {"epsilon": float(price)} if rho is None else {"rho": float(Rho.of(rho))}


def map_query(
    kind: str, epsilon: float | None, details: MapAskDetails, federation: Mapping[str, Any]
) -> tuple[RangeQuery, PublicMap]:
    """Return the question about the bins of a map, and the map of the federation; what cannot be asked is not sent."""
    require_known(details, MapAskDetails, what="a map")
    error = details.get("error")
    price = some_price(epsilon, details.get("rho")) if error is None else HARDLY_PROTECTS
    public_map = map_of(federation)
    return question_of(kind, places_said(details, public_map), price, details, public_map), public_map


def map_made(found: Mapping[str, Any], query: RangeQuery, public_map: PublicMap, details: MapAskDetails) -> PrivateMap:
    """Return the map that the service replied with, with its id there."""
    notes = (*found.get("notes", ()), *naming_notes(details))
    return map_from(found, query, public_map, id=found.get("id"), notes=notes)


def map_call(query: RangeQuery, details: MapAskDetails, *, dry_run: bool = False) -> Call:
    """Return the request that asks about the bins of a map."""
    said = {name: details[name] for name in AskDetails.__annotations__ if name != "key" and is_said(details.get(name))}  # type: ignore[literal-required]
    body = {"kind": query.kind, **said_places(query.range)}
    body |= {name: _plain(value) for name, value in said.items()}
    said_price = query.rho is None and details.get("error") is None
    body |= _price(float(query.epsilon) if said_price else None, details)
    body |= {} if query.every is None else {"every": query.every / 1e6}
    body |= {} if query.by is None else {"by": {query.by.attribute: query.by.names}}
    if dry_run:
        return Call("POST", "/v1/maps", body | {"dry_run": True})
    return Call("POST", "/v1/maps", body, {"Idempotency-Key": _required_key(details.get("key"))})


def expect_map_call(kind: str, epsilon: float | None, details: ExpectMapDetails, federation: Mapping[str, Any]) -> Call:
    """Return the request that tells what a map would be like: one of bins, or one to publish."""
    said = {name: value for name, value in details.items() if name != "adaptive"}
    if details.get("adaptive"):
        return publication_call(kind, epsilon, cast(PublishAskDetails, said), dry_run=True)
    query, _ = map_query(kind, epsilon, cast(MapAskDetails, said), federation)
    return map_call(query, cast(MapAskDetails, said), dry_run=True)


def publication_call(kind: str, epsilon: float | None, details: PublishAskDetails, *, dry_run: bool = False) -> Call:
    """Return the request that has a map published."""
    require_known(details, PublishAskDetails, what="a published map")
    said = {name: _plain(value) for name, value in details.items() if name not in ("key", "fresh") and is_said(value)}
    body = {"adaptive": True, "kind": kind, **said, **_price(epsilon, details)}
    if dry_run:
        return Call("POST", "/v1/maps", body | {"dry_run": True})
    return Call("POST", "/v1/maps", body, {"Idempotency-Key": _required_key(details.get("key"))})


def published_read(found: Mapping[str, Any]) -> PublishedMap:
    """Return a published map that the service replied with."""
    made = map_read(found)
    if not isinstance(made, PublishedMap):
        raise InvalidInput("this map is of bins, and not published")
    return made


def newest_published(
    listed: Iterable[Mapping[str, Any]], kind: str, *, since: When | None = None, until: When | None = None
) -> str:
    """Return the id of the newest published map of a kind and window, out of what the service lists."""
    for each in listed:
        request = each["request"]
        window = _instants(request.get("since"), request.get("until"))
        same = request.get("kind", "count") == kind and window == _instants(since, until)
        if request.get("adaptive") and each["state"] == "answered" and same:
            return str(each["id"])
    raise InvalidInput(f"no map of {kind} for this window was published here; publish one, or ask with an epsilon")


def require_unpriced(epsilon: float | None, details: Mapping[str, Any]) -> None:
    """Refuse to read a question from a map that says what it may cost, or how it is to be asked."""
    if epsilon is not None or set(details) - {"since", "until"}:
        raise InvalidQuery("from_map reads the published map and asks nobody: say a range, and since and until at most")


def _instants(since: When | None, until: When | None) -> tuple[int | None, int | None]:
    return (
        None if since is None else as_instant(since, name="since"),
        None if until is None else as_instant(until, name="until"),
    )


def map_read(found: Mapping[str, Any]) -> PrivateMap:
    """Return the map that the service keeps, with the bins that were asked for."""
    public_map = map_of(found)
    if found.get("published") is not None:
        return replace(published_from(found, public_map), id=found.get("id"))
    return map_from(found, map_said(found["kind"], found["request"], public_map), public_map, id=found.get("id"))


def plan_call(epsilon: float | None, details: PlanDetails) -> Call:
    """Return the request that has all owners grouped anew; the graph secure takes no epsilon."""
    require_known(details, PlanDetails, what="a plan")
    said = {name: value for name, value in details.items() if name != "key" and value is not None}
    price = {} if (epsilon, details.get("rho")) == (None, None) else _price(epsilon, details)
    body = {**said, **price}
    return Call("POST", "/v1/plans", body, {"Idempotency-Key": _required_key(details.get("key"))})


def read_reply(status: int, text: str) -> dict[str, Any]:
    """Return what the service replied, or raise the error that it stands for."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if status >= 400:
        raise error_of(status, found if isinstance(found, dict) else {})
    if status != 200 or not isinstance(found, dict):
        raise ServiceUnavailable("there is something at this address, but not a federation's service; check the URL")
    return found


def required_url(url: str) -> str:
    """Return the address of a service, without the slash at its end."""
    if not (isinstance(url, str) and url.startswith(("http://", "https://"))):
        raise InvalidInput(f"the address of a service begins with http:// or https://, got {written(url)}")
    return url.rstrip("/")


def unreachable(error: Exception, call: Call, *, may_have_arrived: bool) -> ServiceUnavailable:
    """Return what to tell when no reply came; a question that may have arrived can be asked again for nothing."""
    text = f"the service gave no reply ({type(error).__name__}); try later"
    if may_have_arrived and call.key is not None:
        text += f"; the question may have been charged: with key {call.key} the same one is charged once"
    return ServiceUnavailable(text)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _required_key(key: str | None) -> str:
    if key is None:
        return secrets.token_hex(16)
    if not re.fullmatch(KEY, key):
        raise InvalidQuery("an idempotency key has 1 to 255 printable ASCII characters without spaces")
    return key
