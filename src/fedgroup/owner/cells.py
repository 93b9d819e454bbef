"""An owner works out for itself which cells of a published map come next, before it pays for them.

Guarantee: cells that are counted follow from public sizes, from this owner's own protection, and from two vectors that
           the provider says were released before. Others are refused before the charge.
Not covered: whether these vectors are what was released. Whatever they are, the answer is charged and noisy as any.
"""

from __future__ import annotations

import numpy as np

from fedgroup.epsilon import Epsilon
from fedgroup.errors import FedgroupError
from fedgroup.maps.publishing import Released, Subject, follows, sized
from fedgroup.messages.cells_from import CellsFrom
from fedgroup.owner.refusals import Unknown
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.remembered import remembered
from fedgroup.space.blocks import Blocks


def require_following(query: RangeQuery, told: CellsFrom | None, *, protection: Protection) -> None:
    """Refuse blocks that are cut otherwise than the answers before them say; owners of one process look once."""
    if not isinstance(query.range, Blocks):
        return
    blocks = query.range
    if told is None or not remembered(
        query, "follows", lambda: _follow(query, blocks, told, protection), given=protection
    ):
        raise Unknown("cells")


def _follow(query: RangeQuery, blocks: Blocks, told: CellsFrom, protection: Protection) -> bool:
    released = [
        Released(np.array(counts, dtype=np.int64), noises)
        for counts, noises in zip(told.answers, told.noises, strict=True)
    ]
    try:
        subject = Subject(query.kind, query.measure, query.since, query.until)
        sizes = sized(
            subject,
            blocks.box,
            Epsilon(told.epsilon_nano),
            noises=told.expected_noises,
            records=told.records,
            protection=protection,
            most_cells=told.most_cells,
        )
    except FedgroupError:
        return False
    return follows(query, sizes, subject, released)
