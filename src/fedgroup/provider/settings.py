"""How owners are to be grouped: every choice, checked at birth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from fedgroup.errors import InvalidInput
from fedgroup.given import number, one_of, whole_number, written
from fedgroup.provider.grouping.limits import Limits
from fedgroup.provider.lazy_grouping import EXTRA
from fedgroup.questions.graphs import ALGORITHMS, ESTIMATES, GRAPHS, LEFTOVERS, Graph


@dataclass(frozen=True)
class GroupingSettings:
    """The similarity graph to build and the algorithm that partitions it."""

    graph: str = "topcell"
    estimate: str = "thresholded"
    algorithm: str | None = None
    threshold: float = 0.5
    false_cells: float = 0.1
    misplaced: float = 0.02
    limits: Limits | None = None
    leftovers: str = "alone"
    cohort_size: int = 50
    lower: float | None = None
    upper: float | None = None
    comparisons: int | None = None
    extra_comparisons: float = EXTRA
    device: str = "cpu"

    def __post_init__(self) -> None:
        one_of(self.graph, tuple(GRAPHS), name="graph")
        one_of(self.estimate, ESTIMATES, name="estimate")
        if self.kind.places and self.algorithm is not None:
            raise InvalidInput(
                f"the graph {self.graph} forms its groups without an algorithm; leave it out, or use --graph noisy"
            )
        if self.algorithm is not None:
            one_of(self.algorithm, ALGORITHMS, name="algorithm")
        self._become_numbers()
        if not 0 <= self.threshold < 1:
            raise InvalidInput(f"threshold must be at least 0 and below 1, got {written(self.threshold)}")
        self._require_band()
        self._require_device()
        one_of(self.leftovers, LEFTOVERS, name="leftovers")
        if not 0 < self.false_cells < float("inf"):
            raise InvalidInput(f"false-cells must be a number greater than 0, got {written(self.false_cells)}")
        if not 0 <= self.misplaced <= 1:
            raise InvalidInput(f"misplaced is a share of the owners, from 0 to 1, got {written(self.misplaced)}")

    def _become_numbers(self) -> None:
        """Make every number one of Python's own, which a plan's file can hold, or refuse it."""
        if self.extra_comparisons != math.inf:
            object.__setattr__(self, "extra_comparisons", number(self.extra_comparisons, name="extra_comparisons"))
        if self.extra_comparisons < 0:
            raise InvalidInput(
                "extra_comparisons are a share of the needed ones, from 0 (one after the other) to infinity (all at "
                f"once), got {written(self.extra_comparisons)}"
            )
        for name in ("threshold", "false_cells", "misplaced", "lower", "upper"):
            value = getattr(self, name)
            if value is not None or name not in ("lower", "upper"):
                object.__setattr__(self, name, number(value, name=name))
        object.__setattr__(self, "cohort_size", whole_number(self.cohort_size, name="cohort_size", least=2))
        if self.comparisons is not None:
            object.__setattr__(self, "comparisons", whole_number(self.comparisons, name="comparisons", least=0))

    def _require_band(self) -> None:
        """Refuse what only compared graphs take, and limits out of order."""
        if self.comparisons is not None and self.needs_all_pairs:
            raise InvalidInput(
                f"the algorithm {self.algorithm} needs every pair in doubt compared; leave out the number of "
                "comparisons, or the algorithm"
            )
        if self.graph != "hybrid" and (self.lower, self.upper, self.comparisons) != (None, None, None):
            raise InvalidInput("lower, upper and comparisons belong to the graph hybrid")
        lower = self.threshold if self.lower is None else self.lower
        upper = self.threshold if self.upper is None else self.upper
        if not -1 <= lower <= self.threshold <= upper <= 1:
            given = ", ".join(map(written, (lower, self.threshold, upper)))
            raise InvalidInput(f"-1 <= lower <= threshold <= upper <= 1 must hold, got {given}")

    def _require_device(self) -> None:
        """Refuse a device that is not there, before anything is spent."""
        one_of(self.device, ("cpu", "cuda"), name="device")
        if self.device == "cpu":
            return
        if self.graph not in ("noisy", "likely") or (self.graph == "noisy" and self.estimate == "debiased"):
            raise InvalidInput(
                "the device cuda serves the graph likely, and noisy with the estimates thresholded and raw"
            )
        if find_spec("torch") is None:
            raise InvalidInput("the device cuda needs PyTorch: pip install 'fedgroup[gpu]'")
        import torch

        if not torch.cuda.is_available():
            raise InvalidInput("PyTorch finds no GPU here; use the device cpu")

    @property
    def needs_all_pairs(self) -> bool:
        """Whether every pair in doubt is compared, not only those that placing owners in order asks for."""
        return self.kind.compares and self.algorithm not in (None, "greedy")

    @property
    def kind(self) -> Graph:
        """What is known of its graph."""
        return GRAPHS[self.graph]

    def facts(self) -> dict[str, Any]:
        """Return the settings as they are written into a plan; null where a setting has no meaning."""
        uses = self.kind.uses
        cells = "false_cells" in uses and ("estimate" not in uses or self.estimate == "thresholded")
        return {
            "graph": self.graph,
            "estimate": self.estimate if "estimate" in uses else None,
            "algorithm": (self.algorithm or "greedy") if "algorithm" in uses else None,
            "threshold": self.threshold if "threshold" in uses else None,
            "false_cells": self.false_cells if cells else None,
            "misplaced": self.misplaced if "misplaced" in uses else None,
            "leftovers": self.leftovers,
            "cohort_size": self.cohort_size if self.leftovers == "cohort" else None,
            "max_group_size": None if self.limits is None else self.limits.largest,
            "owner_limits": self.limits is not None and self.limits.personal is not None,
        }


def require_blocks(graph: str, device: str) -> None:
    """Refuse to share a graph out to workers unless it is made of blocks that can be computed apart."""
    if graph != "noisy":
        raise InvalidInput(
            f"the graph {graph} has no blocks to share out; leave the executor (--cluster) out, or use --graph noisy"
        )
    if device != "cpu":
        raise InvalidInput(f"workers compute on the device cpu, got {device!r}; leave one of the two out")
