"""The demo's private map: a city published once, drawn beside the true one, and ten circles read for nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import PowerNorm
from matplotlib.patches import Circle as Ring

from fedgroup.federation import Federation
from fedgroup.maps.planning import MapPlan
from fedgroup.maps.published import PublishedMap
from fedgroup.owner.records import Records
from fedgroup.space import Circle

EPSILON = 1.0
CIRCLES = 10


@dataclass(frozen=True)
class FreeRow:
    """A circle: what the map says of it for nothing, the truth, and what asking as sharply would have cost."""

    x: float
    y: float
    radius: float
    value: float
    low: float
    high: float
    true_value: int
    would_cost: float


def publish_city(city: Records, *, seed: int) -> tuple[PublishedMap, list[FreeRow]]:
    """Return the map of a city, and ten circles read from it, at public places of a ring and of several sizes."""
    federation = Federation(city, seed=seed)
    said = {"epsilon": EPSILON, "records": len(city)}
    plan: MapPlan = federation.plan_map(**said)  # type: ignore[arg-type]
    made = federation.publish(**said)  # type: ignore[arg-type]
    return made, [_row(made, plan, city, circle) for circle in circles(made)]


def circles(made: PublishedMap) -> list[Circle]:
    """Return circles around public places: the middle, and rings around it."""
    west, south, east, north = made.public_map.domain.sides
    middle = (west + east) / 2, (south + north) / 2
    sizes = (500.0, 1_000.0, 2_000.0)
    angles = np.linspace(0, 2 * np.pi, CIRCLES - 1, endpoint=False)
    ring = [(middle[0] + 3_000 * np.cos(a), middle[1] + 3_000 * np.sin(a)) for a in angles]
    return [Circle(float(x), float(y), sizes[at % 3]) for at, (x, y) in enumerate([middle, *ring])]


def draw_maps(made: PublishedMap, city: Records, path: Path) -> None:
    """Draw the true map, which nobody gets, beside the published one."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(13.2, 5.8), layout="constrained")
    west, south, east, north = made.public_map.domain.sides
    side = 128
    counts, _, _ = np.histogram2d(city.y, city.x, bins=side, range=((south, north), (west, east)))
    km2 = (east - west) * (north - south) / side**2 / 1e6
    shown = np.where(counts > 0, counts / km2, np.nan)
    drawn = left.imshow(shown, origin="lower", extent=(west, east, south, north), cmap="YlOrRd", norm=PowerNorm(0.5))
    left.set_title("the true map, which nobody gets", loc="left", fontsize=10)
    figure.colorbar(drawn, ax=left, shrink=0.75).set_label("records per km²")
    made.plot(right)
    title = f"the published map, epsilon {made.epsilon:g} once; grey: noise alone may explain it"
    right.set_title(title, loc="left", fontsize=10)
    for circle in circles(made):
        right.add_patch(Ring((circle.x, circle.y), circle.radius, fill=False, color="#1b2a41", lw=1.2))
    try:
        figure.savefig(path, dpi=110)
    finally:
        plt.close(figure)


def _row(made: PublishedMap, plan: MapPlan, city: Records, circle: Circle) -> FreeRow:
    answer = made.count(circle)
    low, high = answer.interval
    true = int(made.public_map.contains(circle, city.x, city.y).sum())
    cost = plan.price_of((high - low) / 2)
    return FreeRow(circle.x, circle.y, circle.radius, answer.value or 0.0, low, high, true, cost)
