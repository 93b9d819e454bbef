"""Talk and progress go to stderr; results go to stdout. Neither is wrapped: commands in it can be copied."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from rich.table import Table

talk = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
result = Console(highlight=False, markup=False, soft_wrap=True)

_NATURAL_WIDTH = 10_000


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object; what is not a finite number becomes null."""
    result.file.write(json.dumps({name: _plain(item) for name, item in value.items()}) + "\n")


def print_table(table: Table) -> None:
    """Print a table, folded to the terminal where there is one, one line a row where there is none."""
    width = None if result.is_terminal else _NATURAL_WIDTH
    Console(file=result.file, highlight=False, markup=False, width=width).print(table)


def notice(text: str) -> None:
    """Say something the user should know about the result."""
    talk.print(f"note: {text}", style="dim")


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show that something goes on, where there is a terminal to show it."""
    with talk.status(text):
        yield


@contextmanager
def comparing(text: str) -> Iterator[Callable[[Any], None]]:
    """Show that something goes on, and how many comparisons are made and how long they will take, once there are some.

    What it yields takes the progress of a grouping.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    shown = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*shown, console=talk, transient=True, disable=not talk.is_terminal) as progress:
        task = progress.add_task(text, total=None)
        yield lambda far: progress.update(
            task, completed=far.compared, total=far.expected, description="comparing owners"
        )


def number(value: float | None) -> str:
    """Return a number as people write it."""
    if value is None or value != value:
        return "no value"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def several(count: int, thing: str) -> str:
    """Return how many things there are, in words."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return {name: _plain(item) for name, item in value.items()} if isinstance(value, Mapping) else value
