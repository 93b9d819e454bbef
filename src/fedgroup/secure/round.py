"""Masked groups made ready: who masks with whom, under which terms, with which secrets; then round after round.

Requires:  a seed of the mask graph that nobody could choose; pair secrets that only the two owners know; a new round
           id for every round.
Guarantee: what a member sends is uniform to anyone who lacks the masks it shares with honest members; only the sum of
           a whole group shows, and it carries the noise of `noises`. Terms are computed from public sizes alone.
Proof:     docs/guarantees.md#masked-groups
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.given import is_number, whole_number, written
from fedgroup.messages import Labels, Partition
from fedgroup.secure.mask_graph import mask_edges
from fedgroup.secure.masking import Ints, Positions, Secrets, Words, masked, pair_masks, round_context
from fedgroup.secure.pair_keys import OwnerKey, agreed_secrets, simulated_secrets
from fedgroup.secure.terms import MaskedTerms

MOST_AGREEMENTS = 20_000
"""In one process, more pairs get simulated secrets: owners share memory there, and an agreement takes 40 us."""


@dataclass(frozen=True)
class MaskSettings:
    """What masked groups withstand: `colluders` members that pool what they know, a share of `dropouts`.

    There is one colluder at least: a member knows its own share of the noise.

    Large groups' mask graphs stay connected under all of these, and under a fifth of the members at least.
    """

    colluders: int = 1
    dropouts: float = 0.1

    def __post_init__(self) -> None:
        object.__setattr__(self, "colluders", whole_number(self.colluders, name="colluders", least=1))
        if not (is_number(self.dropouts) and 0 <= self.dropouts < 1):
            raise InvalidInput(f"dropouts is a share of the members from 0 to below 1, got {written(self.dropouts)}")

    def __str__(self) -> str:
        return f"masked against {self.colluders} colluding and {self.dropouts:.0%} silent members of a group"

    def terms(self, members: int) -> MaskedTerms:
        """Return the terms of a group of so many members; a small group withstands fewer colluders."""
        return MaskedTerms(members, min(self.colluders, max(members - 1, 0)), self.silent(members))

    def silent(self, members: int) -> int:
        """Return how many of so many members may be silent."""
        return math.ceil(self.dropouts * members) if members > 1 else 0


@dataclass(frozen=True, eq=False)
class MaskedGroups:
    """The masked groups of a partition: `members` are positions in the roster, all else is per member or group."""

    members: Positions
    labels: Labels
    parts: npt.NDArray[np.int64]
    first: Positions
    second: Positions
    pair_secrets: Secrets
    noises: float
    delta: float
    digest: bytes
    simulated: bool

    @property
    def groups(self) -> int:
        return len(self.parts)

    @property
    def parts_of_members(self) -> npt.NDArray[np.int64]:
        """Into how many parts the noise of each member's group is cut."""
        return self.parts[self.labels]

    @property
    def sizes(self) -> dict[int, int]:
        """How many members are in groups whose noise is cut into so many parts."""
        parts, members = np.unique(self.parts_of_members, return_counts=True)
        return dict(zip(parts.tolist(), members.tolist(), strict=True))

    def masks(self, *, question: bytes, epsilon_nano: int, epoch: int, round_id: bytes) -> Callable[[Ints, int], Words]:
        """Return the function that masks all members' values in one round: some words of them, from a number on.

        Requires:  it is called once for every word of the round, and the number is even.
        """
        context = round_context(
            question=question,
            epsilon_nano=epsilon_nano,
            parts=int(self.parts.sum()),
            roster_digest=self.digest,
            epoch=epoch,
            round_id=round_id,
        )

        def mask(values: Ints, first: int) -> Words:
            pads = pair_masks(self.pair_secrets, context, words=values.shape[1], first=first)
            return masked(values, self.first, self.second, pads)

        return mask


def noises_of(partition: Partition, settings: MaskSettings | None = None) -> float:
    """Return how many noises an answer by this partition holds: one a trusted group, size / t a masked one."""
    is_masked = partition.is_masked
    terms = settings or MaskSettings()
    hidden = sum(float(terms.terms(size).shape(size)) for size in partition.sizes[is_masked].tolist())
    return float(np.count_nonzero(~is_masked)) + hidden


def prepare_groups(
    partition: Partition, settings: MaskSettings, *, seed: bytes, entropy: Callable[[int], bytes]
) -> MaskedGroups:
    """Return the masked groups of a partition, with mask graph and pair secrets."""
    members = np.flatnonzero(partition.is_masked[partition.labels]).astype(np.int32)
    used, labels = np.unique(partition.labels[members], return_inverse=True)
    sizes = np.bincount(labels, minlength=len(used))
    terms = {size: settings.terms(size) for size in set(sizes.tolist())}
    first, second = mask_edges(labels.astype(np.int32), seed=seed, bad_share=lambda size: terms[size].bad_share)
    simulated = len(first) > MOST_AGREEMENTS
    if simulated:
        pair_secrets = simulated_secrets(entropy(32), first, second)
    else:
        pair_secrets = agreed_secrets([OwnerKey.fresh(entropy) for _ in members], first, second)
    parts = np.array([terms[size].parts for size in sizes.tolist()], dtype=np.int64)
    return MaskedGroups(
        members=members,
        labels=labels.astype(np.int32),
        parts=parts,
        first=first,
        second=second,
        pair_secrets=pair_secrets,
        noises=float(sum(terms[size].shape(size) for size in sizes.tolist())),
        delta=sum(terms[size].delta for size in sizes.tolist()),
        digest=hashlib.sha256(members.tobytes() + labels.astype(np.int32).tobytes() + parts.tobytes()).digest(),
        simulated=simulated,
    )
