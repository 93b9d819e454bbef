"""Pictures of the demo: the city with its groups, and error against epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle as Ring

from fedgroup.data.plans import Plan
from fedgroup.lab.experiments.demo import DemoRow
from fedgroup.owner.records import Records
from fedgroup.space import Circle

INK = "#22303c"
MUTED = "#b8c2cc"
MARKS = "osD^vPX*h"


def draw_city(records: Records, plan: Plan, circle: Circle, path: Path, *, groups: int = 12) -> None:
    """Draw the records of a synthetic city: the largest groups in colour, all others grey, and one question."""
    labels = plan.partition.labels[records.code]
    largest = np.argsort(-plan.partition.sizes, kind="stable")[:groups]
    figure, axes = _figure(7.2, 7.0)
    rest = ~np.isin(labels, largest)
    axes.scatter(records.x[rest] / 1000, records.y[rest] / 1000, s=2, color=MUTED, linewidths=0, label="other owners")
    for rank, group in enumerate(largest):
        chosen = labels == group
        size = int(plan.partition.sizes[group])
        colour = plt.get_cmap("tab20")(rank % 20)
        x_km, y_km = records.x[chosen] / 1000, records.y[chosen] / 1000
        axes.scatter(x_km, y_km, s=4, linewidths=0, color=colour, label=f"{size} owners")
    axes.add_patch(Ring((circle.x / 1000, circle.y / 1000), circle.radius / 1000, fill=False, color=INK, lw=1.8))
    axes.set(aspect="equal", xlabel="km", ylabel="km", xlim=(0, 20), ylim=(0, 20))
    axes.set_title(f"{len(plan.owners):,} owners in {plan.groups:,} groups; the circle is one question", loc="left")
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, markerscale=4, fontsize=8, title="largest groups"
    )
    _save(figure, path)


def draw_errors(rows: Sequence[DemoRow], path: Path) -> None:
    """Draw each method's mean absolute error against epsilon."""
    figure, axes = _figure(6.8, 4.4)
    for mark, method in zip(MARKS, dict.fromkeys(row.method for row in rows), strict=False):
        mine = [row for row in rows if row.method == method]
        dashed = "--" if method in ("FG-C", "FG-ExC") else "-"
        axes.plot([r.epsilon for r in mine], [r.mean_absolute_error for r in mine], dashed, marker=mark, label=method)
    axes.set(
        xlabel="epsilon of a question (grouping costs as much once, before)", ylabel="mean absolute error (records)"
    )
    axes.set_xticks(sorted({row.epsilon for row in rows}))
    axes.set_ylim(bottom=0)
    axes.set_title("Less noise, smaller errors (dashed: not private)", loc="left")
    axes.legend(frameon=False)
    _save(figure, path)


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure, axes = plt.subplots(figsize=(width, height), layout="constrained")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=130)
    plt.close(figure)
