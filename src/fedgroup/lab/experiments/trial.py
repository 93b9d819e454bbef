"""How much an experiment measures: the paper's sweeps, or a small likeness of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from fedgroup.errors import InvalidInput

PAPER_TRUTH = 94.0
"""The true count of the paper's question at 500 owners: its MAE divided by its MRE."""
PAPER_OWNERS = 500


@dataclass(frozen=True)
class TrialPlan:
    """What is varied, and over how many selections of owners, questions and fresh answers everything is averaged."""

    epsilon: float = 0.3
    epsilons: tuple[float, ...] = (0.2, 0.3, 0.4, 0.5)
    owners: int = PAPER_OWNERS
    sizes: tuple[int, ...] = (500, 1_000, 2_000, 3_000)
    timed_sizes: tuple[int, ...] = (1_000, 2_000, 3_000, 4_000)
    cities: tuple[int, ...] = (100_000, 250_000, 500_000, 1_000_000)
    min_records: int = 10
    grid: tuple[int, int] = (5, 5)
    threshold: float = 0.5
    selections: int = 10
    questions: int | None = None
    repeats: int = 20
    quick: bool = False

    def __post_init__(self) -> None:
        for name in ("selections", "repeats", "owners", "min_records"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} must be at least 1, got {getattr(self, name)}")

    @property
    def facts(self) -> dict[str, Any]:
        """The settings as plain values: results of other settings are never mixed with these."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


FULL = TrialPlan()
QUICK = replace(
    FULL,
    epsilons=(0.3, 0.5),
    owners=150,
    sizes=(150, 300),
    timed_sizes=(150, 300),
    cities=(1_000, 3_000),
    selections=2,
    questions=12,
    repeats=5,
    quick=True,
)
