"""Talk and progress go to stderr; results go to stdout."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console

talk = Console(stderr=True, highlight=False)
result = Console(highlight=False)


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object; what is not a finite number becomes null."""
    result.file.write(json.dumps({name: _plain(item) for name, item in value.items()}) + "\n")


def notice(text: str) -> None:
    """Say something the user should know about the result."""
    talk.print(f"[dim]note:[/dim] {text}", markup=True, soft_wrap=True)


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show that something goes on, where there is a terminal to show it."""
    with talk.status(text):
        yield


def number(value: float | None) -> str:
    """Return a number as people write it."""
    if value is None:
        return "no value"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return {name: _plain(item) for name, item in value.items()} if isinstance(value, Mapping) else value
