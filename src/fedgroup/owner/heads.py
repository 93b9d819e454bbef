"""The provider's public log as one owner saw it: it answers no question that is not in there, and refuses a fork.

Requires:  the key of the provider's verified certificate.
Guarantee: a question is answered only if its entry, this very round and question, stands in a log whose head the
           provider signed, and which goes on from the last head that this owner knew. Heads are on disk, in the
           owner's ledger, before anything that was charged leaves. Two logs that the provider signed are kept as
           proof. An owner that saw a log answers no question without one; a noisy vector that it made, for an entry
           that stands there, it sends again however far the log went on: the same bytes, uncharged.
Not covered: the first head that an owner sees is believed; owners that never speak to each other, nor to who reads the
             log, may be shown different ones from their first on. `fedgroup verify` compares.
Proof:     docs/guarantees.md#a-log-that-anybody-can-check
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fedgroup.errors import ProtocolViolation
from fedgroup.messages.asked import Ask, Describe
from fedgroup.messages.logged import Chain, Head, Logged, Seen, asked_facts, described_facts
from fedgroup.remembered import remembered
from fedgroup.secure.chain import canonical, digest_of, group_tag, head_after, heads_along, stated
from fedgroup.secure.signatures import require_signed


class HeadsBook(Protocol):
    """Keeps heads on disk: `note_head` at the latest with the next charge, `note_fork` at once."""

    def last_head(self) -> tuple[int, bytes] | None: ...

    def note_head(self, head: Head) -> None: ...

    def note_fork(self, head: Head, *, base: bytes, links: bytes) -> None: ...


@dataclass(frozen=True)
class _Known:
    """Heads after the entries from `first - 1` on, one after the other."""

    first: int
    heads: tuple[bytes, ...]

    @property
    def last(self) -> int:
        return self.first + len(self.heads) - 2

    def after(self, number: int) -> bytes | None:
        """Return the head after an entry; None where it is not known."""
        return self.heads[number - self.first + 1] if self.first - 1 <= number <= self.last else None


class Heads:
    """The heads that one owner knows."""

    def __init__(self, book: HeadsBook, federation: str) -> None:
        self._book = book
        self._federation = federation
        self._key: Callable[[], bytes | None] = lambda: None
        last = book.last_head()
        self._known = None if last is None else _Known(last[0] + 1, (last[1],))

    def signed_by(self, key: Callable[[], bytes | None]) -> None:
        """Take the provider's key from `key`, which returns that of its certificate, or None before it is known."""
        self._key = key

    def told(self, round_id: bytes) -> list[Seen]:
        """Return how much of the log is known, so that the provider shows the rest; nothing before a log was seen."""
        return [] if self._known is None else [Seen(round_id, self._known.last)]

    def admits(self, asked: Ask | Describe) -> bool:
        """Tell whether a question stands in the log that this owner knows; its head is noted if it does."""
        logged = asked.logged
        if logged is None:
            return self._known is None
        shown, head = _shown(asked, logged)
        if not self._signed_once(asked, head):
            return False
        if self._known is not None and not self._same(shown, head, logged):
            return False
        if self._known is None or shown.last >= self._known.last:
            self._known = shown
        self._book.note_head(head)
        return True

    def follow(self, chain: Chain) -> None:
        """Go on to a later head over the digests of all entries between."""
        known = self._known
        if known is None or known.last + 1 != chain.first:
            return
        shown = _Known(chain.first, heads_along(chain.first, known.heads[-1], chain.links))
        if not self._signed(shown.last, shown.heads[-1], chain.signature):
            raise ProtocolViolation("a log's head is signed by the provider")
        self._known = _Known(shown.last + 1, shown.heads[-1:])
        self._book.note_head(Head(shown.last, shown.heads[-1], chain.signature))

    def _signed_once(self, asked: Ask | Describe, head: Head) -> bool:
        """Tell whether a question's head is signed; owners of one process share a question, and look once for a key."""
        given = (self._key(), self._federation)
        return remembered(asked, "signed", lambda: self._signed(head.number, head.head, head.signature), given=given)

    def _signed(self, number: int, head: bytes, signature: bytes) -> bool:
        key = self._key()
        if key is None:
            return False
        try:
            require_signed(key, stated(self._federation, number, head), signature)
        except ProtocolViolation:
            return False
        return True

    def _same(self, shown: _Known, head: Head, logged: Logged) -> bool:
        """Tell whether a log goes on from the one that is known, or is an earlier part of it."""
        assert self._known is not None  # noqa: S101  the caller looked
        meeting = min(shown.last, self._known.last)
        here, there = self._known.after(meeting), shown.after(meeting)
        if here is None or there is None:
            return False  # too far apart to be compared: this owner was away, or the head is an old one
        if here != there:
            self._book.note_fork(head, base=logged.base, links=logged.links)
        return here == there


class _Unwatched:
    """Takes questions as they come: an owner without a log to look at, as in tests of its other parts."""

    def signed_by(self, key: Callable[[], bytes | None]) -> None: ...

    def told(self, round_id: bytes) -> list[Seen]:  # noqa: ARG002
        return []

    def admits(self, asked: Ask | Describe) -> bool:  # noqa: ARG002
        return True

    def follow(self, chain: Chain) -> None: ...


UNWATCHED = _Unwatched()


def _shown(asked: Ask | Describe, logged: Logged) -> tuple[_Known, Head]:
    """Return the heads that a question shows, the last of them after its own entry; worked out once for a message."""
    return remembered(asked, "shown", lambda: _worked_out(asked, logged))


def _worked_out(asked: Ask | Describe, logged: Logged) -> tuple[_Known, Head]:
    before = heads_along(logged.first, logged.base, logged.links)
    last = head_after(logged.number, before[-1], digest_of(_entry(asked, logged)))
    tag = group_tag(asked.round, getattr(asked, "plan", None))
    return _Known(logged.first, (*before, last)), Head(logged.number, last, logged.signature, asked.round, tag)


def _entry(asked: Ask | Describe, logged: Logged) -> bytes:
    told = {"at": logged.at, "owners": logged.owners}
    if isinstance(asked, Ask):
        return canonical(asked_facts(asked.round, asked.query, **told))  # type: ignore[arg-type]
    return canonical(described_facts(asked.round, asked.columns, asked.rows, asked.epsilon_nano, **told))  # type: ignore[arg-type]
