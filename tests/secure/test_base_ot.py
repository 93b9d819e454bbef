from __future__ import annotations

import hashlib

import nacl.bindings as sodium
import numpy as np
import pytest

from fedgroup.errors import ProtocolViolation
from fedgroup.secure.base_ot import POINT_BYTES, BaseReceiver, BaseSender

SESSION = b"s" * 32
CHOICES = [0, 1, 1, 0, 1, 0, 0, 1]
FIELD_PRIME = 2**255 - 19
IDENTITY = (1).to_bytes(32, "little")
LOW_ORDER = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"
BAD_POINTS = [
    IDENTITY,
    bytes(32),
    bytes.fromhex(LOW_ORDER),
    (FIELD_PRIME + 1).to_bytes(32, "little"),
    (2).to_bytes(32, "little"),
    b"\xff" * 32,
]


def entropy(seed: int):
    return np.random.default_rng(seed).bytes


def both(*, sender_session: bytes = SESSION, seed: int = 1) -> tuple[BaseReceiver, list[tuple[bytes, bytes]]]:
    sender = BaseSender(sender_session, entropy=entropy(seed))
    receiver = BaseReceiver(SESSION, CHOICES, sender_point=sender.point, entropy=entropy(seed + 1))
    return receiver, sender.keys(receiver.points)


def test_the_receiver_knows_the_key_of_its_choice_and_not_the_other():
    receiver, keys = both()
    assert receiver.keys == [pair[choice] for pair, choice in zip(keys, CHOICES, strict=True)]
    assert not set(receiver.keys) & {pair[1 - choice] for pair, choice in zip(keys, CHOICES, strict=True)}


def test_every_key_of_every_session_is_another():
    every = [key for seed in (1, 3) for pair in both(seed=seed)[1] for key in pair]
    assert len(set(every)) == len(every)


def test_keys_of_another_session_do_not_agree():
    receiver, keys = both(sender_session=b"t" * 32)
    assert not set(receiver.keys) & {key for pair in keys for key in pair}


def test_a_key_is_the_hash_of_session_index_both_points_and_the_shared_point():
    sender = BaseSender(SESSION, entropy=entropy(1))
    scalar = sodium.crypto_core_ed25519_scalar_reduce(entropy(2)(64))
    point = sodium.crypto_scalarmult_ed25519_base_noclamp(scalar)
    shared = sodium.crypto_scalarmult_ed25519_noclamp(scalar, sender.point)
    parts = b"fedgroup base OT v1" + SESSION + bytes(4) + sender.point + point + shared
    assert sender.keys(point)[0][0] == hashlib.sha256(parts).digest()[:16]


def test_points_are_valid_and_distinct_whatever_the_choice():
    receiver, _ = both()
    points = [receiver.points[at : at + POINT_BYTES] for at in range(0, len(receiver.points), POINT_BYTES)]
    assert len(set(points)) == len(CHOICES)
    assert all(sodium.crypto_core_ed25519_is_valid_point(point) for point in points)


@pytest.mark.parametrize("point", BAD_POINTS)
def test_a_point_outside_the_group_is_a_violation(point):
    sender = BaseSender(SESSION, entropy=entropy(1))
    with pytest.raises(ProtocolViolation):
        sender.keys(sender.point + point)
    with pytest.raises(ProtocolViolation):
        BaseReceiver(SESSION, [0], sender_point=point, entropy=entropy(2))


@pytest.mark.parametrize("size", [0, 1, 31, 33])
def test_half_a_point_is_a_violation(size):
    sender = BaseSender(SESSION, entropy=entropy(1))
    with pytest.raises(ProtocolViolation):
        BaseReceiver(SESSION, [1], sender_point=(2 * sender.point)[:size], entropy=entropy(2))
    with pytest.raises(ProtocolViolation):
        sender.keys(sender.point + sender.point[:-1])
