"""How large a group may be, for everybody (the paper's DOG-Global) and for each owner (DOG-Personal)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.given import whole_number

GroupLimits = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Limits:
    """No group has more than `largest` members, and owner u's group has at most `personal[u]`."""

    largest: int | None = None
    personal: GroupLimits | None = None

    def __post_init__(self) -> None:
        if self.largest is not None:
            object.__setattr__(self, "largest", whole_number(self.largest, name="a group limit", least=1))
        if self.personal is not None:
            object.__setattr__(self, "personal", _checked(self.personal))

    def per_owner(self, owners: int) -> GroupLimits:
        """Return the largest group each of `owners` owners accepts; `owners` stands for no limit."""
        everybody = owners if self.largest is None else min(self.largest, owners)
        if self.personal is None:
            return np.full(owners, everybody, dtype=np.int32)
        if len(self.personal) != owners:
            raise InvalidInput(f"personal group limits are one per owner: {owners} owners, {len(self.personal)} limits")
        return np.minimum(self.personal, np.int32(everybody))


def limits_per_owner(limits: Limits | None, owners: int) -> GroupLimits:
    """Return the largest group each owner accepts, where `None` limits nobody."""
    return (limits or Limits()).per_owner(owners)


def _checked(personal: npt.ArrayLike) -> GroupLimits:
    given = np.asarray(personal)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise InvalidInput("personal group limits are a list of whole numbers, one per owner")
    if given.size and given.min() < 1:
        raise InvalidInput(f"a group limit must be at least 1, got {given.min()}")
    kept = np.minimum(given, np.iinfo(np.int32).max).astype(np.int32)
    kept.flags.writeable = False
    return kept
