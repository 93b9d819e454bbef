"""Maps of all kinds of bins, small and the same every time."""

from __future__ import annotations

from typing import Any

import numpy as np

import fedgroup as fg

PLANE, DEGREES = fg.Box(0, 0, 10, 10), fg.Box(4.8, 52.3, 5.0, 52.4)
HALVES = {
    "the 'west'": fg.Polygon([(0, 0), (5, 0), (5, 10), (0, 10)]),
    "east, holed": fg.Polygon([(5, 0), (10, 0), (10, 10), (5, 10)], [[(6, 1), (7, 1), (7, 2), (6, 2)]]),
}
EVERY = {"every": "6h", "since": 0, "until": 86_400}

SAID: dict[str, dict[str, Any]] = {
    "grid": {"grid": (4, 3)},
    "sums": {"grid": (2, 2), "kind": "sum", "attribute": "fare", "clip": 20, "signed": True},
    "means": {"grid": (3, 3), "kind": "avg", "attribute": "fare", "clip": 20},
    "districts": {"districts": HALVES, "kind": "people"},
    "times": {"grid": (2, 1), **EVERY, "by": {"kind": ["bus", "other"]}},
    "numbers": {"range": fg.Circle(5, 5, 4), "by": {"fare": [0, 0.5, "other"]}},
    "hexagons": {"h3": 6},
    "polygon": {"range": fg.Polygon([(4.82, 52.31), (4.9, 52.31), (4.9, 52.38)]), **EVERY},
}
IN_DEGREES = ("hexagons", "polygon")


def records(*, lonlat: bool = False) -> fg.Records:
    """Six owners with ten records each, at hours of one day, of two kinds."""
    many = np.arange(60)
    x, y = many * 7 % 60 / 6, many * 11 % 60 / 6
    box = DEGREES
    return fg.Records(
        owner=many % 6,
        x=box.west + x / 10 * box.width if lonlat else x,
        y=box.south + y / 10 * box.height if lonlat else y,
        owners=range(6),
        attributes={"fare": many * 0.5 % 10},
        time=many * 1_200,
        texts={"kind": ["taxi" if at % 3 else "bus" for at in range(60)]},
        lonlat=lonlat,
    )


def federation(*, lonlat: bool = False, **settings: Any) -> fg.Federation:
    return fg.Federation(records(lonlat=lonlat), DEGREES if lonlat else PLANE, **settings)


def some_map(name: str, **more: Any) -> fg.PrivateMap:
    return federation(lonlat=name in IN_DEGREES, seed=1).map(epsilon=1, method="mpc", **SAID[name], **more)
