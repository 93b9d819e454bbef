"""Masks that cancel in the sum: every pair of owners agrees on a number that one adds and the other subtracts.

Requires:  pair secrets that only the two owners know (`pair_keys`), a graph in which the honest owners are connected
           (`mask_graph`), a round id that never comes twice, and values that carry their shares of noise already.
Guarantee: what a group's members send shows nothing but the sum of the honest members' values modulo 2^64, to anyone
           who cannot find a pair secret. A mask is AES_K(x) xor x of x = secret xor counter (Matyas, Meyer, Oseas), K
           made of the public round context; with AES as an ideal cipher it is uniform and independent of all masks of
           other pairs, counters and rounds, except with a chance of pairs * guesses / 2^128.
Proof:     docs/guarantees.md#masked-groups
"""

from __future__ import annotations

import hashlib
import threading
from functools import cached_property
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from fedgroup.errors import InvalidInput
from fedgroup.messages import Labels
from fedgroup.secure.aes import RoundKeys, is_supported, round_keys
from fedgroup.secure.fused_masks import sum_of_masks

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int32]
Secrets = npt.NDArray[np.uint8]

CONTEXT_BYTES = 32
_BLOCKS_AT_ONCE = 1 << 14
"""So few that a block stays in the processor's cache between cipher and xor."""
_MOST_CIPHERS = 512
_FEW_WORDS = 64
"""Up to so many words, masks are added up as they are made; a cipher that takes many blocks at once makes more."""


def round_context(
    *, question: bytes, epsilon_nano: int, parts: int, roster_digest: bytes, epoch: int, round_id: bytes
) -> bytes:
    """Return the 32 bytes that stand for everything an owner agrees to in one round."""
    digest = hashlib.sha256(b"fedgroup round context v1")
    numbers = (str(number).encode() for number in (epsilon_nano, parts, epoch))
    for field in (question, roster_digest, round_id, *numbers):
        digest.update(len(field).to_bytes(8, "big") + field)
    return digest.digest()


def pair_masks(pair_secrets: Secrets, context: bytes, *, words: int = 1, first: int = 0) -> Words:
    """Return masks of one round, `words` numbers of 64 bits for each pair's secret, from the number `first` on.

    Requires:  `first` is even: two words are made together.
    """
    _require_maskable(pair_secrets, context, words, first)
    cipher = _CIPHERS.of(context).encryptor
    blocks = blocks_of(pair_secrets)
    if 0 < len(blocks) <= _BLOCKS_AT_ONCE // 4 and words > 2:
        return _many_masks(blocks, cipher, words=words, first=first // 2)
    masks = np.empty((len(blocks), words), dtype=np.uint64, order="F")  # word by word, as they are made and added
    for word in range(0, words, 2):
        _encipher(blocks, cipher, counter=(first + word) // 2, masks=masks[:, word : word + 2])
    return masks


def sum_of_pair_masks(pair_secrets: Secrets, context: bytes, signs: Words, *, words: int, first: int = 0) -> Words:
    """Return the sum of `pair_masks`, each row times its sign, which is 1 or, modulo 2^64, -1."""
    _require_maskable(pair_secrets, context, words, first)
    if len(signs) != len(pair_secrets):
        raise InvalidInput(f"{len(pair_secrets)} pairs need as many signs, got {len(signs)}")
    keys = round_keys_of(context) if words <= _FEW_WORDS else None
    if keys is not None:
        return sum_of_masks(blocks_of(pair_secrets), keys, signs, first, words)
    masks = pair_masks(pair_secrets, context, words=words, first=first)
    total: Words = (masks * signs[:, None]).sum(axis=0, dtype=np.uint64)
    return total


def round_keys_of(context: bytes) -> RoundKeys | None:
    """Return what loops take that make masks of a context themselves; None where the processor has no AES."""
    return _CIPHERS.of(context).keys if is_supported() else None


def blocks_of(secrets: Secrets) -> Words:
    """Return secrets of 16 bytes as rows of two words."""
    return np.ascontiguousarray(secrets).view("<u8")


def masked(values: Ints, first: Positions, second: Positions, masks: Words) -> Words:
    """Return what each owner sends: its value plus its masks as a first, minus those as a second owner, mod 2^64."""
    if not len(first) == len(second) == len(masks):
        raise InvalidInput(f"{len(first)} first owners, {len(second)} second owners and {len(masks)} masks differ")
    _require_within(first, len(values))
    _require_within(second, len(values))
    sent = np.array(values, dtype=np.int64, order="F").view(np.uint64)
    columns, mask_columns = _columns(sent), _columns(masks)
    if columns.shape[1] != mask_columns.shape[1]:
        raise InvalidInput(f"values of {columns.shape[1]} words need masks of as many, got {mask_columns.shape[1]}")
    for word in range(columns.shape[1]):
        _add_masks(columns[:, word], first, second, mask_columns[:, word])
    return sent


def sums_of_masked(masked: Words, labels: Labels, groups: int) -> Ints:
    """Return each group's sum modulo 2^64, read as a signed number; where all members are in it, the masks are gone."""
    if len(masked) != len(labels):
        raise InvalidInput(f"{len(masked)} masked values need as many labels, got {len(labels)}")
    _require_within(labels, groups)
    sums = np.zeros((groups, *masked.shape[1:]), dtype=np.uint64)
    columns, sum_columns = _columns(masked), _columns(sums)
    for word in range(sum_columns.shape[1]):
        _add_up(sum_columns[:, word], labels, columns[:, word])
    return sums.view(np.int64)


class _MaskCipher:
    """AES-256 under a key made of a public context, for whole blocks; it remembers nothing of them."""

    def __init__(self, context: bytes) -> None:
        self._key = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"fedgroup mask v1").derive(context)

    @cached_property
    def encryptor(self) -> Any:
        return Cipher(algorithms.AES256(self._key), modes.ECB()).encryptor()  # noqa: S305 - of secrets, xored afterwards

    @cached_property
    def keys(self) -> RoundKeys:
        return round_keys(self._key)


class _Ciphers(threading.local):
    """The ciphers that a thread used last, by their public contexts: all members of a group mask by the same ones."""

    def __init__(self) -> None:
        self._latest: dict[bytes, _MaskCipher] = {}

    def of(self, context: bytes) -> _MaskCipher:
        """Return the cipher of a context."""
        found = self._latest.pop(context, None) or _MaskCipher(context)
        self._latest[context] = found
        if len(self._latest) > _MOST_CIPHERS:
            del self._latest[next(iter(self._latest))]
        return found


_CIPHERS = _Ciphers()


def _encipher(blocks: Words, encryptor: Any, *, counter: int, masks: Words) -> None:
    """Fill one or two columns of `masks` with AES_K(x) xor x of x = secret xor counter."""
    # The cipher wants room for one block more than it writes.
    cipher = np.empty((min(len(blocks), _BLOCKS_AT_ONCE) + 1, 2), dtype="<u8")
    tweak = np.array([counter, 0], dtype="<u8")
    wide = masks.shape[1]
    for start in range(0, len(blocks), _BLOCKS_AT_ONCE):
        plain = blocks[start : start + _BLOCKS_AT_ONCE]
        if counter:
            plain = plain ^ tweak
        encryptor.update_into(plain.view(np.uint8).data, cipher.view(np.uint8).data)
        np.bitwise_xor(cipher[: len(plain), :wide], plain[:, :wide], out=masks[start : start + len(plain)])


def _many_masks(blocks: Words, encryptor: Any, *, words: int, first: int) -> Words:
    """Return the masks that `_encipher` makes, with many counters at once: for few pairs that share many words."""
    pairs, counters = len(blocks), np.arange(first, first - (-words // 2), dtype="<u8")
    step = min(_BLOCKS_AT_ONCE // pairs, len(counters))
    cipher = np.empty((pairs * step + 1, 2), dtype="<u8")
    masks = np.empty((pairs, 2 * len(counters)), dtype=np.uint64)
    for start in range(0, len(counters), step):
        some = counters[start : start + step]
        plain = np.repeat(blocks[:, None, :], len(some), axis=1)
        plain[:, :, 0] ^= some
        encryptor.update_into(plain.view(np.uint8).data, cipher.view(np.uint8).data)
        sealed = cipher[: pairs * len(some)].reshape(pairs, -1)
        np.bitwise_xor(sealed, plain.reshape(pairs, -1), out=masks[:, 2 * start : 2 * (start + len(some))])
    return masks[:, :words]


def _require_maskable(pair_secrets: Secrets, context: bytes, words: int, first: int) -> None:
    if pair_secrets.ndim != 2 or pair_secrets.shape[1] != 16 or pair_secrets.dtype != np.uint8:
        raise InvalidInput(f"pair secrets are rows of 16 bytes, got {pair_secrets.dtype} of shape {pair_secrets.shape}")
    if len(context) != CONTEXT_BYTES or words < 1 or first % 2:
        raise InvalidInput(f"masks need a context of {CONTEXT_BYTES} bytes and at least 1 word, got {words} words")


def _columns(words: Words) -> Words:
    return words[:, None] if words.ndim == 1 else words


def _require_within(positions: npt.NDArray[np.integer], count: int) -> None:
    """Raise before compiled code, which does not look, would write past an array's end."""
    if len(positions) and not 0 <= positions.min() <= positions.max() < count:
        raise InvalidInput(f"positions lie between 0 and {count - 1}")


@numba.njit(cache=True)
def _add_masks(sent: Words, first: Positions, second: Positions, masks: Words) -> None:
    for pair in range(len(masks)):
        sent[first[pair]] += masks[pair]
        sent[second[pair]] -= masks[pair]


@numba.njit(cache=True)
def _add_up(sums: Words, labels: Labels, masked: Words) -> None:
    for owner in range(len(masked)):
        sums[labels[owner]] += masked[owner]
