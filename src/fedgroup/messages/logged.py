"""Where a question stands in the provider's public log, as it travels, and what is written there before it is asked.

Guarantee: an entry about a question holds what is public: the question, its round, how many owners are here, when.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from fedgroup.errors import ProtocolViolation
from fedgroup.messages.limits import SIGNATURE_BYTES, require, require_id
from fedgroup.messages.wire_query import WireQuery, WireRange
from fedgroup.remembered import remembered

DIGEST_BYTES = 32
MOST_LINKS = 4_096
"""The entries that one message leads over."""
AT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,12}\+00:00")
_MOST_NUMBER = 1 << 48


@dataclass(frozen=True)
class Logged:
    """The entry of this question in the log: its number, when, how many owners are here, and the signed head after it.

    `links` are the digests of the entries just before it, `base` the head before those: an owner that knows a head
    among them sees that nothing was changed behind it.
    """

    number: int
    at: str
    owners: int
    base: bytes
    links: bytes
    signature: bytes

    def __post_init__(self) -> None:
        require(0 <= self.owners < 1 << 32, "a log tells how many owners are here")
        require(AT.fullmatch(self.at) is not None, "a log tells times as texts")
        _require_links(self.links, self.base, self.signature)
        require(len(self.links) // DIGEST_BYTES <= self.number < _MOST_NUMBER, "an entry comes after those before it")

    @property
    def first(self) -> int:
        """The number of the first entry that `links` tell of."""
        return self.number - len(self.links) // DIGEST_BYTES


@dataclass(frozen=True)
class Chain:
    """The digests of the entries after those an owner saw, the first with this number, and the signed head after them.

    It is sent to an owner that was away for long.
    """

    first: int
    links: bytes
    signature: bytes

    def __post_init__(self) -> None:
        require(0 <= self.first < _MOST_NUMBER and bool(self.links), "a chain leads from an entry to a later one")
        _require_links(self.links, bytes(DIGEST_BYTES), self.signature)


@dataclass(frozen=True)
class Seen:
    """The number of the last entry of the log whose head this owner knows."""

    round: bytes
    number: int

    def __post_init__(self) -> None:
        require_id(self.round)
        require(0 <= self.number < _MOST_NUMBER, "entries are numbered")


@dataclass(frozen=True)
class Head:
    """A head that the provider signed: after the entry with this number; `round` and `tag` tell what the entry is of.

    Of a question to a group `tag` stands for the group in the round's sums.
    """

    number: int
    head: bytes
    signature: bytes
    round: bytes = b""
    tag: bytes = b""


def asked_facts(round_id: bytes, query: WireQuery, *, at: str, owners: int) -> dict[str, Any]:
    """Return the entry of a question that is about to be asked, as JSON values."""
    return {"kind": "asked", "round": round_id.hex(), "question": question_facts(query), "at": at, "owners": owners}


def described_facts(
    round_id: bytes, columns: int, rows: int, epsilon_nano: int, *, at: str, owners: int
) -> dict[str, Any]:
    """Return the entry of noisy vectors that are about to be asked for, as JSON values."""
    asked = {"columns": columns, "rows": rows, "epsilon_nano": epsilon_nano}
    return {"kind": "described", "round": round_id.hex(), "at": at, "owners": owners, **asked}


def question_facts(query: WireQuery) -> dict[str, Any]:
    """Return a question as JSON values, without what is as usual; of what its cells follow from, a digest."""
    return remembered(query, "facts", lambda: _question_facts(query))


def _question_facts(query: WireQuery) -> dict[str, Any]:
    plain = {each.name: getattr(query, each.name) for each in fields(query)}
    followed = plain.pop("cells_from")
    plain["range"] = _unusual(asdict(query.range) | {"depths": query.range.depths.hex()})
    if followed is not None:
        said = json.dumps(asdict(followed), sort_keys=True).encode()
        plain["cells_from"] = hashlib.sha256(b"fedgroup log cells v1 " + said).hexdigest()
    return _unusual(plain)


def question_from(facts: Mapping[str, Any]) -> WireQuery:
    """Return the question that an entry tells of, or raise `ProtocolViolation`."""
    try:
        plain = {name: fact for name, fact in facts.items() if name != "cells_from"}
        places = dict(plain.pop("range"))
        places["depths"] = bytes.fromhex(places.get("depths", ""))
        return WireQuery(range=WireRange(**places), **plain)
    except (TypeError, ValueError, KeyError, AttributeError):
        raise ProtocolViolation("a question has the fields of its class") from None


def _unusual(facts: dict[str, Any]) -> dict[str, Any]:
    usual = (None, False)
    return {
        name: fact for name, fact in facts.items() if not any(fact is each for each in usual) and fact not in ([], "")
    }


def _require_links(links: bytes, base: bytes, signature: bytes) -> None:
    require(len(base) == DIGEST_BYTES and len(links) % DIGEST_BYTES == 0, f"a digest has {DIGEST_BYTES} bytes")
    require(len(links) <= MOST_LINKS * DIGEST_BYTES, f"a message leads over at most {MOST_LINKS} entries")
    require(len(signature) == SIGNATURE_BYTES, f"a signature has {SIGNATURE_BYTES} bytes")
