"""Who is signed in: sessions of tokens, in this process only; they end in time, by signing out, or with the token."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

HOURS = 8.0
SESSION = "session"
"""Under which name a browser's cookie holds its session's name."""
CODE_SECONDS = 120.0
MOST_SESSIONS = 10_000
_SECRET_BYTES = 32


@dataclass(frozen=True)
class PageSession:
    """Somebody who showed a token; `ends` by this process' clock."""

    name: str
    token: str
    ends: float


def random_name() -> str:
    """Return a name that nobody can guess: of a session, a code, a question."""
    return secrets.token_urlsafe(_SECRET_BYTES)


class Sessions:
    """Sessions by their names, and codes that open one each, once."""

    def __init__(self, *, hours: float = HOURS, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = hours * 3600
        self._clock = clock
        self._open: dict[str, PageSession] = {}
        self._codes: dict[str, PageSession] = {}

    def begin(self, token: str) -> str:
        """Return the name of a new session of whoever has this token; too many, and the oldest ends."""
        self._drop_ended()
        while len(self._open) >= MOST_SESSIONS:
            del self._open[next(iter(self._open))]
        name = random_name()
        self._open[name] = PageSession(name, token, self._clock() + self.seconds)
        return name

    def find(self, name: object) -> PageSession | None:
        """Return the session of that name, unless it ended."""
        found = self._open.get(name) if isinstance(name, str) else None
        return found if found is not None and self.is_open(found) else None

    def is_open(self, session: PageSession) -> bool:
        """Tell whether a session still lasts."""
        return session.ends > self._clock() and self._open.get(session.name) is session

    def end(self, name: object) -> None:
        """End a session now."""
        if isinstance(name, str):
            self._open.pop(name, None)

    def code_for(self, token: str) -> str:
        """Return a code that opens one session, once and soon; unlike a token it can be part of an address."""
        self._drop_ended()
        code = random_name()
        self._codes[code] = PageSession(code, token, self._clock() + CODE_SECONDS)
        return code

    def token_of(self, code: str) -> str | None:
        """Return the token that a code stands for, the first time."""
        found = self._codes.pop(code, None)
        return found.token if found is not None and found.ends > self._clock() else None

    def _drop_ended(self) -> None:
        now = self._clock()
        self._open = {name: session for name, session in self._open.items() if session.ends > now}
        self._codes = {code: session for code, session in self._codes.items() if session.ends > now}
