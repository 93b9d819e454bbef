"""Rounds that a live owner has not answered yet, and how a reply of a group is made."""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery, ProtocolViolation
from fedgroup.messages import Variances
from fedgroup.messages.asked import Ask, Describe
from fedgroup.messages.said import Described, Letter, Masked
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.cells import require_following
from fedgroup.owner.groups import Group
from fedgroup.owner.node_parts import OwnersSilo
from fedgroup.owner.refusals import Unknown, require_answerable
from fedgroup.privacy.lone_share import epsilon_if_alone
from fedgroup.privacy.noise import NoiseSource
from fedgroup.privacy.release import Disclosed, release_masked, release_sum, release_vectors, scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.privacy.skellam import skellam_rho
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.words import round_name
from fedgroup.remembered import remembered
from fedgroup.secure.masking import round_context
from fedgroup.secure.member import Member
from fedgroup.secure.recovery import OwnMasks
from fedgroup.secure.widths import word_bytes
from fedgroup.space import Grid, PublicMap

Ints = npt.NDArray[np.int64]

MOST_OPEN = 256
MOST_HELD = 4_096
MOST_LETTER_BYTES = 64 << 20
"""Of letters to a leader: as many as may be held, and as many again as may come in all rounds that are open."""
_NUMBER = 8
_FEWEST = 2
"""A letter holds a position and so many numbers at least, so that all about one range are equally long."""


@dataclass(eq=False)
class Round:
    """A question that an owner will answer with its group.

    `letters` are the exact answers of a leader's members, by position. Nobody waits for the answer after `until`, by
    the owner's own clock.
    """

    ask: Ask
    query: RangeQuery
    group: Group
    until: float
    letters: dict[int, Ints] = field(default_factory=dict, repr=False)
    awaited: list[int] | None = None
    ready: bool = False

    @property
    def most_bytes(self) -> int:
        """How long the letters of this round are in all, if this owner leads and everybody writes."""
        leads = self.group.mode == "trusted" and self.group.position == 0
        return len(self.group.members) * _numbers(self.query) * _NUMBER if leads else 0

    @property
    def complete(self) -> bool:
        return self.awaited is not None and set(self.awaited) - {self.group.position} <= set(self.letters)


class OpenRounds:
    """The latest rounds, and letters that came before their question; both are few, the oldest are forgotten."""

    def __init__(self) -> None:
        self._rounds: OrderedDict[bytes, Round] = OrderedDict()
        self._held: OrderedDict[tuple[bytes, str], Letter] = OrderedDict()
        self._held_bytes = 0

    def begin(self, ask: Ask, query: RangeQuery, group: Group, until: float, *, now: float = 0.0) -> Round:
        """Return the round of a question; one id stands for one question for ever."""
        known = self._rounds.get(ask.round)
        if known is not None:
            if (known.ask.query, known.ask.plan, known.ask.recovers) != (ask.query, ask.plan, ask.recovers):
                raise ProtocolViolation("a round's question cannot change")
            known.until = max(known.until, until)  # asked once more, it is waited for once more
            return known
        this = Round(ask, query, group, until)
        if self._most_bytes + this.most_bytes > MOST_LETTER_BYTES:
            self._rounds = OrderedDict((name, each) for name, each in self._rounds.items() if each.until >= now)
        if self._most_bytes + this.most_bytes > MOST_LETTER_BYTES:
            # an open round is never given up for another: its members have paid
            raise Unknown("bins")
        self._rounds[ask.round] = this
        while len(self._rounds) > MOST_OPEN:
            self._rounds.popitem(last=False)
        return this

    @property
    def _most_bytes(self) -> int:
        return sum(each.most_bytes for each in self._rounds.values())

    def find(self, round_id: bytes) -> Round | None:
        return self._rounds.get(round_id)

    def end(self, this: Round) -> None:
        self._rounds.pop(this.ask.round, None)

    def hold(self, sender: str, letter: Letter) -> None:
        """Keep a letter whose question has not come yet."""
        if (letter.round, sender) not in self._held:
            self._held[letter.round, sender] = letter
            self._held_bytes += len(letter.sealed)
        while len(self._held) > MOST_HELD or self._held_bytes > MOST_LETTER_BYTES:
            self._forget(next(iter(self._held)))

    def held(self, round_id: bytes) -> list[tuple[str, Letter]]:
        """Return, and forget, the letters held for a round."""
        found = [key for key in self._held if key[0] == round_id]
        return [(key[1], self._forget(key)) for key in found]

    def _forget(self, key: tuple[bytes, str]) -> Letter:
        letter = self._held.pop(key)
        self._held_bytes -= len(letter.sealed)
        return letter


def answerable(asked: WireQuery, silo: OwnersSilo, *, public_map: PublicMap, protection: Protection) -> RangeQuery:
    """Return a question that this owner could answer, or refuse it."""
    try:
        query = asked.read(public_map.domain)
    except InvalidQuery:
        if asked.is_range:
            raise
        raise Unknown("bins") from None
    require_answerable(query, silo, public_map=public_map, protection=protection)
    require_following(query, asked.cells_from, protection=protection)
    return query


def too_long_to_lead(query: RangeQuery, members: int) -> bool:
    """Tell whether the letters of a trusted group are more than its leader takes: public, and the same for all."""
    return members * _numbers(query) * _NUMBER > MOST_LETTER_BYTES


def partial_letter(this: Round, disclosed: Disclosed, identity: Any) -> Letter:
    """Return the exact answer sealed for the leader of the group; broker and provider see a length told by the bins."""
    words = np.zeros(_numbers(this.query), dtype=">i8")
    exact = in_words(disclosed.partials, this.query)
    words[: len(exact)] = exact
    plain = this.group.position.to_bytes(2, "big") + words.tobytes()
    return Letter(this.ask.round, identity.seal(this.group.members[0], _context(this), plain))


def read_held(this: Round, held: Iterable[tuple[str, Letter]], identity: Any) -> None:
    """Read the letters that came before the question did; those that are none of a member's are left out."""
    for sender, letter in held:
        with suppress(ProtocolViolation):
            read_letter(this, sender, letter, identity)


def read_letter(this: Round, sender: str, letter: Letter, identity: Any) -> None:
    """Take in a member's exact answer, the first of each; a letter of anyone else, or of another round, is refused."""
    group = this.group
    position = next((i for i, member in enumerate(group.members) if member.name == sender), None)
    if position in (None, 0) or group.mode != "trusted" or group.position != 0 or letter.round != this.ask.round:
        raise ProtocolViolation("only members of a trusted group write to its leader")
    assert position is not None  # noqa: S101  just checked
    plain = identity.open(group.members[position], _context(this), letter.sealed)
    numbers = _numbers(this.query)
    if len(plain) != 2 + numbers * _NUMBER or int.from_bytes(plain[:2], "big") != position:
        raise ProtocolViolation("a letter holds its writer's position and the numbers of its answer")
    words = np.frombuffer(plain, dtype=">i8", offset=2).astype(np.int64)
    this.letters.setdefault(position, words[: this.query.bins * len(this.query.parts)])


def described(
    asked: Describe, exact: npt.NDArray[np.int32], grid: Grid, *, protection: Protection, noise: NoiseSource
) -> Described:
    """Return an owner's counts over a grid, with noise on each cell."""
    epsilon = Epsilon(asked.epsilon_nano)
    noisy = release_vectors(exact[None, :], grid=grid, epsilon=epsilon, protection=protection, noise=noise)
    return Described(asked.round, [int(value) for value in noisy.values[0]])


def _numbers(query: RangeQuery) -> int:
    return max(_FEWEST, query.bins * len(query.parts))


def in_words(sums: Mapping[str, Ints], query: RangeQuery) -> Ints:
    """Return sums as they travel: bin after bin, each with the question's parts."""
    if len(query.parts) == 1:
        return sums[query.parts[0]]
    return np.stack([sums[part] for part in query.parts], axis=1).ravel()


def sums_of(this: Round, own: Mapping[str, Ints]) -> tuple[list[int], dict[str, Ints]]:
    """Return who of a trusted group is heard, and what they add up to with the leader's own answer."""
    awaited = set(this.awaited or [])
    letters = {position: sums for position, sums in this.letters.items() if position in awaited}
    words = in_words(own, this.query)
    for sums in letters.values():
        words = words + sums
    columns = words.reshape(-1, len(this.query.parts)).T
    return sorted({this.group.position, *letters}), dict(zip(this.query.parts, columns, strict=True))


def noisy_sums(
    exact: Mapping[str, Ints], query: RangeQuery, *, protection: Protection, noise: NoiseSource
) -> list[int]:
    """Return the sums of one group, with the one noise a bin that its leader draws."""
    noisy = release_sum(exact, groups=1, query=query, protection=protection, noise=noise, heard=1)
    words: list[int] = in_words(noisy.parts, query).tolist()  # type: ignore[arg-type]  # live noise is whole
    return words


def masked_reply(
    this: Round, exact: Mapping[str, Ints], member: Member, positions: Sequence[int], *, protection: Protection,
    noise: NoiseSource, own: OwnMasks | None = None,
) -> Masked:  # fmt: skip
    """Return a masked answer over the members at these positions, with this owner's share of noise.

    Requires:  the round was charged, and this is called once for it; `own` masks in a round that is to recover.
    """
    query, terms = this.query, this.group.terms
    parts, width = terms.parts, word_bytes(query, protection, terms)
    # the keys of a round that is to recover are of this group already, and the provider is to find its masks
    digest = this.group.digest if own is None else b""
    context = masked_context(this.ask, positions, parts=parts, digest=digest)

    def mask(values: Any) -> Any:
        sent = member.answer(context, values[0], word_bytes=width, own=own)
        return np.frombuffer(sent, dtype=f"<u{width}").reshape(1, -1)

    words = release_masked(
        {part: exact[part].reshape(1, -1) for part in query.parts},
        query=query,
        protection=protection,
        noise=noise,
        parts=np.array([parts], dtype=np.int64),
        mask=mask,
    )
    return Masked(this.ask.round, words.tobytes(), b"" if own is None else own.dealt)


def told_of_masked(this: Round, heard: int, protection: Protection) -> str:
    """Return how the ledger tells of an answer masked with so many members."""
    group, query, parts = this.group, this.query, this.group.terms.parts
    alone = remembered(query, "alone", lambda: _alone(query, protection, parts), given=(protection, parts))
    terms = f"{parts} part{'' if parts == 1 else 's'}, {group.terms.colluders} may collude, {alone}"
    return f"masked with {heard} of {len(group.members)} ({terms})"


def _alone(query: RangeQuery, protection: Protection, parts: int) -> str:
    """Return what one share of noise is worth if nobody else's is there, in words."""
    cost = 0.0
    for part, scale in scales_of(query, protection).items():
        reach = protection.of(part, query)
        if isinstance(scale, Variances):
            cost += float(skellam_rho(scale.skellam / parts, reach=reach, squared=protection.squared(part, query)))
        else:
            cost += epsilon_if_alone(reach, scale, parts)
    return f"{'epsilon' if query.rho is None else 'rho'} if alone {cost:.3g}"


def _context(this: Round) -> bytes:
    return b"partial answer " + this.group.digest + this.ask.round


def masked_context(ask: Ask, positions: Sequence[int], *, parts: int, digest: bytes = b"") -> bytes:
    """Return what stands for all that members at these positions agree to when they mask an answer."""
    roster = digest + struct.pack(f"!{len(positions)}H", *positions)

    def make() -> bytes:
        # Epochs are each owner's own, so none is in here; a round's id never comes twice, for that is on record.
        return round_context(
            question=f"{ask.query}".encode(),
            epsilon_nano=ask.query.epsilon_nano,
            parts=parts,
            roster_digest=roster,
            epoch=0,
            round_id=ask.round,
        )

    return remembered(ask, "context", make, given=(parts, roster))


def cut_to(most_records: int | None, exact: Mapping[str, Ints], query: RangeQuery) -> dict[str, Ints]:
    """Return exact sums as an owner gives them that counts so many records in one bin at most.

    Guarantee: sensitivities are what they were. Each bin is cut by itself, and to cut two numbers to one range brings
               them no farther apart: neither the L1 nor the L2 distance of two neighbours' vectors grows.
    """
    if most_records is None:
        return dict(exact)
    measure = query.measure
    units = {part: measure.units if part == "sum" and measure is not None else 1 for part in exact}
    lowest = -1 if measure is not None and measure.signed else 0
    return {part: np.clip(sums, lowest * most_records * units[part], most_records * units[part])
            for part, sums in exact.items()}  # fmt: skip


def named(asked: Ask | Describe) -> str:
    """Return what a charge is for in the books of both sides: the round, and its entry in the provider's log."""
    entry = "" if asked.logged is None else f", log entry {asked.logged.number}"
    return f"round {round_name(asked.round)}{entry}"


def with_bytes(kept: bytes) -> bytes:
    """Return a kept reply; a round that was charged and has no reply gets none any more."""
    if not kept:
        raise Unknown("round")
    return kept
