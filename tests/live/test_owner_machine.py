"""One owner under any sequence of messages, faults and deaths: its books and its words always agree.

Spent never exceeds the cap; one round has one reply for ever; nothing leaves that was not charged and kept on disk.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from live_faults import kind_of

from fedgroup.epsilon import Epsilon
from fedgroup.errors import SiloUnavailable
from fedgroup.messages.asked import Ask, Check, Describe, Go, Leave, Offer, Relay, Reveal, Seal
from fedgroup.messages.live import FromOwner
from fedgroup.messages.said import Accepted, Letter, Revealed
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner import rounds as owner_rounds
from fedgroup.owner.groups import MOST_REMEMBERED, Group
from fedgroup.owner.node import PROVIDER, OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.privacy.noise import SecureNoise
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.mask_graph import commitment
from fedgroup.space import Box, Circle, Grid, PublicMap
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.transport.codec import decode, encode
from owner_keys import Keys, believed

MAP = PublicMap(Box(0, 0, 10, 10))
CAP = Epsilon.of(10)
DATA = ("Noisy", "Masked", "Described", "Letter")
"""What is made of records."""
PEERS = [Keys(name) for name in ("ann", "bob", "cid")]
NUMBERS = {peer.name: bytes([i]) * 32 for i, peer in enumerate(PEERS)}
ROUNDS = [bytes([i]) * 16 for i in range(6)]

a_round = st.sampled_from(ROUNDS)
a_plan = st.sampled_from(["p", "q"])
a_question = st.builds(
    lambda epsilon, radius: WireQuery.of(RangeQuery("count", Circle(5, 5, radius), Epsilon.of(epsilon))),
    st.sampled_from([0.3, 1, 2.000000001, 4, 6]),
    st.sampled_from([1.0, 2.0]),
)
a_roster = st.permutations(range(4)).flatmap(lambda order: st.integers(2, 4).map(lambda size: order[:size]))


class Silo:
    """Seven records somewhere; it can be away."""

    attributes = ()
    texts = ()
    has_time = False
    away = False
    version = 0

    def vector(self, grid: Grid) -> np.ndarray:
        return np.ones(grid.cells, dtype=np.int32)

    def totals(self, query: RangeQuery) -> dict[str, np.ndarray]:
        if self.away:
            raise SiloUnavailable("away")
        return {"count": np.array([7])}

    def snapshot(self) -> str:
        return str(self.version)


class FailingLedger(OwnerLedger):
    """A ledger whose disk is full for the next transaction when `fails` says so, and that knows what is on disk.

    The system may keep anything else in memory for long: a power cut leaves what the last flush wrote.
    """

    fails = False

    def __init__(self, path: Path) -> None:
        super().__init__(path, flushed_later=True)
        self.on_disk = self.files()

    def flush(self) -> None:
        if self.unflushed:
            super().flush()
            self.on_disk = self.files()

    def files(self) -> dict[Path, bytes]:
        log = self.path.with_name(f"{self.path.name}-wal")
        return {file: file.read_bytes() for file in (self.path, log) if file.exists()}

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:  # type: ignore[override]
        with super()._transaction() as connection:
            yield connection
            if self.fails:
                self.fails = False
                raise sqlite3.OperationalError("database or disk is full")


class OwnerMachine(RuleBasedStateMachine):
    """A provider that sends anything in any order, owners that write letters, faults, and kill -9."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.keys, self.silo = Keys("me"), Silo()
        self.path = Path(self.folder.name) / "ledger.db"
        self.everyone = [self.keys, *PEERS]
        self.commitments: dict[str, tuple[list[str], Accepted]] = {}
        self.numbers: dict[str, Revealed] = {}
        self.released: dict[bytes, set[bytes]] = {}
        self.said: list[tuple[str, Any]] = []
        self.ledger: FailingLedger | None = None
        self.start()

    def start(self) -> None:
        self.ledger = FailingLedger(self.path)
        self.ledger.set_cap(CAP)
        policy = Policy(
            highest_epsilon=Epsilon.of(5),
            modes=("trusted", "masked"),
            trusted_with=("*",),
            fewest_members=2,
            comparisons=2,
        )
        self.node = OwnerNode(
            self.keys, self.silo, public_map=MAP, protection=Protection(), policy=policy, ledger=self.ledger,
            noise=SecureNoise(), verify=believed, encode=encode,
        )  # fmt: skip

    def teardown(self) -> None:
        if getattr(self, "ledger", None) is not None:
            self.ledger.close()
            self.folder.cleanup()

    def tell(self, message: Any, sender: str = PROVIDER) -> list[Any]:
        """Send something to the owner, write down what leaves, and return what the provider hears."""
        self.said.append((sender, message))
        heard = []
        for to, payload in self.node.receive(sender, message):
            if kind_of(payload) in DATA:
                this = decode(payload, (*FromOwner.__args__, Letter))
                self.released.setdefault(this.round, set()).add(payload)
            if to == PROVIDER and kind_of(payload) != "Letter":
                heard.append(decode(payload, FromOwner.__args__))
        return heard

    # --- the provider -------------------------------------------------------------------------------------------------

    @rule(plan=a_plan, mode=st.sampled_from(["masked", "trusted"]), roster=a_roster, shift=st.integers(0, 4))
    def offer(self, plan: str, mode: str, roster: list[int], shift: int) -> None:
        names = [self.everyone[i].name for i in roster]
        position = names.index("me") if "me" in names and shift else 0
        certificates = [self.everyone[i].der for i in roster]
        for reply in self.tell(Offer(plan, mode, certificates, position, 1, shift % 2)):
            if isinstance(reply, Accepted):
                self.commitments[plan] = names, reply

    @rule(plan=a_plan, wrong=st.booleans())
    def reveal(self, plan: str, wrong: bool) -> None:
        names, own = self.commitments.get(plan, (["me", "ann"], Accepted(plan, bytes(32), bytes(64))))
        told = [own if name == "me" else self.of_peer(plan, names, name, Accepted) for name in names]
        for reply in self.tell(Reveal.of(plan, told[::-1] if wrong else told)):
            if isinstance(reply, Revealed):
                self.numbers[plan] = reply

    @rule(plan=a_plan, wrong=st.booleans())
    def seal(self, plan: str, wrong: bool) -> None:
        names, _ = self.commitments.get(plan, (["me", "ann"], None))
        own = self.numbers.get(plan, Revealed(plan, bytes(32), bytes(64)))
        told = [own if name == "me" else self.of_peer(plan, names, name, Revealed) for name in names]
        self.tell(Seal.of(plan, told[1:] if wrong else told))

    def of_peer(self, plan: str, names: list[str], name: str, kind: type) -> Any:
        """Return what another member says of a group, as far as there is one to sign for."""
        told = NUMBERS[name] if kind is Revealed else commitment(NUMBERS[name])
        group = self.node._groups.find(plan)
        if group is None:
            return kind(plan, told, bytes(64))
        said = group.stated("number" if kind is Revealed else "commitment", names.index(name), told)
        return kind(plan, told, next(peer for peer in PEERS if peer.name == name).sign(said))

    @rule(plan=a_plan, mode=st.sampled_from(["masked", "trusted"]), roster=a_roster)
    def form(self, plan: str, mode: str, roster: list[int]) -> None:
        """Form a group by the book."""
        self.offer(plan, mode, roster if 0 in roster else [0, *roster][:4], 2)
        self.reveal(plan, False)
        self.seal(plan, False)

    @rule(this=a_round, question=a_question, plan=st.none() | a_plan)
    def ask(self, this: bytes, question: WireQuery, plan: str | None) -> None:
        self.tell(Ask(this, question, plan, 1000, "ann"))

    @rule(this=a_round, positions=st.sets(st.integers(0, 4), max_size=4))
    def go(self, this: bytes, positions: set[int]) -> None:
        self.tell(Go(this, sorted(positions)))

    @rule(this=a_round)
    def go_with_everybody(self, this: bytes) -> None:
        known = self.node._open.find(this)
        self.tell(Go(this, list(range(2 if known is None else len(known.group.members)))))

    @rule(this=a_round, nano=st.sampled_from([1, 300_000_000, 3_000_000_000, 6_000_000_000]))
    def describe(self, this: bytes, nano: int) -> None:
        self.tell(Describe(this, 3, 3, nano))

    @rule(this=a_round, plan=a_plan, first=st.booleans())
    def other(self, this: bytes, plan: str, first: bool) -> None:
        self.tell(Check(this, this))
        self.tell(Relay(this, PEERS[0].der, 2, 2, 0.5, first, b""))
        self.tell(Leave(plan))

    @rule(which=st.integers(0, 400), sender=st.sampled_from([PROVIDER, "ann", "zoe"]))
    def repeat(self, which: int, sender: str) -> None:
        """Say something again, in the same name or another one."""
        if self.said:
            self.tell(self.said[which % len(self.said)][1], sender)

    # --- other owners -------------------------------------------------------------------------------------------------

    @rule(this=a_round, peer=st.sampled_from(PEERS), garbage=st.booleans())
    def letter(self, this: bytes, peer: Keys, garbage: bool) -> None:
        known = self.node._open.find(this)
        sealed = os.urandom(80)
        if known is not None and not garbage:
            names = [member.name for member in known.group.members]
            plain = (names.index(peer.name) if peer.name in names else 1).to_bytes(2, "big") + bytes(15) + b"\5"
            sealed = peer.seal(self.keys.card, owner_rounds._context(known), plain)
        assert self.tell(Letter(this, sealed), peer.name) == [] or known is not None

    # --- faults -------------------------------------------------------------------------------------------------------

    @rule()
    def fill_the_disk(self) -> None:
        self.ledger.fails = True

    @rule(away=st.booleans())
    def change_the_database(self, away: bool) -> None:
        self.silo.away = away
        self.silo.version += 1

    @rule()
    def kill(self) -> None:
        """End without a word, and start again from what is on disk."""
        self.ledger.close()
        self.start()

    @rule()
    def cut_the_power(self) -> None:
        """Lose whatever was not flushed, and start again."""
        left = self.ledger.on_disk
        self.ledger.close()
        for file in self.path.parent.glob(f"{self.path.name}*"):
            file.unlink()
        for file, content in left.items():
            file.write_bytes(content)
        self.start()

    # --- what always holds --------------------------------------------------------------------------------------------

    @invariant()
    def the_books_and_the_words_agree(self) -> None:
        if getattr(self, "ledger", None) is None:
            return
        with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as books:
            (spent,) = books.execute("SELECT coalesce(sum(nano), 0) FROM spent_by_all").fetchone()
            charges = books.execute("SELECT nano FROM entries WHERE purpose <> 'note'").fetchall()
            kept = dict(books.execute("SELECT id, reply FROM rounds"))
            (compared,) = books.execute("SELECT count(*) FROM comparisons").fetchone()
        assert spent == sum(nano for (nano,) in charges) <= CAP.nano
        assert len(charges) == len(kept)
        assert compared <= 2
        for this, payloads in self.released.items():
            assert payloads == {kept[this]}


OwnerMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
test_an_owner_keeps_its_books_whatever_comes = OwnerMachine.TestCase


def test_masked_values_are_not_kept_in_memory_for_ever(tmp_path: Path) -> None:
    mine = Keys("me")
    members = [keys.card for keys in (mine, *PEERS)]
    group = Group.of(Offer("p", "masked", [b""] * 4, 0), members, name="me", key=mine.exchange_key)
    group.neighbours = [1, 2, 3]
    for number in range(MOST_REMEMBERED + 5):
        group.masked_with(mine.owner_key, [0, 1, 2]).answer(number.to_bytes(32, "big"), [number])
    assert len(group.masked_with(mine.owner_key, [0, 1, 2]).answered) == 5


def test_a_leader_counts_when_all_letters_are_there_and_remembers_what_its_data_was_then(tmp_path: Path) -> None:
    machine = OwnerMachine()
    machine.begin()
    machine.form("p", "trusted", [0, 1])
    machine.ask(ROUNDS[0], WireQuery.of(RangeQuery("count", Circle(5, 5, 1), Epsilon.of(1))), "p")
    machine.tell(Go(ROUNDS[0], [0, 1]))
    machine.silo.version = 98
    machine.letter(ROUNDS[0], PEERS[0], False)
    assert machine.released[ROUNDS[0]]
    assert machine.tell(Check(ROUNDS[1], ROUNDS[0]))[0].same is True
    machine.silo.version = 99
    assert machine.tell(Check(ROUNDS[1], ROUNDS[0]))[0].same is False
    machine.teardown()


def test_the_machine_reaches_what_it_is_about() -> None:
    """Every kind of release happens, or the properties above would hold of nothing."""
    found = set()
    for mode, act in (("masked", OwnerMachine.go_with_everybody), ("trusted", _lead)):
        machine = OwnerMachine()
        machine.begin()
        machine.form("p", mode, [0, 1, 2])
        machine.ask(ROUNDS[0], WireQuery.of(RangeQuery("count", Circle(5, 5, 1), Epsilon.of(1))), "p")
        act(machine, ROUNDS[0])
        machine.ask(ROUNDS[1], WireQuery.of(RangeQuery("count", Circle(5, 5, 1), Epsilon.of(1))), None)
        machine.describe(ROUNDS[2], 300_000_000)
        machine.form("q", "trusted", [1, 0, 2])
        machine.ask(ROUNDS[3], WireQuery.of(RangeQuery("count", Circle(5, 5, 1), Epsilon.of(1))), "q")
        machine.the_books_and_the_words_agree()
        found |= {(mode, this[0], kind_of(payload)) for this, sent in machine.released.items() for payload in sent}
        machine.teardown()
    alike = {(1, "Noisy"), (2, "Described"), (3, "Letter")}
    assert found == {(mode, *each) for mode in ("masked", "trusted") for each in alike} | {
        ("masked", 0, "Masked"),
        ("trusted", 0, "Noisy"),
    }


def _lead(machine: OwnerMachine, this: bytes) -> None:
    machine.letter(this, PEERS[0], False)
    machine.letter(this, PEERS[1], False)
    machine.go_with_everybody(this)
