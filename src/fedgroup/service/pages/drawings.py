"""Charts as SVG in the page's own colours, each with a label for whoever cannot see it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_WIDTH, _HEIGHT = 420, 130
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 8, 12, 20
_FEW = 8
"""So many groups are told one by one; more are drawn side by side."""


def series(values: Sequence[float | None], *, label: str, unit: str = "") -> str:
    """Return a line over the last minutes; minutes without a value are gaps."""
    highest = max([value for value in values if value is not None], default=0.0) or 1.0
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(values) - 1)
    runs: list[list[str]] = [[]]
    for number, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append(f"{_LEFT + number * step:.1f},{_y(value / highest):.1f}")
    lines = "".join(_run(run) for run in runs if run)
    axis = f'<line class="fg-axis" x1="{_LEFT}" y1="{_y(0)}" x2="{_WIDTH - _RIGHT}" y2="{_y(0)}"/>'
    texts = (
        f'<text x="{_LEFT - 6}" y="{_y(1) + 4}" text-anchor="end">{highest:.3g}{escape(unit)}</text>'
        f'<text x="{_LEFT - 6}" y="{_y(0)}" text-anchor="end">0</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 4}">{len(values)} min ago</text>'
        f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 4}" text-anchor="end">now</text>'
    )
    return _svg(_WIDTH, _HEIGHT, label, axis + lines + texts)


def sizes(found: Sequence[int], *, label: str) -> str:
    """Return a bar for each group, as long as it is large; few of them with their numbers, below each other."""
    if not found:
        return ""
    if len(found) <= _FEW:
        rows = [(f"group {number}", float(size), False) for number, size in enumerate(found, 1)]
        return bars(rows, label=label, left=_LEFT, height=21, digits=0)
    highest, width = max(found), (_WIDTH - _LEFT - _RIGHT) / len(found)
    drawn = "".join(
        f'<rect class="fg-block" x="{_LEFT + number * width:.1f}" y="{_y(size / highest):.1f}" '
        f'width="{max(1.0, width * 0.85):.1f}" height="{_y(0) - _y(size / highest):.1f}"/>'
        for number, size in enumerate(found)
    )
    texts = (
        f'<text x="{_LEFT - 6}" y="{_y(1) + 4}" text-anchor="end">{highest}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 4}">groups, the largest first</text>'
    )
    return _svg(_WIDTH, _HEIGHT, label, drawn + texts)


def bars(
    rows: Sequence[tuple[str, float, bool]], *, label: str, left: int = 165, height: int = 28, digits: int = 1
) -> str:
    """Return a horizontal bar for each row: its name, its value, and whether it asks for trust."""
    highest = max(value for _, value, _ in rows)
    right = 45
    drawn = []
    for number, (name, value, trusting) in enumerate(rows):
        y, middle = number * height, number * height + height / 2 + 4
        width = (_WIDTH - left - right) * value / highest
        kind = "fg-trusting" if trusting else "fg-block"
        drawn.append(
            f'<text class="fg-name" x="{left - 8}" y="{middle:.0f}" text-anchor="end">{escape(name)}</text>'
            f'<rect class="{kind}" x="{left}" y="{y + 4}" width="{width:.1f}" height="{height - 8}" rx="3"/>'
            f'<text class="fg-name" x="{left + width + 6:.1f}" y="{middle:.0f}">{value:.{digits}f}</text>'
        )
    return _svg(_WIDTH, height * len(rows), label, "".join(drawn))


def _run(points: Sequence[str]) -> str:
    if len(points) == 1:
        x, y = points[0].split(",")
        return f'<circle class="fg-block" cx="{x}" cy="{y}" r="3"/>'
    return f'<polyline class="fg-series" points="{" ".join(points)}"/>'


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)


def _svg(width: float, height: float, label: str, inside: str) -> str:
    return (
        f'<svg class="fg-chart" viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(label)}">'
        f"{inside}</svg>"
    )
