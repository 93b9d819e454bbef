"""Maps as pictures: colour is the value, and what noise alone may explain is grey and hatched.

Guarantee: a picture is made of what was released and of public bins.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import shapely

from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.given import path_like, whole_number, written
from fedgroup.maps.private_map import noise_in
from fedgroup.maps.published import PublishedMap
from fedgroup.maps.rasters import Raster, raster
from fedgroup.questions.kinds import KINDS
from fedgroup.questions.shown import number, table, told_facts
from fedgroup.questions.words import UNCOVERED, question
from fedgroup.space import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fedgroup.maps.private_map import Array, PrivateMap
    from fedgroup.questions.bins import Value

PICTURES = (".png", ".svg", ".pdf")
_DARK, _PALE = (0.40, 0.0, 0.05), (1.0, 0.93, 0.70)
_UNSURE, _HATCH = "#eef0f2", "#c9d0d6"
_MOST_HATCHED = 20_000
_MOST_DRAWN = 4_096
"""A notebook is given so many shapes at most: those with the largest values."""
_SVG, _SHADES = 300, 20
_WIDE = 100
"""Letters in a line below a picture."""


class First(TypedDict):
    """Which step and which category of a map are seen; None for all of them, added up."""

    step: int | None
    category: Value | None


@dataclass(frozen=True)
class Pictured:
    """What a picture shows: a value and an interval for every place.

    `half` is how far noise moves one of them, `half_all` how far it moves any of them, each in 95 %; None for means.
    `sure` tells, where it is known otherwise, which of them noise alone does not explain. It explains all that are
    below 0, unless they are `signed`.
    """

    values: Array
    low: Array
    high: Array
    half: float | None
    half_all: float | None
    sure: Array | None = None
    signed: bool = False

    @property
    def unsure(self) -> Array:
        """Where there is no value, or noise alone may explain it: among many empty places some are far from 0."""
        if self.sure is not None:
            hidden: Array = ~self.sure
            return hidden
        far = (np.maximum(self.low, -self.high) if self.signed else self.low) > 0
        if self.half is not None and self.half_all is not None:
            far &= np.abs(self.values) > self.half_all
        unsure: Array = np.isnan(self.values.astype(float)) | ~far
        return unsure

    def keep(self, rows: Array) -> Pictured:
        sure = None if self.sure is None else self.sure[rows]
        return Pictured(self.values[rows], self.low[rows], self.high[rows], self.half, self.half_all, sure, self.signed)


def seen(made: PrivateMap, *, step: int | None = None, category: Value | None = None) -> Pictured:
    """Return the values of places, of one step of time and one category, or added up over them.

    The interval of a sum is that of the sum of its bins' independent noises. Means and people are not added up.
    """
    if isinstance(made, Raster):
        return Pictured(made.values, made.low, made.high, None, None, made.sure)
    steps, categories = _chosen(made, step, category)
    values, low, high = (made.at(each)[:, steps][:, :, categories] for each in (made.values, made.low, made.high))
    count = values.shape[1] * values.shape[2]
    if count > 1:
        made.require_summable()
    if made.kind == "avg":
        return Pictured(values[:, 0, 0], low[:, 0, 0], high[:, 0, 0], None, None, signed=made.signed)
    summed = values.sum(axis=(1, 2))
    half, half_all = (_half(made, count, made.confidence ** (1 / many)) for many in (1, made.shape[0]))
    return Pictured(summed, summed - half, summed + half, half, half_all, signed=made.signed)


def _half(made: PrivateMap, bins: int, confidence: float) -> float:
    """Return how far noise moves the sum of so many bins."""
    if made.method == "exact":
        return 0.0
    unit = 1.0 if made.query.measure is None else float(made.query.measure.step)
    return float(noise_in(made, bins).half_width(confidence) * unit)


def plot(made: PrivateMap, ax: Axes | None, *, step: int | None, category: Value | None) -> Axes:
    """Draw a map on axes, or on new ones, and return them."""
    made = drawable(made)
    shown = seen(made, step=step, category=category)
    if ax is None:
        _require_matplotlib()
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
    _draw(made, shown, ax, step=step, category=category)
    return ax


def first_of(made: PrivateMap) -> First:
    """Return what a picture shows where nobody chose: all steps and categories, or the first if they do not add up."""
    return First(step=None if made.adds_up else 0, category=None if made.adds_up else made.categories()[0])


def save_picture(made: PrivateMap, path: str | os.PathLike[str]) -> None:
    """Write a picture of a map; without a window, whatever matplotlib is set to."""
    require_picture(path)
    _require_matplotlib()
    made = drawable(made)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    FigureCanvasAgg(figure)
    first = first_of(made)
    _draw(made, seen(made, **first), figure.subplots(), **first)
    try:
        figure.savefig(path, dpi=110)
    except OSError:
        raise InvalidInput(f"{path} cannot be written; give a file in a folder that exists and is writable") from None


def require_picture(path: str | os.PathLike[str]) -> None:
    """Refuse a name that says no kind of picture."""
    name = os.fspath(path_like(path, name="a picture"))
    if os.path.splitext(name)[1].lower() not in PICTURES:
        raise InvalidInput(f"a picture is a file whose name ends in {', '.join(PICTURES)}, got {written(path)}")


def _require_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise InvalidInput("a picture needs matplotlib: pip install 'fedgroup[lab]'")


def map_html(made: PrivateMap) -> str:
    """Return a map as a notebook shows it: a small picture and what is told, with nothing fetched from anywhere."""
    asked, made = made.query, drawable(made)
    shown = seen(made, **first_of(made))
    picture, half = _svg(made, shown), _half_words(made, shown)
    facts = [("question", question(asked)), ("bins", f"{asked.bins:,}"), ("noise", half)]
    facts += [] if made.adds_up else [("picture", _chosen_words(made, **first_of(made)))]
    facts += [("protected", made.protection)] if made.protection else []
    style = "display:flex;gap:16px;align-items:flex-start"
    return f'<div style="{style}">{picture}{table([*facts, *told_facts(made)])}</div>'


def drawable(made: PrivateMap) -> PrivateMap:
    """Return a map whose places can be seen: the cells of a published one as squares of one size."""
    return raster(made) if isinstance(made, PublishedMap) else made


def _chosen(made: PrivateMap, step: int | None, category: Value | None) -> tuple[slice, slice]:
    whole = slice(None)
    steps = whole
    if step is not None:
        at = whole_number(step, name="step", least=0, most=made.shape[1] - 1, refusal=InvalidQuery)
        steps = slice(at, at + 1)
    if category is None:
        return steps, whole
    known = made.categories()
    if category not in known:
        raise InvalidQuery(f"the map has no category {written(category)}; it has {', '.join(map(str, known[:20]))}")
    return steps, slice(known.index(category), known.index(category) + 1)


# --- matplotlib -------------------------------------------------------------------------------------------------------


def _draw(made: PrivateMap, shown: Pictured, ax: Axes, *, step: int | None, category: Value | None) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.patches import Patch

    colours, norm = _colours(made, shown)
    faces = colours(norm(np.nan_to_num(shown.values.astype(float))))
    unsure = shown.unsure
    _draw_places(made, ax, faces, unsure)
    west, south, east, north = made.public_map.domain.sides
    ax.set(xlim=(west, east), ylim=(south, north))
    ax.set_aspect(1 / max(math.cos(math.radians((south + north) / 2)), 0.05) if made.public_map.lonlat else "equal")
    ax.spines[["top", "right"]].set_visible(False)
    if made.public_map.lonlat:
        ax.ticklabel_format(useOffset=False)
        ax.locator_params(axis="x", nbins=5)
        ax.set(xlabel="longitude", ylabel="latitude")
    if not unsure.all():
        bar = ax.figure.colorbar(ScalarMappable(norm, colours), ax=ax, shrink=0.75)
        bar.set_label(_measured(made))
    if unsure.any():
        told = "noise alone may explain " + ("every place" if unsure.all() else "it")
        grey = Patch(facecolor=_UNSURE, edgecolor=_HATCH, hatch="////", linewidth=0, label=told)
        ax.legend(handles=[grey], loc="lower left", fontsize=8, framealpha=0.9)
    cut = _uncovered(made)
    uncovered = "\n".join(wrap(f"not covered by the intervals: {'; '.join(cut)}" if cut else "", _WIDE))
    ax.annotate(uncovered, (0, 0), (0, -34), "axes fraction", "offset points", fontsize=8, va="top", color="#555555")
    ax.set_title(_title(made, shown, step=step, category=category), loc="left", fontsize=10)


def _draw_places(made: PrivateMap, ax: Axes, faces: Any, unsure: Array) -> None:
    """Draw cells of a grid as an image, other places as polygons; over them, a hatching of those that are unsure."""
    from matplotlib.collections import PatchCollection
    from matplotlib.colors import to_rgba
    from matplotlib.patches import PathPatch

    faces[unsure] = to_rgba(_UNSURE)
    match made.places:
        case Grid(_, columns, rows) as grid:
            ax.pcolormesh(grid.x_edges, grid.y_edges, faces.reshape(rows, columns, 4))
        case _:
            patches = [PathPatch(_path(shape)) for shape in made.geometries()]
            ax.add_collection(PatchCollection(patches, facecolor=faces, edgecolor="white", linewidth=0.3))
    if unsure.any() and unsure.sum() <= _MOST_HATCHED:
        # one shape for all of them, so that the hatching goes on over borders
        grey = shapely.union_all([shape for shape, one in zip(made.geometries(), unsure, strict=True) if one])
        ax.add_patch(PathPatch(_path(grey), facecolor="none", edgecolor=_HATCH, hatch="////", linewidth=0))


def _path(shape: Any) -> Any:
    from matplotlib.path import Path

    rings = [Path(np.asarray(ring.coords)[:, :2], closed=True) for ring in _rings(shape)]
    return Path.make_compound_path(*rings)


def _rings(shape: Any) -> Iterator[Any]:
    for part in shapely.get_parts(shape):
        if part.geom_type == "Polygon":
            yield from (part.exterior, *part.interiors)


def _colours(made: PrivateMap, shown: Pictured) -> tuple[Any, Any]:
    """Return a scale from pale to dark, by square roots, as places are uneven; two-sided for signed sums."""
    from matplotlib import colormaps
    from matplotlib.colors import Normalize, PowerNorm

    sure = shown.values[~shown.unsure].astype(float)
    top = float(np.abs(sure).max()) if len(sure) else 1.0
    if made.signed:
        return colormaps["RdBu_r"], Normalize(-top, top)
    return colormaps["YlOrRd"], PowerNorm(0.5, vmin=0, vmax=top or 1.0)


def painted(made: PrivateMap, shown: Pictured) -> list[str]:
    """Return the colour of every place, as browsers write it."""
    from matplotlib.colors import to_hex

    colours, norm = _colours(made, shown)
    faces = colours(norm(np.nan_to_num(shown.values.astype(float))))
    return [_UNSURE if one else to_hex(face) for face, one in zip(faces, shown.unsure, strict=True)]


def _title(made: PrivateMap, shown: Pictured, *, step: int | None, category: Value | None) -> str:
    chosen = _chosen_words(made, step=step, category=category)
    where = f", {chosen}" if chosen else ""
    evaluated = "" if made.private else "; not private"
    noise = f"{_half_words(made, shown)}, epsilon {made.epsilon:g}{evaluated}"
    many = f"{made.cells:,} cells" if isinstance(made, Raster) else f"{made.shape[0]:,} places"
    return f"{_measured(made)} in {many}{where}\n{noise}"


def _chosen_words(made: PrivateMap, *, step: int | None, category: Value | None) -> str:
    """Return in words which steps and categories are seen; of those that do not add up, that it is one of them."""
    over = [
        f"{many} {what}"
        for many, what, one in zip(made.shape[1:], ("steps", "categories"), (step, category), strict=True)
        if many > 1 and one is None
    ]
    chosen = [f"{' and '.join(over)} added up"] if over else []
    several = made.shape[1] > 1 and not made.adds_up
    if step is not None and made.starts()[step] is not None:
        which = f"step {step + 1} of {made.shape[1]}, " if several else ""
        chosen.append(f"{which}{made.starts()[step]:%Y-%m-%d %H:%M}")
    if category is not None:
        which = f"category 1 of {made.shape[2]}, " if not made.adds_up and made.categories()[0] == category else ""
        chosen.append(f"{which}{category}")
    return ", ".join(chosen)


def _uncovered(made: PrivateMap) -> list[str]:
    """Return what is missing from the values, or cut, and is in no interval."""
    return [note.removesuffix(f"; {UNCOVERED}") for note in made.notes if note.endswith(UNCOVERED)]


def _measured(made: PrivateMap) -> str:
    of = "" if made.query.measure is None else f" {made.query.measure.attribute}"
    what = "records" if made.kind == "count" else f"{KINDS[made.kind].of}{of}"
    if not isinstance(made, Raster):
        return what
    return f"{what} per {'km²' if made.public_map.lonlat else '1,000 x 1,000 units'}"


def _half_words(made: PrivateMap, shown: Pictured | None) -> str:
    if made.method == "exact":
        return "no noise"
    if shown is None or shown.half is None or shown.half_all is None:
        return "intervals differ from bin to bin"
    every = "" if made.shape[0] == 1 else f", ± {number(shown.half_all)} for all at once"
    return f"± {number(shown.half)} in {made.confidence:.0%}{every}"


# --- a small picture in HTML ------------------------------------------------------------------------------------------


def _svg(made: PrivateMap, shown: Pictured) -> str:
    """Return a picture of few bytes: a path for every shade, and grey where nothing is drawn."""
    shapes, shown = _few(made, shown)
    west, south, east, north = made.public_map.domain.sides
    stretch = max(math.cos(math.radians((south + north) / 2)), 0.05) if made.public_map.lonlat else 1.0
    scale = _SVG / max((east - west) * stretch, north - south)
    wide, high = (east - west) * stretch * scale, (north - south) * scale
    top = float(np.max(shown.values[~shown.unsure], initial=0)) or 1.0
    shades: dict[str, list[str]] = {}
    for shape, value, unsure in zip(shapes, shown.values.tolist(), shown.unsure.tolist(), strict=True):
        if not unsure:
            # in units of the picture
            moved = shapely.transform(
                shape, lambda at: np.column_stack([(at[:, 0] - west) * stretch, north - at[:, 1]]) * scale
            )
            shades.setdefault(_hex(value / top), []).append(_drawn_path(moved))
    drawn = "".join(f'<path fill="{shade}" d="{"".join(paths)}"/>' for shade, paths in shades.items())
    title = escape(f"{_half_words(made, shown)}; grey: noise alone may explain it")
    return (
        f'<svg style="flex:none" width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.1f} {high:.1f}" '
        f'fill-rule="evenodd" xmlns="http://www.w3.org/2000/svg"><title>{title}</title>'
        f'<rect width="100%" height="100%" fill="{_UNSURE}"/>{drawn}</svg>'
    )


def _few(made: PrivateMap, shown: Pictured) -> tuple[Sequence[Any], Pictured]:
    """Return few enough shapes: those with the largest values."""
    shapes = made.geometries()
    if len(shapes) <= _MOST_DRAWN:
        return shapes, shown
    largest = np.argsort(-np.nan_to_num(shown.values.astype(float)), kind="stable")[:_MOST_DRAWN]
    return [shapes[at] for at in largest], shown.keep(largest)


def _drawn_path(shape: Any) -> str:
    simple = shapely.simplify(shape, 0.5, preserve_topology=False)
    kept = simple if not simple.is_empty else shapely.box(*shape.bounds)
    rings = (" ".join(f"{x:.1f} {y:.1f}" for x, y, *_ in ring.coords[:-1]) for ring in _rings(kept))
    return "".join(f"M{ring}Z" for ring in rings)


def _hex(share: float) -> str:
    part = round(_SHADES * math.sqrt(min(max(share, 0.0), 1.0))) / _SHADES
    mixed = (round(255 * (pale + (dark - pale) * part)) for pale, dark in zip(_PALE, _DARK, strict=True))
    return "#" + "".join(f"{each:02x}" for each in mixed)
