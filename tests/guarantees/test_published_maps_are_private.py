"""A whole publication, both rounds together, tells no record apart by more than it is charged.

Two worlds differ by one record. The event that it makes likelier by most: all three counts that it is in hold it. Noise
is fixed by seeds; the chance of a false alarm is that of `laws`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from laws import audited_epsilon

import fedgroup as fg
from fedgroup.federation import publishing
from fedgroup.maps.publishing import Publication

DOMAIN = fg.Box(0, 0, 8, 8)
EPSILON = 2.0
DRAWS = 1_500


def events(*, holds_one: bool, seed: int, **settings: Any) -> int:
    """Return in how many of the publications all counts of the record's place are at least 1."""
    x = np.array([5.3] if holds_one else [], dtype=float)
    records = fg.Records(owner=np.zeros(len(x), dtype=int), x=x, y=x, owners=[0])
    joined = fg.Federation(records, DOMAIN, seed=seed, **settings)
    planned = joined._publisher.planned("count", EPSILON, {"method": "dp", "records": 20})
    found = 0
    for _ in range(DRAWS):
        going = asked(joined, planned)
        coarse, blocks, cells = (each.counts for each in going.released)
        place = np.array([5.3])
        at = [bins.cell_of(place, place)[0] for bins in (going.sizes.coarse, going.sizes.blocks, going.cut)]
        found += bool(coarse[at[0]] >= 1 and blocks[at[1]] >= 1 and cells[at[2]] >= 1)
    return found


def asked(joined: fg.Federation, planned: publishing.Planned) -> Publication:
    """Return a publication as the publisher asks for it, without making a map of it."""
    return joined._publisher.asked(planned)[0]


def audited() -> float:
    return audited_epsilon(events(holds_one=True, seed=5), events(holds_one=False, seed=6), DRAWS)


def test_a_publication_is_within_its_charge_and_the_audit_is_sharp() -> None:
    assert 0.5 * EPSILON < audited() <= EPSILON


def test_the_audit_sees_a_round_with_too_little_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug is planted: the cells get noise for four times their share."""
    whole: Any = vars(Publication)["next_question"].fget

    def careless(going: Publication) -> Any:
        question = whole(going)
        if question is None or len(going.released) < 2:
            return question
        return replace(question, epsilon=question.epsilon * 4)

    monkeypatch.setattr(Publication, "next_question", property(careless))
    assert audited() > EPSILON
