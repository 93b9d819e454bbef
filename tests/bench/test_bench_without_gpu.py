"""The bench of the GPU says what is missing, and needs no package but numpy, torch and Triton."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fedgroup
from fedgroup.errors import InvalidInput
from fedgroup.lab.bench import obstacle, run
from fedgroup.lab.bench.gpu import missing

SOURCE = Path(fedgroup.__file__).parents[1]

BARE = """
import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder

THERE = {*sys.stdlib_module_names, "fedgroup", "numpy"}

class FewPackages(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return super().find_spec(name, path, target) if name.partition(".")[0] in THERE else None

sys.meta_path[:] = BuiltinImporter, FrozenImporter, FewPackages
"""

STAND_INS = """
from unittest.mock import MagicMock

sys.modules |= {name: MagicMock() for name in ("torch", "triton", "triton.language")}
"""

CHAIN = """
import fedgroup.lab.bench.gpu, fedgroup.provider.gpu, fedgroup.provider.gpu_kernel
from fedgroup.lab.bench.measuring import versions

assert set(versions()) >= {"python", "fedgroup", "numpy"}
"""

GROUPS = """
import numpy as np
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping.greedy import greedy_labels, has_numba

path = SimilarityGraph(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], dtype=np.int32))
assert not has_numba()
assert greedy_labels(path).tolist() == [0, 0, 1]
"""

BENCH = """
import runpy

sys.argv = ["gpu"]
runpy.run_module("fedgroup.lab.bench.gpu", run_name="__main__", alter_sys=True)
"""


def on_a_bare_machine(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program where every package but numpy and our own is as if it were not installed."""
    command = [sys.executable, "-W", "error", "-c", BARE + program]
    return subprocess.run(command, env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=False)


def test_what_should_be_missing_is_missing_there() -> None:
    ran = on_a_bare_machine("import numba")
    assert "No module named 'numba'" in ran.stderr


def test_numpy_torch_and_triton_are_all_that_is_imported() -> None:
    # At import torch and Triton are only asked for names, so anything can stand in for them.
    ran = on_a_bare_machine(STAND_INS + CHAIN)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_owners_are_grouped_without_a_compiler() -> None:
    ran = on_a_bare_machine(GROUPS)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_without_torch_the_program_ends_with_one_line() -> None:
    ran = on_a_bare_machine(BENCH)
    line = "fedgroup: the bench gpu cannot run here: PyTorch is not installed; install fedgroup with the extra [gpu]\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", line)


@pytest.mark.skipif(missing() is None, reason="there is a GPU here")
def test_without_a_gpu_the_bench_is_refused() -> None:
    with pytest.raises(InvalidInput, match="the bench gpu cannot run here: PyTorch"):
        run("gpu", quick=True)
    assert (obstacle("gpu"), obstacle("noise")) == (missing(), None)
