"""When a question is the same as an earlier one, its stored answer is given again, free of charge.

The same means: same canonical bins, kind, attribute, clip, resolution, time window, epsilon and method, and all that
the carrier adds: plan, owners, epoch, map, protection, noise and data. Anything else is a new release, and is charged.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

from fedgroup.questions.query import RangeQuery
from fedgroup.space import PublicMap
from fedgroup.space.places import canonical_places

_SIDES = ("west", "south", "east", "north")


def same_question(query: RangeQuery, method: str, public_map: PublicMap, *carried: Any) -> str:
    """Return the name under which an answer is kept: equal for the same questions, different for all others.

    Requires:  `carried` are JSON values, among them whatever else the answer depends on.
    """
    facts = [
        query.kind,
        canonical_places(query.range),
        query.epsilon.nano,
        query.since,
        query.until,
        None if query.measure is None else asdict(query.measure),
        method,
        {"domain": dict(zip(_SIDES, public_map.domain.sides, strict=True)), "lonlat": public_map.lonlat},
        *carried,
    ]
    if query.every is not None or query.by is not None:
        facts.append([query.every, None if query.by is None else asdict(query.by)])
    if query.rho is not None:
        facts.append(["rho", query.rho.pico])
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
