"""Masked groups of one federation, made ready once and used for many questions; every question is a new round."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable

import numpy as np

from fedgroup.messages import Partition
from fedgroup.secure.mask_graph import cohort_labels, public_seed
from fedgroup.secure.round import MaskedGroups, MaskSettings, prepare_groups

MOST_KEPT = 8

Entropy = Callable[[int], bytes]


class MaskRoom:
    """Plays the set-up that owners do together: nonces for the public seed, keys, pair secrets.

    With a seed everything repeats, which is for evaluation only.
    """

    def __init__(self, owners: int, *, seed: int | None) -> None:
        self._owners = owners
        self._entropy = secrets.token_bytes if seed is None else _repeatable(seed)
        self._seed: bytes | None = None
        self._ready: dict[tuple[bytes, MaskSettings], MaskedGroups] = {}

    @property
    def seed(self) -> bytes:
        """The public seed, made of a nonce of every owner."""
        if self._seed is None:
            nonces = self._entropy(16 * self._owners)
            self._seed = public_seed(nonces[at : at + 16] for at in range(0, len(nonces), 16))
        return self._seed

    def cohorts(self, members: int, size: int) -> Partition:
        """Return public random groups of at most `size`, all masked."""
        labels = cohort_labels(members, size=size, seed=self.seed)
        return Partition(labels, np.ones(int(labels.max()) + 1, dtype=np.bool_))

    def ready(self, partition: Partition, settings: MaskSettings) -> MaskedGroups:
        """Return the masked groups of a partition; those of the last few are kept."""
        key = (hashlib.sha256(partition.labels.tobytes() + partition.is_masked.tobytes()).digest(), settings)
        if key not in self._ready:
            while len(self._ready) >= MOST_KEPT:
                self._ready.pop(next(iter(self._ready)))
            self._ready[key] = prepare_groups(partition, settings, seed=self.seed, entropy=self._entropy)
        return self._ready[key]


def with_cohorts(partition: Partition, *, size: int, seed: bytes) -> Partition:
    """Return the partition with all owners that are alone put into masked cohorts of at most `size`."""
    alone = np.flatnonzero(partition.sizes[partition.labels] == 1)
    if len(alone) < 2:
        return partition
    labels = partition.labels.astype(np.int64)
    labels[alone] = partition.groups + cohort_labels(len(alone), size=size, seed=seed)
    used, numbered = np.unique(labels, return_inverse=True)
    return Partition(numbered.astype(np.int32), used >= partition.groups)


def _repeatable(seed: int) -> Entropy:
    """Return entropy that repeats, not private: a counter hashed with the seed."""
    taken = 0

    def entropy(count: int) -> bytes:
        nonlocal taken
        taken += 1
        return hashlib.shake_256(b"fedgroup masks, not private %d %d" % (seed, taken)).digest(count)

    return entropy
