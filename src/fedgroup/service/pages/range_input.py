"""A slider with a name that keyboards and screen readers know."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui
from nicegui.events import GenericEventArguments


class RangeInput(ui.element, component="assets/range_input.js"):
    """A browser's own slider; `on_slide` is told where somebody moved it."""

    def __init__(
        self, label: str, *, least: float, most: float, value: float, on_slide: Callable[[float], Awaitable[None]]
    ) -> None:
        super().__init__()
        self._props.update({"label": label, "least": least, "most": most, "step": least, "value": value})

        async def slid(event: GenericEventArguments) -> None:
            if isinstance(event.args, int | float):
                self.show(event.args)
                await on_slide(event.args)

        self.on("slide", slid)  # without a throttle: whoever slides and asks at once asks for what the slider says

    def show(self, value: float) -> None:
        """Move the slider; nobody is told."""
        self._props["value"] = value
        self.update()
