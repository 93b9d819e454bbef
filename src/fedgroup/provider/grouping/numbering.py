"""The one order in which groups are numbered when their making leaves none."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.messages import Labels


def numbered_by_lowest_member(labels: npt.NDArray[np.signedinteger[Any]]) -> Labels:
    """Return the same groups, numbered from 0 in the order of their lowest members."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[group]
