"""True answers and the exact graph, under the same clipping, rounding and cutting as private answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedgroup.epsilon import NOTHING
from fedgroup.evaluation.truth import clipped_value, exact_graph, exact_vectors, true_value
from fedgroup.owner.records import Records
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Box, Circle, PublicMap, Rectangle

MAP = PublicMap(Box(0, 0, 9, 9))
ALL = Rectangle(0, 0, 9, 9)
RECORDS = Records(
    owner=[1, 1, 1, 2, 2],
    x=[1, 2, 99, 4, 5],
    y=[1, 1, 1, 1, 1],
    attributes={"fare": [1.26, 50, 3, np.nan, -2]},
    owners=[1, 2, 3],
)


@pytest.mark.parametrize(
    ("kind", "measure", "most", "value"),
    [
        ("count", None, None, 4),
        ("count", None, 1, 2),
        ("sum", Measure("fare", 10, resolution=0.5), None, 11.5),
        ("sum", Measure("fare", 10, signed=True, resolution=0.5), None, 9.5),
        ("sum", Measure("fare", 10, resolution=0.5), 1, 1.5),
        ("avg", Measure("fare", 10, resolution=0.5), None, 11.5 / 3),
    ],
)
def test_the_clipped_value_is_what_noise_is_added_to(
    kind: Any, measure: Measure | None, most: int | None, value: float
) -> None:
    assert clipped_value(RECORDS, RangeQuery(kind, ALL, NOTHING, measure), MAP, _cut(most)) == value


def _cut(most: int | None) -> Protection:
    return Protection() if most is None else Protection(unit="owner", max_records=most)


@pytest.mark.parametrize(("kind", "value"), [("count", 4), ("sum", 49.26), ("avg", 49.26 / 3)])
def test_the_true_value_is_that_of_the_data_with_nothing_cut_or_rounded(kind: Any, value: float) -> None:
    measure = None if kind == "count" else Measure("fare", 10, resolution=0.5)
    assert true_value(RECORDS, RangeQuery(kind, ALL, NOTHING, measure), MAP) == pytest.approx(value)


def test_the_mean_of_nothing_is_no_value() -> None:
    query = RangeQuery("avg", Circle(8, 8, 0.5), NOTHING, Measure("fare", 10))
    assert true_value(RECORDS, query, MAP) is clipped_value(RECORDS, query, MAP, Protection()) is None


def test_exact_vectors_count_each_owners_contributing_records() -> None:
    assert exact_vectors(RECORDS, MAP.grid(3, 1), MAP, most=None).tolist() == [[2, 0, 0], [0, 2, 0], [0, 0, 0]]
    assert exact_vectors(RECORDS, MAP.grid(3, 1), MAP, most=1).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]


def test_the_papers_example_has_similarity_0_973() -> None:
    vectors = np.array([[0, 1, 1, 1, 0, 0, 2, 5, 0], [0, 0, 1, 1, 0, 0, 1, 4, 0]], dtype=np.int32)
    assert exact_graph(vectors, threshold=0.973).edges == 1
    assert exact_graph(vectors, threshold=0.974).edges == 0


def test_an_edge_needs_more_than_the_threshold() -> None:
    vectors = np.array([[3, 4], [1, 0]], dtype=np.int32)
    assert exact_graph(vectors, threshold=0.6).edges == 0
    assert exact_graph(vectors, threshold=0.59).edges == 1


def test_owners_without_records_are_joined_to_none() -> None:
    assert exact_graph(np.zeros((3, 4), dtype=np.int32), threshold=0).edges == 0
