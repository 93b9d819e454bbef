"""Choosing some of the owners for an experiment. It looks at how many records they have, so it is not private."""

from __future__ import annotations

import numpy as np

from fedgroup.errors import InvalidInput
from fedgroup.owner.records import Records


def select_owners(records: Records, count: int, *, min_records: int = 0, seed: int = 0) -> Records:
    """Return the records of `count` owners drawn among those with at least `min_records`; the same for a same seed."""
    if count < 1:
        raise InvalidInput(f"the number of owners to take must be at least 1, got {count}")
    enough = np.flatnonzero(np.bincount(records.code, minlength=len(records.owners)) >= min_records)
    if len(enough) < count:
        raise InvalidInput(f"fewer than {count} owners have {min_records} records or more; take fewer owners")
    # Positions are ascending ids, so this is the draw over ascending ids that the contract states.
    chosen = np.zeros(len(records.owners), dtype=np.bool_)
    chosen[np.random.default_rng(seed).choice(enough, count, replace=False)] = True
    return records.keep(np.flatnonzero(chosen[records.code]), owners=records.owners[chosen])
