"""What the groups of one question gave, as the public log tells it: noisy sums without names, in no telling order.

Guarantee: a sheet holds the noisy sums that groups released, how many members are in each, and in how many shares
           their noise was cut: epsilon-DP, or public. Of a masked group it holds the sum over its members, never a
           member's word. Its order is that of hashes: it tells neither who gave what nor when. Where the numbers of
           all groups are more than `MOST_NUMBERS`, sums are dropped and their hashes stay: it does not grow with
           owners times bins.
Proof:     docs/guarantees.md#a-log-that-anybody-can-check
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedgroup.secure.chain import group_tag, leaf_of, root_of

MOST_NUMBERS = 65_536
"""The numbers of one question that the log holds one by one."""


@dataclass(frozen=True)
class Given:
    """The noisy sums of one group in the round at a position; no sums where there are too many of them."""

    round: int
    tag: bytes
    heard: int
    parts: int
    leaf: bytes
    sums: Sequence[int] | None

    def facts(self) -> dict[str, Any]:
        """Return it as JSON values."""
        told = {"leaf": self.leaf.hex()} if self.sums is None else {"sums": self.sums}
        return {"round": self.round, "group": self.tag.hex(), "heard": self.heard, "parts": self.parts} | told


class Sheet:
    """What was given so far."""

    def __init__(self) -> None:
        self._given: list[Given] = []
        self._numbers = 0

    def add(
        self, rounds: Sequence[bytes], sums: Sequence[int], *, group: str | None, heard: int, parts: int = 0
    ) -> None:
        """Take in what a group gave in the last of these rounds; one without a name is an owner alone."""
        tag = group_tag(rounds[-1], group)
        leaf = leaf_of(rounds[-1], tag, heard=heard, parts=parts, sums=np.array(sums, dtype=">i8").tobytes())
        if self._numbers <= MOST_NUMBERS < self._numbers + len(sums):
            self._given = [replace(each, sums=None) for each in self._given]
        self._numbers += len(sums)
        kept = [int(each) for each in sums] if self._numbers <= MOST_NUMBERS else None
        self._given.append(Given(len(rounds) - 1, tag, heard, parts, leaf, kept))

    def facts(self) -> dict[str, Any]:
        """Return all groups and the root over them, as JSON values."""
        ordered = sorted(self._given, key=lambda each: each.leaf)
        return {"groups": [each.facts() for each in ordered], "root": root_of([each.leaf for each in ordered]).hex()}


def leaf_in(told: Mapping[str, Any], rounds: Sequence[str]) -> bytes:
    """Return the leaf of a group as the log tells of it, worked out where its sums are told."""
    if "sums" not in told:
        return bytes.fromhex(told["leaf"])
    sums = np.array(told["sums"], dtype=np.int64).astype(">i8").tobytes()
    tag, counts = bytes.fromhex(told["group"]), {"heard": told["heard"], "parts": told["parts"]}
    return leaf_of(bytes.fromhex(rounds[told["round"]]), tag, sums=sums, **counts)


def tagged_leaves(entry: Mapping[str, Any], name: str) -> dict[bytes, bytes]:
    """Return the leaves that the entry of an answer tells of in one of its rounds, by the tags of their groups."""
    rounds = entry["rounds"]
    own = [each for each in entry["groups"] if each["group"] and rounds[each["round"]] == name]
    return {bytes.fromhex(each["group"]): leaf_in(each, rounds) for each in own}
