"""A small city with a published map, the same every time, and maps made of exact counts."""

from __future__ import annotations

from typing import Any

import numpy as np

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.maps.publishing import Publication, Released
from fedgroup.maps.sizing import MapSizes
from fedgroup.space import Box, Grid

CITY = fg.Box(0, 0, 20_000, 20_000)
MIDDLE = fg.Circle(10_000, 10_000, 1_500)


def places(many: int = 8_000, seed: int = 1) -> tuple[Any, Any]:
    """Half of them at forty places, half of them anywhere."""
    rng = np.random.default_rng(seed)
    at = rng.normal(10_000, 2_500, (40, 2))[rng.integers(0, 40, many // 2)]
    x, y = np.concatenate([at + rng.normal(0, 60, at.shape), rng.uniform(0, 20_000, (many - many // 2, 2))]).T
    return np.clip(x, 0, 19_999), np.clip(y, 0, 19_999)


def records(many: int = 8_000, **more: Any) -> fg.Records:
    x, y = places(many)
    owner = np.arange(many) % 100
    return fg.Records(owner=owner, x=x, y=y, owners=range(100), **more)


def federation(many: int = 8_000, *, settings: dict[str, Any] | None = None, **more: Any) -> fg.Federation:
    return fg.Federation(records(many, **more), CITY, **({"seed": 1} if settings is None else settings))


def counted(bins: Any, x: Any, y: Any) -> Any:
    cells = bins.cells if isinstance(bins, Grid) else len(bins)
    return np.bincount(bins.cell_of(x, y), minlength=cells)


def simulated(
    x: Any, y: Any, *, epsilon: float, noises: int, seed: int, domain: Box = CITY, **more: Any
) -> Publication:
    """Return a publication over places in a domain, its noise drawn with numpy."""
    sizes = MapSizes(domain, Epsilon.of(epsilon), noises, **({"records": max(1, len(x))} | more))
    going, rng = Publication(sizes), np.random.default_rng(seed)
    for law in sizes.laws:
        question = going.next_question
        assert question is not None
        exact = counted(question.range, x, y)
        up, down = rng.negative_binomial(noises, 1 - law.a, (2, len(exact)))
        going = going.after(Released(exact + up - down, noises))
    return going
