"""Who is signed in: sessions of tokens, which end in time, by signing out, or with the token.

They are kept in this process, and where there is a `SessionStore`, sealed on disk: a restart signs nobody out.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from fedgroup.storage.page_sessions import SessionStore

HOURS = 8.0
SESSION = "session"
"""Under which name a browser's cookie holds its session's name."""
CODE_SECONDS = 120.0
MOST_SESSIONS = 10_000
_SECRET_BYTES = 32


@dataclass(frozen=True)
class PageSession:
    """Somebody who showed a token; `ends` in seconds since 1970."""

    name: str
    token: str
    ends: float


def random_name() -> str:
    """Return a name that nobody can guess: of a session, a code, a question."""
    return secrets.token_urlsafe(_SECRET_BYTES)


class Sessions:
    """Sessions by their names, and codes that open one each, once."""

    def __init__(
        self, *, hours: float = HOURS, clock: Callable[[], float] = time.time, store: SessionStore | None = None
    ) -> None:
        self.seconds = hours * 3600
        self._store = store
        self._clock = clock
        self._open: dict[str, PageSession] = {}
        self._codes: dict[str, PageSession] = {}

    def begin(self, token: str) -> str:
        """Return the name of a new session of whoever has this token; too many, and the oldest ends."""
        self._drop_ended()
        while len(self._open) >= MOST_SESSIONS:
            del self._open[next(iter(self._open))]
        name, ends = random_name(), self._clock() + self.seconds
        self._open[name] = PageSession(name, token, ends)
        if self._store is not None:
            self._store.keep(name, token, ends, now=self._clock())
        return name

    def find(self, name: object) -> PageSession | None:
        """Return the session of that name, unless it ended."""
        if not isinstance(name, str):
            return None
        found = self._open.get(name) or self._kept(name)
        return found if found is not None and self.is_open(found) else None

    def is_open(self, session: PageSession) -> bool:
        """Tell whether a session still lasts."""
        return session.ends > self._clock() and self._open.get(session.name) is session

    def end(self, name: object) -> None:
        """End a session now."""
        if isinstance(name, str):
            self._open.pop(name, None)
            if self._store is not None:
                self._store.drop(name)

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

    def _kept(self, name: str) -> PageSession | None:
        """Return a session that an earlier process began, if it was kept."""
        found = None if self._store is None else self._store.find(name)
        if found is None:
            return None
        return self._open.setdefault(name, PageSession(name, *found))

    def _drop_ended(self) -> None:
        now = self._clock()
        self._open = {name: session for name, session in self._open.items() if session.ends > now}
        self._codes = {code: session for code, session in self._codes.items() if session.ends > now}
