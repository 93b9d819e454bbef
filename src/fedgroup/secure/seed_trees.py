"""Seeds of which one side knows all and the other all but one, from a few base transfers.

For each of 32 blocks the receiver of later transfers grows a binary tree of 16 seeds. The sender, whose secret is four
bits per block, learns every seed but the one its bits point to: at each level a base transfer gives it the sum of all
seeds on the side off its path.

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
TRANSFERS = BLOCKS * DEPTH
_TREE = 0x5EED << 48
"""Sets the permutation's inputs of the trees apart from those of the generator, whose second word is the seed's."""


def choices_of(secret: Sequence[int]) -> list[int]:
    """Return the sender's choice in each base transfer: the side off its path, level by level."""
    return [1 - (bits >> (DEPTH - 1 - level) & 1) for bits in secret for level in range(DEPTH)]


def grow(roots: Blocks, permutation: Permutation) -> tuple[Blocks, list[Blocks]]:
    """Return the leaves of all trees, shape (BLOCKS, LEAVES, 2), and each level's sums, shape (BLOCKS, 2, 2)."""
    nodes = roots.reshape(BLOCKS, 1, 2)
    sums = []
    for level in range(DEPTH):
        nodes = _children(nodes, level, permutation)
        sums.append(np.bitwise_xor.reduce(nodes.reshape(BLOCKS, -1, 2, 2), axis=1))
    return nodes, sums


def sealed_sums(sums: Sequence[Blocks], keys: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return every level's two sums, each hidden by its base transfer's key."""
    pads = blocks_of(b"".join(first + second for first, second in keys)).reshape(BLOCKS, DEPTH, 2, 2)
    return (np.stack(sums, axis=1) ^ pads).tobytes()


def grow_punctured(secret: Sequence[int], keys: Sequence[bytes], sealed: bytes, permutation: Permutation) -> Blocks:
    """Return the leaves of all trees, with zeros in place of the one the secret points to."""
    hidden = blocks_of(sealed).reshape(BLOCKS, DEPTH, 2, 2)
    pads = blocks_of(b"".join(keys)).reshape(BLOCKS, DEPTH, 2)
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
        total = hidden[block, level, 1 - taken] ^ pads[:, level]
        side = nodes.reshape(BLOCKS, -1, 2, 2)[block, :, 1 - taken]
        nodes[block, on_path ^ 1] = total ^ np.bitwise_xor.reduce(side, axis=1)
    return nodes


def _children(nodes: Blocks, level: int, permutation: Permutation) -> Blocks:
    """Return each node's two children, pi(x) ^ x with x the node and a constant of level and side."""
    sides = np.array([_TREE | level << 8 | side for side in (0, 1)], dtype=np.uint64)
    inputs = np.repeat(nodes[:, :, None, :], 2, axis=2)
    inputs[..., 1] ^= sides
    flat = np.ascontiguousarray(inputs).reshape(-1, 2)
    return (permutation(flat) ^ flat).reshape(BLOCKS, -1, 2)


SEALED_BYTES = TRANSFERS * 2 * KEY_BYTES
