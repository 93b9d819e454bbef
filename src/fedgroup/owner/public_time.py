"""Time as a live owner goes by it when that shows: it stands still between two public moments.

What an owner refuses because of the time, an answer that would come too late or a window that is not over, can be asked
for free and as finely as anybody likes. By a clock that goes on, such refusals would tell how long counting took for
whatever was asked at the same moment, though they leave when everything leaves.

Guarantee: what is decided by this time follows from when messages came and from how many whole periods passed.
Proof:     docs/guarantees.md#times-of-answers
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from fedgroup.owner.refusals import Unknown


class PublicTime:
    """The time of the last whole multiple of a period, in seconds; without a clock, none ever passes."""

    def __init__(self, clock: Callable[[], float] = lambda: 0.0, *, every_s: float = 0.0) -> None:
        """With a period of 0 time goes on, as it does for owners whose answers leave whenever they are ready."""
        self._clock = clock
        self._every_s = every_s

    def __call__(self, waited_s: float = 0.0) -> float:
        """Return the last moment, or the last one before what has waited for so long came."""
        return self._last_moment(self._clock() - waited_s)

    def require(self, until: float) -> None:
        """Refuse an answer that would come too late, before anything is counted.

        What was counted is charged, however long it took: the time tells something of the records, too.
        """
        if self() > until:
            raise Unknown("late")

    def standing(self, now: Callable[[], float]) -> Callable[[], float]:
        """Return what tells another clock's time at the last moment."""
        return partial(self._at_last_moment, now)

    def _at_last_moment(self, now: Callable[[], float]) -> float:
        at = self._clock()
        return now() - (at - self._last_moment(at))

    def _last_moment(self, at: float) -> float:
        return math.floor(at / self._every_s) * self._every_s if self._every_s else at
