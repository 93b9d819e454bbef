"""Secure similarity against numpy, between processes, and in what its messages give away.

Seeds are fixed, so a test that passed once passes always; a correct protocol under fresh seeds fails a test of
randomness here with a chance of at most 1e-6.
"""

from __future__ import annotations

import multiprocessing
import queue
import socket
import struct
import threading
from itertools import pairwise

import nacl.bindings as sodium
import numpy as np
import pytest
from scipy import stats

from fedgroup.secure.comparison import SecureComparison
from fedgroup.secure.similarity import FirstOwner, SecondOwner, opened

FALSE_ALARM = 1e-6
SIGMAS = float(stats.norm.isf(FALSE_ALARM / 2))
HELLO, CHOICES, TREES, COUNTS, PRODUCTS, SHARES, GATES = range(1, 8)
HEADER, TAG = 21, 16


class Conversation:
    """Two sides in one process; where asked to, it keeps every payload by its kind."""

    def __init__(self, comparison: SecureComparison, *, seed: int = 0, keep: bool = False) -> None:
        session = comparison.session(first=b"a", second=b"b", context=seed.to_bytes(4, "big"))
        self.first = FirstOwner(comparison, session, entropy=np.random.default_rng([seed, 1]).bytes)
        self.second = SecondOwner(comparison, session, entropy=np.random.default_rng([seed, 2]).bytes)
        self.payloads: dict[int, list[bytes]] = {kind: [] for kind in range(1, 8)}
        self._keep = keep
        self._settle(self.second.start())

    def _settle(self, frames: list[bytes]) -> None:
        turn = 0
        while frames:
            for frame in frames if self._keep else []:
                self.payloads[frame[4]].append(frame[HEADER:-TAG])
            frames = [answer for frame in frames for answer in (self.first, self.second)[turn].receive(frame)]
            turn = 1 - turn

    def shares(self, mine: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.first.submit(mine)
        self._settle(self.second.submit(theirs))
        return self.first.shares.popitem()[1], self.second.shares.popitem()[1]


def secure_bits(comparison: SecureComparison, mine: np.ndarray, theirs: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """The opened bits, from batches of 64 to 256 pairs."""
    talk = Conversation(comparison, seed=seed)
    ends = np.cumsum(np.random.default_rng(seed).integers(64, 257, len(mine) // 64 + 1))
    cuts = [0, *ends[ends < len(mine)].tolist(), len(mine)]
    return np.concatenate([opened(*talk.shares(mine[a:b], theirs[a:b])) for a, b in pairwise(cuts)])


def cosines(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    a, b = mine.astype(np.float64), theirs.astype(np.float64)
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return (a * b).sum(axis=1) / np.where(norms > 0, norms, 1)


def similar_pairs(count: int, cells: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors with much in common, so that their similarities spread around 0.6; one in 50 is zero."""
    rng = np.random.default_rng(seed)
    common = rng.poisson(0.6, (count, cells))
    mine, theirs = (common + rng.poisson(0.4, (count, cells)) * rng.integers(0, 3, (count, 1)) for _ in range(2))
    return mine * (rng.random((count, 1)) > 0.02), theirs * (rng.random((count, 1)) > 0.02)


def assert_as_numpy(comparison: SecureComparison, mine: np.ndarray, theirs: np.ndarray, *, doubt: float = 0.0) -> None:
    """No pair at or below the threshold is a "yes", none above it by the margin a "no"; `doubt` widens both."""
    bits, cosine = secure_bits(comparison, mine, theirs), cosines(mine, theirs)
    assert not bits[cosine <= comparison.threshold - doubt].any()
    assert bits[cosine > comparison.threshold + comparison.margin + doubt].all()


@pytest.mark.parametrize(
    ("count", "cells", "width", "threshold"),
    [
        (44_000, 25, 8, 0.5),
        (10_000, 25, 8, 0.8),
        (8_000, 9, 8, 0.0),
        (6_000, 16, 4, 0.95),
        (4_000, 100, 8, 0.6),
        (4_000, 33, 16, 0.7),
        (400, 1024, 8, 0.5),
        (40, 4096, 16, 0.5),
    ],
)
def test_bits_of_random_pairs_are_those_of_numpy(count, cells, width, threshold):
    mine, theirs = similar_pairs(count, cells, cells)
    assert_as_numpy(SecureComparison(cells, threshold, width), mine, np.minimum(theirs, 2**width - 1))


@pytest.mark.parametrize("width", range(1, 17))
def test_bits_of_full_single_equal_and_orthogonal_vectors_are_those_of_numpy(width):
    cells, most = 12, 2**width - 1
    rng = np.random.default_rng(width)
    several = rng.integers(0, most + 1, (100, cells)) * (rng.random((100, cells)) < 0.5)
    half = np.arange(cells) < cells // 2
    full, single = np.full((100, cells), most), np.eye(cells, dtype=np.int64)[rng.integers(0, cells, 100)] * most
    chosen = [several, several * half, several * ~half, full, single, full * 0, several * 1000]
    mine = np.concatenate([a for a in chosen for _ in chosen])
    theirs = np.concatenate([b for _ in chosen for b in [*chosen[:-1], full]])
    assert_as_numpy(SecureComparison(cells, 0.3, width), mine, theirs)


def test_bits_of_pairs_with_one_cell_are_those_of_numpy():
    mine, theirs = np.random.default_rng(1).integers(0, 3, (2, 2000, 1)) * 100
    for threshold in (0.0, 0.5, 1 - 2**-10):
        assert np.array_equal(secure_bits(SecureComparison(1, threshold), mine, theirs), cosines(mine, theirs) > 0)


def test_pairs_near_the_threshold_but_beyond_the_margin_are_right():
    comparison = SecureComparison(25, 0.5)
    mine, theirs = np.random.default_rng(2).poisson(1.0, (2, 600_000, 25))
    distance = cosines(mine, theirs) - comparison.threshold
    near = np.abs(distance) < 20 * comparison.margin
    assert near.sum() > 200
    assert_as_numpy(comparison, mine[near], theirs[near])


def test_pairs_exactly_at_the_threshold_are_always_no():
    rng = np.random.default_rng(3)
    theirs = np.zeros((3000, 10), dtype=np.int64)
    theirs[:, :2] = np.array([3, 4]) * rng.integers(1, 64, (3000, 1))
    mine = np.eye(10, dtype=np.int64)[np.zeros(3000, dtype=np.int64)] * rng.integers(1, 10**6, (3000, 1))
    order = rng.permuted(np.tile(np.arange(10), (3000, 1)), axis=1)
    mine, theirs = np.take_along_axis(mine, order, axis=1), np.take_along_axis(theirs, order, axis=1)
    assert not secure_bits(SecureComparison(10, 0.6), mine, theirs).any()
    assert not secure_bits(
        SecureComparison(10, 0.6), theirs, theirs * 0 + mine // mine.max(axis=1, keepdims=True) * 5
    ).any()
    assert secure_bits(SecureComparison(10, 0.6 - 1e-4), mine, theirs).all()


def test_scaled_counts_decide_as_the_exact_ones_outside_the_scalings_doubt():
    mine, theirs = similar_pairs(15_000, 25, 4)
    factors = np.random.default_rng(4).integers(1, 10**5, (2, 15_000, 1))
    assert (theirs * factors[1]).max() > 2**16
    assert_as_numpy(SecureComparison(25, 0.5), mine * factors[0], theirs * factors[1], doubt=5 / 2**8)


def written(connection: socket.socket, frame: bytes) -> None:
    connection.sendall(struct.pack(">I", len(frame)) + frame)


def read(connection: socket.socket) -> bytes:
    """The next frame."""

    def exactly(size: int) -> bytes:
        parts = b""
        while len(parts) < size:
            got = connection.recv(size - len(parts))
            assert got, "the other process went away"
            parts += got
        return parts

    return exactly(struct.unpack(">I", exactly(4))[0])


def converse(side: FirstOwner | SecondOwner, connection: socket.socket, frames: list[bytes], batches: int) -> None:
    """Exchange frames until every batch is decided; a thread writes, so that two full pipes never wait in a ring."""
    outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    writing = threading.Thread(
        target=lambda: [written(connection, frame) for frame in iter(outbox.get, None)], daemon=True
    )
    writing.start()
    while True:
        for frame in frames:
            outbox.put(frame)
        if len(side.shares) == batches:
            break
        frames = side.receive(read(connection))
    outbox.put(None)
    writing.join(60)


def second_owner(connection: socket.socket, session: bytes, batches: list[np.ndarray]) -> None:
    """The other process: submits all batches at once, then hands its shares over."""
    side = SecondOwner(SecureComparison(25, 0.5), session)
    for batch in batches:
        side.submit(batch)
    converse(side, connection, side.start(), len(batches))
    for number in range(len(batches)):
        written(connection, side.shares[number].tobytes())
    connection.close()


def test_two_processes_with_batches_in_flight_agree_with_numpy():
    comparison = SecureComparison(25, 0.5)
    mine, theirs = similar_pairs(1000, 25, 5)
    session = comparison.session(first=b"a", second=b"b", context=b"pipe")
    batches = [(mine[at : at + 128], theirs[at : at + 128]) for at in range(0, 1000, 128)]
    side = FirstOwner(comparison, session)
    for batch, _ in batches:
        side.submit(batch)
    here, there = socket.socketpair()
    with here, there:
        here.settimeout(60)
        others = (there, session, [batch for _, batch in batches])
        child = multiprocessing.get_context("spawn").Process(target=second_owner, args=others)
        child.start()
        there.close()
        converse(side, here, [], len(batches))
        shares = [np.frombuffer(read(here), dtype=np.uint8) for _ in batches]
        child.join(60)
    bits = np.concatenate([opened(side.shares[batch], share) for batch, share in enumerate(shares)])
    assert child.exitcode == 0
    assert np.array_equal(bits, cosines(mine, theirs) > comparison.threshold)


def talks(mine: np.ndarray, theirs: np.ndarray, *, sessions: int, batches: int, seed: int) -> list[Conversation]:
    """Sessions of fresh randomness about the same two inputs, again and again."""
    many = [Conversation(SecureComparison(4, 0.5, 4), seed=seed + at, keep=True) for at in range(sessions)]
    for talk in many:
        for _ in range(batches):
            talk.shares(mine, theirs)
    return many


ZEROS, FULL = np.zeros((8, 4), dtype=np.int64), np.full((8, 4), 15)


@pytest.fixture(scope="module")
def transcripts() -> dict[str, list[Conversation]]:
    inputs = {"zeros": (ZEROS, ZEROS), "mine full": (FULL, ZEROS), "theirs full": (ZEROS, FULL), "full": (FULL, FULL)}
    return {
        name: talks(*pair, sessions=12, batches=24, seed=1000 * at) for at, (name, pair) in enumerate(inputs.items())
    }


@pytest.mark.parametrize("inputs", ["zeros", "mine full", "theirs full", "full"])
@pytest.mark.parametrize("kind", [TREES, COUNTS, PRODUCTS, SHARES, GATES])
def test_the_bytes_of_every_kind_of_message_are_uniform(transcripts, kind, inputs):
    sent = b"".join(payload for talk in transcripts[inputs] for payload in talk.payloads[kind])
    assert len(sent) > 40_000
    seen = np.bincount(np.frombuffer(sent, dtype=np.uint8), minlength=256)
    assert stats.chisquare(seen).pvalue > FALSE_ALARM


def test_keys_nonces_and_points_are_valid_and_never_the_same(transcripts):
    everything: list[bytes] = []
    for talk in [talk for many in transcripts.values() for talk in many]:
        hello, choices = talk.payloads[HELLO][0], talk.payloads[CHOICES][0]
        points = [hello[48:]] + [choices[at : at + 32] for at in range(48, len(choices), 32)]
        assert all(sodium.crypto_core_ed25519_is_valid_point(point) for point in points)
        everything += [hello[:32], hello[32:48], choices[:32], choices[32:48], *points]
    assert len(everything) == 48 * (4 + 65)
    assert len(set(everything)) == len(everything)


def bit_rows(many: list[Conversation], kind: int) -> np.ndarray:
    """One row of bits per message of a kind."""
    payloads = [payload for talk in many for payload in talk.payloads[kind]]
    return np.unpackbits(np.array([np.frombuffer(payload, dtype=np.uint8) for payload in payloads]), axis=1)


@pytest.mark.parametrize("other", ["mine full", "theirs full", "full"])
@pytest.mark.parametrize("kind", [TREES, COUNTS, PRODUCTS, SHARES, GATES])
def test_a_distinguisher_of_two_inputs_stays_at_chance(transcripts, kind, other):
    """Half of the messages train a linear distinguisher of bit means; on the other half it guesses like a coin."""
    one, two = bit_rows(transcripts["zeros"], kind).astype(float), bit_rows(transcripts[other], kind).astype(float)
    half = len(one) // 2
    weights = one[:half].mean(axis=0) - two[:half].mean(axis=0)
    middle = (one[:half].mean(axis=0) + two[:half].mean(axis=0)) @ weights / 2
    right = np.concatenate([one[half:] @ weights > middle, two[half:] @ weights <= middle])
    assert stats.binomtest(int(right.sum()), len(right)).pvalue > FALSE_ALARM
    apart = (one.mean(axis=0) - two.mean(axis=0)) ** 2 / (0.25 * 2 / len(one))
    # Few messages make the sum of squares not quite chi-square, on the safe side: its tail is lighter.
    assert stats.chi2.sf(apart.sum(), apart.size) > FALSE_ALARM


def test_each_share_alone_is_a_fair_coin_that_says_nothing_about_the_bit():
    mine, theirs = similar_pairs(20_000, 4, 6)
    talk = Conversation(SecureComparison(4, 0.8), seed=6)
    shares = [talk.shares(mine[at : at + 250], theirs[at : at + 250]) for at in range(0, 20_000, 250)]
    first, second = (np.concatenate([pair[side] for pair in shares]).astype(bool) for side in (0, 1))
    bits = first ^ second
    assert 0.2 < bits.mean() < 0.8
    for share in (first, second):
        for subset in (share, share[bits], share[~bits]):
            assert abs(subset.mean() - 0.5) < SIGMAS * 0.5 / np.sqrt(len(subset))


def test_message_sizes_do_not_depend_on_the_counts(transcripts):
    sizes = {
        str([[len(payload) for payload in talk.payloads[kind]] for kind in talk.payloads])
        for many in transcripts.values()
        for talk in many
    }
    assert len(sizes) == 1


def test_no_count_is_in_any_frame_or_printed():
    comparison = SecureComparison(8, 0.5, 16)
    mine, theirs = np.random.default_rng(7).integers(2**15, 2**16, (2, 4, 8))
    talk = Conversation(comparison, seed=7, keep=True)
    talk.shares(mine, theirs)
    forms = [mine, theirs, comparison.unit_vectors(mine), comparison.scaled_counts(theirs)]
    sent = b"".join(payload for kind in talk.payloads.values() for payload in kind)
    for row in [row for form in forms for row in form]:
        for kind in ("<u2", "<u4", "<i8", "<f8", ">u4"):
            assert row[:3].astype(kind).tobytes() not in sent
    printed = repr(talk.first) + repr(talk.second) + repr(talk.first._places) + repr(comparison)
    assert not any(str(count) in printed + repr(sent) for count in np.concatenate([mine, theirs]).ravel())
