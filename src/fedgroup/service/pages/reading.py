"""What a page reads off published maps: which there are, their cells, areas, and two areas side by side.

Guarantee: nothing here spends or asks owners.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request

from fedgroup.errors import InvalidQuery
from fedgroup.service.pages.layers import AreaAnswer, PageLayer
from fedgroup.service.pages.sharpening import compared
from fedgroup.service.pages.visits import Visit, body_of
from fedgroup.service.pages.words import number
from fedgroup.space import Range

_MOSTLY_CUT = 0.5
"""From this share of an interval on that cut cells make, whole cells are offered."""


async def listed(visit: Visit, _request: Request) -> Any:
    """Tell which maps are published now."""
    return {"layers": [about.facts() for about in await visit.door.layers.listed()]}


async def opened(visit: Visit, request: Request) -> Any:
    """Give what a map is of, and its cells that can be told from empty ones; with `side`, squares that can be seen."""
    side, name = request.query_params.get("side", ""), request.path_params["name"]
    if side.isdecimal():
        layer = await visit.door.layers.from_afar(await visit.reader(), name, int(side[:9]))
    else:
        layer = await visit.door.layers.layer(await visit.reader(), name)
    cells = await asyncio.to_thread(lambda: [[float(f"{each:.9g}") for each in row] for row in layer.shown.tolist()])
    return {"facts": layer.facts(), "cells": cells}


async def free(visit: Visit, request: Request) -> Any:
    """Read an area off a published map: the answer, and that of whole cells where cut ones make it wide."""
    body = await body_of(request)
    layer = await visit.door.layers.layer(await visit.reader(), body.get("layer"))
    if layer.count is None:
        raise InvalidQuery("this map tells no sums over areas")
    return await asyncio.to_thread(_read_off, visit, layer, layer.count, body)


def _read_off(
    visit: Visit, layer: PageLayer, count: Callable[[Range], AreaAnswer], said: Mapping[str, Any]
) -> dict[str, Any]:
    asked = visit.range_of(said)
    found = count(asked)
    told = free_told(found.value, found.low, found.high)
    told |= {"cut": found.cut, "rough": found.rough, "guessed": found.guessed, "nothing": found.nothing}
    snapped = None if layer.snap is None or found.cut < _MOSTLY_CUT else layer.snap(asked)
    if snapped is None:
        return told
    whole = count(visit.range_of(snapped))
    return told | {"snapped": {"area": snapped, **free_told(whole.value, whole.low, whole.high)}}


async def compare(visit: Visit, request: Request) -> Any:
    """Tell how much more there is in one area than in another, by all that is known of both."""
    body = await body_of(request)
    layer = await visit.door.layers.layer(await visit.reader(), body.get("layer"))
    one, other = (body.get(side) for side in ("one", "other"))
    if not isinstance(one, dict) or not isinstance(other, dict):
        raise InvalidQuery("two areas are compared: one, and the other")
    return await compared(visit, layer, (one, other))


def free_told(value: float, low: float, high: float) -> dict[str, Any]:
    """Return a free answer in numbers and in words; the value is a possible one, its interval is as it is."""
    half = max(high - value, value - low)
    shown, half_told = number(round(max(0.0, value))), number(round(half))
    between = f"between {number(round(low))} and {number(round(high))}"
    return {"value": value, "low": low, "high": high, "shown": shown, "half": half_told, "between": between}
