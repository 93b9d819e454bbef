"""What a client says and reads, without a network: both clients send these and understand the replies."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from typing import Any, TypedDict

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, InvalidQuery, ServiceUnavailable
from fedgroup.given import written
from fedgroup.messages import Answer, Expectation, ExpectedError, Kind, OwnersLeft
from fedgroup.service.problems import error_of
from fedgroup.space import Circle, MultiPolygon, Polygon, Range, Rectangle

KEY = r"[\x21-\x7e]{1,255}"
"""What an idempotency key is made of."""

When = str | float | datetime | date


class Details(TypedDict, total=False):
    """Everything about a question besides its kind, its range and its epsilon; all of it can be left out.

    method      dp, fedgroup, cohorts or mpc; default: fedgroup if the federation has a plan, else dp
    attribute, clip, signed, resolution
                for sum and avg: values are cut to [0, clip] ([-clip, clip] if signed) and rounded to the resolution
    since, until
                the time window [since, until)
    fresh       ask anew and pay anew, even if the same question was asked before
    least_owners, least_share
                refuse the question, for nothing, if fewer owners, or a smaller share of those known, are here
    key         idempotency key: the same question with the same key is charged once; a new one by default
    """

    method: str | None
    attribute: str | None
    clip: float | None
    signed: bool
    resolution: float | None
    since: When | None
    until: When | None
    fresh: bool
    least_owners: int | None
    least_share: float | None
    key: str | None


class PlanDetails(TypedDict, total=False):
    """Everything about a new plan besides its epsilon; what is left out is what `[grouping]` of the provider says.

    columns, rows
                the grid that owners are compared on
    graph       how similar owners are found
    mode        masked, or trusted where owners' policies allow it
    leftovers   owners that could not be placed stay alone, or form masked cohorts (cohort)
    cohort_size, largest
                the most members of such a cohort, and of any group
    threshold, estimate, algorithm, false_cells, misplaced
                how the graph decides
    key         idempotency key: the same plan with the same key is charged once; a new one by default
    """

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


def question_call(kind: Kind, asked: Range, epsilon: float, details: Details, *, dry_run: bool = False) -> Call:
    """Return the request that asks a question."""
    _require_known("a question", details, Details.__annotations__)
    said = {name: _plain(value) for name, value in details.items() if name != "key" and _is_said(value)}
    body = {"kind": kind, "epsilon": float(Epsilon.of(epsilon)), **said_range(asked), **said}
    if dry_run:
        return Call("POST", "/v1/queries", body | {"dry_run": True})
    return Call("POST", "/v1/queries", body, {"Idempotency-Key": _required_key(details.get("key"))})


def plan_call(epsilon: float, details: PlanDetails) -> Call:
    """Return the request that has all owners grouped anew."""
    _require_known("a plan", details, PlanDetails.__annotations__)
    said = {name: value for name, value in details.items() if name != "key" and value is not None}
    body = {"epsilon": float(Epsilon.of(epsilon)), **said}
    return Call("POST", "/v1/plans", body, {"Idempotency-Key": _required_key(details.get("key"))})


def said_range(asked: Range) -> dict[str, Any]:
    """Return a range as it is said to the service; polygons are GeoJSON."""
    match asked:
        case Circle(x, y, radius):
            return {"circle": {"x": x, "y": y, "radius": radius}}
        case Rectangle(west, south, east, north):
            return {"rectangle": {"west": west, "south": south, "east": east, "north": north}}
        case Polygon():
            return {"polygon": {"type": "Polygon", "coordinates": _rings(asked)}}
        case MultiPolygon(parts):
            return {"polygon": {"type": "MultiPolygon", "coordinates": [_rings(part) for part in parts]}}
    raise InvalidQuery("a range is a Circle, a Rectangle, a Polygon or a MultiPolygon")


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


def answer_of(reply: Mapping[str, Any]) -> Answer:
    """Return the answer in a reply."""
    return Answer(**_known(Answer, reply))


def expectation_of(reply: Mapping[str, Any]) -> Expectation:
    """Return what an answer would be like, from a reply."""
    known = _known(Expectation, reply)
    errors = {part: ExpectedError(**_known(ExpectedError, error)) for part, error in known.pop("errors").items()}
    left = known.pop("owners_left", None)
    return Expectation(**known, errors=errors, owners_left=left and OwnersLeft(**_known(OwnersLeft, left)))


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


def _require_known(what: str, details: Mapping[str, Any], names: Mapping[str, Any]) -> None:
    unknown = ", ".join(sorted(set(details) - set(names)))
    if unknown:
        raise InvalidQuery(f"{what} has no {unknown}; it has {', '.join(names)}")


def _known(kind: type, reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a class that a reply holds; a newer service may tell more."""
    names = [each.name for each in fields(kind)]
    found = {name: reply[name] for name in names if name in reply}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def _rings(polygon: Polygon) -> list[list[list[float]]]:
    return [_closed(ring) for ring in (polygon.points, *polygon.holes)]


def _closed(ring: Sequence[tuple[float, float]]) -> list[list[float]]:
    points = [[x, y] for x, y in ring]
    return points if points[0] == points[-1] else [*points, points[0]]


def _is_said(value: Any) -> bool:
    return value is not None and value is not False  # 0 is said: it is a time


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _required_key(key: str | None) -> str:
    if key is None:
        return secrets.token_hex(16)
    if not re.fullmatch(KEY, key):
        raise InvalidQuery("an idempotency key has 1 to 255 printable ASCII characters without spaces")
    return key
