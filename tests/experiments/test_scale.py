"""The simulation of many live owners adds up: queues, lost messages, shards."""

from __future__ import annotations

import numpy as np
import pytest

from fedgroup.errors import InvalidInput
from fedgroup.lab.experiments.scale import (
    ASSUMED,
    HERE,
    MEASURED,
    Costs,
    LineDelays,
    Shape,
    _served,
    scale_rows,
    simulated,
)

AT_ONCE = LineDelays("at once", (0.0, 0.0), 0.0)


def test_one_is_served_after_the_other_in_the_order_they_come() -> None:
    assert _served(np.array([5.0, 0.0, 0.5, np.inf]), 1.0).tolist() == [6.0, 1.0, 2.0, np.inf]
    assert _served(np.array([]), 1.0).tolist() == []


def test_a_question_takes_as_long_as_its_busiest_place() -> None:
    costs = Costs("dp", 1, provider_s=2e-3, broker_s=1e-9, owner_s=1e-9, broker_bytes=1_000)
    row = simulated(Shape(1_000, 1, 1), costs, AT_ONCE)
    assert row.seconds == pytest.approx(2.0, rel=1e-3)  # 1,000 owners, 2 ms of the provider each
    assert row.heard == 1
    assert simulated(Shape(1_000, 10, 1), costs, AT_ONCE).seconds == pytest.approx(0.2, rel=1e-3)
    hosted = Costs("dp", 1, provider_s=1e-9, broker_s=1e-9, owner_s=4e-3, broker_bytes=1_000)
    assert simulated(Shape(1_000, 1, 1), hosted, AT_ONCE).seconds == pytest.approx(4e-3, rel=0.01)
    assert simulated(Shape(1_000, 1, 500), hosted, AT_ONCE).seconds == pytest.approx(2.0, rel=0.01)


def test_what_is_lost_is_waited_for_and_left_out_of_its_cohort() -> None:
    lossy = LineDelays("lossy", (0.0, 0.01), 0.01)
    alone, together = (simulated(Shape(5_000, 1, 1), costs, lossy) for costs in MEASURED)
    # who is not ready is out; who falls silent then is asked once more
    assert [each.heard for each in (alone, together)] == pytest.approx([0.99**2] * 2, abs=0.01)
    assert alone.seconds == 50.0  # the deadline of 5,000 owners
    assert 25.0 < together.seconds < 50.0  # half of it, for who is not ready, and four fifths of most of the rest
    assert alone.most_s < 2


def test_cohorts_of_which_too_many_are_lost_give_nothing() -> None:
    together = simulated(Shape(5_000, 1, 1), MEASURED[1], LineDelays("bad", (0.0, 0.01), 0.1))
    assert together.heard < 0.2  # a fifth of each cohort is not ready; a tenth may be
    assert simulated(Shape(5_000, 1, 1), MEASURED[1], AT_ONCE).heard == 1


def test_rows_go_up_to_as_many_owners_as_are_asked_for_in_shards() -> None:
    rows = list(scale_rows(most=20_000, shard=5_000))
    assert [(row.owners, row.shards) for row in rows[::4]] == [(1_000, 1), (10_000, 2)]
    assert {row.line for row in rows} == {HERE.name, ASSUMED.name}
    with pytest.raises(InvalidInput, match="a shard has owners"):
        Shape(5, 10, 1)
