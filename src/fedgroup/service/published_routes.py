"""Free answers out of published maps: looked at, never asked for.

Guarantee: nothing here spends or asks owners; every signed-in user may read.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from fedgroup.errors import InvalidQuery
from fedgroup.maps.free import FreeAnswer
from fedgroup.maps.published import PublishedMap
from fedgroup.questions.said import as_invalid_query, range_said
from fedgroup.service.accounts import Reader, TheService
from fedgroup.service.handlers import documented
from fedgroup.service.replies import Shown
from fedgroup.space import Range

router = APIRouter(
    prefix="/v1",
    responses=documented(
        "unknown-token", "unknown-map", "invalid-query", "invalid-request", "too-large", "internal",
        "ledger-unavailable",
    ),
)  # fmt: skip

_NUMBER = r"-?[0-9.]+(?:[eE][+-]?[0-9]+)?"
_SIDES = ("west", "south", "east", "north")


class FreeShown(Shown):
    """What a published map says about a range: nobody was asked, and nothing is charged.

    `noise` and `uneven` are standard deviations: of the noise, and of how records may lie inside cells; the interval
    holds both. `map_epsilon` is what the map cost once, `map_rho` what that counts where accounting is zcdp.
    """

    map: str
    kind: str
    value: float | None
    interval: tuple[float, float]
    confidence: float
    noise: float
    uneven: float
    map_epsilon: float
    map_rho: float | None = None
    epsilon: Literal[0] = 0
    free: Literal[True] = True
    asked_at: str | None
    notes: list[str]

    @classmethod
    def of(cls, answer: FreeAnswer, map_id: str) -> FreeShown:
        """Return a free answer as it is shown."""
        known = asdict(answer)
        told = {name: known[name] for name in ("kind", "value", "interval", "confidence", "noise", "uneven")}
        told |= {"notes": list(answer.notes), "asked_at": answer.asked_at}
        return cls(map=map_id, map_epsilon=answer.epsilon, map_rho=answer.rho, **told)


@router.get("/maps/{map_id}/count")
async def count(
    map_id: str,
    user: Reader,
    service: TheService,
    near: Annotated[
        str | None, Query(pattern=f"^{_NUMBER},{_NUMBER}$", description="X,Y: the middle of a circle")
    ] = None,
    within: Annotated[float | None, Query(gt=0, description="its radius; metres in degrees")] = None,
    rectangle: Annotated[
        str | None, Query(pattern=f"^{_NUMBER}(,{_NUMBER}){{3}}$", description="west,south,east,north")
    ] = None,
) -> FreeShown:
    """Read what lies in a circle or a rectangle from a published map: free, as often as you like."""
    made = await service.maps.made(user, map_id)
    if not isinstance(made, PublishedMap):
        raise InvalidQuery("this map is of bins; ranges are read from published maps (adaptive)")
    asked = _range(near, within, rectangle, lonlat=made.public_map.lonlat)
    return FreeShown.of(await service.maps.looked(lambda: made.count(asked)), map_id)


def _range(near: str | None, within: float | None, rectangle: str | None, *, lonlat: bool) -> Range:
    if (near is None) != (within is None):
        raise InvalidQuery("a circle is near=X,Y and within=R")
    circle: dict[str, Any] | None = None
    if near is not None:
        x, y = _numbers(near)
        circle = {"x": x, "y": y, "radius": within}
    sides = None if rectangle is None else dict(zip(_SIDES, _numbers(rectangle), strict=True))
    with as_invalid_query():
        return range_said(circle, sides, None, lonlat=lonlat)


def _numbers(text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise InvalidQuery("numbers are written as 12.5") from None
