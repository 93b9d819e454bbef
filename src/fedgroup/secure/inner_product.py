"""Additive shares, mod 2^32, of a sum of products of one side's numbers and the other side's bits.

Requires:  rows of oblivious transfers, one per bit, whose choices are the second side's bits; fresh tweaks.
Guarantee: each side's share alone is uniform; together they add up to the inner product (semi-honest).
Proof:     Gilboa, "Two Party RSA Key Generation" (Crypto 1999), on correlated transfers
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.secure.fused import corrected_sums, corrections_of
from fedgroup.secure.permutation import Blocks, Permutation

Ring = npt.NDArray[np.uint32]


def sender_share(
    numbers: Ring, rows: Blocks, secret: Blocks, *, width: int, tweak: int, permutation: Permutation
) -> tuple[Ring, Ring]:
    """Return the corrections to send and the sender's share per pair; `numbers` has shape (pairs, cells)."""
    if permutation.keys is not None:
        return corrections_of(numbers, rows, secret, width, np.uint64(tweak), permutation.keys)
    chosen_no = permutation.hash(rows, tweak)
    chosen_yes = permutation.hash(rows ^ secret, tweak)
    return _corrections(numbers, chosen_no, chosen_yes, width)


def receiver_share(
    counts: Ring, rows: Blocks, corrections: Ring, *, width: int, tweak: int, permutation: Permutation
) -> Ring:
    """Return the receiver's share per pair; `counts` has shape (pairs, cells)."""
    if permutation.keys is not None:
        return corrected_sums(counts, rows, corrections, width, np.uint64(tweak), permutation.keys)
    return _corrected(counts, permutation.hash(rows, tweak), corrections, width)


@numba.njit(cache=True)
def _corrections(numbers: Ring, chosen_no: Blocks, chosen_yes: Blocks, width: int) -> tuple[Ring, Ring]:
    pairs, cells = numbers.shape
    corrections = np.empty(pairs * cells * width, dtype=np.uint32)
    share = np.zeros(pairs, dtype=np.uint32)
    row = 0
    for pair in range(pairs):
        total = np.uint32(0)
        for cell in range(cells):
            for bit in range(width):
                mask = np.uint32(chosen_no[row, 0] & np.uint64(0xFFFFFFFF))
                other = np.uint32(chosen_yes[row, 0] & np.uint64(0xFFFFFFFF))
                corrections[row] = mask + np.uint32(numbers[pair, cell] << np.uint32(bit)) - other
                total = np.uint32(total - mask)
                row += 1
        share[pair] = total
    return corrections, share


@numba.njit(cache=True)
def _corrected(counts: Ring, hashed: Blocks, corrections: Ring, width: int) -> Ring:
    pairs, cells = counts.shape
    share = np.zeros(pairs, dtype=np.uint32)
    row = 0
    for pair in range(pairs):
        total = np.uint32(0)
        for cell in range(cells):
            count = counts[pair, cell]
            for bit in range(width):
                total = np.uint32(total + np.uint32(hashed[row, 0] & np.uint64(0xFFFFFFFF)))
                chosen = np.uint32((count >> np.uint32(bit)) & np.uint32(1))
                total = np.uint32(total + corrections[row] * chosen)
                row += 1
        share[pair] = total
    return share
