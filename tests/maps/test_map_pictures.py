"""Pictures show what noise may have moved: what it alone may explain is told apart from what it cannot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from some_maps import SAID, federation, some_map

import fedgroup as fg
from fedgroup.maps.pictures import Pictured, save_picture, seen

mpl.use("Agg")


@pytest.mark.parametrize("name", sorted(set(SAID) - {"means"}))
def test_every_map_can_be_drawn(name: str, tmp_path: Path) -> None:
    save_picture(some_map(name), tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_a_notebook_still_shows_a_map_and_others_are_told(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr("fedgroup.maps.pictures.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    made = some_map("times")
    assert "<svg" in made._repr_html_()
    for draw in (made.plot, lambda: save_picture(made, tmp_path / "map.png")):
        with pytest.raises(fg.InvalidInput, match=r"fedgroup\[lab\]"):
            draw()


def test_the_title_tells_the_noise() -> None:
    made = some_map("times")
    axes = Figure().subplots()
    assert made.plot(axes, step=2, category="bus") is axes
    title = axes.get_title(loc="left")
    half = round(float(made.high[0] - made.low[0]) / 2)
    assert f"± {half} in 95%" in title
    assert "1970-01-01 12:00, bus" in title


def test_sums_over_steps_hold_the_noise_of_all_of_them() -> None:
    made = some_map("times")
    one, all_steps = seen(made, step=0, category="bus"), seen(made)
    assert all_steps.values.tolist() == made.of_places().tolist()
    assert one.half is not None
    assert all_steps.half is not None
    assert one.half < all_steps.half < 8 * one.half


def test_what_noise_alone_may_explain_is_unsure() -> None:
    empty = fg.Federation(fg.Records(owner=[0, 1], x=[1, 1], y=[1, 1], owners=range(2)), fg.Box(0, 0, 10, 10), seed=1)
    assert seen(empty.map(grid=(30, 30), epsilon=1)).unsure.all()
    crowd = federation(evaluation=True).map(grid=(2, 2), method="exact")
    assert (seen(crowd).unsure == (crowd.values == 0)).all()


@pytest.mark.parametrize(("signed", "sure"), [(False, [False, False, True]), (True, [True, False, True])])
def test_noise_alone_explains_every_count_below_0(signed: bool, sure: list[bool]) -> None:
    values = np.array([-100, 5, 100])
    shown = Pictured(values, values - 10, values + 10, 10, 20, signed=signed)
    assert (~shown.unsure).tolist() == sure


def test_means_are_not_added_up() -> None:
    joined = federation(seed=1)
    said = {"kind": "avg", "attribute": "fare", "clip": 10, "every": "12h", "since": 0, "until": 86_400}
    made = joined.map(grid=(2, 2), epsilon=1, method="mpc", **said)
    with pytest.raises(fg.InvalidQuery, match="means do not add up"):
        seen(made)
    assert len(seen(made, step=1).values) == 4
    assert "<table" in made._repr_html_()


DAY = {"every": "12h", "since": 0, "until": 86_400}


@pytest.mark.parametrize("said", [{"kind": "people"}, {"kind": "avg", "attribute": "fare", "clip": 10}])
def test_what_does_not_add_up_is_drawn_one_step_at_a_time(said: dict[str, Any], tmp_path: Path) -> None:
    made = federation(seed=1).map(grid=(2, 2), epsilon=9, by={"kind": ["bus", "taxi"]}, **DAY, **said)
    with pytest.raises(fg.InvalidQuery, match="do not add up"):
        made.plot(Figure().subplots())
    title = made.plot(Figure().subplots(), step=1, category="taxi").get_title(loc="left")
    assert "step 2 of 2, 1970-01-01 12:00, taxi" in title
    assert "step 1 of 2, 1970-01-01 00:00, category 1 of 2, bus" in made._repr_html_()
    save_picture(made, tmp_path / "map.svg")  # was paid for: the first step, and it says so
    assert "step 1 of 2" in (tmp_path / "map.svg").read_text()


def test_a_picture_tells_what_is_missing_from_it() -> None:
    cars = federation(seed=1, unit="owner", max_records=9, max_bins=2)
    axes = cars.map(grid=(2, 2), kind="people", epsilon=1).plot(Figure().subplots())
    assert "each subject counts in the first 2 of the bins it is in" in " ".join(text.get_text() for text in axes.texts)
    plain = federation(seed=1).map(grid=(2, 2), epsilon=1).plot(Figure().subplots())
    assert not any(text.get_text() for text in plain.texts)


def test_a_picture_in_which_nothing_is_sure_has_no_scale() -> None:
    axes = federation(seed=1).map(grid=(30, 30), epsilon=0.01).plot(Figure().subplots())
    assert len(axes.figure.axes) == 1
    assert "noise alone may explain every place" in axes.get_legend().get_texts()[0].get_text()
    sure = federation(seed=1).map(grid=(2, 2), epsilon=100).plot(Figure().subplots())
    assert len(sure.figure.axes) == 2


@pytest.mark.parametrize(("said", "told"), [({"step": 4}, "from 0 to 3"), ({"category": "tram"}, "no category 'tram'")])
def test_an_unknown_step_or_category_is_refused(said: dict[str, object], told: str) -> None:
    with pytest.raises(fg.InvalidQuery, match=told):
        some_map("times").plot(Figure().subplots(), **said)


@pytest.mark.parametrize("name", SAID)
def test_a_notebook_shows_a_map_without_fetching_anything(name: str) -> None:
    shown = some_map(name)._repr_html_()
    assert "one record, add-remove" in shown
    links = shown.replace("http://www.w3.org/2000/svg", "")
    assert not any(word in links for word in ("http", "<script", "href", "src="))


def test_names_of_districts_are_no_html() -> None:
    shape = fg.Polygon([(0, 0), (5, 0), (5, 10), (0, 10)])
    made = federation(seed=1).map(districts={"<script>": shape}, epsilon=1, by={"kind": ["<b>"]})
    assert "<script>" not in made._repr_html_()


def test_a_fine_map_stays_small_in_a_notebook() -> None:
    rng = np.arange(20_000)
    records = fg.Records(owner=rng % 5, x=rng % 100 / 10, y=rng // 100 % 100 / 10, owners=range(5))
    made = fg.Federation(records, fg.Box(0, 0, 10, 10), seed=1).map(grid=(100, 100), epsilon=1000)
    assert len(made._repr_html_()) < 300_000


def test_a_picture_has_a_known_ending(tmp_path: Path) -> None:
    with pytest.raises(fg.InvalidInput, match=r"\.png, \.svg, \.pdf"):
        save_picture(some_map("grid"), tmp_path / "map.bmp")
