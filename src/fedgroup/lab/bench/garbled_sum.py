"""The slow way to a secure sum, as a reference: owner after owner, one garbled 32-bit addition each.

The running sum S is in two parts whose xor it is. The holder has one; the other is passed on to the next owner, which
garbles (holder's part xor passed part) + its own value: 31 AND gates, and 32 oblivious transfers for the holder's bits.
The colours of the result's labels are the new parts: the next owner keeps the garbler's and is the new holder, the old
holder passes the evaluator's on.

Requires:  all follow the protocol, and no two owners pool what they know: weaker than what masked sums promise.
Guarantee: an owner sees one part of any running sum, which is uniform; the sum comes out modulo 2^32.
Proof:     Zahur, Rosulek, Evans, "Two Halves Make a Whole" (Eurocrypt 2015)
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedgroup.secure.base_ot import KEY_BYTES, BaseReceiver, BaseSender, Entropy
from fedgroup.secure.edwards import POINT_BYTES
from fedgroup.secure.permutation import Blocks, Permutation, blocks_of

BITS = 32
_MODULUS = 1 << BITS


@dataclass(frozen=True)
class GarbledAddition:
    """What the garbler sends: the holder's choice of labels, its own active labels, and two blocks a gate."""

    transfers: Blocks
    active: Blocks
    gates: Blocks

    @property
    def size(self) -> int:
        """How many bytes this is."""
        return self.transfers.nbytes + self.active.nbytes + self.gates.nbytes


@dataclass(frozen=True)
class SequentialSum:
    """The sum modulo 2^32, read as signed, and the bytes that all owners sent for it."""

    value: int
    bytes_sent: int


def sequential_sum(values: Sequence[int], *, entropy: Entropy) -> SequentialSum:
    """Return the owners' sum, added up one owner after the other."""
    held, passed, size = int(values[0]) % _MODULUS, 0, 0
    for position, value in enumerate(values[1:], start=1):
        passed, held, sent = _addition(held, passed, int(value) % _MODULUS, position=position, entropy=entropy)
        size += sent
    total = held ^ passed
    return SequentialSum((total + _MODULUS // 2) % _MODULUS - _MODULUS // 2, size)


def _addition(held: int, passed: int, value: int, *, position: int, entropy: Entropy) -> tuple[int, int, int]:
    """Return both parts of (held ^ passed) + value, the evaluator's and the garbler's, and the bytes sent."""
    session = hashlib.sha256(b"fedgroup sequential sum" + position.to_bytes(8, "big") + entropy(16)).digest()
    permutation = Permutation(session[:16])
    garbler = BaseSender(session, entropy=entropy)
    holder = BaseReceiver(session, _bits(held), sender_point=garbler.point, entropy=entropy)
    sent, kept = garbled(passed, value, keys=garbler.keys(holder.points), entropy=entropy, permutation=permutation)
    found = evaluated(held, sent, keys=holder.keys, permutation=permutation)
    part_passed_on = BITS // 8
    return found, kept, POINT_BYTES + len(holder.points) + sent.size + part_passed_on


def garbled(
    passed: int, value: int, *, keys: Sequence[Sequence[bytes]], entropy: Entropy, permutation: Permutation
) -> tuple[GarbledAddition, int]:
    """Return the addition to send and the garbler's part of the sum."""
    offset = blocks_of(entropy(KEY_BYTES))[0]
    offset[0] |= np.uint64(1)  # the colours of a wire's two labels differ
    both = blocks_of(b"".join(no + yes for no, yes in keys)).reshape(BITS, 2, 2)
    # The key of "no" is the label of 0, and the correction makes the key of "yes" the label of 1.
    transfers = both[:, 0] ^ both[:, 1] ^ offset
    sums = both[:, 0] ^ _chosen(passed, offset)
    zeros = blocks_of(entropy(KEY_BYTES * BITS))
    gates = np.empty((BITS - 1, 2, 2), dtype=np.uint64)
    carry = np.zeros(2, dtype=np.uint64)
    colours = []
    for i in range(BITS):
        colours.append(int(sums[i, 0] ^ zeros[i, 0] ^ carry[0]) & 1)
        if i < BITS - 1:
            gates[i], product = _garbled_and(sums[i] ^ carry, zeros[i] ^ carry, offset, 2 * i, permutation)
            carry = carry ^ product
    return GarbledAddition(transfers, zeros ^ _chosen(value, offset), gates), _number(colours)


def evaluated(held: int, sent: GarbledAddition, *, keys: Sequence[bytes], permutation: Permutation) -> int:
    """Return the evaluator's part of the sum."""
    chosen = np.array(_bits(held), dtype=np.uint64)[:, None]
    labels = blocks_of(b"".join(keys)) ^ sent.transfers * chosen
    carry = np.zeros(2, dtype=np.uint64)
    colours = []
    for i in range(BITS):
        colours.append(int(labels[i, 0] ^ sent.active[i, 0] ^ carry[0]) & 1)
        if i < BITS - 1:
            inputs = np.stack((labels[i] ^ carry, sent.active[i] ^ carry))
            carry = carry ^ _evaluated_and(inputs, sent.gates[i], 2 * i, permutation)
    return _number(colours)


def _garbled_and(
    left: Blocks, right: Blocks, offset: Blocks, tweak: int, permutation: Permutation
) -> tuple[Blocks, Blocks]:
    """Return a gate's two blocks and its output's label of 0, given its inputs' labels of 0."""
    no = permutation.hash(np.stack((left, right)), tweak)
    yes = permutation.hash(np.stack((left ^ offset, right ^ offset)), tweak)
    differences = no ^ yes
    gate = np.stack((differences[0] ^ offset * (right[0] & np.uint64(1)), differences[1] ^ left))
    halves = no[0] ^ gate[0] * (left[0] & np.uint64(1)) ^ no[1] ^ differences[1] * (right[0] & np.uint64(1))
    return gate, halves


def _evaluated_and(inputs: Blocks, gate: Blocks, tweak: int, permutation: Permutation) -> Blocks:
    """Return the label of a gate's output, given one label of each input."""
    hashed = permutation.hash(inputs, tweak)
    left, right = (inputs[:, 0] & np.uint64(1)).tolist()
    result: Blocks = hashed[0] ^ gate[0] * np.uint64(left) ^ hashed[1] ^ (gate[1] ^ inputs[0]) * np.uint64(right)
    return result


def _chosen(number: int, offset: Blocks) -> Blocks:
    """Return the offset where the number's bits are 1, lowest first."""
    result: Blocks = np.array(_bits(number), dtype=np.uint64)[:, None] * offset
    return result


def _bits(number: int) -> list[int]:
    return [number >> i & 1 for i in range(BITS)]


def _number(bits: Sequence[int]) -> int:
    return sum(bit << i for i, bit in enumerate(bits))
