"""Seeds of which one side knows all and the other all but one, from a few base transfers.

For each of 32 blocks the receiver of later transfers grows a binary tree of 16 seeds. The sender, whose secret is four
bits per block, learns every seed but the one its bits point to: for each level it learns the sum of all seeds on the
side off its path. A base transfer covers two levels: each of its four keys hides the sums off one path through them.

Guarantee: the sender learns nothing about its missing seeds, the receiver nothing about which those are.
Proof:     Goldreich, Goldwasser, Micali (1986); Boyle et al. (CCS 2019), section 2
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedgroup.secure.base_ot import KEY_BYTES
from fedgroup.secure.permutation import Blocks, Permutation, blocks_of

BLOCKS = 32
DEPTH = 4
LEAVES = 1 << DEPTH
LEVELS = 2
"""How many levels a base transfer covers: more make fewer transfers and more bytes, for every path's sums are sent.

Two make 64 transfers and 10 KB a session; one, 128 and 8 KB; four, 32 and 34 KB.
"""
PATHS = 1 << LEVELS
TRANSFERS = BLOCKS * DEPTH // LEVELS
OPENING_BYTES = LEVELS * KEY_BYTES
"""The size of a base transfer's keys: one block a level."""
SEALED_BYTES = TRANSFERS * PATHS * OPENING_BYTES
_TREE = 0x5EED << 48
"""Sets the permutation's inputs of the trees apart from those of the generator, whose second word is the seed's."""


def choices_of(secret: Sequence[int]) -> list[int]:
    """Return the sender's choice in each base transfer: its own path through the levels that this covers."""
    return [bits >> (DEPTH - LEVELS - level) & (PATHS - 1) for bits in secret for level in range(0, DEPTH, LEVELS)]


def grow(roots: Blocks, permutation: Permutation) -> tuple[Blocks, list[Blocks]]:
    """Return the leaves of all trees, shape (BLOCKS, LEAVES, 2), and each level's sums, shape (BLOCKS, 2, 2)."""
    nodes = roots.reshape(BLOCKS, 1, 2)
    sums = []
    for level in range(DEPTH):
        nodes = _children(nodes, level, permutation)
        sums.append(np.bitwise_xor.reduce(nodes.reshape(BLOCKS, -1, 2, 2), axis=1))
    return nodes, sums


def sealed_sums(sums: Sequence[Blocks], keys: Sequence[Sequence[bytes]]) -> bytes:
    """Return the sums off every path, each path's hidden by its key of the base transfer."""
    pads = blocks_of(b"".join(key for transfer in keys for key in transfer)).reshape(BLOCKS, -1, PATHS, LEVELS, 2)
    level = np.arange(LEVELS)
    off = 1 - (np.arange(PATHS)[:, None] >> (LEVELS - 1 - level) & 1)
    together = np.stack(sums, axis=1).reshape(BLOCKS, -1, LEVELS, 2, 2)
    return (together[:, :, level, off] ^ pads).tobytes()


def grow_punctured(secret: Sequence[int], keys: Sequence[bytes], sealed: bytes, permutation: Permutation) -> Blocks:
    """Return the leaves of all trees, with zeros in place of the one the secret points to."""
    hidden = blocks_of(sealed).reshape(TRANSFERS, PATHS, LEVELS, 2)[np.arange(TRANSFERS), choices_of(secret)]
    totals = (hidden ^ blocks_of(b"".join(keys)).reshape(hidden.shape)).reshape(BLOCKS, DEPTH, 2)
    path = np.array(secret)
    block = np.arange(BLOCKS)
    nodes = np.zeros((BLOCKS, 1, 2), dtype=np.uint64)
    for level in range(DEPTH):
        taken = path >> (DEPTH - 1 - level) & 1
        parent = path >> (DEPTH - level)
        nodes = _children(nodes, level, permutation)
        on_path = 2 * parent + taken
        nodes[block, on_path] = 0
        nodes[block, on_path ^ 1] = 0
        # The sum of the side off the path, less what is known of it, is the sibling of the path's next node.
        side = nodes.reshape(BLOCKS, -1, 2, 2)[block, :, 1 - taken]
        nodes[block, on_path ^ 1] = totals[:, level] ^ np.bitwise_xor.reduce(side, axis=1)
    return nodes


def _children(nodes: Blocks, level: int, permutation: Permutation) -> Blocks:
    """Return each node's two children, pi(x) ^ x with x the node and a constant of level and side."""
    sides = np.array([_TREE | level << 8 | side for side in (0, 1)], dtype=np.uint64)
    inputs = np.repeat(nodes[:, :, None, :], 2, axis=2)
    inputs[..., 1] ^= sides
    flat = np.ascontiguousarray(inputs).reshape(-1, 2)
    return (permutation(flat) ^ flat).reshape(BLOCKS, -1, 2)
