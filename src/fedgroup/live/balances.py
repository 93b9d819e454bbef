"""What the provider knows of owners' budgets: what they tell of their own accord, and which prices they refused.

An owner's ledger is its own. One that refused a price for its budget has less than that left, and less still after
each answer that it paid for. One that pays such a price all the same has a higher cap or a new epoch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from statistics import median

from fedgroup.epsilon import Epsilon
from fedgroup.questions.answers import OwnersLeft


class Balances:
    """One entry an owner at most, since the provider began."""

    def __init__(self) -> None:
        self._told: dict[str, int] = {}
        self._less_than: dict[str, int] = {}

    def note_told(self, owner: str, left_nano: int | None) -> None:
        """Keep what an owner says it has left, in nano-epsilon; None: it tells no more."""
        self._told.pop(owner, None)
        if left_nano is not None:
            self._told[owner] = left_nano

    def telling(self, owners: Collection[str]) -> set[str]:
        """Return which of these owners tell what they have left."""
        return self._told.keys() & owners

    def note(self, price: Epsilon, *, heard: Collection[str], refused: Mapping[str, str]) -> None:
        """Learn from a question of this price: who paid it, and who refused it for its budget."""
        for name in heard:
            if name in self._less_than:
                self._less_than[name] -= price.nano
                if self._less_than[name] <= 0:
                    del self._less_than[name]  # it had more than it was thought to have
        for name, reason in refused.items():
            if reason == "budget" and name not in heard:
                self._less_than[name] = min(self._less_than.get(name, price.nano), price.nano)

    def of(self, owners: Collection[str], *, price: Epsilon) -> OwnersLeft:
        """Return what is known of these owners' budgets, and how many of them refused as much as this price."""
        told = [float(Epsilon(self._told[name])) for name in self.telling(owners)]
        refusing = sum(self._less_than.get(name, price.nano + 1) <= price.nano for name in owners)
        lowest, middle = (min(told), median(told)) if told else (None, None)
        return OwnersLeft(len(told), len(owners) - len(told), lowest, middle, refusing)


def left_in_words(known: OwnersLeft) -> str:
    """Return what is known of owners' budgets, in one sentence."""
    told = "what owners have left is unknown: no owner tells"
    if known.telling:
        who = f"{known.telling} tell" + (f", {known.unknown} do not" if known.unknown else "")
        told = f"owners have {known.lowest:g} left at least, {known.median:g} in the middle: {who}"
    if not known.refusing:
        return told
    return f"{told}; {known.refusing} of {known.telling + known.unknown} refused this price before, for their budgets"
