"""Uniform random bits: the keystream of AES-256 in counter mode.

Requires:  a key that nobody else knows and that is never used for two keystreams.
Guarantee: the bits cannot be told from uniform ones by anyone who cannot break AES-256, so every epsilon built on
           them is a computational one.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

_ZEROS = bytes(1 << 20)


class Keystream:
    """An endless sequence of uniform bits that is determined by its 32-byte key."""

    def __init__(self, key: bytes) -> None:
        self._encryptor = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()

    def words(self, count: int, dtype: type[np.unsignedinteger[Any]]) -> npt.NDArray[Any]:
        """Return `count` uniform unsigned integers of the given width."""
        words = np.empty(count, dtype=dtype)
        view = words.view(np.uint8).data
        for start in range(0, len(view), len(_ZEROS)):
            chunk = view[start : start + len(_ZEROS)]
            self._encryptor.update_into(_ZEROS[: len(chunk)], chunk)
        return words

    def word16(self) -> int:
        """Return one uniform integer of 16 bits: what `words` would hold."""
        return int.from_bytes(self._encryptor.update(_ZEROS[:2]), sys.byteorder)

    def bits(self, count: int) -> int:
        """Return one uniform integer of `count` bits; `count` is a multiple of 64."""
        return int.from_bytes(self.words(count // 64, np.uint64).tobytes(), "big")
