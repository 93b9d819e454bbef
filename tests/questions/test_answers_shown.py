"""An answer knows its range, and shows it to notebooks and to other libraries."""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import pytest

import fedgroup as fg
from fedgroup.questions.answers import answer_facts, answer_from

CIRCLE = fg.Circle(5, 5, 2)


def federation(**settings: object) -> fg.Federation:
    code = np.arange(40) % 4
    records = fg.Records(owner=code, x=np.arange(40) / 4, y=np.arange(40) / 4, owners=range(4))
    return fg.Federation(records, fg.Box(0, 0, 10, 10), **settings)


def test_an_answer_is_a_feature_of_its_range() -> None:
    answer = federation().count(CIRCLE, epsilon=1)
    assert answer.range == CIRCLE
    (row,) = gpd.GeoDataFrame.from_features([answer]).itertuples()
    assert (row.value, (row.low, row.high)) == (answer.value, answer.interval)
    assert row.geometry.area == pytest.approx(12.566, rel=0.01)


def test_a_stored_answer_gets_its_range_back() -> None:
    joined = federation()
    first, again = (joined.count(CIRCLE, epsilon=1) for _ in range(2))
    assert (again.stored, again.range, again.value) == (True, CIRCLE, first.value)


def test_an_exact_answer_and_a_batch_know_their_ranges() -> None:
    joined = federation(evaluation=True)
    assert joined.count(CIRCLE, method="exact").range == CIRCLE
    assert [answer.range for answer in federation().count_many([CIRCLE], epsilon=1)] == [CIRCLE]


def test_what_is_stored_of_an_answer_is_what_it_was() -> None:
    answer = federation().count(CIRCLE, epsilon=1)
    facts = answer_facts(answer)
    assert "range" not in facts
    told = answer_from(facts)
    assert told == answer
    assert not hasattr(told, "__geo_interface__")


def test_a_notebook_shows_an_answer_without_fetching_anything() -> None:
    answer = federation().count(CIRCLE, epsilon=1)
    shown = answer._repr_html_()
    assert f"count: {answer.value}" in shown
    assert "nobody is trusted" in shown
    assert not any(word in shown.replace("http://www.w3.org/2000/svg", "") for word in ("http", "<script", "href"))
