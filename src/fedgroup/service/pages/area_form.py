"""The area in numbers, beside the map: for keyboards, screen readers, and whoever knows the place exactly."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from fedgroup.service.pages.map import TAKE_TOOL, TOOLS, Area, radii_of
from fedgroup.service.pages.range_input import RangeInput
from fedgroup.space import PublicMap

_SIDES = ("west", "south", "east", "north")


class AreaForm:
    """Fields of a circle, a rectangle or a polygon, of which those of the area are shown."""

    def __init__(
        self,
        public_map: PublicMap,
        *,
        on_area: Callable[[Area], Awaitable[None]],
    ) -> None:
        self._on_area = on_area
        self._told = True
        with ui.element("fieldset").classes("fg-card"):
            ui.html("Where", sanitize=False, tag="legend")
            tools = ui.toggle(TOOLS, value="circle", on_change=lambda event: self._explain(event.value))
            tools.classes("fg-tools").props(
                'no-caps unelevated toggle-color="primary" aria-label="What the pointer draws"'
            )
            tools.on("update:model-value", js_handler=TAKE_TOOL)
            self._hint = ui.label("Click the map for a circle, or draw one by dragging.").classes("fg-small")
            self._circle = self._circle_fields(public_map)
            self._rectangle = self._rectangle_fields()
            self._polygon = self._polygon_field()

    def show(self, area: Area) -> None:
        """Show an area's numbers without telling anybody."""
        self._told = False
        for name, box in (("circle", self._circle), ("rectangle", self._rectangle), ("polygon", self._polygon)):
            box.set_visibility(name in area)
        if "circle" in area:
            for name, field in self._circle_numbers.items():
                field.value = area["circle"][name]
            self._radius.show(area["circle"]["radius"])
        elif "rectangle" in area:
            for name, field in self._side_numbers.items():
                field.value = area["rectangle"][name]
        else:
            self._corners.value = _corners_text(area["polygon"])
        self._told = True

    def _explain(self, tool: str) -> None:
        """Say how an area is drawn with a tool."""
        self._hint.text = {
            "circle": "Click the map for a circle, or draw one by dragging.",
            "rectangle": "Drag from one corner to the opposite one.",
            "polygon": "Click corner after corner; a double click, Enter or the first corner closes it.",
            "move": "Drag to move the map; areas stay as they are.",
        }[tool]

    # --- fields -------------------------------------------------------------------------------------------------------

    def _circle_fields(self, public_map: PublicMap) -> ui.element:
        smallest, usual, largest = radii_of(public_map)
        labels = {"x": "longitude", "y": "latitude"} if public_map.lonlat else {"x": "x", "y": "y"}
        with ui.element("div") as box:
            with ui.element("div").classes("fg-fields"):
                self._circle_numbers = {
                    name: _number(label, self._circle_changed)
                    for name, label in {**labels, "radius": "radius in m"}.items()
                }
                self._circle_numbers["radius"].classes("fg-radius")
            self._radius = RangeInput("radius", least=smallest, most=largest, value=usual, on_slide=self._radius_slid)
        return box

    def _rectangle_fields(self) -> ui.element:
        with ui.element("div").classes("fg-fields") as box:
            self._side_numbers = {name: _number(name, self._sides_changed) for name in _SIDES}
        return box

    def _polygon_field(self) -> ui.element:
        with ui.element("div") as box:
            self._corners = ui.textarea("corners: x,y x,y x,y ...").props('rows="2" outlined dense')
            self._corners.classes("fg-wide").on_value_change(self._corners_changed)
        return box

    # --- what was typed -----------------------------------------------------------------------------------------------

    async def _radius_slid(self, radius: float) -> None:
        self._circle_numbers["radius"].value = radius

    async def _circle_changed(self) -> None:
        values = _values(self._circle_numbers)
        if self._told and values is not None and values["radius"] > 0:
            self._radius.show(values["radius"])
            await self._on_area({"circle": values})

    async def _sides_changed(self) -> None:
        values = _values(self._side_numbers)
        if self._told and values is not None:
            await self._on_area({"rectangle": values})

    async def _corners_changed(self) -> None:
        ring = _ring(self._corners.value or "")
        if self._told and ring is not None:
            await self._on_area({"polygon": {"type": "Polygon", "coordinates": [ring]}})


def _number(label: str, on_change: Callable[[], Awaitable[None]]) -> ui.number:
    field = ui.number(label, on_change=on_change, format="%.10g")
    return field.props("outlined dense hide-bottom-space")


def _values(fields: dict[str, ui.number]) -> dict[str, float] | None:
    values = {name: field.value for name, field in fields.items()}
    return None if None in values.values() else {name: float(value) for name, value in values.items()}


def _ring(text: str) -> list[list[float]] | None:
    """Return the closed ring of corners that a text says, or none while it is not finished."""
    try:
        points = [[float(part) for part in pair.split(",")] for pair in text.split()]
    except ValueError:
        return None
    if len(points) < 3 or any(len(point) != 2 for point in points):
        return None
    return points if points[0] == points[-1] else [*points, points[0]]


def _corners_text(polygon: Any) -> str:
    """Return the corners of a polygon without holes as they are typed; of others only what they are."""
    rings = polygon.get("coordinates", [])
    if polygon.get("type") != "Polygon" or len(rings) != 1:
        return str(polygon.get("type", ""))
    return " ".join(f"{x:.10g},{y:.10g}" for x, y in rings[0][:-1])
