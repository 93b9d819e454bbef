"""Masked rounds that stand when members fall silent: masks of a round, and shares by which others take them off.

In such a round a member masks twice: by a key of this round with each neighbour, which follows from their pair secret,
and by a seed of its own. Before the roster is fixed it deals shares of the seed, and of a *box key* under which its
round keys lie boxed, sealed for each neighbour; the provider carries them. Once values came, members are shown who of
the roster was heard. Of those heard they tell shares of the seed, of the others shares of the box key, of nobody both.

Requires:  pair secrets that only the two owners know; an `own` secret that nobody else knows, and that is forgotten
           with the group; a round id that is dealt for once; that members tell shares for one set in a round, and, in a
           group without all pairs, only for a set that `Recovery.signers` members signed.
Guarantee: of a member not both the seed and the box key come out, and not more members' box keys than `spare`: at least
           `least_heard` less the colluders are honest and in the sum, so it has the noise that the terms promise. What
           is told in a round tells nothing about masks of other rounds.
Proof:     docs/guarantees.md#members-that-fall-silent
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from fedgroup.errors import ProtocolViolation
from fedgroup.privacy.keystream import Keystream
from fedgroup.secure.mask_graph import LIVE_FAILURE, mask_degree, mask_edges
from fedgroup.secure.masking import Secrets, Words, pair_masks
from fedgroup.secure.pair_keys import SECRET_BYTES
from fedgroup.secure.sharing import LIMBS, SHARE_BYTES, key_of, polynomials, secret_of, shares_at
from fedgroup.secure.signatures import statement
from fedgroup.secure.terms import MaskedTerms

Bytes = npt.NDArray[np.uint8]

DEALT_BYTES = 2 * SHARE_BYTES + SECRET_BYTES
"""What is dealt for each neighbour: a share of the seed, a share of the box key, and the boxed round key."""

_KEY_WORDS, _PAD_WORDS = 2, 3
"""Of a pair's words in a round: the round key, and four pads for shares, of either dealer, for either secret."""
_MOST_REMEMBERED = 2


@dataclass(frozen=True)
class Recovery:
    """How a group's rounds withstand silence: up to `spare` members of a roster may be left out of its sum.

    With e to spare, c colluders and n members that hold shares, a secret takes more than (n e + c) / (e + 1) of them.
    In a group without all pairs a secret is shared with fewer, the neighbours: there more than (n + c) / 2 members,
    `signers`, sign who is left out before anything is told, and a secret takes more than (neighbours + 1 + c) / 2, and
    more than c.
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
            spare = next((e for e in range(lost, 0, -1) if e * (e + 1) < members - colluders), 0)
            return cls(terms, spare, 0) if spare else None
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


def self_masks(seeds: Secrets, *, words: int, first: int = 0) -> Words:
    """Return the masks that members add for themselves, a row for each seed."""
    return pair_masks(seeds, _SELF, words=words, first=first)


@dataclass(frozen=True, eq=False)
class OwnMasks:
    """How one member masks in one round: its keys with its neighbours, in their order, and its own seed."""

    keys: Secrets
    seed: Secrets

    def __repr__(self) -> str:
        return "OwnMasks(<private>)"


@dataclass(frozen=True, eq=False)
class _RoundSecrets:
    """What one member knows of one round: keys and pads by neighbour, and the polynomials of its two secrets.

    Pads are those of the lower dealer of a pair, then of the higher one, each for the seed and for the box key.
    """

    keys: Secrets
    pads: Bytes
    polynomials: npt.NDArray[np.int64]


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
        self._is_higher = np.array([position > other for other in neighbours], dtype=np.intp)
        self._points = np.array(neighbours, dtype=np.int64) + 1
        self._rounds: dict[bytes, _RoundSecrets] = {}

    def __repr__(self) -> str:
        return f"Dealer({self._position}, <private>)"

    def _known(self, round_id: bytes) -> _RoundSecrets:
        known = self._rounds.get(round_id)
        if known is None:
            context = _context("round keys", self._digest, round_id)
            words = pair_masks(self.pair_secrets, context, words=_KEY_WORDS + 4 * _PAD_WORDS)
            made = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8).reshape(len(words), -1)
            pads = made[:, SECRET_BYTES:].reshape(-1, 2, 2, 8 * _PAD_WORDS)
            stream = Keystream(_context("shares", self._own, self._digest, round_id))
            threshold = self.recovery.threshold(len(self.neighbours) + 1)
            known = _RoundSecrets(
                made[:, :SECRET_BYTES].copy(), pads, polynomials(stream, secrets=2, threshold=threshold)
            )
            self._rounds = dict(list(self._rounds.items())[1 - _MOST_REMEMBERED :]) | {round_id: known}
        return known

    def dealt(self, round_id: bytes) -> bytes:
        """Return what this member deals in a round: `DEALT_BYTES` for each neighbour, in their order."""
        known, neighbours = self._known(round_id), len(self.neighbours)
        shares = shares_at(known.polynomials, self._points).astype("<u4").view(np.uint8)
        pads = known.pads[np.arange(neighbours), self._is_higher, :, :SHARE_BYTES]
        dealt = np.empty((neighbours, DEALT_BYTES), dtype=np.uint8)
        dealt[:, : 2 * SHARE_BYTES] = shares ^ pads.reshape(neighbours, -1)
        dealt[:, 2 * SHARE_BYTES :] = known.keys ^ _box_pads(key_of(known.polynomials[0, LIMBS:]), neighbours)
        return dealt.tobytes()

    def masks(self, round_id: bytes, present: Collection[int]) -> OwnMasks:
        """Return how this member masks in a round with those neighbours that are present."""
        known = self._known(round_id)
        chosen = np.array([other in present for other in self.neighbours], dtype=np.bool_)
        return OwnMasks(known.keys[chosen], _rows(key_of(known.polynomials[0, :LIMBS])))

    def told(self, round_id: bytes, roster: Collection[int], survivors: Collection[int], sealed: bytes) -> bytes:
        """Return the shares that this member tells: those sealed for it, of neighbours in the roster, and its own.

        Of a survivor it opens a share of the seed, of anybody else one of the box key: the pad decides, not who asks.

        Requires:  this is the only set of survivors in this round, and holds this member.
        """
        chosen = [at for at, other in enumerate(self.neighbours) if other in roster]
        if len(sealed) != SHARE_BYTES * len(chosen):
            raise ProtocolViolation("a member is given a sealed share of every neighbour in the roster")
        known = self._known(round_id)
        of_whom = [0 if self.neighbours[at] in survivors else 1 for at in chosen]
        pads = known.pads[chosen, 1 - self._is_higher[chosen], of_whom, :SHARE_BYTES]
        opened = np.frombuffer(sealed, dtype=np.uint8).reshape(-1, SHARE_BYTES) ^ pads
        own = shares_at(known.polynomials, np.array([self._position + 1]))[0, :LIMBS]
        self._rounds.pop(round_id, None)
        return opened.tobytes() + own.astype("<u4").tobytes()


class Unmasking:
    """The provider's side: it carries sealed shares, takes in opened ones, and takes masks off a sum.

    `neighbours` are those of every member of the group, `dealt` is what each of the roster dealt, by position.
    """

    def __init__(
        self,
        recovery: Recovery,
        neighbours: Sequence[Sequence[int]],
        *,
        roster: Sequence[int],
        survivors: Sequence[int],
        dealt: Mapping[int, bytes],
    ) -> None:
        recovery.require_enough(roster, survivors)
        self._neighbours = neighbours
        self._roster = np.array(sorted(roster), dtype=np.intp)
        self._present = frozenset(roster)
        self.survivors = list(survivors)
        self._heard = frozenset(survivors)
        self._dealt = {p: np.frombuffer(dealt[p], dtype=np.uint8).reshape(-1, DEALT_BYTES) for p in roster}
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
        for dealer, dealt in self._dealt.items():
            start = 0 if dealer in self._heard else SHARE_BYTES
            found[dealer, list(self._neighbours[dealer])] = dealt[:, start : start + SHARE_BYTES]
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
    def _left_over(self) -> tuple[Secrets, Secrets]:
        """Return the keys of masks that survivors added, and of those they took off, with members left out."""
        added, taken = [_NO_KEYS], [_NO_KEYS]
        for dropped in sorted(self._present - self._heard):
            others = self._neighbours[dropped]
            keys = self._dealt[dropped][:, 2 * SHARE_BYTES :] ^ _box_pads(self._keys[dropped], len(others))
            for key, other in zip(keys, others, strict=True):
                if other in self._heard:
                    (added if other < dropped else taken).append(key[None])
        return np.concatenate(added), np.concatenate(taken)

    def masks(self, context: bytes, *, words: int, first: int = 0) -> Words:
        """Return what is to be taken off the sum of the survivors' words, from the number `first` on.

        Requires:  enough shares are there; `context` is the round's, which only matters where somebody is left out.
        """
        added, taken = self._left_over
        total = _sum(self_masks(self._seeds, words=words, first=first))
        if len(added):
            total = total + _sum(pair_masks(added, context, words=words, first=first))
        if len(taken):
            total = total - _sum(pair_masks(taken, context, words=words, first=first))
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


def _sum(masks: Words) -> Words:
    total: Words = masks.sum(axis=0, dtype=np.uint64)
    return total


def _box_pads(key: bytes, neighbours: int) -> Bytes:
    """Return what boxes the round keys of a member: the box key is used for nothing else, in one round."""
    words = np.ascontiguousarray(pair_masks(_rows(key), _BOX, words=2 * neighbours))
    return words.astype("<u8", copy=False).view(np.uint8).reshape(neighbours, SECRET_BYTES)


def _rows(key: bytes) -> Secrets:
    return np.frombuffer(key, dtype=np.uint8).reshape(-1, SECRET_BYTES)


def _context(label: str, *facts: bytes) -> bytes:
    return hashlib.sha256(statement(label, *facts)).digest()


_NO_KEYS: Secrets = np.empty((0, SECRET_BYTES), dtype=np.uint8)
_SELF, _BOX = _context("self masks"), _context("boxed keys")
