"""Maps in degrees that a service keeps, as if their users had asked for them there."""

from __future__ import annotations

from typing import Any

import numpy as np

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.maps.private_map import PrivateMap
from fedgroup.service.calls import map_call
from fedgroup.service.questions import result_of
from fedgroup.service.requests import MAP

AMSTERDAM = fg.Box(4.8, 52.3, 5.0, 52.4)
DAY = {"every": "6h", "since": 0, "until": 86_400}


def degrees(box: fg.Box = AMSTERDAM, *, records: int = 6_000) -> fg.Federation:
    """Twenty owners with records around the middle of a box, at hours of one day, of two kinds."""
    rng = np.random.default_rng(1)
    spread = rng.normal(0.5, 0.12, (2, records)).clip(0.01, 0.99)
    at = np.arange(records)
    found = fg.Records(
        owner=at % 20,
        x=box.west + spread[0] * box.width,
        y=box.south + spread[1] * box.height,
        owners=range(20),
        attributes={"fare": at * 0.5 % 10},
        time=at * 86_400 // records,
        texts={"kind": ["taxi" if each % 3 else "bus" for each in range(records)]},
        lonlat=True,
    )
    return fg.Federation(found, box)


def some(box: fg.Box = AMSTERDAM, **said: Any) -> PrivateMap:
    return degrees(box).map(**{"epsilon": 1, "method": "mpc", "grid": (8, 6), **said})


def kept(here: Any, made: PrivateMap, user: str = "ann") -> str:
    """Let a service keep a map of a user's, and return its id."""
    query = made.query
    body = dict(map_call(query, {}).body or {})
    for name in ("since", "until"):
        body |= {} if getattr(query, name) is None else {name: getattr(query, name) / 1e6}
    if query.measure is not None:
        body |= {"attribute": query.measure.attribute, "clip": query.measure.clip, "signed": query.measure.signed}
    question = here.city.state.begin(user, {MAP: body}, Epsilon.of(made.epsilon))
    here.city.state.finish(question, result_of(made, made.public_map))
    return question.id
