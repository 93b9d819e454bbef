"""AES-128 inside compiled loops, by the processor's own instructions: one call a block, and nothing goes to memory.

The cipher of `permutation.py` takes arrays, so every step of a protocol writes its inputs and reads its outputs. Where
the processor has AES instructions, loops call this instead and keep blocks in registers. It is the same function.
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
ROUNDS = 10


@cache
def is_supported() -> bool:
    """Tell whether this machine's processor has the instructions."""
    return "x86_64" in binding.get_default_triple() and bool(binding.get_host_cpu_features().get("aes", False))


def round_keys(key: bytes) -> RoundKeys:
    """Return the eleven round keys of a key of 16 bytes (FIPS 197, section 5.2)."""
    words = [list(key[at : at + 4]) for at in range(0, 16, 4)]
    constant = 1
    for at in range(4, 4 * (ROUNDS + 1)):
        last = words[-1]
        if at % 4 == 0:
            last = [_substitute(byte) for byte in (*last[1:], last[0])]
            last[0] ^= constant
            constant = _doubled(constant)
        words.append([one ^ other for one, other in zip(words[-4], last, strict=True)])
    return np.frombuffer(bytes(byte for word in words for byte in word), dtype="<u8").reshape(-1, 2).copy()


def _doubled(value: int) -> int:
    return value << 1 ^ (0x11B if value & 0x80 else 0)


@cache
def _substitute(byte: int) -> int:
    """Return the S-box's value: the inverse in GF(2^8), then an affine map."""
    inverse = next((other for other in range(256) if _product(byte, other) == 1), 0)
    spread = inverse | inverse << 8
    return (inverse ^ spread >> 4 ^ spread >> 5 ^ spread >> 6 ^ spread >> 7) & 0xFF ^ 0x63


def _product(one: int, other: int) -> int:
    total = 0
    while other:
        total ^= one if other & 1 else 0
        one, other = _doubled(one), other >> 1
    return total


def _typed(_: Any, low: Any, high: Any, keys: Any) -> Any:  # noqa: ARG001  what a block is called with
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
        for number in range(1, ROUNDS):
            state = builder.call(a_round, [state, round_key(number)])
        state = builder.call(last_round, [state, round_key(ROUNDS)])
        return context.make_tuple(builder, block, [builder.extract_element(state, index(at)) for at in (0, 1)])

    return block(types.uint64, types.uint64, keys), generate


aes_block: Any = intrinsic(_typed)
"""AES of one block, as two 64-bit words, under round keys; for compiled loops only."""
