"""A live owner's secure comparisons: frames for the other owner travel sealed through the provider, which learns a bit.

Frames of comparisons with many owners travel together, a step at a time. A step that comes again gets the reply of the
first time; a frame out of turn, or changed, ends its own comparison and no other. Vector, grid and threshold are frozen
for an epoch, so the bit of a comparison holds to its end: an owner tells which ones it began in it, and none is made
twice.

Requires:  the owner opted in (`Policy.comparisons`); the other owner's certificate was verified.
Guarantee: at most that many comparisons begin per epoch, all over one grid of one domain, one threshold and one
           vector, frozen when the first begins; that is kept on disk. The bits are exact, not differentially private.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from fedgroup.errors import BudgetExhausted, FedgroupError, ProtocolViolation
from fedgroup.messages.asked import Recall, Relay, RelayMany
from fedgroup.messages.said import Recalled, Refused, Relayed, RelayedMany
from fedgroup.owner.node_parts import Certified, ComparisonBook, OwnIdentity
from fedgroup.owner.refusals import reason_of
from fedgroup.secure.comparison import SecureComparison
from fedgroup.secure.similarity import FirstOwner, SecondOwner
from fedgroup.space import Grid, PublicMap

MOST_SESSIONS = 2_048
"""Comparisons under way at once; about 30 KB each."""
_KEPT_STEPS = 16
"""So many of the last steps get the same reply again."""


class _Session:
    """One side of one comparison."""

    def __init__(self, relay: Relay, identity: OwnIdentity, other: Certified, vector: np.ndarray[Any, Any]) -> None:
        comparison = SecureComparison(relay.columns * relay.rows, relay.threshold)
        names = (identity.name, other.name) if relay.first else (other.name, identity.name)
        session = comparison.session(first=names[0].encode(), second=names[1].encode(), context=relay.session)
        self.other = other
        self._letters_out = identity.letters_to(other, _context(relay, relay.first))
        self._letters_in = identity.letters_from(other, _context(relay, not relay.first))
        self._side = FirstOwner(comparison, session) if relay.first else SecondOwner(comparison, session)
        opening = [
            *(self._side.start() if isinstance(self._side, SecondOwner) else []),
            *self._side.submit(vector),
        ]
        self.opening = [self._letters_out.seal(frame) for frame in opening]

    def receive(self, letter: bytes) -> list[bytes]:
        """Take a frame as it was sealed, and return what is to be sent, sealed."""
        return [self._letters_out.seal(frame) for frame in self._side.receive(self._letters_in.open(letter))]

    def share(self) -> int | None:
        """Return this side's share of the bit, once it is there."""
        found = list(self._side.shares.values())
        return int(found[0][0]) if found else None


class Relays:
    """The comparisons that an owner takes part in now."""

    def __init__(
        self,
        identity: OwnIdentity,
        book: ComparisonBook,
        *,
        verify: Callable[[bytes], Certified],
        public_map: PublicMap,
        vector: Callable[[Grid], Any],
    ) -> None:
        self._identity = identity
        self._book = book
        self._verify = verify
        self._map = public_map
        self._vector = vector
        self._sessions: OrderedDict[bytes, _Session] = OrderedDict()
        self._replies: OrderedDict[bytes, RelayedMany] = OrderedDict()

    def told(self, message: Relay | RelayMany | Recall, *, limit: int) -> Relayed | RelayedMany | Recalled:
        """Return what follows from a message about comparisons; an owner that takes part in none recalls none."""
        match message:
            case Relay():
                return self.receive(message, limit=limit)
            case RelayMany():
                return self.receive_many(message, limit=limit)
        return Recalled(message.round, self._book.compared(message.sessions) if limit else [])

    def receive_many(self, step: RelayMany, *, limit: int) -> RelayedMany:
        """Take the frames of a step, in their order, and return what the other sides are to be sent."""
        kept = self._replies.get(step.round)
        if kept is not None:
            return kept
        relayed: dict[bytes, Relayed] = {}
        refused: dict[bytes, str] = {}
        for relay in step.relays:
            if relay.session in refused:
                continue
            try:
                found = self.receive(relay, limit=limit)
                relayed[relay.session] = _both(relayed.get(relay.session), found)
            except FedgroupError as error:
                self._sessions.pop(relay.session, None)
                relayed.pop(relay.session, None)
                refused[relay.session] = reason_of(error)
        reply = RelayedMany(step.round, list(relayed.values()), [Refused(name, why) for name, why in refused.items()])
        self._replies[step.round] = reply
        while len(self._replies) > _KEPT_STEPS:
            self._replies.popitem(last=False)
        return reply

    def receive(self, relay: Relay, *, limit: int) -> Relayed:
        """Begin a comparison, or take a frame of one, and return what the other side is to be sent."""
        known = self._sessions.get(relay.session)
        if known is None:
            known = self._begin(relay, limit)
            frames = known.opening
        else:
            if self._verify(relay.other).name != known.other.name:
                raise ProtocolViolation("a comparison is between the same two owners to its end")
            frames = known.receive(relay.frame)
        share = known.share()
        if share is not None:
            del self._sessions[relay.session]
        return Relayed(relay.session, frames, share)

    def _begin(self, relay: Relay, limit: int) -> _Session:
        if relay.frame:
            raise ProtocolViolation("a comparison begins without a frame")
        other = self._verify(relay.other)
        if other.name == self._identity.name:
            raise ProtocolViolation("an owner is not compared with itself")
        grid = self._map.grid(relay.columns, relay.rows)
        frozen = self._book.begin_comparison(
            relay.session,
            over=_over(grid, relay.threshold, lonlat=self._map.lonlat),
            limit=limit,
            freeze=lambda: self._vector(grid).tobytes(),
        )
        if frozen is None:
            raise BudgetExhausted(asked=0, left=0, cap=0)
        vector = np.frombuffer(frozen, dtype=np.int32)[None, :]
        self._sessions[relay.session] = _Session(relay, self._identity, other, vector)
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return self._sessions[relay.session]


def _both(before: Relayed | None, now: Relayed) -> Relayed:
    """Return what two frames of one comparison led to as one."""
    if before is None:
        return now
    share = before.share if now.share is None else now.share
    return Relayed(now.session, [*before.frames, *now.frames], share)


def _over(grid: Grid, threshold: float, *, lonlat: bool) -> str:
    """Return what is compared in words, in which any two grids, domains or thresholds that differ are told apart.

    Python writes a float so that reading it gives the same float again; -0 is 0.
    """
    sides = ",".join(repr(side + 0.0) for side in grid.box.sides)
    where = f"{sides}{' in degrees' if lonlat else ''}"
    return f"{grid.columns}x{grid.rows} cells of {where} at {float(threshold) + 0.0!r}"


def _context(relay: Relay, from_first: bool) -> bytes:
    return b"comparison " + (b"first" if from_first else b"second") + relay.session
