"""Plans: which owners form a group, how that was found, and what it cost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from fedgroup.data.drafts import replacing
from fedgroup.data.facts import header_of
from fedgroup.data.ids import owner_ids, type_of
from fedgroup.data.tables import table_file
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages import Flags, Grouping, Labels, Partition
from fedgroup.owner.identity import OwnerIds, as_ids, ascending, positions
from fedgroup.questions.graphs import GRAPHS
from fedgroup.secure.round import noises_of

_FORMAT = "fedgroup plan"
_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A grouping of named owners: `owners[i]` is the ascending id of owner i of the grouping's partition."""

    owners: OwnerIds
    grouping: Grouping
    id: str

    def __post_init__(self) -> None:
        if not (isinstance(self.grouping, Grouping) and isinstance(self.id, str)):
            raise InvalidInput("a plan is made by Federation.group, or loaded by Plan.load")
        owners = as_ids(self.owners, name="the plan's owners")
        if len(owners) != self.partition.owners:
            raise InvalidInput("a plan gives every owner one group")
        if not np.array_equal(ascending(owners), owners):
            raise InvalidInput("a plan lists every owner once, in ascending order")
        owners = owners.copy() if owners.flags.writeable else owners
        owners.flags.writeable = False
        object.__setattr__(self, "owners", owners)

    @property
    def partition(self) -> Partition:
        return self.grouping.partition

    @property
    def groups(self) -> int:
        """How many groups there are, lambda."""
        return self.partition.groups

    @property
    def largest_group(self) -> int:
        """How many members the largest group has."""
        return int(self.partition.sizes.max(initial=0))

    @property
    def epsilon(self) -> float:
        """What making the plan cost every owner."""
        return float(self.grouping.epsilon)

    @property
    def error_share(self) -> float:
        """How large the errors of answers with this plan are, as a share of those of plain dp at the same epsilon."""
        return float((noises_of(self.partition) / max(1, len(self.owners))) ** 0.5)

    @property
    def pays_off_above(self) -> float | None:
        """How much owners must spend in all for the plan to beat plain dp; None if it never does.

        With (B - setup) left for answers, their error is smaller where (B - setup) / B is above the share.
        """
        return self.epsilon / (1 - self.error_share) if self.error_share < 1 else None

    @property
    def guarantee(self) -> str:
        return self.grouping.guarantee

    @property
    def private(self) -> bool:
        return self.grouping.private

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.grouping.settings

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever uses the plan must know."""
        return self.grouping.notes

    def aligned(self, owners: OwnerIds) -> tuple[OwnerIds, Partition]:
        """Return the ascending ids of the plan's owners and of `owners`, and their groups.

        Owners that the plan does not know are alone; owners of the plan that are not in `owners` keep their groups.
        """
        theirs = as_ids(owners, name="owner")
        if len(theirs) and len(self.owners):
            _require_same_type(type_of(self.owners), type_of(theirs))
        if np.array_equal(theirs, self.owners):
            return self.owners, self.partition
        everyone = ascending(_joined(self.owners, theirs))
        at = positions(everyone, self.owners)
        alone = self.groups + np.arange(len(everyone))
        groups = np.where(at < 0, alone, self.partition.labels[at]) if len(self.owners) else alone
        numbered = _numbered_by_appearance(groups)
        masked = np.zeros(int(numbered.max(initial=-1)) + 1, dtype=np.bool_)
        masked[numbered] = (
            (at >= 0) & self.partition.is_masked[self.partition.labels[at]] if len(self.owners) else False
        )
        return everyone, Partition(numbered, masked)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as a Parquet file, whole or not at all."""
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "id": self.id,
            "settings": dict(self.settings),
            "epsilon_nano": self.grouping.epsilon.nano,
            "guarantee": self.guarantee,
            "private": self.private,
            "edges": self.grouping.edges,
            "notes": list(self.grouping.notes),
            "masked_groups": np.flatnonzero(self.partition.is_masked).tolist(),
        }
        columns = {"owner": _stored_ids(self.owners), "group": pa.array(self.partition.labels, pa.int32())}
        table = pa.table(columns).replace_schema_metadata(header_of(header))
        with replacing(path) as draft:
            pq.write_table(table, draft, compression="zstd")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Return the plan saved at `path`."""
        file = table_file(path)
        header = file.header() if file.kind == "parquet" else {}
        if header.get("format") != _FORMAT:
            raise InvalidInput(f"{path} is not a plan; make one with fedgroup group or plan.save")
        if header.get("version") != _VERSION:
            raise InvalidInput(f"{path} was written by another version of fedgroup; make the plan again")
        if not {"owner", "group"} <= set(file.schema().names):
            raise InvalidInput(f"{path} is damaged: a plan has the columns owner and group; make the plan again")
        table = file.read(["owner", "group"])
        ids = as_ids(owner_ids(table["owner"], name="owner"), name="owner")
        owners = ascending(ids)
        if len(owners) < len(ids):
            raise InvalidInput(f"{path} is damaged: an owner is in it twice; make the plan again")
        labels = np.empty(len(ids), dtype=np.int32)
        labels[positions(ids, owners)] = _stored_labels(table["group"])
        partition = Partition(labels, _stored_masks(header, int(labels.max(initial=-1)) + 1))
        return cls(owners=owners, grouping=_stored_grouping(header, partition), id=str(header.get("id")))

    def __repr__(self) -> str:
        return f"Plan(id={self.id!r}, owners={len(self.owners)}, groups={self.groups})"


def _stored_ids(owners: OwnerIds) -> pa.Array:
    if type_of(owners) not in ("whole numbers", "text", "fractional numbers"):
        raise InvalidInput("a plan file can hold owner ids that are whole numbers or text; use such ids to save plans")
    try:
        return pa.array(owners)
    except (pa.ArrowException, UnicodeError, OverflowError):
        raise InvalidInput("a plan file can hold whole numbers of 64 bits and text in Unicode as owner ids") from None


def _stored_labels(column: pa.ChunkedArray) -> Labels:
    labels = column.to_numpy() if pt.is_integer(column.type) and not column.null_count else np.array([-1])
    seen = np.unique(labels)
    if not np.array_equal(seen, np.arange(len(seen))):
        raise InvalidInput("column group must number the plan's groups from 0 without gaps; make the plan again")
    return np.asarray(labels, dtype=np.int32)


def _stored_masks(header: Mapping[str, Any], groups: int) -> Flags:
    numbers = header.get("masked_groups", [])
    if not (isinstance(numbers, list) and all(type(number) is int and 0 <= number < groups for number in numbers)):
        raise InvalidInput("the plan's metadata is damaged; make the plan again")
    masked = np.zeros(groups, dtype=np.bool_)
    masked[numbers] = True
    return masked


def _stored_grouping(header: Mapping[str, Any], partition: Partition) -> Grouping:
    expected = {"id": str, "settings": dict, "epsilon_nano": int, "guarantee": str, "private": bool, "notes": list}
    edges = header.get("edges")
    sound = all(type(header.get(name)) is kind for name, kind in expected.items())
    if not (sound and (edges is None or type(edges) is int)):
        raise InvalidInput("the plan's metadata is damaged; make the plan again")
    settings = header["settings"]
    graph = GRAPHS.get(str(settings.get("graph")))
    sound = graph is not None and graph.private and (not graph.vectors or header["epsilon_nano"] > 0)
    if header["private"] and not (sound and settings.get("protection")):
        raise InvalidInput("the plan calls itself private but was not made from noisy vectors; make the plan again")
    return Grouping(
        partition=partition,
        settings=header["settings"],
        epsilon=Epsilon(header["epsilon_nano"]),
        guarantee=header["guarantee"],
        private=header["private"],
        edges=edges,
        notes=tuple(map(str, header["notes"])),
    )


def _require_same_type(planned: str, given: str) -> None:
    if planned != given:
        raise InvalidInput(
            f"the plan's owner ids are {planned} but the data's are {given}; "
            "make the plan from this data, or convert the owner column"
        )


def _joined(planned: OwnerIds, given: OwnerIds) -> OwnerIds:
    if planned.dtype.kind == given.dtype.kind:
        return np.concatenate([planned, given])
    # numpy would make floats of signed and unsigned numbers together
    return as_ids([*planned.tolist(), *given.tolist()], name="owner")


def _numbered_by_appearance(groups: np.ndarray[Any, Any]) -> Labels:
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[inverse]
