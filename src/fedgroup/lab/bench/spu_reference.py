"""SecretFlow SPU as a reference, where there is one: in this environment, or in the one FEDGROUP_SPU_PYTHON names."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fedgroup.secure.comparison import Comparison, Counts

_PROGRAM = Path(__file__).with_name("spu_cosine.py")


@dataclass(frozen=True)
class SpuComparison:
    """The bits that SPU found, and what it took; the processor time is of both parties together."""

    bits: npt.NDArray[np.bool_]
    wall_s: float
    processor_s: float


def spu_python() -> str | None:
    """Return a Python that has SPU, or none."""
    return os.environ.get("FEDGROUP_SPU_PYTHON") or (sys.executable if _is_installed("spu") else None)


def _is_installed(package: str) -> bool:
    # Any folder named spu could be imported; only the installed package is SPU.
    return any(metadata.distributions(name=package))


def spu_comparison(
    python: str, comparison: Comparison, first: Counts, second: Counts, *, repeats: int = 1
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
