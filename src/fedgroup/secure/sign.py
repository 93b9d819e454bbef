"""Shares of the sign bit of x + y mod 2^32, where each side holds one of the two: a garbled chain of carries.

c_0 = 0, c_{i+1} = c_i ^ (x_i ^ c_i)(y_i ^ c_i), sign = x_31 ^ y_31 ^ c_31: 31 AND gates of two blocks each.

Requires:  rows of transfers whose choices are the evaluator's bits serve as its labels, and the extension's secret, an
           odd block, as the offset of all labels; gate tweaks are never used twice in a session.
Guarantee: the evaluator sees one label per wire and learns nothing; the colour bits of the result are the shares.
Proof:     Zahur, Rosulek, Evans, "Two Halves Make a Whole" (Eurocrypt 2015); Kolesnikov, Schneider (ICALP 2008)
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.secure.fused import evaluated, garbled
from fedgroup.secure.inner_product import Ring
from fedgroup.secure.permutation import Blocks, Permutation

RING_BITS = 32
GATES = RING_BITS - 1
Tables = npt.NDArray[np.uint64]
Bits = npt.NDArray[np.uint8]


def active_labels(seed: bytes, pairs: int) -> Blocks:
    """Return the garbler's active labels, 32 inputs and the carry, shape (33, pairs, 2), from a seed both know."""
    blocks = np.zeros(((RING_BITS + 1) * pairs, 2), dtype=np.uint64)
    blocks[:, 0] = np.arange(len(blocks))
    return Permutation(seed)(blocks).reshape(RING_BITS + 1, pairs, 2)


def garble(
    x: Ring, rows: Blocks, secret: Blocks, *, seed: bytes, tweak: int, permutation: Permutation
) -> tuple[Tables, Bits]:
    """Return the garbled gates, shape (GATES, 2, pairs, 2), and the garbler's share of each sign."""
    pairs = len(x)
    offset = secret[0]
    mine = active_labels(seed, pairs)
    theirs = rows.reshape(pairs, RING_BITS, 2)
    tables = np.empty((GATES, 2, pairs, 2), dtype=np.uint64)
    if permutation.keys is not None:
        return tables, garbled(x, mine, theirs, secret, tables, np.uint64(tweak), permutation.keys)
    carry = mine[RING_BITS].copy()
    inputs = np.empty((4 * pairs, 2), dtype=np.uint64)
    for gate in range(GATES):
        _garbler_inputs(x, mine[gate], theirs, carry, offset, gate, inputs)
        hashed = _hashed(inputs, tweak + 2 * gate * pairs, pairs, permutation)
        _garble_gate(inputs, hashed, offset, carry, tables[gate])
    return tables, _garbler_colours(x, mine[GATES], theirs, carry, offset)


def evaluate(rows: Blocks, tables: Tables, *, seed: bytes, tweak: int, permutation: Permutation) -> Bits:
    """Return the evaluator's share of each sign."""
    pairs = tables.shape[2]
    mine = rows.reshape(pairs, RING_BITS, 2)
    theirs = active_labels(seed, pairs)
    if permutation.keys is not None:
        return evaluated(theirs, mine, tables, np.uint64(tweak), permutation.keys)
    carry = theirs[RING_BITS].copy()
    inputs = np.empty((2 * pairs, 2), dtype=np.uint64)
    for gate in range(GATES):
        _evaluator_inputs(theirs[gate], mine, carry, gate, inputs)
        hashed = _hashed(inputs, tweak + 2 * gate * pairs, pairs, permutation)
        _evaluate_gate(inputs, hashed, tables[gate], carry)
    return _evaluator_colours(theirs[GATES], mine, carry)


def _hashed(inputs: Blocks, tweak: int, pairs: int, permutation: Permutation) -> Blocks:
    """Hash the inputs of one gate: the first half of them with one tweak per pair, the second with another."""
    once = permutation(inputs)
    twice = permutation(_gate_tweaked(once, np.uint64(tweak), pairs))
    twice ^= once
    return twice


@numba.njit(cache=True)
def _gate_tweaked(blocks: Blocks, tweak: np.uint64, pairs: int) -> Blocks:
    result = np.empty_like(blocks)
    half = len(blocks) // 2
    for i in range(len(blocks)):
        which = np.uint64(i % pairs) + (np.uint64(pairs) if i >= half else np.uint64(0))
        result[i, 0] = blocks[i, 0] ^ (tweak + which)
        result[i, 1] = blocks[i, 1]
    return result


@numba.njit(cache=True)
def _garbler_inputs(
    x: Ring, active: Blocks, theirs: Blocks, carry: Blocks, offset: Blocks, gate: int, inputs: Blocks
) -> None:
    """Write the labels of (x_i ^ c_i) for 0 and 1, then those of (y_i ^ c_i)."""
    pairs = len(x)
    for p in range(pairs):
        flipped = (x[p] >> np.uint32(gate)) & np.uint32(1)
        for w in range(2):
            zero = active[p, w] ^ (offset[w] if flipped else np.uint64(0)) ^ carry[p, w]
            other = theirs[p, gate, w] ^ carry[p, w]
            inputs[p, w] = zero
            inputs[pairs + p, w] = zero ^ offset[w]
            inputs[2 * pairs + p, w] = other
            inputs[3 * pairs + p, w] = other ^ offset[w]


@numba.njit(cache=True)
def _garble_gate(inputs: Blocks, hashed: Blocks, offset: Blocks, carry: Blocks, table: Tables) -> None:
    pairs = len(carry)
    one = np.uint64(1)
    for p in range(pairs):
        colour_a = inputs[p, 0] & one
        colour_b = inputs[2 * pairs + p, 0] & one
        for w in range(2):
            generator = hashed[p, w] ^ hashed[pairs + p, w] ^ (offset[w] if colour_b else np.uint64(0))
            evaluator = hashed[2 * pairs + p, w] ^ hashed[3 * pairs + p, w] ^ inputs[p, w]
            table[0, p, w] = generator
            table[1, p, w] = evaluator
            left = hashed[p, w] ^ (generator if colour_a else np.uint64(0))
            right = hashed[2 * pairs + p, w] ^ (evaluator ^ inputs[p, w] if colour_b else np.uint64(0))
            carry[p, w] ^= left ^ right


@numba.njit(cache=True)
def _evaluator_inputs(active: Blocks, mine: Blocks, carry: Blocks, gate: int, inputs: Blocks) -> None:
    pairs = len(carry)
    for p in range(pairs):
        for w in range(2):
            inputs[p, w] = active[p, w] ^ carry[p, w]
            inputs[pairs + p, w] = mine[p, gate, w] ^ carry[p, w]


@numba.njit(cache=True)
def _evaluate_gate(inputs: Blocks, hashed: Blocks, table: Tables, carry: Blocks) -> None:
    pairs = len(carry)
    one = np.uint64(1)
    for p in range(pairs):
        colour_a = inputs[p, 0] & one
        colour_b = inputs[pairs + p, 0] & one
        for w in range(2):
            left = hashed[p, w] ^ (table[0, p, w] if colour_a else np.uint64(0))
            right = hashed[pairs + p, w] ^ (table[1, p, w] ^ inputs[p, w] if colour_b else np.uint64(0))
            carry[p, w] ^= left ^ right


@numba.njit(cache=True)
def _garbler_colours(x: Ring, active: Blocks, theirs: Blocks, carry: Blocks, offset: Blocks) -> Bits:
    bits = np.empty(len(x), dtype=np.uint8)
    for p in range(len(x)):
        flipped = (x[p] >> np.uint32(31)) & np.uint32(1)
        zero = active[p, 0] ^ (offset[0] if flipped else np.uint64(0)) ^ theirs[p, 31, 0] ^ carry[p, 0]
        bits[p] = zero & np.uint64(1)
    return bits


@numba.njit(cache=True)
def _evaluator_colours(active: Blocks, mine: Blocks, carry: Blocks) -> Bits:
    bits = np.empty(len(carry), dtype=np.uint8)
    for p in range(len(carry)):
        bits[p] = (active[p, 0] ^ mine[p, 31, 0] ^ carry[p, 0]) & np.uint64(1)
    return bits
