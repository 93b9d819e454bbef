"""The map as an element of a page: it shows the domain and an area, and tells the area that somebody draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nicegui.elements.leaflet  # it names Leaflet's own files, which come with it
from nicegui import ui
from nicegui.events import GenericEventArguments

from fedgroup.service.pages.visits import Base
from fedgroup.space import PublicMap

LEAFLET = Path(nicegui.elements.leaflet.__file__).parent / "dist" / "leaflet"
TOOLS = {"circle": "Circle", "rectangle": "Rectangle", "polygon": "Polygon", "move": "Move the map"}
TAKE_TOOL = f"""(choice) => document.querySelector(".fg-map").dispatchEvent(
    new CustomEvent("take", {{detail: {list(TOOLS)}[choice]}}))"""
"""What a choice of tool does in the browser, at once: a click that waited for the server would draw the wrong thing."""
_METRES_PER_DEGREE = 111_320.0
_LABEL = (
    "Map of the federation. With the keyboard: arrows move it, plus and minus zoom, Enter puts a circle, or a "
    "corner of a polygon, at its middle. The fields beside the map say the same in numbers."
)

Area = Mapping[str, Any]
"""A circle, rectangle or polygon as the HTTP API takes it."""


class AreaMap(ui.element, component="assets/area_map.js"):
    """The federation's domain with one area on it."""

    def __init__(
        self,
        public_map: PublicMap,
        area: Area,
        *,
        base: Base,
        on_area: Callable[[Any], Any],
    ) -> None:
        super().__init__()
        self._props["domain"] = list(public_map.domain.sides)
        self._props["lonlat"] = public_map.lonlat
        self._props["decimals"] = decimals_of(public_map)
        self._props["outlines"] = base.outlines
        self._props["tiles"] = base.tiles
        self._props["credit"] = base.credit
        self._props["label"] = _LABEL
        self._props["radius"] = radii_of(public_map)[1]
        self.show(area)

        async def drawn(event: GenericEventArguments) -> None:
            await on_area(event.args)

        self.on("area", drawn)

    def show(self, area: Area, told: str = "") -> None:
        """Show an area, and what was told about it."""
        self._props["area"] = dict(area)
        self._props["told"] = told
        if "circle" in area:
            self._props["radius"] = area["circle"]["radius"]
        self.update()


def decimals_of(public_map: PublicMap) -> int:
    """Return how many decimals a place has: finer than a pixel, and short enough to be said again."""
    if public_map.lonlat:
        return 5
    return max(0, 5 - math.floor(math.log10(public_map.domain.east - public_map.domain.west)))


def radii_of(public_map: PublicMap) -> tuple[float, float, float]:
    """Return the smallest, a usual and the largest radius to offer, in the map's unit, or metres if in degrees."""
    domain = public_map.domain
    width = domain.east - domain.west
    if public_map.lonlat:
        width *= _METRES_PER_DEGREE * math.cos(math.radians((domain.south + domain.north) / 2))
    step = 10.0 ** math.floor(math.log10(width / 100))
    return step, _rounded(width / 10, step), _rounded(width / 2, step)


def first_area(public_map: PublicMap) -> Area:
    """Return the area that a page begins with: a circle in the middle."""
    domain, decimals = public_map.domain, decimals_of(public_map)
    middle = ((domain.west + domain.east) / 2, (domain.south + domain.north) / 2)
    x, y = (round(value, decimals) for value in middle)
    return {"circle": {"x": x, "y": y, "radius": radii_of(public_map)[1]}}


def _rounded(value: float, step: float) -> float:
    return round(round(value / step) * step, 9)
