"""AES inside compiled loops, by the processor's own instructions: one call a block, and nothing goes to memory.

The ciphers of `permutation.py` and `masking.py` take arrays, so every step of a protocol writes its inputs and reads
its outputs. Where the processor has AES instructions, loops call this instead and keep blocks in registers. It is the
same function.

Requires:  keys that are public: round keys are looked up in a table, and how long that takes may tell of the key.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

RoundKeys = npt.NDArray[np.uint64]
_ROUNDS = {16: 10, 32: 14}
"""By the bytes of the key."""


@cache
def is_supported() -> bool:
    """Tell whether this machine's processor has the instructions."""
    return "x86_64" in binding.get_default_triple() and bool(binding.get_host_cpu_features().get("aes", False))


def round_keys(key: bytes) -> RoundKeys:
    """Return the round keys of a key of 16 bytes, eleven of them, or of 32, fifteen (FIPS 197, section 5.2)."""
    box, size = _substitutes(), len(key) // 4
    words = [int.from_bytes(key[at : at + 4], "big") for at in range(0, len(key), 4)]
    constant = 1
    for at in range(size, 4 * (_ROUNDS[len(key)] + 1)):
        last = words[-1]
        if at % size == 0:
            first, second, third, fourth = last.to_bytes(4, "big")
            last = box[second] << 24 | box[third] << 16 | box[fourth] << 8 | box[first]
            last ^= constant << 24
            constant = _doubled(constant)
        elif at % size == 4:  # of the longer key only
            last = int.from_bytes(bytes(box[byte] for byte in last.to_bytes(4, "big")), "big")
        words.append(words[-size] ^ last)
    return np.array(words, dtype=">u4").view("<u8").astype(np.uint64).reshape(-1, 2)


def _doubled(value: int) -> int:
    return value << 1 ^ (0x11B if value & 0x80 else 0)


@cache
def _substitutes() -> tuple[int, ...]:
    """Return the S-box: the inverse in GF(2^8), then an affine map."""
    powers = [1]
    for _ in range(254):
        powers.append(powers[-1] ^ _doubled(powers[-1]))  # times 3, whose powers are all bytes but 0
    inverses = {power: powers[-at % 255] for at, power in enumerate(powers)}
    spreads = (inverse | inverse << 8 for inverse in (inverses.get(byte, 0) for byte in range(256)))
    return tuple((each ^ each >> 4 ^ each >> 5 ^ each >> 6 ^ each >> 7) & 0xFF ^ 0x63 for each in spreads)


def _block_of(rounds: int) -> Any:
    """Return the function of one block, as two 64-bit words, under the round keys of so many rounds."""

    def typed(_: Any, low: Any, high: Any, keys: Any) -> Any:  # noqa: ARG001  what a block is called with
        """Return how a block's two words become those of its image."""
        block = types.UniTuple(types.uint64, 2)

        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            word, index = ir.IntType(64), ir.IntType(32)
            pair = ir.VectorType(word, 2)
            a_round, last_round = (
                cgutils.get_or_insert_function(
                    builder.module, ir.FunctionType(pair, [pair, pair]), f"llvm.x86.aesni.{name}"
                )
                for name in ("aesenc", "aesenclast")
            )
            data = context.make_array(signature.args[2])(context, builder, given[2]).data
            first = builder.bitcast(data, pair.as_pointer())

            def round_key(number: int) -> Any:
                loaded = builder.load(builder.gep(first, [word(number)]))
                loaded.align = 8
                return loaded

            state = builder.insert_element(ir.Constant(pair, ir.Undefined), given[0], index(0))
            state = builder.xor(builder.insert_element(state, given[1], index(1)), round_key(0))
            for number in range(1, rounds):
                state = builder.call(a_round, [state, round_key(number)])
            state = builder.call(last_round, [state, round_key(rounds)])
            return context.make_tuple(builder, block, [builder.extract_element(state, index(at)) for at in (0, 1)])

        return block(types.uint64, types.uint64, keys), generate

    return intrinsic(typed)


aes_block, aes256_block = _block_of(_ROUNDS[16]), _block_of(_ROUNDS[32])
"""AES-128 and AES-256 of one block, as two 64-bit words, under round keys; for compiled loops only."""
