"""Every kind of question. Whoever offers a choice of kinds, checks one or explains one, takes it from here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from fedgroup.errors import InvalidQuery
from fedgroup.given import written

Part = Literal["count", "sum", "people"]
"""A sum: of records, of an attribute's values in whole units, or of subjects, each once in a bin."""

MEASURE = ("attribute", "clip", "signed", "resolution")
"""What is said about an attribute."""


@dataclass(frozen=True)
class Kind:
    """A kind of question: the `parts` that owners answer, each with its own noise and an equal share of the epsilon.

    How an answer is read out of its parts is in `fedgroup.user.role`; how far a record moves a part in
    `fedgroup.privacy.sensitivity`.
    """

    name: str
    parts: tuple[Part, ...]
    title: str
    help: str
    of: str

    @property
    def measured(self) -> bool:
        """Whether it is about the values of an attribute, which must be cut to a clip range."""
        return "sum" in self.parts


KINDS = {
    kind.name: kind
    for kind in (
        Kind("count", ("count",), "count records", "Count the records in a range, privately", "count"),
        Kind(
            "people",
            ("people",),
            "count people",
            "Count the people in a range, each once, privately",
            "people",
        ),
        Kind(
            "sum",
            ("sum",),
            "sum of an attribute",
            "Sum an attribute over the records in a range, privately",
            "sum of",
        ),
        Kind(
            "avg",
            ("sum", "count"),
            "average of an attribute",
            "Average an attribute over the records in a range, privately",
            "mean of",
        ),
    )
}


def require_kind(name: object) -> Kind:
    """Return the kind of this name, or say which there are."""
    known = KINDS.get(name) if isinstance(name, str) else None
    if known is None:
        raise InvalidQuery(f"a question is {either(KINDS)}, got {written(name)}")
    return known


def either(names: Collection[str]) -> str:
    """Return names as a choice in words."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
