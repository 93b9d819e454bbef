from __future__ import annotations

import inspect
import pickle

import pytest

from fedgroup import errors
from fedgroup.errors import (
    REASONS_IN_WORDS,
    BudgetExhausted,
    FedgroupError,
    InvalidInput,
    InvalidQuery,
    TooFewHeard,
    refusals_in_words,
)
from fedgroup.messages.said import REASONS

CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, FedgroupError)]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_is_in_the_tree_on_top_of_the_page(kind: type[FedgroupError]) -> None:
    assert errors.__doc__ is not None
    assert kind.__name__ in errors.__doc__.split("Texts say")[0]


def test_exit_codes_tell_misuse_from_refusal() -> None:
    assert (InvalidInput.exit_code, InvalidQuery.exit_code, BudgetExhausted.exit_code) == (2, 2, 3)


def test_invalid_input_is_a_value_error() -> None:
    assert issubclass(InvalidQuery, InvalidInput)
    assert issubclass(InvalidInput, ValueError)


def test_an_exhausted_budget_says_what_was_asked_what_is_left_and_what_to_do() -> None:
    error = BudgetExhausted(asked=0.300000001, left=0.3, cap=10)
    assert (error.asked, error.left, error.cap) == (0.300000001, 0.3, 10)
    assert "epsilon 0.300000001 but only 0.3 of the budget of 10 is left; ask with a smaller" in str(error)


def test_with_nothing_left_no_smaller_epsilon_is_advised_but_another_epoch_or_a_raised_budget() -> None:
    text = str(BudgetExhausted(asked=0.1, left=0, cap=2))
    assert "nothing of the budget of 2 is left" in text
    assert "smaller" not in text
    assert "--new-epoch" in text
    assert "--raise-budget" in text


def test_an_exhausted_budget_survives_the_way_back_from_a_worker() -> None:
    error = BudgetExhausted(asked=0.5, left=0.25, cap=1)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.asked, again.left, again.cap) == (str(error), 0.5, 0.25, 1)


def test_every_reason_to_refuse_has_words() -> None:
    assert set(REASONS_IN_WORDS) == set(REASONS)
    assert not set(REASONS_IN_WORDS.values()) & set(REASONS)


def test_refusals_are_told_in_words_the_commonest_first() -> None:
    members, silo = REASONS_IN_WORDS["members"], REASONS_IN_WORDS["silo"]
    assert refusals_in_words({"members": 2}) == f"2 owners refused: {members}"
    assert refusals_in_words({"silo": 1, "members": 2}) == f"3 owners refused: {members} (2); {silo} (1)"
    assert silo in str(TooFewHeard(heard=0, needed=1, refused={"silo": 1}))
    assert refusals_in_words({"newer": 1}) == "1 owner refused: newer"


def test_one_member_is_no_members() -> None:
    assert "1 member of a masked group was heard" in str(TooFewHeard(heard=1, needed=2))
    assert "3 members of a masked group were heard" in str(TooFewHeard(heard=3, needed=4))


def test_too_few_heard_for_budgets_is_a_matter_of_budgets() -> None:
    spent = TooFewHeard(heard=0, needed=1, refused={"budget": 2}, charged=False, spent=True)
    assert (spent.exit_code, TooFewHeard(heard=0, needed=1).exit_code) == (BudgetExhausted.exit_code, 75)
    again = pickle.loads(pickle.dumps(spent))
    assert (again.exit_code, again.spent, again.charged, str(again)) == (3, True, False, str(spent))
