"""Loops of masked rounds with AES in them: what they give is what `pair_words` and `masking` define.

A member of a group does a little for each of some fifty neighbours, three times in a round, and calls on arrays that
small cost more than what they do. Each loop is the same computation, bit for bit, as the plain one beside its
definition, which serves processors without AES instructions; tests compare the two.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.secure.aes import RoundKeys, aes256_block

Blocks = npt.NDArray[np.uint64]
"""Secrets of 16 bytes as rows of two words."""
Words = npt.NDArray[np.uint64]
Halves = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.uint8]

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@numba.njit(cache=True, nogil=True, inline="always")
def _mask(low: np.uint64, high: np.uint64, counter: np.uint64, keys: RoundKeys) -> tuple[np.uint64, np.uint64]:
    """Return AES_K(x) xor x of x = secret xor counter."""
    low ^= counter
    first, second = aes256_block(low, high, keys)
    return first ^ low, second ^ high


@numba.njit(cache=True, nogil=True)
def sum_of_masks(secrets: Blocks, keys: RoundKeys, signs: Words, first: int, words: int) -> Words:
    """Return the sum of masks, each word of them times the sign of its secret, from the even number `first` on."""
    total = np.zeros(words + 1, dtype=np.uint64)
    for block in range((words + 1) // 2):
        counter = np.uint64(first // 2 + block)
        even, odd = np.uint64(0), np.uint64(0)
        for at in range(len(secrets)):
            one, other = _mask(secrets[at, 0], secrets[at, 1], counter, keys)
            even += one * signs[at]
            odd += other * signs[at]
        total[2 * block], total[2 * block + 1] = even, odd
    return total[:words]


@numba.njit(cache=True, nogil=True)
def keys_with(secrets: Blocks, keys: RoundKeys) -> Blocks:
    """Return the round key of each pair."""
    found = np.empty((len(secrets), 2), dtype=np.uint64)
    for at in range(len(secrets)):
        found[at, 0], found[at, 1] = _mask(secrets[at, 0], secrets[at, 1], np.uint64(0), keys)
    return found


@numba.njit(cache=True, nogil=True, inline="always")
def _hide(into: Halves, share: Halves, low: np.uint64, high: np.uint64, pad: np.uint64, keys: RoundKeys) -> None:
    """Write a share of five halves under a pad of a pair, which is two blocks, from that number on."""
    one, two = _mask(low, high, pad, keys)
    three, _ = _mask(low, high, pad + np.uint64(1), keys)
    into[0] = share[0] ^ np.uint32(one & _LOW)
    into[1] = share[1] ^ np.uint32(one >> _HALF)
    into[2] = share[2] ^ np.uint32(two & _LOW)
    into[3] = share[3] ^ np.uint32(two >> _HALF)
    into[4] = share[4] ^ np.uint32(three & _LOW)


@numba.njit(cache=True, nogil=True)
def dealt_to(
    secrets: Blocks, keys: RoundKeys, higher: Flags, shares: Halves, box: Blocks, box_keys: RoundKeys
) -> Halves:
    """Return what a member deals to each neighbour: a share under its pad of the pair, and the round key, boxed."""
    dealt = np.empty((len(secrets), 9), dtype=np.uint32)
    for at in range(len(secrets)):
        low, high = secrets[at, 0], secrets[at, 1]
        _hide(dealt[at], shares[at], low, high, np.uint64(1 + 2 * higher[at]), keys)
        one, two = _mask(low, high, np.uint64(0), keys)
        three, four = _mask(box[0, 0], box[0, 1], np.uint64(at), box_keys)
        one, two = one ^ three, two ^ four
        dealt[at, 5], dealt[at, 6] = one & _LOW, one >> _HALF
        dealt[at, 7], dealt[at, 8] = two & _LOW, two >> _HALF
    return dealt


@numba.njit(cache=True, nogil=True)
def sealed_to(secrets: Blocks, keys: RoundKeys, higher: Flags, shares: Halves) -> Halves:
    """Return a share for each neighbour under the member's pad of the pair."""
    sealed = np.empty((len(secrets), 5), dtype=np.uint32)
    for at in range(len(secrets)):
        _hide(sealed[at], shares[at], secrets[at, 0], secrets[at, 1], np.uint64(1 + 2 * higher[at]), keys)
    return sealed


@numba.njit(cache=True, nogil=True)
def opened_by(
    secrets: Blocks, seeds: RoundKeys, boxes: RoundKeys, higher: Flags, of_box: Flags, sealed: Halves
) -> Halves:
    """Return the shares that neighbours dealt to a member: of each the seed's, or the box key's."""
    opened = np.empty((len(secrets), 5), dtype=np.uint32)
    for at in range(len(secrets)):
        pad = np.uint64(3 - 2 * higher[at])  # the neighbour's: it is lower where this member is higher
        keys = boxes if of_box[at] else seeds
        _hide(opened[at], sealed[at], secrets[at, 0], secrets[at, 1], pad, keys)
    return opened
