"""Public random groups of a fixed size: no similarity, no setup budget, nothing learned from who is with whom.

Requires:  a seed that nobody could choose (`mask_graph.public_seed`).
Guarantee: the groups do not depend on any record; colluders sit in them as if dealt at random.
Proof:     docs/guarantees.md#masked-groups
"""

from __future__ import annotations

import hashlib

import numpy as np

from fedgroup.errors import InvalidInput
from fedgroup.messages import Labels
from fedgroup.privacy.keystream import Keystream
from fedgroup.secure.mask_graph import shuffled


def cohort_labels(members: int, *, size: int, seed: bytes) -> Labels:
    """Return each owner's group in a uniformly random partition into as few groups of at most `size` as can be.

    The groups' sizes differ by at most one.
    """
    if members < 1:
        raise InvalidInput(f"cohorts need at least 1 member, got {members}")
    if size < 1:
        raise InvalidInput(f"a cohort has at least 1 member, got {size}")
    groups = -(-members // size)
    stream = Keystream(hashlib.sha256(b"fedgroup cohorts v1" + seed).digest())
    labels = np.arange(members, dtype=np.int32) % np.int32(groups)
    return shuffled(stream, labels, sizes=np.array([members]))
