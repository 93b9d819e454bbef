"""A chain of hashes over the entries of a public log, the leaves of their sums, and what its keeper signs.

    digest_n = H(entry_n)        head_n = H(n, head_(n-1), digest_n)        the keeper signs (federation, n, head_n)

Requires:  entries in their one spelling (`canonical`); SHA-256 is collision resistant, Ed25519 is unforgeable.
Guarantee: a head stands for one list of entries, in one order: whoever knows head n and is shown head m > n with the
           digests between them knows that what stood up to n still stands there. A root stands for one list of leaves.
           Every hash and signature has a label of its own, so none can pass for another.
Proof:     docs/guarantees.md#a-log-that-anybody-can-check
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from fedgroup.secure.signatures import statement

DIGEST = 32
FIRST = bytes(DIGEST)
"""The head of a log without entries."""


def canonical(facts: Any) -> bytes:
    """Return JSON values in their one spelling: sorted keys, no spaces, ASCII."""
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def digest_of(entry: bytes) -> bytes:
    """Return what stands for an entry in the chain."""
    return hashlib.sha256(statement("log entry", entry)).digest()


def head_after(number: int, head: bytes, digest: bytes) -> bytes:
    """Return the head once the entry with a number and a digest was put after those that `head` stands for."""
    return hashlib.sha256(statement("log head", number.to_bytes(8, "big"), head, digest)).digest()


@lru_cache(maxsize=256)  # many owners of one process are shown the same links
def heads_along(first: int, base: bytes, links: bytes) -> tuple[bytes, ...]:
    """Return `base` and the heads after each of the entries from number `first` on, whose digests are `links`."""
    heads = [base]
    for at in range(0, len(links), DIGEST):
        heads.append(head_after(first + at // DIGEST, heads[-1], links[at : at + DIGEST]))
    return tuple(heads)


def stated(federation: str, number: int, head: bytes) -> bytes:
    """Return what the keeper of a federation's log signs about the head after the entry with this number."""
    return statement("log", federation.encode(), number.to_bytes(8, "big"), head)


# --- sums -------------------------------------------------------------------------------------------------------------


def group_tag(round_id: bytes, group: str | None) -> bytes:
    """Return what stands for a group in a round: who knows its name finds it; empty for an owner alone."""
    return b"" if group is None else hashlib.sha256(statement("log group", round_id, group.encode())).digest()


def leaf_of(round_id: bytes, tag: bytes, *, heard: int, parts: int, sums: bytes) -> bytes:
    """Return what stands for the sums that a group gave in a round, 8 bytes each, the highest first.

    `parts` is in how many shares one noise was cut; 0 where one member drew it whole.
    """
    counts = heard.to_bytes(4, "big"), parts.to_bytes(4, "big")
    return hashlib.sha256(statement("log leaf", round_id, tag, *counts, sums)).digest()


def root_of(leaves: Sequence[bytes]) -> bytes:
    """Return the root of a Merkle tree; a node without a neighbour goes up as it is. How many there are is bound in."""
    level = list(leaves)
    while len(level) > 1:
        pairs = [_node(*level[at : at + 2]) for at in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) - len(level) % 2 :]
    top = level[0] if level else b""
    return hashlib.sha256(statement("log root", len(leaves).to_bytes(8, "big"), top)).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(statement("log node", left, right)).digest()
