from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency

from fedgroup.errors import InvalidInput
from fedgroup.secure.mask_graph import mask_edges
from fedgroup.secure.masking import _CIPHERS, masked, pair_masks, round_context, sums_of_masked
from fedgroup.secure.pair_keys import simulated_secrets

FALSE_ALARM = 1e-6
"""The chance that a right implementation fails a statistical test, were its seeds not fixed."""

ROUND = {
    "question": b"count",
    "epsilon_nano": 300_000_000,
    "parts": 44,
    "roster_digest": b"roster",
    "epoch": 1,
    "round_id": b"round 1",
}
INT64 = st.integers(-(2**63), 2**63 - 1)


def sent(values: np.ndarray, *, labels=None, round_id: bytes = b"round 1", bad_share: float = 0.2) -> np.ndarray:
    """What all owners send in one round."""
    labels = np.zeros(len(values), dtype=np.int32) if labels is None else labels
    first, second = mask_edges(labels, seed=b"graph", bad_share=bad_share)
    secrets = simulated_secrets(b"host" * 8, first, second)
    words = 1 if values.ndim == 1 else values.shape[1]
    masks = pair_masks(secrets, round_context(**ROUND | {"round_id": round_id}), words=words)
    return masked(values, first, second, masks)


def signed(number: int) -> int:
    """A number modulo 2^64, read as signed."""
    return (number + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize("bad_share", [0.2, 1], ids=["regular graph", "all pairs"])
@pytest.mark.parametrize("members", [1, 2, 3, 50])
@given(data=st.data())
def test_a_masked_sum_equals_the_plain_sum(members, bad_share, data):
    values = data.draw(st.lists(INT64, min_size=members, max_size=members))
    out = sent(np.array(values, dtype=np.int64), bad_share=bad_share)
    assert sums_of_masked(out, np.zeros(members, dtype=np.int32), 1).tolist() == [signed(sum(values))]


@pytest.mark.parametrize("bad_share", [0.2, 1], ids=["regular graph", "all pairs"])
def test_a_thousand_owners_masked_sum_equals_their_plain_sum(bad_share):
    values = np.random.default_rng(1).integers(-(10**15), 10**15, 1000)
    out = sent(values, bad_share=bad_share)
    assert sums_of_masked(out, np.zeros(1000, dtype=np.int32), 1)[0] == values.sum()
    assert not (out.view(np.int64) == values).any()


def test_a_sum_beyond_64_bits_wraps_around():
    values = np.array([2**63 - 1, 1, 0])
    assert sums_of_masked(sent(values), np.zeros(3, dtype=np.int32), 1).tolist() == [-(2**63)]


def test_each_groups_masks_cancel_within_it():
    rng = np.random.default_rng(2)
    labels = np.unique(rng.integers(0, 30, 600), return_inverse=True)[1].astype(np.int32)
    values = rng.integers(-1000, 1000, 600)
    sums = sums_of_masked(sent(values, labels=labels), labels, 30)
    assert sums.tolist() == [values[labels == group].sum() for group in range(30)]


@pytest.mark.parametrize("words", [1, 2, 5])
def test_every_word_has_masks_of_its_own_that_cancel(words):
    values = np.random.default_rng(3).integers(-1000, 1000, (40, words))
    out = sent(values)
    assert out.shape == (40, words)
    assert sums_of_masked(out, np.zeros(40, dtype=np.int32), 1).tolist() == [values.sum(axis=0).tolist()]
    masks = (out - values.view(np.uint64)).ravel()
    assert len(np.unique(masks)) == len(masks)


@pytest.mark.parametrize("members", [2, 3, 50, 200])
def test_without_one_member_nothing_but_garbage_is_left(members):
    values = np.arange(members, dtype=np.int64)
    out = sent(values)
    for missing in range(members):
        partial = np.delete(out, missing).sum(dtype=np.uint64).astype(np.int64)
        # A uniform number is as near as this with a chance of 2^-30, for all members here below FALSE_ALARM.
        assert abs(int(partial) - int(values.sum() - missing)) > 2**33


def test_a_mask_is_the_ciphers_feed_forward_of_the_secret():
    secrets = np.arange(48, dtype=np.uint8).reshape(3, 16)
    context = round_context(**ROUND)
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"fedgroup mask v1").derive(context)
    for row, words in zip(secrets, pair_masks(secrets, context, words=4), strict=True):
        for counter in (0, 1):
            block = int.from_bytes(row.tobytes(), "little") ^ counter
            enciphered = Cipher(algorithms.AES256(key), modes.ECB()).encryptor().update(block.to_bytes(16, "little"))
            mask = int.from_bytes(enciphered, "little") ^ block
            assert [int(w) for w in words[2 * counter : 2 * counter + 2]] == [mask % 2**64, mask >> 64]


def test_masks_of_many_secrets_equal_those_of_each():
    secrets = simulated_secrets(b"host" * 8, np.arange(40_000), np.arange(40_000) + 1)
    masks = pair_masks(secrets, round_context(**ROUND))
    for pair in (0, 16_383, 16_384, 39_999):
        assert masks[pair] == pair_masks(secrets[pair : pair + 1], round_context(**ROUND))[0]


def test_masks_are_the_same_whichever_contexts_came_between_and_in_any_thread():
    secrets = simulated_secrets(b"host" * 8, np.arange(50), np.arange(50) + 1)
    contexts = [round_context(**ROUND | {"round_id": b"%d" % number}) for number in range(700)]
    first = [pair_masks(secrets, context, words=3) for context in contexts]
    assert len({masks.tobytes() for masks in first}) == len(contexts)
    with ThreadPoolExecutor(4) as pool:
        again = list(pool.map(lambda context: pair_masks(secrets, context, words=3), contexts * 4))
    assert all(np.array_equal(one, other) for one, other in zip(first * 4, again, strict=True))


def test_no_two_threads_share_a_cipher_which_is_not_made_for_that():
    context = round_context(**ROUND)
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(_CIPHERS.of, context).result()
    assert theirs is not _CIPHERS.of(context)
    assert _CIPHERS.of(context) is _CIPHERS.of(context)


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("question", b"sum"),
        ("epsilon_nano", 300_000_001),
        ("parts", 43),
        ("roster_digest", b"another roster"),
        ("epoch", 2),
        ("round_id", b"round 2"),
    ],
)
def test_whatever_changes_in_a_round_changes_all_masks(field, other):
    secrets = simulated_secrets(b"host" * 8, np.arange(1000), np.arange(1000) + 1)
    one, two = (pair_masks(secrets, round_context(**r)) for r in (ROUND, ROUND | {field: other}))
    assert not (one == two).any()


def test_fields_of_a_round_do_not_run_into_each_other():
    moved = [{"question": b"ab", "roster_digest": b"c"}, {"question": b"a", "roster_digest": b"bc"}]
    swapped = [{"epsilon_nano": 1, "parts": 11, "epoch": 1}, {"epsilon_nano": 11, "parts": 1, "epoch": 1}]
    assert len({round_context(**ROUND | fields) for fields in (*moved, *swapped)}) == 4


def bytes_seen(value: int) -> np.ndarray:
    """How often each byte occurs in what owner 0 of 3 sends for `value` in 4,096 fresh rounds."""
    rounds = [hashlib.sha256(b"%d of %d" % (i, value)).digest() for i in range(4096)]
    values = np.array([value, 5, -7])
    alone = np.array([sent(values, round_id=round_id)[0] for round_id in rounds])
    return np.bincount(alone.view(np.uint8), minlength=256)


def test_a_masked_value_alone_is_uniform_whatever_the_value():
    seen = {value: bytes_seen(value) for value in (0, -1, 10**12)}
    for counts in seen.values():
        expected = counts.sum() / 256
        assert ((counts - expected) ** 2).sum() / expected < chi2.isf(FALSE_ALARM, 255)
    assert chi2_contingency(np.array(list(seen.values()))).pvalue > FALSE_ALARM


PAIR = (np.array([0], dtype=np.int32), np.array([1], dtype=np.int32))


@pytest.mark.parametrize(
    "bad",
    [
        lambda: pair_masks(np.zeros((2, 8), np.uint8), bytes(32)),
        lambda: pair_masks(np.zeros((2, 16), np.int64), bytes(32)),
        lambda: pair_masks(np.zeros((2, 16), np.uint8), b"short"),
        lambda: pair_masks(np.zeros((2, 16), np.uint8), bytes(32), words=0),
        lambda: masked(np.zeros(1, np.int64), *PAIR, np.zeros((1, 1), np.uint64)),
        lambda: masked(np.zeros(2, np.int64), *PAIR, np.zeros((2, 1), np.uint64)),
        lambda: masked(np.zeros(2, np.int64), *PAIR, np.zeros((1, 2), np.uint64)),
        lambda: masked(np.zeros((2, 2), np.int64), *PAIR, np.zeros((1, 1), np.uint64)),
        lambda: masked(np.zeros(2, np.int64), -PAIR[1], PAIR[0], np.zeros((1, 1), np.uint64)),
        lambda: sums_of_masked(np.zeros(2, np.uint64), np.array([0, 1], np.int32), 1),
        lambda: sums_of_masked(np.zeros(2, np.uint64), np.array([0], np.int32), 1),
    ],
)
def test_what_does_not_fit_together_is_invalid(bad):
    with pytest.raises(InvalidInput):
        bad()


@pytest.mark.parametrize("pairs", [1, 3, 700])
@pytest.mark.parametrize("words", [3, 64, 2_049])
def test_many_words_of_few_pairs_are_those_that_are_made_one_after_the_other(pairs: int, words: int) -> None:
    secrets = np.random.default_rng(pairs).integers(0, 256, (pairs, 16), dtype=np.uint8)
    many = pair_masks(secrets, bytes(32), words=words, first=4)
    single = [pair_masks(secrets, bytes(32), words=min(2, words - at), first=4 + at) for at in range(0, words, 2)]
    assert np.array_equal(many, np.concatenate(single, axis=1))
