"""Whatever comes instead of a frame is a `ProtocolViolation`, and the session goes on as if it had not come."""

from __future__ import annotations

import copy
import hashlib
import random
import struct

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fedgroup.errors import ProtocolViolation
from fedgroup.secure.comparison import SecureComparison
from fedgroup.secure.frames import FrameKey, Outgoing
from fedgroup.secure.similarity import FirstOwner, SecondOwner, opened

MESSAGES = 100_000
COMPARISON = SecureComparison(4, 0.6, 4)
SESSION = COMPARISON.session(first=b"a", second=b"b", context=b"fuzz")
MINE = np.array([[1, 0, 0, 0], [0, 2, 0, 9], [0, 0, 0, 0]])
THEIRS = np.array([[2, 1, 0, 0], [3, 0, 0, 0], [1, 1, 1, 1]])
BITS = [True, False, False]
HEADER = struct.Struct(">4sBIQI")
TAG = 16
STRANGER = X25519PrivateKey.from_private_bytes(b"x" * 32)
Side = FirstOwner | SecondOwner


def started(session: bytes = SESSION, seed: int = 0) -> tuple[FirstOwner, SecondOwner, bytes]:
    """Two sides with two batches submitted, the same at every call, and the opening frame."""
    first = FirstOwner(COMPARISON, session, entropy=np.random.default_rng([seed, 1]).bytes)
    second = SecondOwner(COMPARISON, session, entropy=np.random.default_rng([seed, 2]).bytes)
    for _ in range(2):
        first.submit(MINE)
        second.submit(THEIRS)
    return first, second, second.start()[0]


def recorded(session: bytes = SESSION, seed: int = 0) -> list[bytes]:
    """All frames of a session in the order of their delivery."""
    first, second, opening = started(session, seed)
    queue, frames = [(first, opening)], []
    while queue:
        side, frame = queue.pop(0)
        frames.append(frame)
        queue += [(second if side is first else first, answer) for answer in side.receive(frame)]
    return frames


FRAMES = recorded()
FOREIGN = [recorded(COMPARISON.session(first=b"a", second=b"b", context=b"other"), 1), recorded(SESSION, 2)]


def resealed(frame: bytes, rng: random.Random) -> bytes:
    """The frame with an edited header or payload and a length and digest to match, or a stranger's tag."""
    magic, kind, batch, number, _ = HEADER.unpack_from(frame)
    payload = frame[HEADER.size : -TAG]
    edits = [
        (rng.randrange(256), batch, number, payload),
        (kind, rng.choice([batch + 1, rng.getrandbits(32)]), number, payload),
        (kind, batch, rng.choice([number + 1, 0, rng.getrandbits(64)]), payload),
        (kind, batch, number, payload[: rng.randrange(len(payload))]),
        (kind, batch, number, payload + rng.randbytes(rng.randrange(1, 64))),
        (kind, batch, number, rng.randbytes(len(payload))),
        (kind, batch, number, payload),
    ]
    kind, batch, number, payload = rng.choice(edits)
    data = HEADER.pack(magic, kind, batch, number, len(payload)) + payload
    if rng.random() < 0.5:
        return data + hashlib.sha256(data).digest()[:TAG]
    return data + STRANGERS_KEY.tag(rng.choice([1, 2]), number % 2**64, data)


STRANGERS_KEY = FrameKey(STRANGER, STRANGER.public_key().public_bytes_raw(), session=SESSION, opening=FRAMES[0])


def altered(frame: bytes, rng: random.Random) -> bytes:
    """The frame with bits flipped, bytes swapped, cut or added, or plain noise: its tag is not renewed."""
    changed = bytearray(frame)
    way = rng.randrange(6)
    if way == 0:
        for _ in range(rng.randrange(1, 9)):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    elif way == 1:
        changed = changed[: rng.randrange(len(changed))]
    elif way == 2:
        changed += rng.randbytes(rng.randrange(1, 64))
    elif way == 3:
        one, two = rng.randrange(len(changed)), rng.randrange(len(changed))
        changed[one], changed[two] = changed[two], changed[one]
    elif way == 4:
        changed[rng.randrange(HEADER.size)] = rng.randrange(256)
    else:
        changed = bytearray(rng.randbytes(rng.choice([0, 1, HEADER.size + TAG, len(changed)])))
    return bytes(changed)


def mutated(at: int, rng: random.Random) -> bytes:
    """Something other than the frame that is due."""
    while True:
        way = rng.random()
        if way < 0.6:
            message = altered(FRAMES[at], rng)
        elif way < 0.7:
            message = rng.choice(FRAMES)
        elif at == 0:
            continue  # anybody may open a session: those openings have a test of their own
        elif way < 0.8:
            message = rng.choice(FOREIGN)[at]
        else:
            message = resealed(FRAMES[at], rng)
        if message != FRAMES[at]:
            return message


def test_a_session_can_be_told_again_from_its_entropy():
    assert recorded() == FRAMES
    assert [frame[4] for frame in FRAMES] == [1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7]


def test_100_000_wrong_messages_are_violations_and_leave_the_session_as_it_was():
    rng = random.Random(1)
    first, second, opening = started()
    queue, count = [(first, opening)], 0
    for at in range(len(FRAMES)):
        side, frame = queue.pop(0)
        assert frame == FRAMES[at]
        for _ in range(-(-MESSAGES // len(FRAMES))):
            with pytest.raises(ProtocolViolation):
                side.receive(mutated(at, rng))
            count += 1
        queue += [(second if side is first else first, answer) for answer in side.receive(frame)]
    assert count >= MESSAGES
    assert [opened(first.shares[batch], second.shares[batch]).tolist() for batch in (0, 1)] == [BITS, BITS]


def test_an_altered_opening_is_noticed_at_the_latest_by_the_side_that_sent_the_true_one():
    rng = random.Random(2)
    _, second, opening = started()
    for at in range(400):
        stranger = FirstOwner(COMPARISON, SESSION)
        message = FOREIGN[at % 2][0] if at < 2 else resealed(opening, rng)
        try:
            answers = stranger.receive(message) if message != opening else []
        except ProtocolViolation:
            continue
        for answer in answers:
            with pytest.raises(ProtocolViolation):
                second.receive(answer)


def copied(side: Side) -> Side:
    """The side as it is, to be spoiled."""
    twin = copy.copy(side)
    for name, value in vars(side).items():
        if not name.startswith(("_own", "_base", "_perm", "_entropy")) and name != "comparison":
            setattr(twin, name, copy.copy(value))
    return twin


def test_a_side_that_seals_nonsense_gets_no_further_than_a_violation_and_crashes_nobody():
    """The right key, but any kind, batch and payload: a violation, or an answer to what looks like a proper frame."""
    rng = random.Random(3)
    first, second, opening = started()
    queue = [(first, opening)]
    for at in range(len(FRAMES)):
        side, frame = queue.pop(0)
        sender = second if side is first else first
        for _ in range(60 if at == 1 else 400):
            twin, outgoing = copied(side), copy.copy(sender._outgoing)
            outgoing._number = HEADER.unpack_from(frame)[3]
            assert sealed_nonsense(twin, outgoing, frame, rng) in ("refused", "taken")
        queue += [(sender, answer) for answer in side.receive(frame)]


def sealed_nonsense(side: Side, outgoing: Outgoing, frame: bytes, rng: random.Random) -> str:
    payload = frame[HEADER.size : -TAG]
    sizes = [0, 1, len(payload), rng.randrange(2 * len(payload))]
    kind = rng.choice([frame[4], rng.randrange(9)])
    payload = rng.choice([payload, altered(payload, rng), rng.randbytes(rng.choice(sizes))])
    message = outgoing.seal(kind, rng.choice([0, 1, 2, 2**32 - 1]), payload)
    try:
        side.receive(message)
    except ProtocolViolation:
        with pytest.raises(ProtocolViolation):
            side.receive(message)
        return "refused"
    return "taken"
