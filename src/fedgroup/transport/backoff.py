"""How long to wait before the next try: twice as long each time, and not the same for everybody."""

from __future__ import annotations

import zlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """Waits that double from `first_s` up to `most_s`.

    The first one, after a connection that had lasted, is up to `spread_s` longer: then a broker that many thousands
    lost is met by them one after the other.
    """

    first_s: float = 0.25
    most_s: float = 15.0
    spread_s: float = 0.0

    def wait_s(self, name: str, attempt: int) -> float:
        """Return the wait before a try, the first being number 0.

        Between half and all of the doubled time, by a checksum of the name: a thousand owners that lost the same
        broker do not come back in the same instant, and nothing here needs to be unpredictable.
        """
        whole = min(self.most_s, self.first_s * 2.0 ** min(attempt, 32))
        share = zlib.crc32(f"{name}/{attempt}".encode()) / 0xFFFF_FFFF
        return whole * (0.5 + 0.5 * share) + (self.spread_s * share if attempt == 0 else 0.0)
