"""One public permutation of 128-bit blocks per session, and the hash and generator built on it.

Requires:  the key is fresh and public randomness of one session; tweaks and counters are never used twice in it.
Guarantee: in the ideal-permutation model the hash is tweakable circular correlation robust, which OT extension,
           Gilboa multiplication and half-gates garbling need, and the generator's output is pseudo-random.
Proof:     Guo, Katz, Wang, Yu, "Efficient and Secure Multiparty Computation from Fixed-Key Block Ciphers" (2020)
"""

from __future__ import annotations

from functools import cached_property

import numba
import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from fedgroup.secure.aes import RoundKeys, is_supported, round_keys

Blocks = npt.NDArray[np.uint64]
"""128-bit blocks: an array of shape (n, 2) of 64-bit words."""


class Permutation:
    """AES-128 under a public session key, as a permutation of blocks."""

    def __init__(self, key: bytes) -> None:
        # ECB is the bare permutation, which is what is wanted here: nothing is encrypted with it.
        self._encryptor = Cipher(algorithms.AES128(key), modes.ECB()).encryptor()  # noqa: S305
        self._key = key

    @cached_property
    def keys(self) -> RoundKeys | None:
        """What loops take that call AES themselves (`fused.py`), where the processor has it."""
        return round_keys(self._key) if is_supported() else None

    def __call__(self, blocks: Blocks) -> Blocks:
        """Return the image of every block."""
        # The cipher asks for room for one more block than it writes.
        room = np.empty(2 * len(blocks) + 2, dtype=np.uint64)
        if len(blocks):
            self._encryptor.update_into(blocks.view(np.uint8).data, room.view(np.uint8).data)
        return room[:-2].reshape(-1, 2)

    def hash(self, blocks: Blocks, tweak: int) -> Blocks:
        """Return H(x, i) = pi(pi(x) ^ i) ^ pi(x) for every block x, with the tweaks tweak, tweak + 1, ..."""
        once = self(blocks)
        twice = self(_tweaked(once, np.uint64(tweak)))
        xor_into(twice, once)
        return twice


@numba.njit(cache=True)
def _tweaked(blocks: Blocks, tweak: np.uint64) -> Blocks:
    result = np.empty_like(blocks)
    for i in range(len(blocks)):
        result[i, 0] = blocks[i, 0] ^ (tweak + np.uint64(i))
        result[i, 1] = blocks[i, 1]
    return result


@numba.njit(cache=True)
def xor_into(target: Blocks, other: Blocks) -> None:
    """Add `other` to `target`, bit by bit."""
    for i in range(len(target)):
        target[i, 0] ^= other[i, 0]
        target[i, 1] ^= other[i, 1]


def blocks_of(data: bytes) -> Blocks:
    """Return bytes, a whole number of 16, as blocks."""
    return np.frombuffer(data, dtype="<u8").astype(np.uint64).reshape(-1, 2)
