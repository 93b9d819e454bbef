"""Millions of oblivious transfers from 64 base ones, at 4 bytes each.

For row j the receiver holds t_j and its choice c_j, the sender q_j = t_j ^ c_j * secret, all of 128 bits; hashed, they
are keys of which the receiver knows one. Repetition over 4-bit blocks makes a row cost 32 bits instead of 128.

Requires:  seed trees as `seed_trees` makes them; no counter is used twice in a session.
Guarantee: the sender learns nothing of the choices, the receiver nothing of the secret (semi-honest).
Proof:     Roy, "SoftSpokenOT: Quieter OT Extension from Small-Field Silent VOLE" (Crypto 2022), with k = 4
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np

from fedgroup.errors import ProtocolViolation
from fedgroup.secure.bitmatrix import Words, rows_of
from fedgroup.secure.fused import extended
from fedgroup.secure.permutation import Blocks, Permutation, xor_into
from fedgroup.secure.seed_trees import BLOCKS, DEPTH, LEAVES

ROWS_AT_ONCE = 128
"""Rows come in multiples of what one block of a seed's stream holds."""

_NOTHING = np.empty((0, 0), dtype=np.uint64)


def padded_rows(rows: int) -> int:
    """Return `rows` rounded up to a whole number of stream blocks."""
    return -(-rows // ROWS_AT_ONCE) * ROWS_AT_ONCE


def correction_bytes(rows: int) -> int:
    """Return the size of the receiver's message for so many rows."""
    return BLOCKS * padded_rows(rows) // 8


def receive_rows(leaves: Blocks, choices: Words, *, counter: int, permutation: Permutation) -> tuple[bytes, Blocks]:
    """Return the correction to send and the rows t, for packed choices; the streams are read from `counter` on."""
    if permutation.keys is not None:
        sums = np.empty((BLOCKS, len(choices)), dtype=np.uint64)
        whole = np.zeros(BLOCKS, dtype=np.uint64)
        rows = extended(leaves, permutation.keys, np.uint64(counter), whole, _NOTHING, sums)
        return (sums ^ choices).tobytes(), rows
    streams = _streams(leaves, len(choices) // 2, counter, permutation)
    columns, sums = _combined(streams, np.zeros(BLOCKS, dtype=np.uint64))
    return (sums ^ choices).tobytes(), rows_of(columns)


def send_rows(
    leaves: Blocks, secret: Sequence[int], correction: bytes, *, counter: int, permutation: Permutation
) -> Blocks:
    """Return the rows q = t ^ choice * secret."""
    if len(correction) % (BLOCKS * ROWS_AT_ONCE // 8):
        raise ProtocolViolation("a correction covers whole stream blocks")
    corrections = np.frombuffer(correction, dtype="<u8").reshape(BLOCKS, -1)
    path = np.array(secret, dtype=np.uint64)
    if permutation.keys is not None:
        unused = np.empty(corrections.shape, dtype=np.uint64)
        return extended(leaves, permutation.keys, np.uint64(counter), path, corrections, unused)
    streams = _streams(leaves, corrections.shape[1] // 2, counter, permutation)
    # The missing leaf stands at 0 in the order x ^ path, where its stream is multiplied by 0.
    columns, _ = _combined(streams, path)
    _add_corrections(columns, corrections, path)
    return rows_of(columns)


def secret_block(secret: Sequence[int]) -> Blocks:
    """Return the sender's 128-bit secret as one block: bit 4 i + b is bit b of the i-th block's four."""
    value = sum(bits << (DEPTH * block) for block, bits in enumerate(secret))
    return np.array([[value & (2**64 - 1), value >> 64]], dtype=np.uint64)


def _streams(leaves: Blocks, blocks: int, counter: int, permutation: Permutation) -> Words:
    """Return each leaf's stream, shape (BLOCKS, LEAVES, 2 * blocks): pi(x) ^ x with x the leaf and a counter."""
    inputs = _counted(leaves.reshape(-1, 2), blocks, np.uint64(counter))
    outputs = permutation(inputs)
    xor_into(outputs, inputs)
    return outputs.reshape(BLOCKS, LEAVES, 2 * blocks)


@numba.njit(cache=True)
def _counted(leaves: Blocks, blocks: int, counter: np.uint64) -> Blocks:
    inputs = np.empty((len(leaves) * blocks, 2), dtype=np.uint64)
    for leaf in range(len(leaves)):
        for i in range(blocks):
            inputs[leaf * blocks + i, 0] = leaves[leaf, 0] ^ (counter + np.uint64(i))
            inputs[leaf * blocks + i, 1] = leaves[leaf, 1]
    return inputs


@numba.njit(cache=True)
def _combined(streams: Words, path: Words) -> tuple[Words, Words]:
    """Return for each block the sums of its streams weighted by the bits of x ^ path, and the plain sum."""
    blocks, leaves, words = streams.shape
    columns = np.zeros((blocks * 4, words), dtype=np.uint64)
    sums = np.zeros((blocks, words), dtype=np.uint64)
    for block in range(blocks):
        for x in range(leaves):
            weight = np.uint64(x) ^ path[block]
            stream = streams[block, x]
            total = sums[block]
            for w in range(words):
                total[w] ^= stream[w]
            for bit in range(4):
                if (weight >> np.uint64(bit)) & np.uint64(1):
                    column = columns[4 * block + bit]
                    for w in range(words):
                        column[w] ^= stream[w]
    return columns, sums


@numba.njit(cache=True)
def _add_corrections(columns: Words, corrections: Words, path: Words) -> None:
    for block in range(len(path)):
        for bit in range(4):
            if (path[block] >> np.uint64(bit)) & np.uint64(1):
                for w in range(corrections.shape[1]):
                    columns[4 * block + bit, w] ^= corrections[block, w]
