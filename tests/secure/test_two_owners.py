from __future__ import annotations

import numpy as np
import pytest

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.secure.comparison import SecureComparison
from fedgroup.secure.frames import MOST_BYTES
from fedgroup.secure.similarity import MOST_PAIRS, FirstOwner, SecondOwner, _Places, opened, product_rows

COMPARISON = SecureComparison(4, 0.6)
SESSION = COMPARISON.session(first=b"a", second=b"b", context=b"test")
AXIS, SLANTED, ZERO = [1, 0, 0, 0], [2, 1, 0, 0], [0, 0, 0, 0]
KINDS = range(9)


def sides(comparison: SecureComparison = COMPARISON, session: bytes = SESSION) -> tuple[FirstOwner, SecondOwner]:
    return FirstOwner(comparison, session), SecondOwner(comparison, session)


def settle(first: FirstOwner, second: SecondOwner, frames: list[bytes]) -> None:
    """Carry frames, the second side's first, until neither side has more to say."""
    turn = 0
    while frames:
        frames = [answer for frame in frames for answer in (first, second)[turn].receive(frame)]
        turn = 1 - turn


def met(comparison: SecureComparison = COMPARISON) -> tuple[FirstOwner, SecondOwner]:
    first, second = sides(comparison)
    settle(first, second, second.start())
    return first, second


def bits(first: FirstOwner, second: SecondOwner, batch: int = 0) -> list[bool]:
    return opened(first.shares[batch], second.shares[batch]).tolist()


def test_the_opened_bits_say_who_is_similar():
    first, second = met()
    first.submit(np.array([AXIS, AXIS, ZERO, SLANTED, ZERO]))
    settle(first, second, second.submit(np.array([SLANTED, AXIS[::-1], SLANTED, ZERO, ZERO])))
    assert bits(first, second) == [True, False, False, False, False]


def test_batches_submitted_before_and_after_the_start_are_all_decided():
    first, second = sides()
    for batch in range(4):
        first.submit(np.array([AXIS] * (batch + 1)))
    assert second.submit(np.array([SLANTED])) == []
    frames = second.start()
    assert second.submit(np.array([ZERO, SLANTED])) == []
    settle(first, second, frames)
    frames = second.submit(np.array([SLANTED] * 3)) + second.submit(np.array([ZERO] * 4))
    settle(first, second, frames)
    assert [bits(first, second, batch) for batch in range(4)] == [[True], [False, True], [True] * 3, [False] * 4]


def test_the_opening_is_the_same_however_often_it_is_asked_for():
    first, second = sides()
    assert second.start() == second.start()
    settle(first, second, second.start())


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((0, 4), dtype=np.int64),
        np.zeros((1, 3), dtype=np.int64),
        np.zeros(4, dtype=np.int64),
        np.array([[1, 2, 3, -1]]),
        np.array([[0.5, 1.0, 2.0, 3.0]]),
        np.zeros((MOST_PAIRS + 1, 4), dtype=np.int64),
    ],
)
def test_a_bad_batch_is_refused_and_the_next_one_served(bad):
    first, second = met()
    for side in (first, second):
        with pytest.raises(InvalidInput):
            side.submit(bad)
    first.submit(np.array([AXIS]))
    settle(first, second, second.submit(np.array([SLANTED])))
    assert bits(first, second) == [True]


def test_a_batch_too_large_for_a_frame_is_refused_where_it_is_submitted():
    comparison = SecureComparison(4096, 0.5, 16)
    assert 4 * product_rows(comparison, 1024) == MOST_BYTES
    side = FirstOwner(comparison, SESSION)
    with pytest.raises(InvalidInput, match="smaller batches"):
        side.submit(np.zeros((1024, 4096), dtype=np.int8))


@pytest.mark.parametrize("session", [b"", b"short", SESSION + b"x"])
def test_a_session_id_of_another_length_is_invalid(session):
    for side in (FirstOwner, SecondOwner):
        with pytest.raises(InvalidInput):
            side(COMPARISON, session)


@pytest.mark.parametrize(("mine", "theirs"), [(1, 2), (2, 1), (1, 4), (4, 1), (5, 64), (64, 5), (4, 5)])
def test_batches_of_different_sizes_end_the_session_without_a_bit(mine, theirs):
    """1 to 4 pairs of 4 cells of 8 bits fill the same number of stream blocks, so the size of COUNTS says nothing."""
    first, second = met()
    frames = []
    for own, other in [(mine, theirs), (3, 3), (3, 3)]:
        first.submit(np.array([AXIS] * own))
        frames += second.submit(np.array([SLANTED] * other))
    refused, turn = 0, 0
    while frames:
        answers = []
        for frame in frames:
            try:
                answers += (first, second)[turn].receive(frame)
            except ProtocolViolation:
                refused += 1
        frames, turn = answers, 1 - turn
    assert refused >= 3
    assert not first.shares
    assert not second.shares


@pytest.mark.parametrize("other", [SecureComparison(5, 0.6), SecureComparison(4, 0.7), SecureComparison(4, 0.6, 4)])
def test_sides_with_different_parameters_do_not_meet(other):
    names = {"first": b"a", "second": b"b", "context": b""}
    first, second = FirstOwner(COMPARISON, COMPARISON.session(**names)), SecondOwner(other, other.session(**names))
    with pytest.raises(ProtocolViolation):
        settle(first, second, second.start())


def test_counts_for_a_batch_nobody_submitted_end_the_session():
    first, second = met()
    frames = second.submit(np.array([SLANTED]))
    with pytest.raises(ProtocolViolation):
        first.receive(frames[0])
    first.submit(np.array([AXIS]))
    with pytest.raises(ProtocolViolation):
        first.receive(second._outgoing.seal(4, 0, frames[0][21:-16]))


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_a_sealed_frame_that_is_not_due_is_a_violation(stage, kind):
    """Stage n: n frames of a batch have been taken; the next is the other side's own, but of the wrong kind."""
    first, second = met()
    first.submit(np.array([AXIS]))
    frames = second.submit(np.array([SLANTED]))
    for step in range(stage):
        frames = (first, second)[step % 2].receive(frames[0])
    receiver, sender = ((first, second), (second, first))[stage % 2]
    if kind != 4 + stage:
        with pytest.raises(ProtocolViolation):
            receiver.receive(sender._outgoing.seal(kind, 0, frames[0][21:-16]))
        assert not receiver.shares
    else:
        receiver.receive(frames[0])


@pytest.mark.parametrize("kind", [4, 5, 6, 7])
def test_a_batch_is_decided_once_even_after_its_shares_were_taken(kind):
    first, second = met()
    first.submit(np.array([AXIS]))
    settle(first, second, second.submit(np.array([SLANTED])))
    first.shares.clear()
    second.shares.clear()
    size = {4: 512, 5: 128, 6: 512, 7: 16 + 31 * 32}[kind]
    receiver, sender = (first, second) if kind in (4, 6) else (second, first)
    with pytest.raises(ProtocolViolation):
        receiver.receive(sender._outgoing.seal(kind, 0, bytes(size)))


@pytest.mark.parametrize("point", [bytes(32), (1).to_bytes(32, "little"), b"\xff" * 32])
def test_a_rejected_curve_point_is_a_violation_on_both_sides(point):
    first, second = sides()
    opening = second.start()[0]
    choices = first.receive(opening)[0][21:-16]
    first._outgoing._number = 0
    with pytest.raises(ProtocolViolation):
        second.receive(first._outgoing.seal(2, 0, choices[:-32] + point))
    stranger = FirstOwner(COMPARISON, SESSION)
    with pytest.raises(ProtocolViolation):
        stranger.receive(SecondOwner(COMPARISON, SESSION)._outgoing.seal(1, 0, opening[21:-48] + point))


def test_nothing_is_used_twice_in_a_session():
    places = _Places(COMPARISON)
    rng = np.random.default_rng(1)
    batches = [places.add(int(pairs)) for pairs in rng.integers(1, 200, 50)]
    counters: list[int] = []
    tweaks: list[int] = []
    for place in batches:
        rows = product_rows(COMPARISON, place.pairs)
        counters += range(place.product_counter, place.product_counter - (-rows // 128))
        counters += range(place.share_counter, place.share_counter - (-place.pairs * 32 // 128))
        tweaks += range(place.product_tweak, place.product_tweak + rows)
        tweaks += range(place.gate_tweak, place.gate_tweak + 2 * 31 * place.pairs)
    assert len(set(counters)) == len(counters)
    assert len(set(tweaks)) == len(tweaks)


@pytest.mark.parametrize("shares", [([0, 1], [0]), ([0, 2], [0, 0]), ([0, 0], [0, 255])])
def test_shares_that_are_not_a_bit_per_pair_each_are_a_violation(shares):
    with pytest.raises(ProtocolViolation):
        opened(*(np.array(share, dtype=np.uint8) for share in shares))
