"""What the provider knows of owners' budgets: what they tell, and the prices they refused; else that it is unknown."""

from __future__ import annotations

from fedgroup.epsilon import Epsilon
from fedgroup.live.balances import Balances, left_in_words
from fedgroup.live.tally import Tally
from fedgroup.questions.answers import OwnersLeft
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle

ALL = ("a", "b", "c", "d")
ONE = Epsilon.of(1)


def refusing(balances: Balances, price: float) -> int:
    return balances.of(ALL, price=Epsilon.of(price)).refusing


def test_where_no_owner_tells_what_is_left_is_unknown() -> None:
    known = Balances().of(ALL, price=ONE)
    assert known == OwnersLeft(telling=0, unknown=4, lowest=None, median=None, refusing=0)
    assert left_in_words(known) == "what owners have left is unknown: no owner tells"


def test_who_refused_a_price_for_its_budget_is_taken_to_refuse_no_less() -> None:
    balances = Balances()
    balances.note(ONE, heard={"a"}, refused={"b": "budget", "c": "budget", "d": "silo"})
    assert (refusing(balances, 0.9), refusing(balances, 1), refusing(balances, 2)) == (0, 2, 2)
    assert left_in_words(balances.of(ALL, price=ONE)).endswith("; 2 of 4 refused this price before, for their budgets")
    assert balances.of(("a",), price=ONE).refusing == 0


def test_who_pays_has_less_left_and_who_pays_what_it_refused_has_more_than_was_thought() -> None:
    balances = Balances()
    balances.note(ONE, heard=(), refused={"a": "budget"})
    balances.note(Epsilon.of(0.75), heard={"a"}, refused={})
    assert (refusing(balances, 0.25), refusing(balances, 0.2)) == (1, 0)
    balances.note(ONE, heard={"a"}, refused={})
    assert refusing(balances, 1_000) == 0


def test_of_those_who_tell_the_lowest_and_the_median_are_shown_and_how_many_do_not() -> None:
    balances = Balances()
    for name, left in (("a", 5.0), ("b", 0.5), ("c", 2.0)):
        balances.note_told(name, Epsilon.of(left).nano)
    known = balances.of(ALL, price=ONE)
    assert (known.telling, known.unknown, known.lowest, known.median) == (3, 1, 0.5, 2.0)
    assert left_in_words(known) == "owners have 0.5 left at least, 2 in the middle: 3 tell, 1 do not"
    balances.note_told("b", None)
    assert balances.of(ALL, price=ONE).lowest == 2.0


def test_budgets_are_why_nobody_was_heard_only_if_more_refused_for_them_than_failed_otherwise() -> None:
    def tally(*spent: str, silent: str = "", paused: str = "") -> Tally:
        refused = dict.fromkeys(spent, "budget") | dict.fromkeys(paused, "paused")
        return Tally(RangeQuery("count", Circle(1, 1, 1), ONE), refused=refused, silent=set(silent))

    assert tally("a").for_budgets
    assert tally("a", "b", silent="c").for_budgets
    assert not tally("a", silent="b").for_budgets
    assert not tally("a", silent="b", paused="c").for_budgets
    assert not tally().for_budgets
