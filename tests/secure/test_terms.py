from __future__ import annotations

import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.errors import FedgroupError, InvalidInput, ProtocolViolation
from fedgroup.secure.terms import MaskedTerms, TooFewHeard


@pytest.mark.parametrize(
    ("members", "dropouts", "parts", "least"),
    [(1, 1, 1, 1), (2, 1, 1, 2), (3, 1, 1, 2), (10, 1, 8, 9), (11, 2, 8, 9), (50, 5, 44, 45), (1000, 100, 899, 900)],
)
def test_a_tenth_may_drop_out_and_one_may_collude_by_default(members, dropouts, parts, least):
    terms = MaskedTerms(members)
    assert (terms.dropouts, terms.parts, terms.least_heard) == (dropouts, parts, least)


def test_a_masked_pair_is_no_better_than_two_owners_alone():
    assert MaskedTerms(2).shape(2) == 2


def test_nobody_dropping_out_leaves_one_noise_and_the_colluders_shares():
    assert MaskedTerms(100, 4, 0).shape(100) == Fraction(100, 96)


@given(st.integers(1, 500), st.data())
def test_enough_heard_means_one_whole_noise_that_colluders_do_not_know(members, data):
    colluders = data.draw(st.integers(0, max(0, members - 1)))
    terms = MaskedTerms(members, colluders, data.draw(st.none() | st.integers(0, members)))
    terms.require_enough(terms.least_heard)
    assert terms.shape(terms.least_heard - colluders) >= 1
    assert terms.least_heard <= members


def test_too_few_heard_is_refused_with_the_facts():
    with pytest.raises(TooFewHeard, match=r"44 members .* 45 are needed") as caught:
        MaskedTerms(50).require_enough(44)
    assert (caught.value.heard, caught.value.needed, caught.value.exit_code) == (44, 45, 75)
    assert isinstance(caught.value, FedgroupError)


def test_the_facts_survive_the_way_back_from_a_worker():
    error = pickle.loads(pickle.dumps(TooFewHeard(heard=3, needed=5)))
    assert (error.heard, error.needed, str(error)) == (3, 5, str(TooFewHeard(heard=3, needed=5)))


@pytest.mark.parametrize("heard", [-1, 51])
def test_more_members_heard_than_there_are_is_a_lie(heard):
    with pytest.raises(ProtocolViolation):
        MaskedTerms(50).require_enough(heard)


@pytest.mark.parametrize("bad", [(0,), (-3,), (5, -1), (5, 5), (2, 2), (5, 1, -1)])
def test_impossible_terms_cannot_exist(bad):
    with pytest.raises(InvalidInput):
        MaskedTerms(*bad)
