"""Masked rounds that stand when members fall silent: masks of a round, and shares by which others take them off.

In such a round a member masks twice: by a key of this round with each neighbour, which follows from their pair secret,
and by a seed of its own. Before the roster is fixed it deals shares of a *box key* under which its round keys lie
boxed; with its value, shares of the seed, for this very roster: each sealed for a neighbour, and carried by the
provider. Once values came, members are shown who of the roster was heard. Of those heard they tell shares of the seed,
of the others shares of the box key, of nobody both. Who was told another roster opens nothing of the seed.

Requires:  pair secrets that only the two owners know; an `own` secret that nobody else knows, and that is forgotten
           with the group; a round id that is dealt for once; that members tell shares for one set in a round, and, in a
           group without all pairs, only for a set that `Recovery.signers` members signed.
Guarantee: of a member not both the seed and the box key come out, and not more members' box keys than `spare`: at least
           `least_heard` less the colluders are honest and in the sum, so it has the noise that the terms promise. What
           is told in a round tells nothing about masks of other rounds.
Proof:     docs/guarantees.md#members-that-fall-silent
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from fedgroup.errors import ProtocolViolation
from fedgroup.privacy.keystream import Keystream
from fedgroup.secure.mask_graph import LIVE_FAILURE, mask_degree, mask_edges
from fedgroup.secure.masking import Secrets, Words, sum_of_pair_masks
from fedgroup.secure.pair_keys import SECRET_BYTES
from fedgroup.secure.pair_words import (
    DEALT_BYTES,
    box_pads,
    context_of,
    dealt_to,
    keys_with,
    opened_by,
    sealed_to,
)
from fedgroup.secure.sharing import LIMBS, SHARE_BYTES, key_of, polynomials, secret_of, shares_at
from fedgroup.secure.signatures import statement
from fedgroup.secure.terms import MaskedTerms

Bytes = npt.NDArray[np.uint8]

_MOST_REMEMBERED = 2


@dataclass(frozen=True)
class Recovery:
    """How a group's rounds withstand silence: up to `spare` members of a roster may be left out of its sum.

    With e to spare, c colluders and n members that hold shares, a secret takes more than (n e + c) / (e + 1) of them:
    no more than are to be heard at all. In a group without all pairs a secret is shared with fewer, the neighbours:
    there more than (n + c) / 2 members, `signers`, sign who is left out before anything is told, and a secret takes
    more than (neighbours + 1 + c) / 2, and more than c.
    """

    terms: MaskedTerms
    spare: int
    signers: int

    @classmethod
    def of(cls, terms: MaskedTerms, *, degree: int) -> Recovery | None:
        """Return how a group withstands silence whose members have so many neighbours; None: it does not."""
        members, colluders = terms.members, terms.colluders
        lost = members - terms.least_heard
        if degree >= members - 1:
            found = (cls(terms, spare, 0) for spare in range(lost, 0, -1))
            return next((one for one in found if one.threshold(members) <= terms.least_heard), None)
        signers = (members + colluders) // 2 + 1
        able = lost > 0 and signers <= terms.least_heard and 2 * colluders < degree
        return cls(terms, lost, signers) if able else None

    def threshold(self, holders: int) -> int:
        """Return how many shares give a secret that so many members hold shares of, its dealer among them."""
        if self.signers:
            return max(holders + self.terms.colluders, 2 * self.terms.colluders) // 2 + 1
        return (holders * self.spare + self.terms.colluders) // (self.spare + 1) + 1

    def require_enough(self, roster: Collection[int], survivors: Collection[int]) -> None:
        """Refuse a set of survivors that is not of the roster, or leaves out too many of it."""
        if not set(survivors) <= set(roster) or len(roster) - len(survivors) > self.spare:
            raise ProtocolViolation(f"up to {self.spare} members of a round's roster are left out of its sum")
        self.terms.require_enough(len(survivors))

    def allows(self, roster: Collection[int], survivors: Collection[int]) -> bool:
        """Tell whether members would tell shares for these survivors."""
        enough = len(survivors) >= self.terms.least_heard
        return enough and set(survivors) <= set(roster) and len(roster) - len(survivors) <= self.spare


def sum_of_self_masks(seeds: Secrets, *, words: int, first: int = 0) -> Words:
    """Return the sum of the masks that members add for themselves, each by its seed."""
    return sum_of_pair_masks(seeds, _SELF, np.ones(len(seeds), dtype=np.uint64), words=words, first=first)


@dataclass(frozen=True, eq=False)
class OwnMasks:
    """How one member masks in one round: its keys with its neighbours, in their order, and its own seed.

    `dealt` are shares of the seed, sealed for these neighbours.
    """

    keys: Secrets
    seed: Secrets
    dealt: bytes

    def __repr__(self) -> str:
        return "OwnMasks(<private>)"


class Dealer:
    """A member that deals shares to its neighbours, and tells shares that they dealt to it.

    Everything of a round follows from the group's secrets and the round's id: dealt twice, it is the same. That of the
    latest rounds is remembered until it was told.
    """

    def __init__(
        self,
        own: bytes,
        position: int,
        *,
        neighbours: Sequence[int],
        pair_secrets: Secrets,
        recovery: Recovery,
        digest: bytes,
    ) -> None:
        self.recovery = recovery
        self.neighbours = neighbours
        self.pair_secrets = pair_secrets
        self._own = own
        self._position = position
        self._digest = digest
        self._higher = np.array([position > other for other in neighbours], dtype=np.uint8)
        self._points = np.array(neighbours, dtype=np.int64) + 1
        self._everybody = np.ones(len(neighbours), dtype=np.bool_)
        self._polynomials: dict[bytes, npt.NDArray[np.int64]] = {}

    def __repr__(self) -> str:
        return f"Dealer({self._position}, <private>)"

    def _drawn(self, round_id: bytes) -> npt.NDArray[np.int64]:
        """Return the polynomials of this member's two secrets in a round."""
        drawn = self._polynomials.get(round_id)
        if drawn is None:
            stream = Keystream(context_of("shares", self._own, self._digest, round_id))
            threshold = self.recovery.threshold(len(self.neighbours) + 1)
            drawn = polynomials(stream, secrets=2, threshold=threshold)
            latest = list(self._polynomials.items())[1 - _MOST_REMEMBERED :]
            self._polynomials = dict(latest) | {round_id: drawn}
        return drawn

    def _context(self, round_id: bytes) -> bytes:
        return _round_context(self._digest, round_id)

    def _context_of_seeds(self, round_id: bytes, roster: Set[int]) -> bytes:
        return _roster_context(self._digest, round_id, _positions(sorted(roster)))

    def dealt(self, round_id: bytes) -> bytes:
        """Return what this member deals before a roster is fixed: `DEALT_BYTES` for each neighbour, in their order."""
        drawn = self._drawn(round_id)[:, LIMBS:]
        return dealt_to(
            self.pair_secrets,
            self._context(round_id),
            higher=self._higher,
            shares=shares_at(drawn, self._points).astype(np.uint32),
            box_key=_rows(key_of(drawn[0])),
        )

    def masks(self, round_id: bytes, roster: Set[int]) -> OwnMasks:
        """Return how this member masks in a round with those neighbours that are in its roster."""
        chosen, drawn = self._among(roster), self._drawn(round_id)[:, :LIMBS]
        secrets = self.pair_secrets[chosen]
        return OwnMasks(
            keys_with(secrets, self._context(round_id)),
            _rows(key_of(drawn[0])),
            sealed_to(
                secrets,
                self._context_of_seeds(round_id, roster),
                higher=self._higher[chosen],
                shares=shares_at(drawn, self._points[chosen]).astype(np.uint32),
            ),
        )

    def told(self, round_id: bytes, roster: Set[int], survivors: Set[int], sealed: bytes) -> bytes:
        """Return the shares that this member tells: those sealed for it, of neighbours in the roster, and its own.

        Of a survivor it opens a share of the seed, of anybody else one of the box key: the pad decides, not who asks.

        Requires:  this is the only set of survivors in this round, and holds this member.
        """
        chosen = self._among(roster)
        if len(sealed) != SHARE_BYTES * np.count_nonzero(chosen):
            raise ProtocolViolation("a member is given a sealed share of every neighbour in the roster")
        opened = opened_by(
            self.pair_secrets[chosen],
            of_seeds=self._context_of_seeds(round_id, roster),
            of_boxes=self._context(round_id),
            higher=self._higher[chosen],
            of_box=np.logical_not(self._among(survivors)[chosen]).view(np.uint8),
            sealed=sealed,
        )
        own = shares_at(self._drawn(round_id), np.array([self._position + 1]))[0, :LIMBS]
        self._polynomials.pop(round_id, None)
        return opened + own.astype("<u4").tobytes()

    def _among(self, members: Set[int]) -> npt.NDArray[np.bool_]:
        """Tell of each neighbour whether it is among some members."""
        if len(members) == self.recovery.terms.members:
            return self._everybody
        return np.array([other in members for other in self.neighbours], dtype=np.bool_)


class Unmasking:
    """The provider's side: it carries sealed shares, takes in opened ones, and takes masks off a sum.

    `neighbours` are those of every member of the group. By position, `dealt` is what each of the roster dealt before it
    was fixed, and `dealt_then` what each survivor dealt with its value.
    """

    def __init__(
        self,
        recovery: Recovery,
        neighbours: Sequence[Sequence[int]],
        *,
        roster: Sequence[int],
        survivors: Sequence[int],
        dealt: Mapping[int, bytes],
        dealt_then: Mapping[int, bytes],
    ) -> None:
        recovery.require_enough(roster, survivors)
        self._neighbours = neighbours
        self._roster = np.array(sorted(roster), dtype=np.intp)
        self._present = frozenset(roster)
        self.survivors = list(survivors)
        self._heard = frozenset(survivors)
        self._dealt = {p: _rows(dealt[p], DEALT_BYTES) for p in roster if p not in self._heard}
        self._dealt_then = {p: _rows(dealt_then[p], SHARE_BYTES) for p in survivors}
        self._needed = np.array([recovery.threshold(len(each) + 1) for each in neighbours])
        self._shares: dict[int, npt.NDArray[np.uint32]] = {}  # by holder: of every member, or nothing in its place
        self._held = np.zeros(len(neighbours), dtype=np.int64)  # how many members told a share of each one's secret

    @cached_property
    def _dealers(self) -> dict[int, npt.NDArray[np.intp]]:
        """Whose shares each survivor holds: its neighbours' in the roster, in their order, and its own."""
        present = self._present
        return {
            holder: np.array([*(p for p in self._neighbours[holder] if p in present), holder], dtype=np.intp)
            for holder in self.survivors
        }

    @cached_property
    def _sealed(self) -> Bytes:
        """The sealed shares, by dealer and holder: of survivors' seeds, of others' box keys."""
        found = np.zeros((len(self._neighbours), len(self._neighbours), SHARE_BYTES), dtype=np.uint8)
        for dealer, dealt in self._dealt_then.items():
            found[dealer, self._dealers[dealer][:-1]] = dealt
        for dealer, dealt in self._dealt.items():
            found[dealer, list(self._neighbours[dealer])] = dealt[:, :SHARE_BYTES]
        return found

    def sealed_for(self, holder: int) -> bytes:
        """Return what neighbours dealt to a survivor: of survivors shares of the seed, of others of the box key."""
        return self._sealed[self._dealers[holder][:-1], holder].tobytes()

    def take(self, holder: int, told: bytes) -> bool:
        """Take in what a survivor tells, once; tell whether it fits."""
        if holder not in self._heard or holder in self._shares:
            return False
        dealers = self._dealers[holder]
        if len(told) != SHARE_BYTES * len(dealers):
            return False
        shares = self._shares[holder] = np.zeros((len(self._neighbours), LIMBS), dtype=np.uint32)
        shares[dealers] = np.frombuffer(told, dtype="<u4").reshape(-1, LIMBS)
        self._held[dealers] += 1
        return True

    @property
    def complete(self) -> bool:
        """Whether enough shares of everybody's secret are there."""
        return bool((self._held[self._roster] >= self._needed[self._roster]).all())

    @cached_property
    def _keys(self) -> dict[int, bytes]:
        """The seeds of survivors, and the box keys of others: those with shares of the same members together."""
        alike: dict[tuple[int, ...], list[int]] = {}
        telling = sorted(self._shares)
        for dealer in self._roster.tolist():
            near = {dealer, *self._neighbours[dealer]}
            held = [holder for holder in telling if holder in near]
            alike.setdefault(tuple(held[: self._needed[dealer]]), []).append(dealer)
        found: dict[int, bytes] = {}
        for holders, dealers in alike.items():
            shares = np.stack([self._shares[holder][dealers].ravel() for holder in holders]).astype(np.int64)
            secret = secret_of([holder + 1 for holder in holders], shares).reshape(-1, LIMBS)
            found |= {dealer: key_of(limbs) for dealer, limbs in zip(dealers, secret, strict=True)}
        return found

    @cached_property
    def _seeds(self) -> Secrets:
        return _rows(b"".join(self._keys[dealer] for dealer in self.survivors))

    @cached_property
    def _left_over(self) -> tuple[Secrets, Words]:
        """Return the keys of masks that survivors share with members left out: 1 where they were added, else -1."""
        rows, signs = [_NO_KEYS], list[int]()
        for dropped in sorted(self._present - self._heard):
            others = self._neighbours[dropped]
            keys = self._dealt[dropped][:, SHARE_BYTES:] ^ box_pads(_rows(self._keys[dropped]), len(others))
            for key, other in zip(keys, others, strict=True):
                if other in self._heard:
                    rows.append(key[None])
                    signs.append(1 if other < dropped else -1)
        return np.concatenate(rows), np.array(signs, dtype=np.int64).view(np.uint64)

    def masks(self, context: bytes, *, words: int, first: int = 0) -> Words:
        """Return what is to be taken off the sum of the survivors' words, from the number `first` on.

        Requires:  enough shares are there; `context` is the round's, which only matters where somebody is left out.
        """
        total = sum_of_self_masks(self._seeds, words=words, first=first)
        keys, signs = self._left_over
        if len(keys):
            total = total + sum_of_pair_masks(keys, context, signs, words=words, first=first)
        return total


@lru_cache(maxsize=64)  # members in one process are told the same numbers
def neighbours_in(terms: MaskedTerms, seed: bytes) -> tuple[tuple[int, ...], ...]:
    """Return with whom each member of a live group masks, as follows from the numbers that all of them told."""
    labels = np.zeros(terms.members, dtype=np.int32)
    first, second = mask_edges(labels, seed=seed, bad_share=terms.bad_share, failure=LIVE_FAILURE)
    found: list[list[int]] = [[] for _ in range(terms.members)]
    for one, other in zip(first.tolist(), second.tolist(), strict=True):
        found[one].append(other)
        found[other].append(one)
    return tuple(tuple(sorted(each)) for each in found)


def live_recovery(terms: MaskedTerms) -> Recovery | None:
    """Return how rounds of a live masked group on these terms withstand members that fall silent."""
    degree = mask_degree(terms.members, bad_share=terms.bad_share, failure=LIVE_FAILURE)
    return Recovery.of(terms, degree=degree)


def survivors_stated(digest: bytes, round_id: bytes, *, roster: Iterable[int], survivors: Iterable[int]) -> bytes:
    """Return what members sign where they agree on who is left out of a round's sum."""
    return statement("survivors", digest, round_id, _positions(roster), _positions(survivors))


def _positions(positions: Iterable[int]) -> bytes:
    return b"".join(position.to_bytes(4, "big") for position in positions)


def _rows(packed: bytes, length: int = SECRET_BYTES) -> Bytes:
    return np.frombuffer(packed, dtype=np.uint8).reshape(-1, length)


@lru_cache(maxsize=512)  # the members of a group deal, mask and tell under the same one
def _round_context(digest: bytes, round_id: bytes) -> bytes:
    return context_of("round keys", digest, round_id)


@lru_cache(maxsize=512)
def _roster_context(digest: bytes, round_id: bytes, roster: bytes) -> bytes:
    return context_of("shares of seeds", digest, round_id, roster)


_NO_KEYS: Secrets = np.empty((0, SECRET_BYTES), dtype=np.uint8)
_SELF = context_of("self masks")
