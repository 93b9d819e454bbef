"""Whom the federation vouches for now: certificates and TLS by the newest list of revocations."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import time
from collections.abc import Sequence

from fedgroup.identity import Certificate, Role, Trust
from fedgroup.identity.tls import refresh

log = logging.getLogger("fedgroup.identity")

_REMEMBERED_S = 30.0
_MOST = 1 << 17
"""Certificates that are remembered, of those that the authority signed."""
MOMENT_S = 0.05
"""How old a look at the list of revocations may be."""
REFRESH_S = 30.0
"""How soon a new list of revocations reaches connections that are made anew."""

_Good = dict[tuple[bytes, Role], tuple[Certificate, float]]


class Vouching:
    """Verifies certificates as often as asked: what was found good is remembered for 30 s, or until a new list.

    Guarantee: what was found good by one list of revocations is remembered beside that list only, so that threads which
               look while a newer one comes bring no revoked certificate over.
    """

    def __init__(self, trust: Trust) -> None:
        self._list = os.fspath(trust.revoked_file)
        self._read_at = -1
        self._look_at = 0.0
        self._found: tuple[Trust, _Good] = trust, {}

    @property
    def trust(self) -> Trust:
        """What the authority's files said at the last look."""
        return self._found[0]

    def verify(self, der: bytes, role: Role = "owner") -> Certificate:
        """Return the certificate, or raise `ProtocolViolation` if it is not, or no longer, good."""
        current, good = self._newest()
        known = good.get((der, role))
        if known is None:
            found = current.verify(der, role=role)
            if len(good) >= _MOST:
                good.clear()
            known = good[found.der, role] = (found, time.monotonic() + _REMEMBERED_S)
        elif time.monotonic() > known[1]:  # a signature stays good; what it was given for may have ended
            current.require_current(known[0])
            good[known[0].der, role] = (known[0], time.monotonic() + _REMEMBERED_S)
        return known[0]

    def now(self) -> object:
        """Return what changes with every new list and every 30 s: then certificates are to be verified again."""
        return self.newest(), int(time.monotonic() / _REMEMBERED_S)

    def newest(self) -> Trust:
        """Return what the authority's files say: as of now, or of a moment ago for who asks about a whole group."""
        return self._newest()[0]

    def _newest(self) -> tuple[Trust, _Good]:
        if time.monotonic() < self._look_at:
            return self._found
        read_at = _changed_at(self._list)
        if read_at != self._read_at or not read_at:
            current = self.trust.current()
            if current is not self.trust:
                self._found = current, {}
            self._read_at = read_at
        self._look_at = time.monotonic() + MOMENT_S
        return self._found

    async def keep_fresh(self, contexts: Sequence[ssl.SSLContext]) -> None:
        """Give TLS contexts each new list of revocations, until cancelled."""
        given = self.trust
        while True:
            await asyncio.sleep(REFRESH_S)
            try:
                current = self.newest()
                if current is not given:
                    for context in contexts:
                        refresh(context, current)
                    given = current
            except Exception as error:  # also a file that cannot be read just now: the next list is looked for
                log.warning("the list of revocations cannot be used", extra={"kind": type(error).__name__})


def _changed_at(file: str) -> int:
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return 0
