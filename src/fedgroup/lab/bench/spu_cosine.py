"""The same comparison with SecretFlow SPU: two parties, protocol Cheetah, simulated by two threads of one process.

A program of its own, `python spu_cosine.py IN.npz OUT.npz`: SPU needs Python below 3.12 and numpy below 2, so it lives
in an environment without fedgroup, and imports nothing of it. IN holds the counts `first` and `second` (one row a
pair), `threshold`, `fraction_bits` and `repeats`; OUT the `bits`, and the `wall_s` and `processor_s` of every repeat.

Either party's share of the work is prepared in the clear: the first divides its vector by its length, the second
computes what the inner product must exceed. Both are whole numbers below 2^31, so a ring of 32 bits is enough.
"""

from __future__ import annotations

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import spu.utils.simulation as simulation

import spu


def main(source: str, target: str) -> None:
    """Compare the pairs of one file and write the bits and times to another."""
    given = np.load(source)
    unit = 2.0 ** int(given["fraction_bits"])
    units = np.rint(_over_length(given["first"]) * unit).astype(np.int32)
    limits = np.floor(float(given["threshold"]) * _length(given["second"]) * unit).astype(np.int32)
    counts = given["second"].astype(np.int32)
    simulator = simulation.Simulator.simple(2, spu.ProtocolKind.CHEETAH, spu.FieldType.FM32)
    above = simulation.sim_jax(simulator, _above)
    above(units, counts, limits)  # compiled before anything is timed
    times = []
    for _ in range(int(given["repeats"])):
        wall, processor = time.perf_counter(), time.process_time()
        bits = np.asarray(above(units, counts, limits))
        times.append((time.perf_counter() - wall, time.process_time() - processor))
    wall_s, processor_s = np.array(times).T
    np.savez(target, bits=bits, wall_s=wall_s, processor_s=processor_s)


def _above(units: jax.Array, counts: jax.Array, limits: jax.Array) -> jax.Array:
    return jnp.sum(units * counts, axis=1) > limits


def _length(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    length: npt.NDArray[np.float64] = np.linalg.norm(counts, axis=1)
    return length


def _over_length(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    length = _length(counts)[:, None]
    return counts / np.where(length > 0, length, 1.0)


if __name__ == "__main__":
    main(*sys.argv[1:])
