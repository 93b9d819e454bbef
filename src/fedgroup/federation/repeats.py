"""When a question is the same as an earlier one, its stored answer is given again, free of charge.

The same means: same canonical range, kind, attribute, clip, resolution, time window, epsilon, method, plan, roster,
epoch, protection, noise and data. Anything else is a new release, and is charged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from fedgroup.federation.methods import Method
from fedgroup.messages import Answer, RangeQuery
from fedgroup.privacy.sensitivity import Protection
from fedgroup.space import PublicMap
from fedgroup.space.ranges import canonical_range


def repeat_key(
    query: RangeQuery,
    method: Method,
    *,
    public_map: PublicMap,
    protection: Protection,
    snapshot: str,
    epoch: int,
    private: bool,
    noise: str,
) -> str:
    """Return the name under which an answer is stored: equal for the same questions, different for all others.

    The roster needs no entry: it is the plan's owners (its id stands for them) and the data's (the snapshot).
    """
    facts = [
        query.kind,
        canonical_range(query.range),
        query.epsilon.nano,
        query.since,
        query.until,
        None if query.measure is None else asdict(query.measure),
        method.name,
        method.in_group,
        repr(method.settings),
        None if method.plan is None else method.plan.id,
        asdict(public_map),
        asdict(protection),
        snapshot,
        epoch,
        private,
        noise,
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def to_store(answer: Answer) -> dict[str, Any]:
    """Return an answer as JSON values."""
    return dict(vars(answer))


def from_store(stored: Mapping[str, Any]) -> Answer:
    """Return a stored answer, marked as such and free."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()
    }
    return Answer(**fields | {"stored": True, "charged": 0.0})
