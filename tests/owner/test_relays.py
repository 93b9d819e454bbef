"""Secure comparisons of an epoch: one grid of one domain and one threshold to the last digit; many travel together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from fedgroup.errors import BudgetExhausted
from fedgroup.messages.asked import Relay, RelayMany
from fedgroup.owner.relays import Relays
from fedgroup.space import Box, PublicMap
from fedgroup.storage.owner_ledger import OwnerLedger
from owner_keys import Keys, believed

BOX = Box(0, 0, 10, 10)
OTHER = Keys("b")


def begin(ledger: OwnerLedger, number: int, *, threshold: float = 0.5, public_map: PublicMap = PublicMap(BOX)) -> None:  # noqa: B008
    relays = Relays(
        Keys("a"),
        ledger,
        verify=believed,
        public_map=public_map,
        vector=lambda grid: np.zeros(grid.cells, dtype=np.int32),
    )
    relays.receive(Relay(bytes([number]) * 16, OTHER.der, 2, 3, threshold, True), limit=9)


@pytest.mark.parametrize(
    "otherwise",
    [
        {"threshold": math.nextafter(0.5, 1)},
        {"threshold": 0.5000001},
        {"public_map": PublicMap(Box(0, 0, 10, math.nextafter(10, 11)))},
        {"public_map": PublicMap(BOX, lonlat=True)},
    ],
)
def test_a_second_threshold_or_domain_waits_for_another_epoch(
    otherwise: dict[str, object], ledger: OwnerLedger
) -> None:
    begin(ledger, 1)
    begin(ledger, 2)
    with pytest.raises(BudgetExhausted):
        begin(ledger, 3, **otherwise)
    assert ledger.comparisons() == 2
    ledger.begin_epoch()
    begin(ledger, 3, **otherwise)


def test_the_ledger_tells_what_is_compared(ledger: OwnerLedger) -> None:
    begin(ledger, 1, threshold=0.1 + 0.2, public_map=PublicMap(Box(-0.0, 1, 2, 3), lonlat=True))
    (entry,) = ledger.entries()
    assert "2x3 cells of 0.0,1.0,2.0,3.0 in degrees at 0.30000000000000004" in entry.question


class Two:
    """Two owners, and whoever carries the frames of their comparisons in steps."""

    def __init__(self, first: OwnerLedger, second: OwnerLedger, sessions: int = 3) -> None:
        self.keys = {"a": Keys("a"), "b": Keys("b")}
        self.sides = {
            name: Relays(
                self.keys[name],
                ledger,
                verify=believed,
                public_map=PublicMap(BOX),
                vector=lambda grid: np.arange(grid.cells, dtype=np.int32),
            )
            for name, ledger in (("a", first), ("b", second))
        }
        self.sessions = [bytes([number + 1]) * 16 for number in range(sessions)]
        self.steps = 0
        self.shares: dict[str, dict[bytes, int]] = {"a": {}, "b": {}}
        self.refused: dict[bytes, str] = {}

    def step(self, to: str, frames: list[tuple[bytes, bytes]]) -> RelayMany:
        self.steps += 1
        other = self.keys["b" if to == "a" else "a"].der
        relays = [Relay(session, other, 2, 3, 0.5, to == "a", frame) for session, frame in frames]
        return RelayMany(self.steps.to_bytes(16, "big"), relays)

    def say(self, to: str, frames: list[tuple[bytes, bytes]], *, times: int = 1) -> list[tuple[bytes, bytes]]:
        """Say a step to a side, perhaps more than once, and return the frames for the other side."""
        step = self.step(to, frames)
        replies = [self.sides[to].receive_many(step, limit=9) for _ in range(times)]
        assert all(reply == replies[0] for reply in replies)
        self.refused |= {refusal.about: refusal.reason for refusal in replies[0].refused}
        self.shares[to] |= {each.session: each.share for each in replies[0].relayed if each.share is not None}
        return [(each.session, frame) for each in replies[0].relayed for frame in each.frames]

    def begun(self) -> list[tuple[bytes, bytes]]:
        nothing = [(session, b"") for session in self.sessions]
        assert self.say("a", nothing) == []
        return self.say("b", nothing)

    def finished(self, frames: list[tuple[bytes, bytes]], turn: str = "a", **how: int) -> set[bytes]:
        """Carry frames until there are none, and return which comparisons came to a bit: all of equal vectors are 1."""
        while frames:
            frames = self.say(turn, frames, **how)
            turn = "b" if turn == "a" else "a"
        done = self.shares["a"].keys() & self.shares["b"].keys()
        assert all(self.shares["a"][each] ^ self.shares["b"][each] == 1 for each in done)
        return done


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    with closing(OwnerLedger(tmp_path / "one.db")) as first, closing(OwnerLedger(tmp_path / "other.db")) as second:
        yield Two(first, second)


def test_frames_of_many_comparisons_travel_together(two: Two) -> None:
    assert two.finished(two.begun()) == set(two.sessions)
    assert two.steps == 8  # two that begin, and one a frame, the first two of a batch together
    assert two.refused == {}


def test_a_step_that_is_said_again_gets_the_same_reply_and_counts_nothing(two: Two) -> None:
    assert two.finished(two.begun(), times=3) == set(two.sessions)


def test_frames_out_of_order_end_their_own_comparison_only(two: Two) -> None:
    frames = two.say("a", two.begun())
    frames = two.say("b", frames)
    one, *others = two.sessions
    changed = [each for each in frames if each[0] != one] + [each for each in frames if each[0] == one][::-1]
    assert two.finished(changed) == set(others)
    assert two.refused == {one: "protocol"}


def test_a_lost_frame_ends_its_own_comparison_only(two: Two) -> None:
    frames = two.say("b", two.say("a", two.begun()))
    one, *others = two.sessions
    lost = next(each for each in frames if each[0] == one)
    assert two.finished([each for each in frames if each is not lost]) == set(others)
    assert two.refused == {one: "protocol"}


def test_a_frame_in_another_step_again_ends_its_own_comparison_only(two: Two) -> None:
    begun = two.begun()
    frames = two.say("a", begun)
    one, *others = two.sessions
    assert two.say("a", begun[:1]) == []
    assert two.refused == {one: "protocol"}
    assert two.finished(frames, "b") == set(others)


def test_comparisons_of_a_step_end_at_the_cap(two: Two, ledger: OwnerLedger) -> None:
    relays = Relays(
        Keys("a"),
        ledger,
        verify=believed,
        public_map=PublicMap(BOX),
        vector=lambda grid: np.zeros(grid.cells, np.int32),
    )
    reply = relays.receive_many(two.step("a", [(session, b"") for session in two.sessions]), limit=2)
    assert [refusal.reason for refusal in reply.refused] == ["budget"]
    assert len(reply.relayed) == ledger.comparisons() == 2
