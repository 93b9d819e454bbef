"""One live owner: a message in, messages out. It counts, keeps its own ledger, and refuses what its policy forbids.

Guarantee: nothing made from records leaves except through `privacy.release`, sealed letters to a consented leader, and
           secure comparisons it opted in to; each only after its charge is durable, together with the exact bytes that
           leave. Nothing is counted before it is charged: whether policy, budget and time allow an answer is decided
           without a look at the records, and what was counted stays charged. For one round one reply exists for ever:
           a repeat gets the same bytes or a refusal. No message changes the policy, the cap or the epoch. Nothing is
           counted for who agreed on another domain, other units or another protection. Refusals tell a reason from a
           fixed list, and nothing else. What is left of the cap is told only if the policy says so (`tell_left`).
Not covered: how long an answer takes, which `live/pacing.py` hides; against a provider that deviates from the protocol,
             see docs/guarantees.md#a-malicious-provider.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.messages.asked import (
    Agreed,
    Ask,
    Balance,
    Check,
    Describe,
    Go,
    Leave,
    Offer,
    Recall,
    Relay,
    RelayMany,
    Reveal,
    Seal,
    Unmask,
)
from fedgroup.messages.live import ToOwner
from fedgroup.messages.logged import Chain
from fedgroup.messages.said import (
    Accepted,
    Checked,
    Described,
    Left,
    Letter,
    Masked,
    Noisy,
    Ready,
    Refused,
    Revealed,
    Sealed,
)
from fedgroup.owner.groups import MOST_OFFERS, Group, Memberships
from fedgroup.owner.heads import UNWATCHED
from fedgroup.owner.node_parts import Certified, LogWatch, OwnersSilo, OwnIdentity, RoundLedger
from fedgroup.owner.policy import Policy
from fedgroup.owner.public_time import PublicTime
from fedgroup.owner.recovering import Unmaskings
from fedgroup.owner.refusals import Unknown, about, reason_of
from fedgroup.owner.relays import Relays
from fedgroup.owner.rounds import (
    Ints,
    OpenRounds,
    Round,
    answerable,
    cut_to,
    described,
    masked_reply,
    named,
    noisy_sums,
    partial_letter,
    read_held,
    read_letter,
    sums_of,
    told_of_masked,
    too_long_to_lead,
    with_bytes,
)
from fedgroup.owner.together import Answering, Answers, Begin, Earlier, Keep, all_answered, answered, in_turn
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.concentrated import require_noise
from fedgroup.privacy.laplace import require_drawable
from fedgroup.privacy.noise import NoiseSource
from fedgroup.privacy.release import disclose_to_leader, scale_of_noise, scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.privacy.windows import span_of, span_of_vectors
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.words import question
from fedgroup.space import PublicMap

PROVIDER = "provider"

Letters = list[tuple[str, bytes]]
"""To whom, and what."""


class OwnerNode:
    """An owner among others: `receive` takes what a sender said and returns what to send."""

    def __init__(
        self,
        identity: OwnIdentity,
        silo: OwnersSilo,
        *,
        public_map: PublicMap,
        protection: Protection,
        policy: Policy,
        ledger: RoundLedger,
        noise: NoiseSource,
        verify: Callable[[bytes], Certified],
        encode: Callable[[Any], bytes],
        trust: Callable[[], object] = object,
        clock: PublicTime = PublicTime(),  # noqa: B008  it has no state
        agreed: bytes = b"",
        heads: LogWatch = UNWATCHED,
    ) -> None:
        """`trust` is explained at `Memberships`; `clock` tells what is too late; without one, nothing is.

        `agreed` is the digest of what all parties agreed on; who says another one is answered nothing. `heads` are
        those of the provider's log: a question that they do not admit is refused.
        """
        if not noise.private:
            raise InvalidInput("a live owner needs private noise; seeds and floating-point noise are for evaluation")
        self.policy = policy
        self._identity = identity
        self._silo = silo
        self._map = public_map
        self._protection = protection
        self._protected = str(protection)
        self.ledger = ledger
        self._noise = noise
        self._clock = clock
        self._encode = encode
        self._agreed = agreed
        self.heads = heads
        self._groups = Memberships(identity.name, identity.owner_key.public, verify=verify, trust=trust)
        self._open = OpenRounds()
        self._unmaskings = Unmaskings(identity, ledger)
        self._charged = b""
        self._relays = Relays(identity, ledger, verify=verify, public_map=public_map, vector=silo.vector)

    def __repr__(self) -> str:
        return f"OwnerNode({self._identity.name}, <private>)"

    @property
    def name(self) -> str:
        return self._identity.name

    def agrees(self, message: ToOwner) -> bool:
        """Tell whether whoever sent this agreed on the same as this owner, as far as it says so."""
        return bool(getattr(message, "agreed", self._agreed) == self._agreed)

    def receive(self, sender: str, message: ToOwner, *, waited_s: float = 0.0) -> Letters:
        """Return what to send, and to whom; a refusal is an answer too. No error of any kind gets out of here.

        `waited_s` is how long the message lay about: nothing is charged for an answer that nobody waits for.
        """
        letters = self.prepare(sender, message, waited_s=waited_s)
        try:
            self.ledger.flush()
        except Exception as error:
            return self.refusal(sender, message, error)
        return letters

    def prepare(self, sender: str, message: ToOwner, *, waited_s: float = 0.0) -> Letters:
        """Return what `receive` would; the caller sends it only after `ledger.flush()` has returned."""
        return answered(self._prepared(sender, message, self._clock(waited_s)), self.ledger)

    def prepare_many(self, received: Sequence[tuple[str, ToOwner]], *, waited_s: float = 0.0) -> list[Letters]:
        """Return what `prepare` would for each message, in their order."""
        several = self.answering(received, waited_s=waited_s).several
        return [letters for some in all_answered(several, self.ledger) for letters in some]

    def answering(self, received: Sequence[tuple[str, ToOwner]], *, waited_s: float = 0.0) -> Answers[list[Letters]]:
        """Return what leads to what `prepare` would return for each message, in their order.

        Questions to this owner alone go together: each is an answer by itself. All else is one, message by message.
        """
        arrived = self._clock(waited_s)
        alone = [message for sender, message in received if sender == PROVIDER and self._goes_together(message)]
        if len(alone) < len(received):
            return Answers([in_turn(self._prepared(sender, message, arrived) for sender, message in received)])
        return Answers([self._by_itself(ask, arrived) for ask in alone], frozenset(ask.round for ask in alone))

    def _by_itself(self, ask: Ask, arrived: float) -> Answering[list[Letters]]:
        try:
            return [(yield from self._alone(ask, arrived + ask.within_ms / 1000))]
        except Exception as error:
            return [self.refusal(PROVIDER, ask, error)]

    def _prepared(self, sender: str, message: ToOwner, arrived: float) -> Answering[Letters]:
        self._charged = b""
        try:
            letters = yield from self._received(sender, message, arrived)
        except Exception as error:
            letters = self.refusal(sender, message, error)
        return [*letters, *self._news_of_left()]

    def _goes_together(self, message: Any) -> TypeGuard[Ask]:
        """Tell whether this is a question to this owner alone that brings about nothing but its answer."""
        with contextlib.suppress(Exception):  # what fails here fails in `prepare`, which refuses it
            return isinstance(message, Ask) and not (message.plan or self.policy.tell_left or self._unwilling(message))
        return False

    def refusal(self, sender: str, message: ToOwner, error: Exception) -> Letters:
        """Return what to send instead of an answer that an error spoilt."""
        return self._refused(about(message), reason_of(error)) if sender == PROVIDER else []

    def _received(self, sender: str, message: ToOwner, arrived: float) -> Answering[Letters]:
        if isinstance(message, Letter):
            return (yield from self._letter(sender, message))
        if sender != PROVIDER:
            raise ProtocolViolation("only the provider asks")
        unwilling = self._unwilling(message)
        if unwilling is not None:  # who cannot follow the log tells how far it came, and is led on
            seen = self.heads.told(about(message)) if unwilling == "log" else ()
            return self._said(Refused(about(message), unwilling), *seen)
        match message:
            case Ask():
                return (yield from self._asked(message, arrived + message.within_ms / 1000))
            case Go():
                return (yield from self._gone(message))
            case Unmask():
                return self._said(self._unmaskings.told(message, fewest=self.policy.fewest_members))
            case Describe():
                return (yield from self._described(message))
            case Check():
                same = self.ledger.snapshot_of(message.earlier) == self._silo.snapshot()
                return self._said(Checked(message.round, same))
            case Balance():
                return self._said(self._left(message.round), *self.heads.told(message.round))
            case Chain():
                self.heads.follow(message)
                return []
            case Offer():
                return self._offered(message)
            case Reveal():
                return self._revealed(message)
            case Seal():
                self._groups.of(message.plan).seal(message.numbers, message.signatures, key=self._identity.owner_key)
                return self._said(Sealed(message.plan))
            case Leave():
                self._groups.leave(message.plan)
                self._unmaskings.forget(message.plan)
                return []
            case Agreed():
                return []
            case Relay() | RelayMany() | Recall():
                return self._said(self._relays.told(message, limit=self.policy.comparisons))
        raise ProtocolViolation("an owner does not understand this")

    def _unwilling(self, message: ToOwner) -> str | None:
        """Return the reason to refuse whatever this message asks; a vector that was made is sent again, log or not."""
        if self.policy.paused and not isinstance(message, Leave):
            return "paused"
        if not self.agrees(message):
            return "federation"
        if not isinstance(message, (Ask, Describe)) or self.heads.admits(message):
            return None
        return None if isinstance(message, Describe) and self.ledger.kept_reply(message.round) else "log"

    # --- groups -------------------------------------------------------------------------------------------------------

    def _offered(self, offer: Offer) -> Letters:
        reason = self.policy.against_group(offer)
        if reason is not None:
            return self._refused(about(offer), reason)
        group = self._groups.join(offer, self.policy, count_offer=lambda: self.ledger.count_offer(limit=MOST_OFFERS))
        return self._said(Accepted(offer.plan, group.commitment, self._signed(group, "commitment", group.commitment)))

    def _revealed(self, asked: Reveal) -> Letters:
        group = self._groups.of(asked.plan)
        number = group.reveal(asked.commitments, asked.signatures)
        return self._said(Revealed(asked.plan, number, self._signed(group, "number", number)))

    def _signed(self, group: Group, what: str, told: bytes) -> bytes:
        return self._identity.sign(group.stated(what, group.position, told))

    # --- setup --------------------------------------------------------------------------------------------------------

    def _described(self, asked: Describe) -> Answering[Letters]:
        kept = yield Earlier(asked.round)
        if kept is not None:
            return [(PROVIDER, with_bytes(kept))]
        reason = self.policy.against_vector(asked, self._map)
        if reason is not None:
            return self._refused(asked.round, reason)
        epsilon = Epsilon(asked.epsilon_nano)
        grid = self._map.grid(asked.columns, asked.rows)
        require_drawable(scale_of_noise(self._protection.of_histogram(), epsilon))

        def make() -> Described:
            return described(asked, self._silo.vector(grid), grid, protection=self._protection, noise=self._noise)

        text = f"noisy counts of {asked.columns}x{asked.rows} cells, {named(asked)}"
        charge = Charge(epsilon, "setup", text, protection=self._protected, span=span_of_vectors(self._protection))
        return [(PROVIDER, (yield from self._answering(asked.round, charge, make)))]

    # --- charge, count, keep ------------------------------------------------------------------------------------------

    def _answering(self, round_id: bytes, charge: Charge, make: Callable[[], Any]) -> Answering[bytes]:
        """Charge, then count and make the reply, and return it kept; what was said in this round before is said again.

        Guarantee: `make`, which counts, is called after the charge and only if the budget covers it. What it fails at
                   stays charged, for how long it took, and that it failed, may tell something of the records.
        """
        try:
            self.ledger.require_affordable([charge])
            snapshot = self._silo.snapshot()
        except Exception as error:
            return (yield from self._said_earlier(round_id, error))
        new = yield Begin(round_id, charge, snapshot)
        if not new:
            return (yield from self._said_earlier(round_id, Unknown("round")))
        self._charged = round_id
        try:
            reply = self._encode(make())
        except Exception as error:
            raise Unknown("failed") from error
        kept: bytes = yield Keep(round_id, reply)
        return kept

    def _said_earlier(self, round_id: bytes, refused: Exception) -> Answering[bytes]:
        """Return what was said in a round for which there is a reason to say nothing new, or raise that reason."""
        kept = yield Earlier(round_id)
        if kept is None:
            raise refused
        return with_bytes(kept)

    # --- what is left -------------------------------------------------------------------------------------------------

    def _left(self, round_id: bytes) -> Left:
        """Return what is left of the cap, if the policy lets it be told."""
        left = self.ledger.left() if self.policy.tell_left else None
        return Left(round_id, None if left is None else left.nano)

    def _news_of_left(self) -> Letters:
        """Return what is left after a charge, for a provider that may know it; a ledger that fails tells nothing."""
        if not (self._charged and self.policy.tell_left):
            return []
        try:
            return self._said(self._left(self._charged))
        except Exception:  # the answer was paid for, and is not withheld for this
            return []

    # --- questions ----------------------------------------------------------------------------------------------------

    def _asked(self, ask: Ask, until: float) -> Answering[Letters]:
        if ask.plan is None:
            return (yield from self._alone(ask, until))
        kept = yield Earlier(ask.round)
        if kept is not None:
            return self._again(ask, with_bytes(kept))
        query, reason = self._read(ask, until)
        if reason is not None:
            return self._refused(ask.round, reason)
        group = self._groups.valid(self._groups.of(ask.plan))
        if group.mode == "trusted" and too_long_to_lead(query, len(group.members)):
            return self._refused(ask.round, "bins")
        this = self._open.begin(ask, query, group, until, now=self._clock())
        if group.mode == "masked":
            group.terms.require_enough(len(group.members))
            for scale in scales_of(query, self._protection).values():
                require_noise(scale, shared=True)
            return self._ready(this, "masked")
        return (yield from self._disclose(this))

    def _alone(self, ask: Ask, until: float) -> Answering[Letters]:
        try:
            query, reason = self._read(ask, until)
            if reason is not None:
                raise Unknown(reason)
        except Exception as error:
            return [(PROVIDER, (yield from self._said_earlier(ask.round, error)))]

        def make() -> Noisy:
            return Noisy(ask.round, self._noisy(self._exact(query), query), [0])

        reply = yield from self._answering(ask.round, self._charge(ask, query, "alone"), make)
        return [(PROVIDER, reply)]

    def _read(self, ask: Ask, until: float) -> tuple[RangeQuery, str | None]:
        """Return a question that can be answered, in time, and the policy's reason to refuse it."""
        self._clock.require(until)
        query = answerable(ask.query, self._silo, public_map=self._map, protection=self._protection)
        return query, self.policy.against_question(query, self._map)

    def _ready(self, this: Round, how: str) -> Letters:
        """See whether budget and database allow the answer: who says ready and then refuses spoils it for others.

        Nothing is counted before the roster is fixed and the charge is made: it would show, by the time it takes.
        """
        self.ledger.require_affordable([self._charge(this.ask, this.query, how)])
        self._silo.snapshot()
        dealt = self._unmaskings.dealt(this.ask.round, this.group) if this.ask.recovers else b""
        this.ready = True
        return self._said(Ready(this.ask.round, dealt))

    def _again(self, ask: Ask, kept: bytes) -> Letters:
        """Repeat what was said in this round: to the provider, or to the leader of a trusted group."""
        group = None if ask.plan is None else self._groups.find(ask.plan)
        if group is not None and group.mode == "trusted" and group.position != 0:
            return [(group.leader, kept), *self._said(Ready(ask.round))]
        return [(PROVIDER, kept)]

    def _disclose(self, this: Round) -> Answering[Letters]:
        """Send the exact answer to the leader, sealed; the leader itself keeps its own until the roster is fixed."""
        group, query = this.group, this.query
        if group.position == 0:
            return self._ready(this, "leading")
        letter = yield from self._answering(
            this.ask.round,
            self._charge(this.ask, query, f"to {group.leader}, who leads a trusted group of {len(group.members)}"),
            lambda: partial_letter(this, disclose_to_leader(self._exact(query)), self._identity),
        )
        self._open.end(this)
        return [(group.leader, letter), *self._said(Ready(this.ask.round))]

    def _letter(self, sender: str, letter: Letter) -> Answering[Letters]:
        """Keep a member's exact answer for the sum of its group; nobody else's letters count."""
        this = self._open.find(letter.round)
        if this is None:
            self._open.hold(sender, letter)
            return []
        read_letter(this, sender, letter, self._identity)
        return (yield from self._lead(this)) if this.awaited is not None and this.complete else []

    def _gone(self, go: Go) -> Answering[Letters]:
        """Answer a round whose roster is fixed; asked again, a leader adds up what it has."""
        kept = yield Earlier(go.round)
        if kept is not None:
            return [(PROVIDER, with_bytes(kept))]
        this = self._open.find(go.round)
        if this is None or not this.ready:
            raise Unknown("round")
        self._clock.require(this.until)
        self._groups.valid(this.group)
        if not go.positions or go.positions[-1] >= len(this.group.members) or this.group.position not in go.positions:
            raise ProtocolViolation("a round's roster holds this owner and none but members of its group")
        if this.group.mode == "masked":
            this.group.terms.require_enough(len(go.positions))
            if len(go.positions) < self.policy.fewest_members:
                return self._refused(go.round, "members")
            return (yield from self._mask(this, go.positions))
        if this.group.position != 0:
            raise ProtocolViolation("the leader of a group answers for it")
        read_held(this, self._open.held(this.ask.round), self._identity)
        hurry, this.awaited = this.awaited is not None, list(go.positions)
        return (yield from self._lead(this)) if this.complete or hurry else []

    def _lead(self, this: Round) -> Answering[Letters]:
        """Add up what the members of a trusted group disclosed and the leader's own answer, with one noise."""
        self._clock.require(this.until)

        def make() -> Noisy:
            heard, exact = sums_of(this, self._exact(this.query))
            return Noisy(this.ask.round, self._noisy(exact, this.query), heard)

        charge = self._charge(this.ask, this.query, f"leading a trusted group of {len(this.group.members)}")
        reply = yield from self._answering(this.ask.round, charge, make)
        self._open.end(this)
        return [(PROVIDER, reply)]

    def _mask(self, this: Round, positions: Sequence[int]) -> Answering[Letters]:
        member, round_id = this.group.masked_with(self._identity.owner_key, positions), this.ask.round

        def make() -> Masked:
            exact = self._exact(this.query)
            own = self._unmaskings.masks(this, positions, now=self._clock()) if this.ask.recovers else None
            return masked_reply(this, exact, member, positions, protection=self._protection, noise=self._noise, own=own)

        told = told_of_masked(this, len(positions), self._protection)
        reply = yield from self._answering(round_id, self._charge(this.ask, this.query, told), make)
        self._open.end(this)
        return [(PROVIDER, reply)]

    def _exact(self, query: RangeQuery) -> dict[str, Ints]:
        return cut_to(self.policy.most_records, self._silo.totals(query), query)

    def _noisy(self, exact: Mapping[str, Ints], query: RangeQuery) -> list[int]:
        return noisy_sums(exact, query, protection=self._protection, noise=self._noise)

    def _charge(self, ask: Ask, query: RangeQuery, how: str) -> Charge:
        text = f"{question(query)}, {how}{f', asked by {ask.by}' if ask.by else ''}, {named(ask)}"
        span = span_of(query, self._protection)
        return Charge(query.epsilon, "query", text, protection=self._protected, rho=query.rho, span=span)

    def _said(self, *messages: Any) -> Letters:
        return [(PROVIDER, self._encode(each)) for each in messages]

    def _refused(self, about: bytes, reason: str) -> Letters:
        return self._said(Refused(about, reason))
