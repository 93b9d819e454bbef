"""The protocols' inner loops with AES in them: what they give is what `extension`, `inner_product` and `sign` define.

Blocks stay in registers between a stream, its sums and the turn from columns into rows, or between a hash and what it
hides. Each loop is the same computation, bit for bit, as the plain one beside its definition, which serves processors
without AES instructions; tests compare the two. Loops let other threads run.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.secure.aes import RoundKeys, aes_block
from fedgroup.secure.bitmatrix import Words, transpose_together

Blocks = npt.NDArray[np.uint64]
Ring = npt.NDArray[np.uint32]
Bits = npt.NDArray[np.uint8]

_AT_ONCE = 8
"""How many stream blocks of all columns are turned into rows together: 16 KB."""
_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)


@numba.njit(cache=True, nogil=True)
def extended(
    leaves: Blocks, keys: RoundKeys, counter: np.uint64, path: Words, corrections: Words, sums: Words
) -> Blocks:
    """Return the rows of all streams from `counter` on, and write the plain sums of streams into `sums`.

    `corrections`, where there are any, are added to the columns that the path's bits name.
    """
    blocks = sums.shape[1] // 2
    rows = np.empty((128 * blocks, 2), dtype=np.uint64)
    columns = np.empty((128, 2 * _AT_ONCE), dtype=np.uint64)
    ordered = np.empty((16, 2), dtype=np.uint64)
    for start in range(0, blocks, _AT_ONCE):
        some = min(_AT_ONCE, blocks - start)
        for tree in range(len(path)):
            for y in range(16):
                ordered[y, 0] = leaves[tree, np.uint64(y) ^ path[tree], 0]
                ordered[y, 1] = leaves[tree, np.uint64(y) ^ path[tree], 1]
            for i in range(some):
                at = start + i
                low, high = _weighted(ordered, counter + np.uint64(at), keys, columns, 4 * tree, 2 * i)
                sums[tree, 2 * at], sums[tree, 2 * at + 1] = low, high
            if len(corrections):
                for bit in range(4):
                    if (path[tree] >> np.uint64(bit)) & _ONE:
                        for w in range(2 * some):
                            columns[4 * tree + bit, w] ^= corrections[tree, 2 * start + w]
        transpose_together(columns)
        for half in range(2):
            for w in range(2 * some):
                for i in range(64):
                    rows[128 * start + 64 * w + i, half] = columns[64 * half + i, w]
    return rows


@numba.njit(cache=True, nogil=True, inline="always")
def _weighted(
    seeds: Blocks, count: np.uint64, keys: RoundKeys, columns: Words, column: int, word: int
) -> tuple[np.uint64, np.uint64]:
    """Write the sum of the streams of seeds y with bit b set into column b, for each b, and return the sum of all."""
    zero = np.uint64(0)
    sum_low, sum_high, a_low, a_high, b_low, b_high = zero, zero, zero, zero, zero, zero
    c_low, c_high, d_low, d_high = zero, zero, zero, zero
    for y in range(0, 16, 2):
        even_low, even_high = seeds[y, 0] ^ count, seeds[y, 1]
        odd_low, odd_high = seeds[y + 1, 0] ^ count, seeds[y + 1, 1]
        low, high = aes_block(even_low, even_high, keys)
        more_low, more_high = aes_block(odd_low, odd_high, keys)
        more_low, more_high = more_low ^ odd_low, more_high ^ odd_high
        a_low, a_high = a_low ^ more_low, a_high ^ more_high
        low, high = low ^ even_low ^ more_low, high ^ even_high ^ more_high
        sum_low, sum_high = sum_low ^ low, sum_high ^ high
        second, third = zero - np.uint64((y >> 1) & 1), zero - np.uint64((y >> 2) & 1)
        fourth = zero - np.uint64((y >> 3) & 1)
        b_low, b_high = b_low ^ (low & second), b_high ^ (high & second)
        c_low, c_high = c_low ^ (low & third), c_high ^ (high & third)
        d_low, d_high = d_low ^ (low & fourth), d_high ^ (high & fourth)
    columns[column, word], columns[column, word + 1] = a_low, a_high
    columns[column + 1, word], columns[column + 1, word + 1] = b_low, b_high
    columns[column + 2, word], columns[column + 2, word + 1] = c_low, c_high
    columns[column + 3, word], columns[column + 3, word + 1] = d_low, d_high
    return sum_low, sum_high


@numba.njit(cache=True, nogil=True, inline="always")
def _hash(low: np.uint64, high: np.uint64, tweak: np.uint64, keys: RoundKeys) -> tuple[np.uint64, np.uint64]:
    """Return pi(pi(x) ^ i) ^ pi(x)."""
    first, second = aes_block(low, high, keys)
    again, more = aes_block(first ^ tweak, second, keys)
    return again ^ first, more ^ second


@numba.njit(cache=True, nogil=True)
def corrections_of(
    numbers: Ring, rows: Blocks, secret: Blocks, width: int, tweak: np.uint64, keys: RoundKeys
) -> tuple[Ring, Ring]:
    """Return what the sender of numbers sends, and its shares."""
    pairs, cells = numbers.shape
    corrections = np.empty(pairs * cells * width, dtype=np.uint32)
    share = np.zeros(pairs, dtype=np.uint32)
    row = 0
    for pair in range(pairs):
        total = np.uint32(0)
        for cell in range(cells):
            for bit in range(width):
                low, high, place = rows[row, 0], rows[row, 1], tweak + np.uint64(row)
                mask = np.uint32(_hash(low, high, place, keys)[0] & _LOW)
                other = np.uint32(_hash(low ^ secret[0, 0], high ^ secret[0, 1], place, keys)[0] & _LOW)
                corrections[row] = mask + np.uint32(numbers[pair, cell] << np.uint32(bit)) - other
                total = np.uint32(total - mask)
                row += 1
        share[pair] = total
    return corrections, share


@numba.njit(cache=True, nogil=True)
def corrected_sums(
    counts: Ring, rows: Blocks, corrections: Ring, width: int, tweak: np.uint64, keys: RoundKeys
) -> Ring:
    """Return the shares of the side whose bits chose."""
    pairs, cells = counts.shape
    share = np.zeros(pairs, dtype=np.uint32)
    row = 0
    for pair in range(pairs):
        total = np.uint32(0)
        for cell in range(cells):
            for bit in range(width):
                mask = np.uint32(_hash(rows[row, 0], rows[row, 1], tweak + np.uint64(row), keys)[0] & _LOW)
                chosen = np.uint32((counts[pair, cell] >> np.uint32(bit)) & np.uint32(1))
                total = np.uint32(total + mask + corrections[row] * chosen)
                row += 1
        share[pair] = total
    return share


@numba.njit(cache=True, nogil=True)
def garbled(
    x: Ring, active: Blocks, theirs: Blocks, secret: Blocks, tables: Blocks, tweak: np.uint64, keys: RoundKeys
) -> Bits:
    """Write all garbled gates and return the garbler's colours."""
    pairs, gates = len(x), len(tables)
    off, over = secret[0, 0], secret[0, 1]
    carry = active[gates + 1].copy()
    for gate in range(gates):
        for p in range(pairs):
            flipped = np.uint64(0) - np.uint64((x[p] >> np.uint32(gate)) & np.uint32(1))
            a, a_high = (
                active[gate, p, 0] ^ (off & flipped) ^ carry[p, 0],
                active[gate, p, 1] ^ (over & flipped) ^ carry[p, 1],
            )
            b, b_high = theirs[p, gate, 0] ^ carry[p, 0], theirs[p, gate, 1] ^ carry[p, 1]
            first = tweak + np.uint64(2 * gate * pairs + p)
            second = first + np.uint64(pairs)
            h_a, h_a_high = _hash(a, a_high, first, keys)
            h_a1, h_a1_high = _hash(a ^ off, a_high ^ over, first, keys)
            h_b, h_b_high = _hash(b, b_high, second, keys)
            h_b1, h_b1_high = _hash(b ^ off, b_high ^ over, second, keys)
            colour_a, colour_b = np.uint64(0) - (a & _ONE), np.uint64(0) - (b & _ONE)
            generator, generator_high = h_a ^ h_a1 ^ (off & colour_b), h_a_high ^ h_a1_high ^ (over & colour_b)
            evaluator, evaluator_high = h_b ^ h_b1 ^ a, h_b_high ^ h_b1_high ^ a_high
            tables[gate, 0, p, 0], tables[gate, 0, p, 1] = generator, generator_high
            tables[gate, 1, p, 0], tables[gate, 1, p, 1] = evaluator, evaluator_high
            carry[p, 0] ^= h_a ^ (generator & colour_a) ^ h_b ^ ((evaluator ^ a) & colour_b)
            carry[p, 1] ^= h_a_high ^ (generator_high & colour_a) ^ h_b_high ^ ((evaluator_high ^ a_high) & colour_b)
    bits = np.empty(pairs, dtype=np.uint8)
    for p in range(pairs):
        flipped = np.uint64(0) - np.uint64((x[p] >> np.uint32(gates)) & np.uint32(1))
        bits[p] = (active[gates, p, 0] ^ (off & flipped) ^ theirs[p, gates, 0] ^ carry[p, 0]) & _ONE
    return bits


@numba.njit(cache=True, nogil=True)
def evaluated(active: Blocks, mine: Blocks, tables: Blocks, tweak: np.uint64, keys: RoundKeys) -> Bits:
    """Return the evaluator's colours."""
    gates, pairs = len(tables), len(mine)
    carry = active[gates + 1].copy()
    for gate in range(gates):
        for p in range(pairs):
            a, a_high = active[gate, p, 0] ^ carry[p, 0], active[gate, p, 1] ^ carry[p, 1]
            b, b_high = mine[p, gate, 0] ^ carry[p, 0], mine[p, gate, 1] ^ carry[p, 1]
            first = tweak + np.uint64(2 * gate * pairs + p)
            h_a, h_a_high = _hash(a, a_high, first, keys)
            h_b, h_b_high = _hash(b, b_high, first + np.uint64(pairs), keys)
            colour_a, colour_b = np.uint64(0) - (a & _ONE), np.uint64(0) - (b & _ONE)
            carry[p, 0] ^= h_a ^ (tables[gate, 0, p, 0] & colour_a) ^ h_b ^ ((tables[gate, 1, p, 0] ^ a) & colour_b)
            carry[p, 1] ^= (
                h_a_high ^ (tables[gate, 0, p, 1] & colour_a) ^ h_b_high ^ ((tables[gate, 1, p, 1] ^ a_high) & colour_b)
            )
    bits = np.empty(pairs, dtype=np.uint8)
    for p in range(pairs):
        bits[p] = (active[gates, p, 0] ^ mine[p, gates, 0] ^ carry[p, 0]) & _ONE
    return bits
