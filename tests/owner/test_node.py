"""A live owner: what it answers, what it refuses, and that one round has one reply for ever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nacl.bindings
import nacl.public
import numpy as np
import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, ProtocolViolation, SiloUnavailable
from fedgroup.messages import Measure, RangeQuery
from fedgroup.messages.asked import Ask, Check, Describe, Go, Leave, Offer, Reveal, Seal
from fedgroup.messages.live import FromOwner, ToOwner
from fedgroup.messages.said import (
    Accepted,
    Checked,
    Described,
    Letter,
    Masked,
    Noisy,
    Ready,
    Refused,
    Revealed,
    Sealed,
)  # fmt: skip
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.node import PROVIDER, OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.privacy.noise import SecureNoise, SeededNoise
from fedgroup.privacy.sensitivity import Protection
from fedgroup.secure.pair_keys import OwnerKey
from fedgroup.space import Box, Circle, Grid, PublicMap, Rectangle
from fedgroup.storage.owner_ledger import OwnerLedger

MAP = PublicMap(Box(0, 0, 10, 10))
EVERYONE = ("count", "sum", "avg")
WORD = 1 << 64


@dataclass(frozen=True)
class Card:
    """A certificate that is believed as it stands."""

    name: str
    exchange_key: bytes


class TestIdentity:
    """Real keys and real boxes, without a certificate authority."""

    __test__ = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._secret = nacl.public.PrivateKey.generate()
        self.owner_key = OwnerKey(bytes(self._secret))
        self.exchange_key = self.owner_key.public

    @property
    def der(self) -> bytes:
        return self.name.encode() + b"|" + self.exchange_key

    def seal(self, to: Card, context: bytes, plain: bytes) -> bytes:
        return bytes(nacl.public.Box(self._secret, nacl.public.PublicKey(to.exchange_key)).encrypt(context + plain))

    def open(self, sender: Card, context: bytes, sealed: bytes) -> bytes:
        box = nacl.public.Box(self._secret, nacl.public.PublicKey(sender.exchange_key))
        try:
            plain = box.decrypt(sealed)
        except nacl.exceptions.CryptoError as fault:
            raise ProtocolViolation("a letter does not open") from fault
        if not plain.startswith(context):
            raise ProtocolViolation("a letter of another context")
        return plain[len(context) :]


def believed(der: bytes) -> Card:
    name, _, key = der.partition(b"|")
    if len(key) != 32:
        raise ProtocolViolation("not a certificate")
    return Card(name.decode(), key)


@dataclass
class FakeSilo:
    """Answers the same whatever is asked."""

    count: int = 7
    total: int = 70
    attributes: tuple[str, ...] = ("fare",)
    has_time: bool = False
    version: str = "1"
    broken: bool = False
    asked: int = 0

    def vector(self, grid: Grid) -> np.ndarray:
        return np.arange(grid.cells, dtype=np.int32)

    def totals(self, query: RangeQuery) -> dict[str, int]:
        self.asked += 1
        if self.broken:
            raise SiloUnavailable("the database is away")
        return {part: {"count": self.count, "sum": self.total}[part] for part in query.parts}

    def snapshot(self) -> str:
        return self.version


@dataclass
class Sent:
    """Messages stay what they are: encoding is the transport's matter."""

    known: list[Any] = field(default_factory=list)

    def encode(self, message: Any) -> bytes:
        self.known.append(message)
        return len(self.known).to_bytes(4, "big")

    def decode(self, data: bytes) -> Any:
        return self.known[int.from_bytes(data, "big") - 1]


WIRE = Sent()


@dataclass
class Owner:
    node: OwnerNode
    identity: TestIdentity
    silo: FakeSilo
    ledger: OwnerLedger

    def say(self, message: ToOwner, sender: str = PROVIDER) -> list[tuple[str, FromOwner]]:
        return [(to, WIRE.decode(data)) for to, data in self.node.receive(sender, message)]

    def only(self, message: ToOwner) -> Any:
        ((to, reply),) = self.say(message)
        assert to == PROVIDER
        return reply


@pytest.fixture
def owner_of(tmp_path: Path) -> Callable[..., Owner]:
    def make(name: str = "a", *, cap: float = 10, silo: FakeSilo | None = None, **policy: Any) -> Owner:
        identity, silo = TestIdentity(name), silo or FakeSilo()
        ledger = OwnerLedger(tmp_path / f"{name}.db")
        ledger.set_cap(Epsilon.of(cap))
        node = OwnerNode(
            identity, silo, public_map=MAP, protection=Protection(), ledger=ledger, noise=SecureNoise(),
            policy=Policy(**{"modes": ("trusted", "masked"), "trusted_with": ("*",)} | policy),
            verify=believed, encode=WIRE.encode,
        )  # fmt: skip
        return Owner(node, identity, silo, ledger)

    return make


def ask(epsilon: float = 0.5, *, round_id: bytes = b"r" * 16, plan: str | None = None, **more: Any) -> Ask:
    query = RangeQuery("count", more.pop("range", Circle(5, 5, 3)), Epsilon.of(epsilon), **more)
    return Ask(round_id, WireQuery.of(query), plan, 1000, "ann")


def grouped(owners: list[Owner], mode: str, *, plan: str = "p", dropouts: int = 0) -> None:
    ders = [owner.identity.der for owner in owners]
    accepted = [owner.only(Offer(plan, mode, ders, i, 1, dropouts)) for i, owner in enumerate(owners)]
    assert all(isinstance(each, Accepted) for each in accepted)
    commitments = [each.commitment for each in accepted]
    numbers = [owner.only(Reveal(plan, commitments)).number for owner in owners]
    assert all(isinstance(owner.only(Seal(plan, numbers)), Sealed) for owner in owners)


def test_an_owner_alone_answers_with_noise_and_pays_before(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of()
    values = []
    for i in range(200):
        reply = owner.only(ask(0.04, round_id=i.to_bytes(16, "big")))
        assert isinstance(reply, Noisy)
        assert reply.heard == [0]
        values.append(reply.sums[0])
    assert owner.ledger.spent() == Epsilon.of(8)
    assert len(set(values)) > 20
    assert abs(np.mean(values) - 7) < 4 * 35.4 / np.sqrt(200)
    assert "asked by ann" in owner.ledger.entries()[-1].question


def test_a_round_has_one_reply_for_ever_and_is_charged_once(owner_of: Callable[..., Owner], tmp_path: Path) -> None:
    owner = owner_of()
    first = owner.node.receive(PROVIDER, ask())
    assert owner.node.receive(PROVIDER, ask()) == first
    assert owner.node.receive(PROVIDER, ask(0.9)) == first  # whatever is asked under its name
    assert owner.ledger.spent() == Epsilon.of(0.5)
    assert OwnerLedger(tmp_path / "a.db").kept_reply(b"r" * 16) == first[0][1]


@pytest.mark.parametrize(
    ("policy", "question", "reason"),
    [
        ({"highest_epsilon": Epsilon.of(0.4)}, ask(), "epsilon"),
        ({"kinds": ("sum",)}, ask(), "kind"),
        ({"smallest_radius": 4.0}, ask(), "radius"),
        ({"smallest_radius": 1.0}, ask(range=Rectangle(1, 1, 9, 2)), "radius"),
        ({"paused": True}, ask(), "paused"),
        ({"cap": 0.4}, ask(), "budget"),
        ({"silo": FakeSilo(broken=True)}, ask(), "silo"),
        ({}, ask(plan="unknown"), "plan"),
        ({}, ask(since=5), "attribute"),
        ({}, ask(range=Circle(50, 50, 1)), "protocol"),
        ({}, Go(b"x" * 16, [0]), "round"),
        ({"highest_setup": Epsilon.of(0.1)}, Describe(b"d" * 16, 5, 5, 200_000_000), "epsilon"),
    ],
)
def test_refusals_give_a_reason_and_cost_nothing(
    policy: dict[str, Any], question: ToOwner, reason: str, owner_of: Callable[..., Owner]
) -> None:
    owner = owner_of(**policy)
    reply = owner.only(question)
    assert isinstance(reply, Refused)
    assert reply.reason == reason
    assert owner.ledger.spent() == Epsilon(0)


def test_sums_of_columns_that_do_not_exist_or_are_not_allowed_are_refused(owner_of: Callable[..., Owner]) -> None:
    query = RangeQuery("sum", Circle(5, 5, 3), Epsilon.of(0.5), Measure("fare", 50))
    asked = Ask(b"s" * 16, WireQuery.of(query), None, 1000)
    assert isinstance(owner_of("a").only(asked), Noisy)
    assert owner_of("b", attributes=("tip",)).only(asked).reason == "attribute"
    assert owner_of("c", silo=FakeSilo(attributes=())).only(asked).reason == "attribute"


def test_vectors_are_charged_and_kept(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of()
    asked = Describe(b"d" * 16, 5, 4, 300_000_000)
    reply = owner.only(asked)
    assert isinstance(reply, Described)
    assert len(reply.counts) == 20
    assert reply.counts != list(range(20))
    assert owner.only(asked) is reply
    assert owner.ledger.spent() == Epsilon.of(0.3)


@pytest.mark.parametrize("kind", EVERYONE)
@pytest.mark.parametrize("heard", [[0, 1, 2, 3, 4], [0, 2, 3, 4]])
def test_masked_answers_add_up_to_the_sum_with_enough_noise(
    heard: list[int], kind: str, owner_of: Callable[..., Owner]
) -> None:
    owners = [owner_of(f"o{i}", cap=1e6, silo=FakeSilo(count=10 * i, total=100 * i)) for i in range(5)]
    grouped(owners, "masked", dropouts=1)
    measure = None if kind == "count" else Measure("fare", 10, resolution=1)
    query = RangeQuery(kind, Circle(5, 5, 3), Epsilon.of(2000), measure)  # type: ignore[arg-type]
    asked = Ask(b"m" * 16, WireQuery.of(query), "p", 1000)
    for owner in owners:
        owner.node.policy = Policy(highest_epsilon=Epsilon.of(5000))
        assert isinstance(owner.only(asked), Ready)
        assert owner.ledger.spent() == Epsilon(0)
    replies = [owners[p].only(Go(b"m" * 16, heard)) for p in heard]
    assert all(isinstance(reply, Masked) for reply in replies)
    sums = [sum(reply.words[i] for reply in replies) % WORD for i in range(len(query.parts))]
    exact = {"count": sum(10 * p for p in heard), "sum": sum(100 * p for p in heard)}
    assert [s - WORD if s > WORD // 2 else s for s in sums] == [exact[part] for part in query.parts]
    assert all(owners[p].ledger.spent() == Epsilon.of(2000) for p in heard)
    assert "epsilon if alone" in owners[0].ledger.entries()[-1].question


def test_one_masked_word_looks_like_noise(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}", cap=1e6) for i in range(3)]
    grouped(owners, "masked")
    words = []
    for i in range(64):
        this = i.to_bytes(16, "big")
        for owner in owners:
            owner.say(ask(0.5, round_id=this, plan="p"))
        words.append(owners[0].only(Go(this, [0, 1, 2])).words[0])
    bits = np.array([[word >> b & 1 for b in range(64)] for word in words])
    assert 0.45 < bits.mean() < 0.55
    assert (np.abs(bits.mean(axis=0) - 0.5) < 0.32).all()


def test_a_masked_round_is_refused_without_enough_members(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(5)]
    grouped(owners, "masked", dropouts=1)
    owners[0].only(ask(plan="p"))
    assert owners[0].only(Go(b"r" * 16, [0, 1, 2])).reason == "protocol"
    assert owners[0].only(Go(b"r" * 16, [1, 2, 3, 4])).reason == "protocol"
    assert owners[0].ledger.spent() == Epsilon(0)
    assert isinstance(owners[0].only(Go(b"r" * 16, [0, 1, 2, 3])), Masked)


def test_a_fixed_roster_cannot_be_changed_afterwards(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(5)]
    grouped(owners, "masked", dropouts=1)
    owners[0].only(ask(plan="p"))
    first = owners[0].node.receive(PROVIDER, Go(b"r" * 16, [0, 1, 2, 3]))
    assert owners[0].node.receive(PROVIDER, Go(b"r" * 16, [0, 1, 2, 4])) == first


def trusted_round(owners: list[Owner], this: bytes) -> None:
    for owner in owners:
        for to, message in owner.say(ask(2000, round_id=this, plan="p")):
            if to == PROVIDER:
                assert isinstance(message, Ready)
            else:
                assert isinstance(message, Letter)
                leader = next(one for one in owners if one.node.name == to)
                assert leader.say(message, sender=owner.node.name) == []


def test_a_leader_adds_up_letters_that_only_it_can_read(owner_of: Callable[..., Owner]) -> None:
    policy = {"highest_epsilon": Epsilon.of(5000), "cap": 1e6}
    owners = [owner_of(f"o{i}", silo=FakeSilo(count=10 * i + 1), **policy) for i in range(3)]
    grouped(owners, "trusted")
    trusted_round(owners, b"t" * 16)
    reply = owners[0].only(Go(b"t" * 16, [0, 1, 2]))
    assert isinstance(reply, Noisy)
    assert (reply.sums, reply.heard) == ([33], [0, 1, 2])
    assert all(owner.ledger.spent() == Epsilon.of(2000) for owner in owners)


def test_letters_come_in_any_order_and_a_missing_one_is_not_waited_for_twice(owner_of: Callable[..., Owner]) -> None:
    policy = {"highest_epsilon": Epsilon.of(5000), "cap": 1e6}
    owners = [owner_of(f"o{i}", silo=FakeSilo(count=10 * i + 1), **policy) for i in range(3)]
    grouped(owners, "trusted")
    letters = {o.node.name: o.say(ask(2000, plan="p"))[0][1] for o in owners[1:]}
    owners[0].say(letters["o2"], sender="o2")  # before the question
    owners[0].say(ask(2000, plan="p"))
    assert owners[0].say(Go(b"r" * 16, [0, 1, 2])) == []
    assert owners[0].say(letters["o2"], sender="o1") == []  # one owner's letter under another's name
    reply = owners[0].only(Go(b"r" * 16, [0, 1, 2]))
    assert (reply.sums, reply.heard) == ([22], [0, 2])
    assert owners[0].say(letters["o1"], sender="o1") == []


def test_rosters_are_verified_before_anything_is_agreed(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(3)]
    ders = [owner.identity.der for owner in owners]
    me = owners[0]
    wrong = [
        Offer("p", "masked", [ders[1], ders[0], ders[2]], 0),
        Offer("p", "masked", [ders[0], ders[1], ders[1]], 0),
        Offer("p", "masked", [ders[0], ders[1], b"o9|" + owners[1].identity.exchange_key], 0),
        Offer("p", "masked", [ders[0], ders[1], b"forged"], 0),
        Offer("p", "masked", [b"o0|" + bytes(32), ders[1], ders[2]], 0),
    ]
    assert [me.only(offer).reason for offer in wrong] == ["protocol"] * 5
    assert me.only(Offer("q", "masked", ders[:2], 0)).reason == "members"
    assert owner_of("o9", modes=("masked",)).only(Offer("p", "trusted", ders, 0)).reason == "mode"


def test_numbers_that_do_not_fit_their_commitments_seal_nothing(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(3)]
    ders = [owner.identity.der for owner in owners]
    commitments = [o.only(Offer("p", "masked", ders, i)).commitment for i, o in enumerate(owners)]
    assert owners[0].only(Reveal("p", commitments[:2])).reason == "protocol"
    assert owners[0].only(Reveal("p", commitments[::-1])).reason == "protocol"
    numbers = [o.only(Reveal("p", commitments)) for o in owners]
    assert all(isinstance(each, Revealed) for each in numbers)
    assert owners[0].only(Reveal("p", [*commitments[:2], bytes(32)])).reason == "protocol"
    assert owners[0].only(Seal("p", [numbers[0].number, numbers[1].number, bytes(32)])).reason == "protocol"
    assert owners[0].only(ask(plan="p")).reason == "plan"
    assert isinstance(owners[0].only(Seal("p", [each.number for each in numbers])), Sealed)
    assert isinstance(owners[0].only(ask(plan="p")), Ready)
    assert owners[0].say(Leave("p")) == []
    assert owners[0].only(ask(round_id=b"z" * 16, plan="p")).reason == "plan"


def test_the_owner_tells_whether_its_data_is_the_same(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of()
    owner.only(ask())
    assert owner.only(Check(b"c" * 16, b"r" * 16)) == Checked(b"c" * 16, same=True)
    assert owner.only(Check(b"c" * 16, b"?" * 16)) == Checked(b"c" * 16, same=False)
    owner.silo.version = "2"
    assert owner.only(Check(b"c" * 16, b"r" * 16)) == Checked(b"c" * 16, same=False)


def test_other_owners_cannot_ask(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of()
    assert owner.say(ask(), sender="o7") == []
    assert owner.ledger.spent() == Epsilon(0)


def test_a_live_owner_refuses_noise_that_is_not_private(owner_of: Callable[..., Owner], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        OwnerNode(
            TestIdentity("a"), FakeSilo(), public_map=MAP, protection=Protection(), noise=SeededNoise(1),
            ledger=OwnerLedger(tmp_path / "l.db"), policy=Policy(), verify=believed, encode=WIRE.encode,
        )  # fmt: skip


def test_a_reply_that_cannot_be_made_leaves_no_charge(tmp_path: Path) -> None:
    from fedgroup.privacy.budget import Charge

    ledger = OwnerLedger(tmp_path / "l.db")
    with pytest.raises(RuntimeError):
        ledger.reply_once(b"r", [Charge(Epsilon.of(1), "query", "?")], _fails, snapshot="1")
    assert (ledger.spent(), ledger.kept_reply(b"r")) == (Epsilon(0), None)


def _fails() -> bytes:
    raise RuntimeError


def test_trusted_groups_need_consent_to_their_members(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}", trusted_with=("o1",)) for i in range(3)]
    ders = [owner.identity.der for owner in owners]
    assert owners[0].only(Offer("p", "trusted", ders, 0)).reason == "mode"
    assert isinstance(owners[0].only(Offer("q", "trusted", ders[:2], 0)), Accepted)


def test_a_group_with_a_revoked_member_answers_no_more(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(4)]
    grouped(owners, "masked")
    me, revoked = owners[0], owners[2].identity.der
    assert isinstance(me.only(ask(plan="p")), Ready)

    def current(der: bytes) -> Card:
        if der == revoked:
            raise ProtocolViolation("revoked")
        return believed(der)

    me.node._verify = current
    assert me.only(ask(round_id=b"2" * 16, plan="p")).reason == "roster"
    assert me.only(Go(b"r" * 16, [0, 1, 2, 3])).reason == "roster"
    assert me.ledger.spent() == Epsilon(0)


def test_a_group_formed_again_under_its_name_shares_no_masks_with_the_first(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(3)]
    grouped(owners, "masked")
    first = owners[0].node._groups["p"].digest
    for owner in owners:
        owner.say(Leave("p"))
    grouped(owners, "masked")
    assert owners[0].node._groups["p"].digest != first


def test_an_offer_cannot_change_under_its_name(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(4)]
    ders = [owner.identity.der for owner in owners]
    first = owners[0].only(Offer("p", "masked", ders, 0, 1, 0))
    assert owners[0].only(Offer("p", "masked", ders, 0, 1, 0)) == first
    assert owners[0].only(Offer("p", "masked", ders, 0, 2, 0)).reason == "protocol"
    assert owners[0].only(Offer("p", "masked", ders[:3], 0, 1, 0)).reason == "protocol"


def test_nothing_is_counted_before_the_roster_is_fixed(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(3)]
    grouped(owners, "masked")
    owners[0].only(ask(plan="p"))
    assert owners[0].silo.asked == 0
    owners[0].only(Go(b"r" * 16, [0, 1, 2]))
    assert owners[0].silo.asked == 1


def test_a_paused_owner_refuses_everything(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(3)]
    grouped(owners, "masked")
    owners[0].only(ask(plan="p"))
    owners[0].node.policy = Policy(paused=True)
    for message in (ask(), Go(b"r" * 16, [0, 1, 2]), Check(b"c" * 16, b"r" * 16), Describe(b"d" * 16, 2, 2, 100)):
        assert owners[0].only(message).reason == "paused"


def test_a_ledger_belongs_to_one_owner_and_is_for_its_eyes_only(tmp_path: Path) -> None:
    OwnerLedger(tmp_path / "l.db", holder="a").close()
    assert (tmp_path / "l.db").stat().st_mode & 0o077 == 0
    OwnerLedger(tmp_path / "l.db", holder="a").close()
    with pytest.raises(InvalidInput):
        OwnerLedger(tmp_path / "l.db", holder="b")
