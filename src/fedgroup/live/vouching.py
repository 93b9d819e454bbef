"""Whom the federation vouches for now: certificates and TLS by the newest list of revocations."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Sequence

from fedgroup.errors import FedgroupError
from fedgroup.identity import Certificate, Role, Trust
from fedgroup.identity.tls import refresh

log = logging.getLogger("fedgroup.identity")

_REMEMBERED_S = 60.0
_MOST = 10_000
REFRESH_S = 30.0
"""How soon a new list of revocations reaches connections that are made anew."""


class Vouching:
    """Verifies certificates as often as asked: what was found good is remembered for a minute, or until a new list."""

    def __init__(self, trust: Trust) -> None:
        self.trust = trust
        self._good: dict[tuple[bytes, Role], tuple[Certificate, float]] = {}

    def verify(self, der: bytes, role: Role = "owner") -> Certificate:
        """Return the certificate, or raise `ProtocolViolation` if it is not, or no longer, good."""
        current = self.trust.current()
        if current is not self.trust:
            self.trust, self._good = current, {}
        known = self._good.get((der, role))
        if known is None or time.monotonic() > known[1]:
            found = current.verify(der, role=role)
            if len(self._good) >= _MOST:
                self._good = {}
            known = self._good[der, role] = (found, time.monotonic() + _REMEMBERED_S)
        return known[0]

    async def keep_fresh(self, contexts: Sequence[ssl.SSLContext]) -> None:
        """Give TLS contexts each new list of revocations, until cancelled."""
        while True:
            await asyncio.sleep(REFRESH_S)
            try:
                current = self.trust.current()
                if current is self.trust:
                    continue
                self.trust, self._good = current, {}
                for context in contexts:
                    refresh(context, current)
            except FedgroupError as error:
                log.warning("the list of revocations cannot be used", extra={"kind": type(error).__name__})
