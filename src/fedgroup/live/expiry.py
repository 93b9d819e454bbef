"""When what vouches for parties runs out: told 30, 7 and 1 days before, once a day, and afterwards as the reason.

A certificate or a list of revocations that ran out ends everything that it vouches for, and nobody did anything wrong:
who reads only that owners are gone looks for faults where there are none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from fedgroup.identity import Certificate, Trust
from fedgroup.identity.certificate import read_certificate
from fedgroup.identity.issuing import now

log = logging.getLogger("fedgroup.identity")

WARN_DAYS = (30, 7, 1)
LOOK_S = 60.0
AUTHORITY = "the authority"
"""No party has such a name: names hold no spaces."""
_DAY = timedelta(days=1)
_OVER = 0


@dataclass(frozen=True)
class Ending:
    """Until when a party's certificate is valid; without a party, the list of revocations."""

    party: str | None
    until: datetime

    def days_left(self, at: datetime) -> int:
        """Return how many whole days are left; less than 0 once it ran out."""
        return (self.until - at) // _DAY

    def threshold(self, at: datetime) -> int | None:
        """Return the fewest days of `WARN_DAYS` within which it runs out, 0 if it did, None if there is time."""
        if at > self.until:
            return _OVER
        return min((days for days in WARN_DAYS if self.until - at <= days * _DAY), default=None)


def in_words(ending: Ending) -> str:
    """Return what ran out, and when, as users are told it."""
    what = "the list of revocations" if ending.party is None else f"the certificate of {ending.party}"
    return f"{what} ran out on {ending.until:%Y-%m-%d}"


class Expiries:
    """What runs out when, as it is now; whatever does so soon is logged, each threshold at most once a day."""

    def __init__(self, endings: Callable[[], Iterable[Ending]] = tuple, *, clock: Callable[[], datetime] = now) -> None:
        self._endings = endings
        self._clock = clock
        self._said: dict[tuple[str | None, int], datetime] = {}

    def days_left(self) -> dict[str | None, int]:
        """Return how many whole days each party's certificate, and the list of revocations (None), have left."""
        at = self._clock()
        found: dict[str | None, int] = {}
        for each in self._endings():
            found[each.party] = min(found.get(each.party, each.days_left(at)), each.days_left(at))
        return found

    def soon(self) -> list[Ending]:
        """Return what ran out or does within 30 days, the first first."""
        at = self._clock()
        return sorted((each for each in self._endings() if each.threshold(at) is not None), key=lambda each: each.until)

    def ran_out(self, parties: Collection[str | None]) -> Ending | None:
        """Return what ran out first of these parties' certificates, and of the list of revocations (None)."""
        at = self._clock()
        over = [each for each in self._endings() if each.party in parties and each.threshold(at) == _OVER]
        return min(over, key=lambda each: each.until, default=None)

    def look(self) -> None:
        """Log what runs out soon and what ran out, unless that was said less than a day ago."""
        at = self._clock()
        self._said = {key: said for key, said in self._said.items() if at - said < _DAY}
        for each in self._endings():
            threshold = each.threshold(at)
            if threshold is not None and (each.party, threshold) not in self._said:
                self._said[each.party, threshold] = at
                _say(each, threshold)

    async def keep_looking(self) -> None:
        """Look each minute, until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_S)


def endings_of(own: Iterable[Certificate], trust: Iterable[Trust]) -> list[Ending]:
    """Return when these parties' certificates run out, and the lists and authorities that they believe."""
    found = [Ending(each.name, each.not_after) for each in own]
    for each in trust:
        found += [Ending(AUTHORITY, each.authority.not_valid_after_utc)]
        found += [] if each.ends is None else [Ending(None, each.ends)]
    return found


def endings_of_others(shown: Mapping[str, bytes], trust: Trust) -> list[Ending]:
    """Return when the certificates that others have shown run out; those revoked are of no interest any more."""
    known = [(name, _certificate(der)) for name, der in shown.items()]
    return [Ending(name, found.not_after) for name, found in known if found.serial not in trust.revoked]


_certificate = lru_cache(maxsize=10_000)(read_certificate)


def _say(ending: Ending, threshold: int) -> None:
    what = "the list of revocations" if ending.party is None else "a certificate"
    facts = {"until": ending.until.date().isoformat()} | ({} if ending.party is None else {"party": ending.party})
    if threshold == _OVER:
        why = "nobody is believed before there is a new one" if ending.party is None else "nobody believes it any more"
        log.error("%s ran out: %s", what, why, extra=facts)
    else:
        log.warning("%s runs out within %s", what, "a day" if threshold == 1 else f"{threshold} days", extra=facts)
