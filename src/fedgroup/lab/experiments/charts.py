"""One style for all figures: a colour and a mark for each method, error bars, axes that say what they show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from fedgroup.lab.experiments.means import distinct, maybe, number, pick
from fedgroup.lab.experiments.sheets import Row

INK = "#22303c"
MUTED = "#8a97a3"
STYLES: dict[str, tuple[str, str, str]] = {
    "DP": ("#22303c", "o", "-"),
    "MPC": ("#0072b2", "s", "-"),
    "FG": ("#d55e00", "D", "-"),
    "FG-Ex": ("#e69f00", "^", "-"),
    "FG-C": ("#d55e00", "d", "--"),
    "FG-ExC": ("#e69f00", "v", "--"),
    "FG hybrid": ("#009e73", "P", "-"),
    "FG likely": ("#cc79a7", "X", "-"),
    "FG mixed": ("#9b2f6f", "*", "-"),
    "FG masked": ("#b59ad6", "h", "-"),
    "FG topcell": ("#cc79a7", "X", "-"),
    "FG topcell, mixed": ("#9b2f6f", "*", "-"),
    "cohorts": ("#56b4e9", ">", "-"),
    "sequential MPC": ("#7a7a7a", "x", ":"),
    "exact": ("#22303c", "o", "--"),
    "raw": ("#d55e00", "D", "-"),
    "thresholded": ("#56b4e9", "s", "-"),
    "topcell": ("#009e73", "^", "-"),
    "likely": ("#cc79a7", "X", "-"),
}
_PLAIN = ("#777777", ".", "-")

Axis = tuple[str, str]
"""The measure of an axis, and what is written there."""


def figure(columns: int, rows: int = 1, *, width: float = 4.6, height: float = 3.6) -> tuple[Figure, list[Axes]]:
    """Return a figure of equal panels, row by row."""
    drawn, grid = plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), layout="constrained", squeeze=False
    )
    panels = [panel for line in grid for panel in line]
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(visible=True, axis="y", color="#e3e8ec", linewidth=0.8)
        panel.set_axisbelow(True)
    return drawn, panels


def save(drawn: Figure, folder: Path, name: str) -> None:
    """Write a figure as PNG and as SVG; the same figure gives the same bytes."""
    with plt.rc_context({"svg.hashsalt": "fedgroup", "svg.fonttype": "path"}):
        drawn.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
        drawn.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(drawn)


def lines(axes: Axes, rows: Sequence[Row], *, x: Axis, y: Axis, by: str = "method", names: Iterable[str] = ()) -> None:
    """Draw a line with error bars through the rows of each method, or of each of `names`, as they follow each other."""
    for name in names or [str(value) for value in distinct(rows, by)]:
        mine = [row for row in pick(rows, **{by: name}) if maybe(row, y[0]) is not None]
        if not mine:
            continue
        colour, mark, dash = STYLES.get(name, _PLAIN)
        axes.errorbar(
            [number(row, x[0]) for row in mine],
            [number(row, y[0]) for row in mine],
            yerr=[maybe(row, f"{y[0]}_pm") or 0.0 for row in mine],
            color=colour,
            marker=mark,
            linestyle=dash,
            markersize=5.5,
            linewidth=1.5,
            capsize=2.5,
            label=name,
        )
    axes.set(xlabel=x[1], ylabel=y[1])


def points(axes: Axes, places: Iterable[tuple[float, float]], *, name: str, label: str) -> None:
    """Draw what the paper prints for a method, as hollow marks."""
    colour, mark, _ = STYLES.get(name, _PLAIN)
    found = list(places)
    if found:
        x, y = zip(*found, strict=True)
        axes.plot(x, y, linestyle="none", marker=mark, markersize=10, fillstyle="none", color=colour, label=label)


def logarithmic(axes: Axes, *, ticks: Sequence[float]) -> None:
    """Give the y axis a logarithmic scale with plain numbers at the ticks that lie in it."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_yticks([tick for tick in ticks if low / 1.5 <= tick <= high * 1.5])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def at_values(axes: Axes, rows: Sequence[Row], name: str) -> None:
    """Put the x axis' ticks where something was measured."""
    values = sorted({number(row, name) for row in rows})
    axes.set_xticks(values, [_short(value) for value in values])


def _short(value: float) -> str:
    for unit, letter in ((1e6, "M"), (1e3, "K")):
        if value >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"


def legend_below(drawn: Figure, axes: Sequence[Axes], *, columns: int) -> None:
    """Write one legend for all panels under them."""
    found = {label: handle for panel in axes for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    drawn.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
