"""`fedgroup bench secure-similarity`: two processes compare owners' counts, a batch of pairs after the other.

The reference is SecretFlow SPU on the same counts where it is to be had (`make test-spu` installs it). Elsewhere it is
the same protocol with a fresh session for every comparison: what sessions and batches save, and no judgement of others.
Wall times suffer from whatever else the machine does; processor times (`..._us`, a pair and side) hardly.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.lab.bench.measuring import BenchRow
from fedgroup.lab.bench.two_owners import BATCH, BenchSide, Lap, compare_in_two_processes
from fedgroup.privacy.keystream import Keystream
from fedgroup.secure.comparison import Counts, SecureComparison
from fedgroup.secure.similarity import opened

THRESHOLD = 0.8
CASES = ((100, 4), (100, 8), (400, 4), (25, 8))
_POISSON = np.array([141, 225, 250, 255], dtype=np.uint8)
"""Where a byte's value passes to the next count, for about a Poisson law of mean 0.6."""
_PROGRAM = Path(__file__).with_name("spu_cosine.py")


@dataclass(frozen=True)
class SpuComparison:
    """The bits that SPU found, and what it took; the processor time is of both parties together."""

    bits: npt.NDArray[np.bool_]
    wall_s: float
    processor_s: float


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield a row for each number of cells and bits a count, and one for a fresh session."""
    spu = spu_python()
    for cells, width in CASES:
        comparison = SecureComparison(cells, THRESHOLD, width)
        first, second = sample_counts(2 * BATCH if quick else 64 * BATCH, comparison)
        sides = compare_in_two_processes(comparison, first, second, sessions=2 if quick else 9)
        require_right(opened(sides[0].shares, sides[1].shares), comparison, first, second)
        reference = None if spu is None else _by_spu(spu, comparison, first, second, quick=quick)
        yield _pairs_row(comparison, sides, len(first), reference)
    alone = None if spu is None else _by_spu(spu, comparison, first[:1], second[:1], quick=quick)
    yield _session_row(sides, alone)


def _pairs_row(
    comparison: SecureComparison, sides: tuple[BenchSide, BenchSide], pairs: int, spu: tuple[SpuComparison, int] | None
) -> BenchRow:
    first, second = (side.pairs for side in sides)
    wall_s = max(first.wall_s, second.wall_s)
    fresh_s = _wall(*(side.sessions for side in sides)) + _wall(*(side.comparisons for side in sides))
    more: dict[str, Any] = {
        "cells": comparison.cells,
        "width": comparison.width,
        "pairs": pairs,
        "pairs_per_s": pairs / wall_s,
        "first_us": first.processor_s / pairs * 1e6,
        "second_us": second.processor_s / pairs * 1e6,
        "bytes_per_pair": (first.bytes_sent + second.bytes_sent) / pairs,
        "fresh_session_each_s": fresh_s,
    }
    reference, reference_s = "the same with a fresh session for every comparison", fresh_s
    if spu is not None:
        found, many = spu
        reference, reference_s = f"SecretFlow SPU, Cheetah, {many} pairs at once", found.wall_s / many
        more["reference_both_us"] = found.processor_s / many * 1e6
        more["processor_ratio"] = more["reference_both_us"] / (more["first_us"] + more["second_us"])
    return BenchRow(
        case=f"{comparison.cells} cells of {comparison.width} bits, a pair",
        ours_s=wall_s / pairs,
        peak_mb=max(side.peak_mb for side in sides),
        reference=reference,
        reference_s=reference_s,
        more=more,
    )


def _session_row(sides: tuple[BenchSide, BenchSide], spu: tuple[SpuComparison, int] | None) -> BenchRow:
    first, second = (side.sessions for side in sides)
    more = {
        "first_us": _processor(first) * 1e6,
        "second_us": _processor(second) * 1e6,
        "bytes": first[0].bytes_sent + second[0].bytes_sent,
    }
    return BenchRow(
        case="a fresh session, before its first pair",
        ours_s=_wall(first, second),
        peak_mb=max(side.peak_mb for side in sides),
        reference=None if spu is None else "SecretFlow SPU, Cheetah, a fresh session with one pair",
        reference_s=None if spu is None else spu[0].wall_s,
        more=more,
    )


def _by_spu(
    python: str, comparison: SecureComparison, first: Counts, second: Counts, *, quick: bool
) -> tuple[SpuComparison, int]:
    """Return what SPU takes for all pairs at once, which suits it best, and how many they were."""
    return spu_comparison(python, comparison, first, second, repeats=1 if quick else 3), len(first)


def spu_python() -> str | None:
    """Return a Python that has SPU, this one or the one that FEDGROUP_SPU_PYTHON names, or none."""
    return os.environ.get("FEDGROUP_SPU_PYTHON") or (sys.executable if _is_installed("spu") else None)


def _is_installed(package: str) -> bool:
    # Any folder named spu could be imported; only the installed package is SPU.
    return any(metadata.distributions(name=package))


def spu_comparison(
    python: str, comparison: SecureComparison, first: Counts, second: Counts, *, repeats: int = 1
) -> SpuComparison:
    """Return what SPU makes of the same counts."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.npz"), Path(folder, "found.npz")
        np.savez(
            given,
            first=first,
            second=second,
            threshold=np.array(comparison.threshold),
            fraction_bits=np.array(comparison.fraction_bits),
            repeats=np.array(repeats),
        )
        program = [python, "-I", str(_PROGRAM), str(given), str(found)]
        ran = subprocess.run(program, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
        if ran.returncode:
            raise RuntimeError(f"SPU failed:\n{ran.stderr}")
        with np.load(found) as result:
            wall, processor = (statistics.median(result[name].tolist()) for name in ("wall_s", "processor_s"))
            return SpuComparison(result["bits"].astype(np.bool_), wall, processor)


def _wall(first: list[Lap], second: list[Lap]) -> float:
    return statistics.median(max(one.wall_s, other.wall_s) for one, other in zip(first, second, strict=True))


def _processor(laps: list[Lap]) -> float:
    return statistics.median(one.processor_s for one in laps)


def sample_counts(pairs: int, comparison: SecureComparison) -> tuple[Counts, Counts]:
    """Return known counts of pairs of owners that have much in common, the same in every run."""
    stream = Keystream(hashlib.sha256(b"fedgroup bench, not private: similarity").digest())
    drawn = stream.words(3 * pairs * comparison.cells, np.uint8).reshape(3, pairs, comparison.cells)
    shared, first, second = np.searchsorted(_POISSON, drawn, side="right").astype(np.int64)
    factors = 1 + (stream.words(2 * pairs, np.uint8) & np.uint8(7)).reshape(2, pairs, 1).astype(np.int64)
    if comparison.width < 8:
        factors[:] = 1
    return factors[0] * (2 * shared + first), factors[1] * (2 * shared + second)


def require_right(
    bits: npt.NDArray[np.bool_],
    comparison: SecureComparison,
    first: Counts,
    second: Counts,
    *,
    margin: float | None = None,
) -> None:
    """Make sure that every bit is the exact comparison's, but for pairs just above the threshold."""
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    above = np.einsum("ij,ij->i", first, second) / np.where(lengths > 0, lengths, 1) - comparison.threshold
    near = comparison.margin if margin is None else margin
    if (bits[above > near] != 1).any() or bits[above <= 0].any():
        raise RuntimeError("a secure comparison is wrong")
