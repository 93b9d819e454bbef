"""Partitions and noisy values, as roles exchange them in memory.

Owners are positions in the public roster; no value here holds a record, an exact count or an owner's name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import Epsilon
from fedgroup.errors import ProtocolViolation
from fedgroup.space import Grid

Labels = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Noisy = npt.NDArray[np.signedinteger[Any]] | npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Partition:
    """Disjoint groups that cover all owners: `labels[i]` is the group of owner i, groups are numbered from 0.

    `masked[g]` tells whether the members of group g hide their answers from each other; by default none do.
    """

    labels: Labels
    masked: Flags | None = None

    def __post_init__(self) -> None:
        labels = np.asarray(self.labels, dtype=np.int32)
        if labels.ndim != 1 or (len(labels) and not 0 <= labels.min() <= labels.max() < len(labels)):
            raise ProtocolViolation("a partition gives every owner one group, numbered from 0")
        sizes = np.bincount(labels)
        if not sizes.all():
            raise ProtocolViolation("a partition's groups are numbered without gaps")
        labels = labels.copy() if labels.flags.writeable else labels
        labels.flags.writeable = False
        object.__setattr__(self, "labels", labels)
        if self.masked is not None and np.shape(self.masked) != (self.groups,):
            raise ProtocolViolation("a partition says of each group whether it is masked")

    @property
    def is_masked(self) -> Flags:
        """Tell of each group whether it is masked."""
        return np.zeros(self.groups, dtype=np.bool_) if self.masked is None else self.masked

    @classmethod
    def singletons(cls, owners: int) -> Partition:
        """Every owner alone."""
        return cls(np.arange(owners, dtype=np.int32))

    @property
    def owners(self) -> int:
        return len(self.labels)

    @cached_property
    def groups(self) -> int:
        """How many groups there are, lambda."""
        return int(self.labels.max()) + 1 if len(self.labels) else 0

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.labels, minlength=self.groups)


@dataclass(frozen=True, eq=False)
class NoisyVectors:
    """Every owner's count vector with noise on each cell; `scale` is the noise's scale, Delta / epsilon."""

    values: Noisy
    grid: Grid
    scale: Fraction
    epsilon: Epsilon

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != self.grid.cells:
            raise ProtocolViolation(f"a noisy vector has one count for each of the {self.grid.cells} cells")

    @property
    def owners(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Variances:
    """The noises of concentrated accounting: discrete Gaussian where one party draws a noise, Skellam in shares."""

    gaussian: Fraction
    skellam: Fraction

    def __float__(self) -> float:
        """The standard deviation of the Gaussian one."""
        return math.sqrt(self.gaussian)


NoiseScale = Fraction | Variances
"""How large a noise is: the scale of a Laplace noise, or variances."""


@dataclass(frozen=True, eq=False)
class MaskedAnswers:
    """What the members of masked groups send: a row per member, a word per bin and part, bin after bin.

    `chunks` are some words of all members after the other; they are made as they are looked at, once. Only a whole
    group's sum means anything.
    """

    chunks: Iterable[npt.NDArray[np.uint64]]
    labels: Labels
    groups: int
    noises: float


@dataclass(frozen=True, eq=False)
class NoisyAnswers:
    """The noisy sums of one or more groups, bin by bin, for each part of a question, in whole units.

    `scales` are those of the noise; `noises` is how many groups it is of, each with its own noise in every bin; members
    of masked groups send theirs in `masked`.
    """

    parts: Mapping[str, Noisy]
    scales: Mapping[str, NoiseScale]
    continuous: bool
    noises: int
    heard: int
    masked: MaskedAnswers | None = None


@dataclass(frozen=True, eq=False)
class NoisyTotals:
    """The sums of all groups' noisy answers, bin by bin, and how many noises each holds: more in masked groups.

    `shared` of the noises came in shares, from masked groups.
    """

    parts: Mapping[str, Noisy]
    scales: Mapping[str, NoiseScale]
    continuous: bool
    noises: float
    heard: int
    shared: float = 0.0


@dataclass(frozen=True, eq=False)
class Grouping:
    """What the provider made of the noisy vectors: a partition and how it came about."""

    partition: Partition
    settings: Mapping[str, Any]
    epsilon: Epsilon
    guarantee: str
    private: bool
    edges: int | None = None
    notes: tuple[str, ...] = ()
