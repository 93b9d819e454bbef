"""How often each user may ask: a bucket of tokens a user, kept in memory."""

from __future__ import annotations

import time
from collections.abc import Callable

from fedgroup.service.problems import Problem
from fedgroup.storage.provider_state import User

MOST_REMEMBERED = 1_000
"""Beyond so many users, those are forgotten who have all of their questions back."""


class Rates:
    """A user may ask `per_minute` questions at once, and regains them evenly over a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, user: User) -> None:
        """Count one question, or refuse it and say when the next one is welcome."""
        now = self._clock()
        if len(self._left) >= MOST_REMEMBERED:
            self._left = {name: known for name, known in self._left.items() if now - known[1] < 60}
        left, at = self._left.get(user.name, (float(user.per_minute), now))
        left = min(float(user.per_minute), left + (now - at) * user.per_minute / 60)
        if left < 1:
            self._left[user.name] = left, now
            wait = (1 - left) * 60 / user.per_minute
            text = f"{user.per_minute} questions a minute are allowed; the next one is welcome in {wait:.1f} s"
            raise Problem("too-many-questions", text, retry_after=wait)
        self._left[user.name] = left - 1, now
