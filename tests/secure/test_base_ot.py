from __future__ import annotations

import hashlib
import itertools

import nacl.bindings as sodium
import numpy as np
import pytest

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.secure.base_ot import KEY_BYTES, MOST_KEYS, BaseReceiver, BaseSender
from fedgroup.secure.edwards import ORDER, POINT_BYTES
from fedgroup.secure.field import PRIME

SESSION = b"s" * 32
CHOICES = [0, 1, 1, 0, 1, 0, 0, 1]
IDENTITY = (1).to_bytes(32, "little")
LOW_ORDER = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"
BAD_POINTS = [
    IDENTITY,
    bytes(32),
    bytes.fromhex(LOW_ORDER),
    (PRIME + 1).to_bytes(32, "little"),
    (2).to_bytes(32, "little"),
    b"\xff" * 32,
]


def entropy(seed: int):
    return np.random.default_rng(seed).bytes


def both(
    choices: list[int] = CHOICES,
    *,
    among: int = 2,
    size: int = KEY_BYTES,
    sender_session: bytes = SESSION,
    seed: int = 1,
) -> tuple[BaseReceiver, list[list[bytes]]]:
    sender = BaseSender(sender_session, entropy=entropy(seed))
    receiver = BaseReceiver(SESSION, choices, sender_point=sender.point, entropy=entropy(seed + 1), size=size)
    return receiver, sender.keys(receiver.points, among=among, size=size)


def scalar(number: int) -> bytes:
    return (number % ORDER).to_bytes(32, "little")


def drawn(seed: int) -> int:
    return int.from_bytes(entropy(seed)(64), "little") % ORDER


@pytest.mark.parametrize("among", [2, 4, 16])
def test_the_receiver_knows_the_key_of_its_choice_and_no_other(among):
    choices = list(range(among)) * 2
    receiver, keys = both(choices, among=among)
    assert receiver.keys == [some[choice] for some, choice in zip(keys, choices, strict=True)]
    others = {key for some, choice in zip(keys, choices, strict=True) for key in some[:choice] + some[choice + 1 :]}
    assert len(others) == len(choices) * (among - 1)
    assert not set(receiver.keys) & others


def test_every_key_of_every_session_is_another():
    every = [key for seed in (1, 3) for some in both(among=4, seed=seed)[1] for key in some]
    assert len(set(every)) == len(every)


def test_keys_of_another_session_do_not_agree():
    receiver, keys = both(sender_session=b"t" * 32)
    assert not set(receiver.keys) & {key for some in keys for key in some}


@pytest.mark.parametrize("size", [16, 32])
def test_a_key_is_the_hash_of_session_both_points_index_and_the_shared_point(size):
    # All of it by libsodium: A = r G, S = 8 A, P = k G + c S and 8 r (P - c' S) for every c'.
    r, k = drawn(1), drawn(2)
    base = sodium.crypto_scalarmult_ed25519_base_noclamp
    sender, shift = base(scalar(r)), 64 * r * r
    receiver, keys = both([3, 2], among=MOST_KEYS, size=size)
    first = base(scalar(k + 3 * 8 * r))
    assert receiver.points[:POINT_BYTES] == first
    before = b"fedgroup base OT v2" + SESSION + sender + bytes(4) + first
    shared = [base(scalar(8 * r * k + (3 - other) * shift)) for other in range(MOST_KEYS)]
    assert keys[0] == [hashlib.sha256(before + point).digest()[:size] for point in shared]
    assert receiver.keys[0] == keys[0][3]


def test_what_is_sent_is_a_point_of_the_group_whatever_the_choice():
    receiver, _ = both(list(range(MOST_KEYS)), among=MOST_KEYS)
    points = [receiver.points[at : at + POINT_BYTES] for at in range(0, len(receiver.points), POINT_BYTES)]
    assert len(set(points)) == MOST_KEYS
    assert all(sodium.crypto_core_ed25519_is_valid_point(point) for point in points)


def test_any_choice_could_have_sent_the_same_points():
    # P = k G + c S is as likely with every c: the scalar k - (c' - c) 8 r sends the same point with c'.
    r = drawn(1)
    sender = BaseSender(SESSION, entropy=entropy(1))
    sent = {
        BaseReceiver(
            SESSION,
            [choice],
            sender_point=sender.point,
            entropy=lambda size, c=choice: ((drawn(2) - c * 8 * r) % ORDER).to_bytes(size, "little"),
        ).points
        for choice in range(MOST_KEYS)
    }
    assert len(sent) == 1


def test_the_points_sent_are_spread_alike_for_every_choice():
    # 512 points a choice and 16 bits of each: 64 counts of mean 256 and deviation 11.3, so 6 deviations are passed
    # by chance once in 8 million runs. The sign and the lowest bits of y would tell a choice first.
    sender = BaseSender(SESSION, entropy=entropy(1))
    for choice, seed in zip((0, 1, 2, 15), itertools.count(10), strict=False):
        sent = BaseReceiver(SESSION, [choice] * 512, sender_point=sender.point, entropy=entropy(seed)).points
        bits = np.unpackbits(np.frombuffer(sent, dtype=np.uint8).reshape(-1, POINT_BYTES)[:, [0, -1]], axis=1)
        assert (abs(bits.sum(axis=0, dtype=int) - 256) < 68).all()


def test_a_choice_that_no_transfer_has_is_refused():
    for choice in (-1, MOST_KEYS):
        with pytest.raises(InvalidInput):
            both([choice])


@pytest.mark.parametrize("point", BAD_POINTS)
def test_a_point_without_a_part_in_the_group_is_a_violation(point):
    sender = BaseSender(SESSION, entropy=entropy(1))
    with pytest.raises(ProtocolViolation):
        sender.keys(sender.point + point, among=4)
    with pytest.raises(ProtocolViolation):
        BaseReceiver(SESSION, [0], sender_point=point, entropy=entropy(2))


def test_a_part_of_small_order_in_the_senders_point_does_not_show_in_what_is_sent():
    # Without the factor 8, P = k G + c A would leave c times that part beside the group.
    tainted = sodium.crypto_core_ed25519_add(BaseSender(SESSION, entropy=entropy(1)).point, bytes.fromhex(LOW_ORDER))
    receiver = BaseReceiver(SESSION, list(range(MOST_KEYS)), sender_point=tainted, entropy=entropy(2))
    points = [receiver.points[at : at + POINT_BYTES] for at in range(0, len(receiver.points), POINT_BYTES)]
    assert all(sodium.crypto_core_ed25519_is_valid_point(point) for point in points)


def test_a_part_of_small_order_in_the_receivers_point_does_not_show_in_the_keys():
    # Without the factor 8, what r does to that part would show r modulo 8.
    sender = BaseSender(SESSION, entropy=entropy(1))
    receiver = BaseReceiver(SESSION, [0], sender_point=sender.point, entropy=entropy(2))
    tainted = sodium.crypto_core_ed25519_add(receiver.points, bytes.fromhex(LOW_ORDER))
    before = b"fedgroup base OT v2" + SESSION + sender.point + bytes(4) + tainted
    shared = sodium.crypto_scalarmult_ed25519_base_noclamp(scalar(8 * drawn(1) * drawn(2)))
    assert sender.keys(tainted)[0][0] == hashlib.sha256(before + shared).digest()[:KEY_BYTES]


@pytest.mark.parametrize("size", [0, 1, 31, 33, 64])
def test_half_a_point_is_a_violation(size):
    sender = BaseSender(SESSION, entropy=entropy(1))
    with pytest.raises(ProtocolViolation):
        BaseReceiver(SESSION, [1], sender_point=(2 * sender.point)[:size], entropy=entropy(2))
    with pytest.raises(ProtocolViolation):
        sender.keys(sender.point + sender.point[:-1])
