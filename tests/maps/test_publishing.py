"""A publication: three questions in order, of sizes that are public, whose bins anybody can check."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from published_maps import CITY, counted, places, simulated

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.maps.kept import publication_facts, publication_from
from fedgroup.maps.publishing import Publication, Released, Subject, follows, sized
from fedgroup.maps.sizing import MapSizes
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import Measure
from fedgroup.space.blocks import Blocks


def sizes(**more: object) -> MapSizes:
    facts: dict[str, object] = {"domain": CITY, "epsilon": Epsilon.of(1), "noises": 1.0, "records": 8_000}
    return MapSizes(**facts | more)


@pytest.mark.parametrize("nano", [16, 17, 1_000, 10**9 + 7])
def test_the_three_shares_add_up_to_epsilon_exactly(nano: int) -> None:
    shares = sizes(epsilon=Epsilon(nano)).shares
    assert sum(share.nano for share in shares) == nano
    assert min(share.nano for share in shares) > 0


def test_an_epsilon_that_cannot_be_split_is_refused() -> None:
    with pytest.raises(InvalidQuery, match="too small"):
        sizes(epsilon=Epsilon(3))


def test_questions_come_in_order_and_their_bins_from_what_was_released() -> None:
    x, y = places()
    done = simulated(x, y, epsilon=1, noises=1, seed=3)
    coarse, blocks, cells = done.questions
    assert [each.epsilon for each in done.questions] == list(done.sizes.shares)
    assert isinstance(cells.range, Blocks)
    assert done.next_question is None
    assert Publication(done.sizes).next_question == coarse
    assert Publication(done.sizes, released=done.released[:1]).next_question == blocks
    assert Publication(done.sizes, released=done.released[:2]).next_question == cells


def test_an_owner_sees_when_the_cells_do_not_follow() -> None:
    done = simulated(*places(), epsilon=1, noises=1, seed=3)
    question, first = done.questions[2], done.released[:2]
    assert follows(question, done.sizes, done.subject, first)
    other = bytearray(question.range.depths)  # type: ignore[union-attr]
    other[0] = 6 - other[0]
    finer = replace(question, range=replace(question.range, depths=bytes(other)))
    assert not follows(finer, done.sizes, done.subject, first)
    assert not follows(question, replace(done.sizes, records=80), done.subject, first)
    assert not follows(replace(question, epsilon=Epsilon.of(2)), done.sizes, done.subject, first)


def test_busy_blocks_are_cut_and_empty_ones_are_not() -> None:
    done = simulated(*places(), epsilon=2, noises=1, seed=3)
    exact = counted(done.sizes.blocks, *places())
    depth = done.cut.depth
    assert depth[exact == 0].mean() < 0.6
    assert depth[exact > 200].min() >= 3


def test_a_cap_coarsens_the_map() -> None:
    free = simulated(*places(), epsilon=2, noises=1, seed=3)
    capped = simulated(*places(), epsilon=2, noises=1, seed=3, most_cells=1_100)
    assert len(free.cut) > 1_100 >= len(capped.cut)


def test_everything_depends_on_epsilon_and_noises_through_one_number() -> None:
    assert sizes(epsilon=Epsilon.of(1)).level == sizes(epsilon=Epsilon.of(10), noises=100.0).level
    assert sizes(epsilon=Epsilon.of(1)).level == sizes(epsilon=Epsilon.of(8), sensitivity=8).level
    assert sizes(sensitivity=50, unit=50).level == sizes().level


def test_where_other_owners_were_heard_the_first_round_only_shapes_the_cells() -> None:
    done = simulated(*places(), epsilon=1, noises=1, seed=3)
    others = [replace(each, heard="others") for each in done.released[:2]]
    apart = Publication(done.sizes, done.subject, (*others, done.released[2]))
    sums = np.add.reduceat(done.released[2].counts, done.cut.offsets[:-1])
    assert np.allclose(apart.reconstruct().blocks, sums)
    assert not np.allclose(done.reconstruct().blocks, sums)


def test_cells_add_up_to_blocks_and_are_not_negative_in_positive_blocks() -> None:
    made = simulated(*places(), epsilon=0.5, noises=3, seed=5).reconstruct()
    assert np.allclose(np.add.reduceat(made.cells, made.cut.offsets[:-1]), made.blocks)
    assert made.cells[(made.blocks >= 0)[made.cut.block_of]].min() >= 0


def test_a_publication_is_kept_and_gone_on_with() -> None:
    done = simulated(*places(), epsilon=1, noises=1, seed=3)
    halfway = Publication(done.sizes, done.subject, done.released[:2])
    again = publication_from(publication_facts(halfway), CITY)
    assert again.next_question == done.questions[2]
    whole = publication_from(publication_facts(done), CITY)
    assert np.array_equal(whole.reconstruct().cells, done.reconstruct().cells)


def test_an_answer_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(InvalidQuery, match="one answer"):
        Publication(sizes(), released=(Released(np.zeros(3), 1.0),))


def test_means_are_refused_and_people_need_one_place_each() -> None:
    with pytest.raises(InvalidQuery, match="publish sum and count"):
        Subject("avg", Measure("fare", 20))
    with pytest.raises(InvalidQuery, match="first place"):
        sized(Subject("people"), CITY, Epsilon.of(1), noises=1, records=100, protection=Protection())
    one_place = Protection(unit="owner", max_records=5, max_bins=1)
    assert sized(Subject("people"), CITY, Epsilon.of(1), noises=1, records=100, protection=one_place).sensitivity == 1


def test_sums_are_measured_in_their_largest_value() -> None:
    subject = Subject("sum", Measure("fare", 20, resolution=0.1))
    made = sized(subject, CITY, Epsilon.of(1), noises=1, records=8_000, protection=Protection())
    assert (made.unit, made.sensitivity) == (200, 200)
    assert made.strength == pytest.approx(1)
