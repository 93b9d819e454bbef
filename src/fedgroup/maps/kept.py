"""A publication as JSON values, for files, ledgers and wires: its public sizes and what was released, packed."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from fedgroup.epsilon import Epsilon
from fedgroup.maps.publishing import QUESTIONS, Numbers, Publication, Released, Subject
from fedgroup.maps.sizing import MapSizes
from fedgroup.questions.query import Measure
from fedgroup.space import Box
from fedgroup.space.blocks import MOST_CELLS

_TYPES = {"int64": np.dtype("<i8"), "float64": np.dtype("<f8")}
_SIZES = ("noises", "records", "sensitivity", "unit", "signed", "most_cells")


def publication_facts(publication: Publication, *, cells: bool = True) -> dict[str, Any]:
    """Return a publication as JSON values; without `cells` all but the counts of the last answer."""
    sizes, subject = publication.sizes, publication.subject
    released = [
        {"noises": each.noises, "heard": each.heard}
        | ({} if at == QUESTIONS - 1 and not cells else _packed(each.counts))
        for at, each in enumerate(publication.released)
    ]
    measure = None if subject.measure is None else asdict(subject.measure)
    return {
        "nano_epsilon": sizes.epsilon.nano,
        **{name: getattr(sizes, name) for name in _SIZES},
        "subject": {"kind": subject.kind, "measure": measure, "since": subject.since, "until": subject.until},
        "released": released,
    }


def publication_from(facts: Mapping[str, Any], domain: Box, *, cells: Numbers | None = None) -> Publication:
    """Return a publication from JSON values, and the counts of its last answer where they are kept apart."""
    said = dict(facts["subject"])
    said["measure"] = None if said["measure"] is None else Measure(**said["measure"])
    sizes = MapSizes(domain, Epsilon(facts["nano_epsilon"]), **{name: facts[name] for name in _SIZES})
    released = tuple(
        Released(_unpacked(each) if "counts" in each else _given(cells), each["noises"], each["heard"])
        for each in facts["released"]
    )
    return Publication(sizes, Subject(**said), released)


def _given(cells: Numbers | None) -> Numbers:
    if cells is None:
        raise ValueError("the counts of the cells are missing")
    return cells


def _packed(counts: Numbers) -> dict[str, str]:
    kind = "float64" if counts.dtype.kind == "f" else "int64"
    packed = zlib.compress(np.ascontiguousarray(counts, dtype=_TYPES[kind]).tobytes(), 6)
    return {"counts": base64.b64encode(packed).decode(), "of": kind}


def _unpacked(each: Mapping[str, Any]) -> Numbers:
    found = zlib.decompressobj().decompress(base64.b64decode(each["counts"]), MOST_CELLS * 8)
    return np.frombuffer(found, dtype=_TYPES[each["of"]]).astype(each["of"])
