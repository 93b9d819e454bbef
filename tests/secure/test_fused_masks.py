"""Loops of masked rounds with AES inside give what the plain definitions give, bit for bit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from dealt_rounds import Dealt
from fedgroup.errors import InvalidInput
from fedgroup.secure import masking
from fedgroup.secure.aes import is_supported, round_keys
from fedgroup.secure.masking import pair_masks, round_keys_of, sum_of_pair_masks
from fedgroup.secure.pair_words import box_pads, dealt_to, keys_with, opened_by, sealed_to

CONTEXT, ROSTER = (hashlib.sha256(what).digest() for what in (b"a round", b"a roster"))
ROUND = b"r" * 16


@contextmanager
def without_aes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be on a processor without AES instructions."""
    with monkeypatch.context() as patch:
        patch.setattr(masking, "is_supported", lambda: False)
        assert round_keys_of(CONTEXT) is None
        yield


def both(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Any]) -> tuple[Any, Any]:
    """Return what the processor's AES gives, and what the plain definition does."""
    fused = make()
    with without_aes(monkeypatch):
        return fused, make()


def some_secrets(count: int, seed: int = 1) -> np.ndarray:
    return np.frombuffer(np.random.default_rng(seed).bytes(16 * count), dtype=np.uint8).reshape(-1, 16)


def test_round_keys_of_long_keys_are_those_of_the_standard() -> None:
    """FIPS 197, appendix A.3."""
    keys = round_keys(bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")).tobytes()
    assert len(keys) == 16 * 15
    assert keys[32:48].hex() == "9ba354118e6925afa51a8b5f2067fcde"
    assert keys[-16:].hex() == "fe4890d1e6188d0b046df344706c631e"


def test_this_test_compares_two_things() -> None:
    """Where the processor has no AES, both are the plain one and the other tests show nothing."""
    assert (round_keys_of(CONTEXT) is None) == (not is_supported())


@pytest.mark.parametrize("pairs", [1, 2, 49, 200])
@pytest.mark.parametrize(("words", "first"), [(1, 0), (2, 0), (3, 4), (64, 0), (65, 2)])
def test_sums_of_masks_are_the_plain_ones(pairs: int, words: int, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    signs = np.random.default_rng(2).choice(np.array([1, -1]), pairs).view(np.uint64)
    secrets = some_secrets(pairs)
    one, plain = both(monkeypatch, lambda: sum_of_pair_masks(secrets, CONTEXT, signs, words=words, first=first))
    assert one.tolist() == plain.tolist()
    alone = pair_masks(secrets, CONTEXT, words=words, first=first)
    signed = [int(sign) - (int(sign) >> 63 << 64) for sign in signs]
    assert one.tolist() == [
        sum(int(word) * sign for word, sign in zip(column, signed, strict=True)) % 2**64 for column in alone.T
    ]


@pytest.mark.parametrize("neighbours", [1, 7, 49])
def test_what_is_dealt_and_opened_is_the_plain_one(neighbours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(neighbours)
    secrets, box_key = some_secrets(neighbours), some_secrets(1, seed=9)
    higher, of_box = (rng.integers(0, 2, neighbours).astype(np.uint8) for _ in range(2))
    of_seeds, of_boxes = (rng.integers(0, 2**31 - 1, (neighbours, 5)).astype(np.uint32) for _ in range(2))

    def deal() -> tuple[bytes, bytes]:
        return (
            dealt_to(secrets, CONTEXT, higher=higher, shares=of_boxes, box_key=box_key),
            sealed_to(secrets, ROSTER, higher=higher, shares=of_seeds),
        )

    dealt, plain = both(monkeypatch, deal)
    assert dealt == plain
    rows = np.frombuffer(dealt[0], dtype=np.uint8).reshape(neighbours, 36)
    seeds = np.frombuffer(dealt[1], dtype=np.uint8).reshape(neighbours, 20)
    # a neighbour is higher where this member is not; what it opens is the share that was dealt
    for of_whom in (np.zeros(neighbours, np.uint8), np.ones(neighbours, np.uint8), of_box):
        sealed = np.where(of_whom[:, None] == 1, rows[:, :20], seeds).tobytes()
        opened, plain = both(
            monkeypatch,
            lambda sealed=sealed, of=of_whom: opened_by(
                secrets, of_seeds=ROSTER, of_boxes=CONTEXT, higher=1 - higher, of_box=of, sealed=sealed
            ),
        )
        assert opened == plain
        expected = np.where(of_whom[:, None] == 1, of_boxes, of_seeds)
        assert np.frombuffer(opened, dtype="<u4").reshape(neighbours, 5).tolist() == expected.tolist()
    keys, plain_keys = both(monkeypatch, lambda: keys_with(secrets, CONTEXT))
    assert keys.tolist() == plain_keys.tolist()
    assert (rows[:, 20:] ^ box_pads(box_key, neighbours)).tolist() == keys.tolist()


def test_a_round_is_to_the_byte_what_it_was_when_its_format_was_fixed() -> None:
    """Owners of other versions take part: digests of what the plain definitions and an earlier implementation gave."""
    group, roster = Dealt(10), list(range(10))
    assert _digest(group.dealers[p].dealt(ROUND) for p in roster) == "a7f94db16fb7965696ab29ff7d39f25d"
    assert (
        _digest(group.dealers[p].masks(ROUND, set(roster)).dealt for p in roster) == "c6f52a539c7066a10d3828b2a13776f9"
    )
    sent = (group.sent(ROUND, roster, p, range(5)).tobytes() for p in roster)
    assert _digest(sent) == "80d5779ac3dbdfdee3653edf1e23d66c"
    found = group.unmasking(ROUND, roster, roster[:9])
    told = (group.dealers[p].told(ROUND, set(roster), set(roster[:9]), found.sealed_for(p)) for p in roster[:9])
    assert _digest(told) == "426f8e5e70b0c7bd9c6591bb2936a9a4"


def test_no_word_of_a_pair_serves_twice() -> None:
    """Shares of 0 under a box key of 0 show the pads: each dealer's differ from the other's, and from the keys."""
    secrets, nothing = some_secrets(20), np.zeros((20, 5), dtype=np.uint32)
    sides = [np.full(20, side, np.uint8) for side in (0, 1)]
    shown = [
        sealed_to(secrets, context, higher=side, shares=nothing) for context in (CONTEXT, ROSTER) for side in sides
    ]
    dealt = [dealt_to(secrets, CONTEXT, higher=side, shares=nothing, box_key=some_secrets(1)) for side in sides]
    assert [np.frombuffer(each, dtype=np.uint8).reshape(20, 36)[:, :20].tobytes() for each in dealt] == shown[:2]
    rows = np.frombuffer(b"".join(shown), dtype=np.uint8).reshape(-1, 20)
    pads = {row.tobytes()[:16] for row in rows} | {key.tobytes() for key in keys_with(secrets, CONTEXT)}
    assert len(pads) == 20 * 5


def test_sums_of_masks_need_a_sign_for_each_pair() -> None:
    with pytest.raises(InvalidInput, match="as many signs"):
        sum_of_pair_masks(some_secrets(3), CONTEXT, np.ones(2, dtype=np.uint64), words=1)
    with pytest.raises(InvalidInput, match="a context of 32 bytes"):
        sum_of_pair_masks(some_secrets(3), b"short", np.ones(3, dtype=np.uint64), words=1)
    with pytest.raises(InvalidInput, match="rows of 16 bytes"):
        sum_of_pair_masks(some_secrets(3)[:, :8], CONTEXT, np.ones(3, dtype=np.uint64), words=1)


def _digest(parts: Iterator[bytes]) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:32]
