"""What an owner takes for the provider's log, message by message: forged, moved, replayed and unsigned ones are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fedgroup.messages.asked import Ask, Describe
from fedgroup.messages.logged import Chain, Head, Logged, asked_facts, described_facts
from fedgroup.messages.wire_query import WireQuery, WireRange
from fedgroup.owner.heads import Heads
from fedgroup.secure.chain import FIRST, canonical, digest_of, head_after, stated
from owner_keys import Keys

AT = "2026-01-01T00:00:00.000+00:00"
QUERY = WireQuery("count", WireRange("circle", [1.0, 2.0, 3.0]), 10**9)


class Book:
    """Keeps heads in memory."""

    def __init__(self) -> None:
        self.heads: list[Head] = []
        self.forks: list[Head] = []

    def last_head(self) -> tuple[int, bytes] | None:
        last = max(self.heads, key=lambda each: each.number, default=None)
        return None if last is None else (last.number, last.head)

    def note_head(self, head: Head) -> None:
        self.heads.append(head)

    def note_fork(self, head: Head, *, base: bytes, links: bytes) -> None:
        self.forks.append(head)


class Log:
    """A provider's log, and the questions in it; `forked` begins as another one does."""

    def __init__(self, keys: Keys, digests: tuple[bytes, ...] = ()) -> None:
        self.keys = keys
        self.digests = list(digests)
        self.heads = [FIRST]
        for number, digest in enumerate(digests):
            self.heads.append(head_after(number, self.heads[-1], digest))

    def asked(self, name: int, *, shown: int = 4, query: WireQuery = QUERY) -> Ask:
        number, round_id = len(self.digests), name.to_bytes(16, "big")
        self._add(asked_facts(round_id, query, at=AT, owners=3))
        return Ask(round_id, query, None, 1_000, logged=self._shown(number, shown))

    def described(self, name: int) -> Describe:
        number, round_id = len(self.digests), name.to_bytes(16, "big")
        self._add(described_facts(round_id, 2, 2, 10**9, at=AT, owners=3))
        return Describe(round_id, 2, 2, 10**9, logged=self._shown(number, 4))

    def chain(self, first: int) -> Chain:
        return Chain(first, b"".join(self.digests[first:]), self._signed(len(self.digests) - 1))

    def _add(self, facts: dict[str, Any]) -> None:
        self.digests.append(digest_of(canonical(facts)))
        self.heads.append(head_after(len(self.digests) - 1, self.heads[-1], self.digests[-1]))

    def _shown(self, number: int, shown: int) -> Logged:
        first = max(0, number - shown)
        links = b"".join(self.digests[first:number])
        return Logged(number, AT, 3, self.heads[first], links, self._signed(number))

    def _signed(self, number: int) -> bytes:
        return self.keys.sign(stated("city", number, self.heads[number + 1]))


@pytest.fixture
def keys() -> Keys:
    return Keys("provider")


@pytest.fixture
def log(keys: Keys) -> Log:
    return Log(keys)


def heads_of(book: Book, keys: Keys) -> Heads:
    heads = Heads(book, "city")
    heads.signed_by(lambda: keys.tls_key)
    return heads


def test_questions_are_admitted_in_the_order_of_the_log_late_ones_too_and_heads_are_kept(log: Log, keys: Keys) -> None:
    book = Book()
    heads = heads_of(book, keys)
    asked = [log.asked(name) for name in range(6)]
    assert all(heads.admits(asked[at]) for at in (0, 1, 4, 2, 3, 5, 5))
    assert heads.admits(log.described(9))
    assert {head.number: head.head for head in book.heads} == dict(enumerate(log.heads[1:]))
    assert heads_of(book, keys).admits(log.asked(10))  # as after a restart


FORGED: dict[str, Callable[[Ask], Ask]] = {
    "another question": lambda ask: replace(ask, query=replace(QUERY, epsilon_nano=2 * 10**9)),
    "another round": lambda ask: replace(ask, round=bytes(15) + b"\x63"),
    "another number": lambda ask: _with(ask, number=ask.logged.number + 1),
    "other owners": lambda ask: _with(ask, owners=4),
    "another time": lambda ask: _with(ask, at=AT.replace("2026", "2027")),
    "another base": lambda ask: _with(ask, base=b"\x01" * 32),
    "other links": lambda ask: _with(ask, links=ask.logged.links[32:] + bytes(32)),
    "no log": lambda ask: replace(ask, logged=None),
}


def _with(ask: Ask, **changed: Any) -> Ask:
    return replace(ask, logged=replace(ask.logged, **changed))


@pytest.mark.parametrize("forgery", FORGED)
def test_what_the_provider_did_not_sign_is_not_admitted(log: Log, keys: Keys, forgery: str) -> None:
    book = Book()
    heads = heads_of(book, keys)
    assert all(heads.admits(log.asked(name)) for name in range(3))
    ask = log.asked(3)
    assert not heads.admits(FORGED[forgery](ask))
    assert heads.admits(ask)
    assert not book.forks


def test_a_log_signed_by_another_key_or_for_another_federation_is_not_admitted(log: Log, keys: Keys) -> None:
    elsewhere = Heads(Book(), "town")
    elsewhere.signed_by(lambda: keys.tls_key)
    ask = log.asked(0)
    assert not elsewhere.admits(ask)
    assert not heads_of(Book(), Keys("mallory")).admits(ask)
    assert not Heads(Book(), "city").admits(ask)  # before the provider showed its certificate


def test_a_fork_that_the_provider_signed_is_refused_and_kept_as_proof(log: Log, keys: Keys) -> None:
    book = Book()
    heads = heads_of(book, keys)
    log.asked(0)
    fork = Log(keys, tuple(log.digests))
    assert heads.admits(log.asked(1))
    assert not heads.admits(fork.asked(2))  # the same number, another question
    assert not heads.admits(fork.asked(3))  # further on, over the other one
    assert [head.number for head in book.forks] == [1, 2]
    assert heads.admits(log.asked(4))


def test_a_replayed_head_and_one_too_far_on_are_refused_without_a_proof_of_anything(log: Log, keys: Keys) -> None:
    book = Book()
    heads = heads_of(book, keys)
    old = log.asked(0)
    for name in range(1, 9):
        latest = log.asked(name)
    assert heads.admits(latest)
    assert not heads.admits(old)  # older than what was shown with the latest
    for name in range(9, 20):
        far = log.asked(name)
    assert not heads.admits(far)
    assert not book.forks
    heads.follow(log.chain(9))
    assert heads.admits(log.asked(20))


def test_a_chain_leads_on_only_if_it_is_signed_and_begins_where_the_owner_is(log: Log, keys: Keys) -> None:
    heads = heads_of(Book(), keys)
    heads.follow(log_of(log, 3).chain(1))  # nothing seen yet
    assert heads.told(bytes(16)) == []
    assert heads.admits(log.asked(50))
    far = log_of(log, 9)
    heads.follow(far.chain(5))  # leaves something out
    assert heads.told(bytes(16))[0].number == 3
    with pytest.raises(Exception, match="signed"):
        heads.follow(replace(far.chain(4), signature=bytes(64)))
    with pytest.raises(Exception, match="signed"):
        heads.follow(replace(far.chain(4), links=far.chain(4).links[32:]))
    heads.follow(far.chain(4))
    assert heads.told(bytes(16))[0].number == len(far.digests) - 1


def log_of(log: Log, more: int) -> Log:
    for name in range(more):
        log.asked(100 + len(log.digests) + name)
    return log
