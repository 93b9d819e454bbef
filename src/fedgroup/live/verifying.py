"""Reading a provider's public log as anybody can: chain, signatures, sums, answers. The first wrong line is told.

Guarantee: a log that is read to its end holds entries that one provider of the federation signed, in this order, each
           standing on all before it; every answer is about a question that was written down before it was asked, each
           question has one end at most for each time it was asked, and every answer is what its groups' sums add up
           to, as far as these are listed, with the value and the interval that follow from them. Sums are listed unless
           they are more than 65,536 numbers, and groups are no more than owners that were asked. A group is in a round
           once, and has one vector of sums there, however often that was asked. No entry has room for anything else.
Not covered: that a log goes on: whoever shows it can leave out the end. Heads that owners kept tell (`agreement.py`).
             That a group gave the sums that are told of it: an owner alone, or a leader, finds its own; of a masked
             group nobody but the provider knows them. Sums of long maps are hashes only. That owners alone give the
             same when a round is asked again: they have no names there; each finds its own.
Proof:     docs/guarantees.md#a-log-that-anybody-can-check
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any

import numpy as np

from fedgroup.errors import FedgroupError, ProtocolViolation, WrongLog
from fedgroup.identity import Certificate, Trust
from fedgroup.identity.certificate import read_certificate
from fedgroup.live.sheets import MOST_NUMBERS, leaf_in
from fedgroup.messages import NoisyTotals
from fedgroup.messages.logged import AT, question_from
from fedgroup.privacy.release import scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.chain import FIRST, canonical, digest_of, head_after, root_of, stated
from fedgroup.secure.signatures import require_signed
from fedgroup.space import Box
from fedgroup.user.role import read

_FAULTS = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)

REVOKED = (
    "the provider's certificate was revoked, and whoever has its key can sign anything, dated back too; to check the "
    "entries from before, take a folder with ca.pem and the revoked.pem of that time for --authority, and owners' "
    "--ledger for which of them they saw"
)


@dataclass(frozen=True)
class Asked:
    """A round that the log tells of: the entry, what it costs, how many `owners` are asked, and what came of it.

    `end` is the number of the entry that tells what came of it; None while nothing did. A round may be asked `again`
    by later entries: whoever answered in it says the same once more, uncharged, and its last end counts. `told` are the
    leaves of all its ends by their groups' tags; `leaves` and `tags` those of its last.
    """

    number: int
    epsilon_nano: int
    rho_pico: int | None = None
    query: RangeQuery | None = None
    end: int | None = None
    leaves: frozenset[bytes] = frozenset()
    tags: frozenset[bytes] = frozenset()
    told: Mapping[bytes, bytes] = field(default_factory=dict)
    again: tuple[int, ...] = ()
    owners: int = 0

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of all entries that ask in this round."""
        return (self.number, *self.again)


@dataclass
class LogRead:
    """What a log told so far; `renewed` are the entries from which on another certificate of the provider counts."""

    federation: str = ""
    heads: list[bytes] = field(default_factory=list)
    rounds: dict[str, Asked] = field(default_factory=dict)
    answered: int = 0
    listed: int = 0
    failed: int = 0
    renewed: list[int] = field(default_factory=list)

    @property
    def unended(self) -> int:
        """How many rounds were written down and have no end: they were under way, or the provider died."""
        return sum(each.end is None for each in self.rounds.values())


class LogReader:
    """Takes the lines of a log one by one."""

    def __init__(self, trust: Trust | None = None) -> None:
        """With a `trust`, only certificates of the federation's authority are believed; else any that fits itself."""
        self._trust = trust
        self._certificate: Certificate | None = None
        self._domain = Box(0, 0, 1, 1)
        self._protection = Protection()
        self.found = LogRead()

    def take(self, line: bytes) -> None:
        """Check the next line, or raise `WrongLog`."""
        number = len(self.found.heads)
        try:
            self._take(number, line)
        except FedgroupError as error:
            raise WrongLog(number, str(error)) from None
        except _FAULTS:
            raise WrongLog(number, "it is not an entry of a log") from None

    def _take(self, number: int, line: bytes) -> None:
        said = json.loads(line)
        _require(canonical(said) == line, "it is not in its one spelling")
        _require(set(said) == {"number", "previous", "signature", "entry"}, "it is not an entry of a log")
        before = self.found.heads[-1] if number else FIRST
        _require(said["number"] == number, f"it says that it is number {said['number']}")
        _require(said["previous"] == before.hex(), "it does not follow from the lines before it")
        entry = said["entry"]
        head = head_after(number, before, digest_of(canonical(entry)))
        _require_fields(entry)
        _require((entry["kind"] == "begun") == (number == 0), "a log begins once")
        if entry["kind"] in ("begun", "certificate"):
            self._certificate = self._believed(bytes.fromhex(entry["certificate"]))
        assert self._certificate is not None  # noqa: S101  the first line has one
        signature = bytes.fromhex(said["signature"])
        try:
            require_signed(self._certificate.tls_key, stated(self._certificate.federation, number, head), signature)
        except ProtocolViolation:
            raise ProtocolViolation("the provider did not sign it") from None
        _KINDS[entry["kind"]](self, number, entry)
        self.found.heads.append(head)

    def _believed(self, der: bytes) -> Certificate:
        if self._trust is not None and self._trust.has_revoked(read_certificate(der)):
            raise ProtocolViolation(REVOKED)
        found = read_certificate(der) if self._trust is None else self._trust.issued(der, role="provider")
        same = self._certificate is None or found.federation == self._certificate.federation
        _require(found.role == "provider" and same, "it shows no certificate of the federation's provider")
        return found

    # --- kinds of entries ---------------------------------------------------------------------------------------------

    def _begun(self, _number: int, entry: Mapping[str, Any]) -> None:
        assert self._certificate is not None  # noqa: S101  just read
        _require(entry["federation"] == self._certificate.federation, "it is the log of another federation")
        self.found.federation = entry["federation"]
        self._domain, self._protection = Box(*entry["domain"]), Protection(**entry["protection"])

    def _renewed(self, number: int, _entry: Mapping[str, Any]) -> None:
        """Note it; the certificate was looked at by `_take`."""
        self.found.renewed.append(number)

    def _asked(self, number: int, entry: Mapping[str, Any]) -> None:
        wire = question_from(entry["question"])
        query = wire.read(self._domain)
        self._begin(entry["round"], Asked(number, wire.epsilon_nano, wire.rho_pico, query, owners=entry["owners"]))

    def _described(self, number: int, entry: Mapping[str, Any]) -> None:
        self._begin(entry["round"], Asked(number, int(entry["epsilon_nano"]), owners=entry["owners"]))

    def _begin(self, name: str, asked: Asked) -> None:
        known = self.found.rounds.get(name)
        same = known is None or (asked.query is not None and known.query == asked.query)
        _require(len(_bytes(name)) == 16 and same, "its round is not a new one")
        if known is not None:
            asked = replace(known, again=(*known.again, asked.number), end=None, owners=asked.owners)
        self.found.rounds[name] = asked

    def _vectors(self, number: int, entry: Mapping[str, Any]) -> None:
        for name in entry["rounds"]:  # vectors that come late end their round a second time
            asked = self.found.rounds.get(name)
            _require(asked is not None and asked.query is None, "it is about vectors that nobody asked for")
            self._end(name, number)

    def _failed(self, number: int, entry: Mapping[str, Any]) -> None:
        for name in entry["rounds"]:
            self._unended(name)
            self._end(name, number)
        self.found.failed += 1

    def _answered(self, number: int, entry: Mapping[str, Any]) -> None:
        names = entry["rounds"]
        _require(len(set(names)) == len(names), "it is about one round twice")
        asked = [self._unended(name) for name in names]
        query = asked[0].query
        _require(query is not None, "it answers no question")
        assert query is not None  # noqa: S101  just looked
        _require(all(each.query == query for each in asked), "it answers two questions")
        _require(all(each.owners == entry["owners"] for each in asked), "it tells of other owners than were asked")
        leaves = [_leaf_told(each, names) for each in entry["groups"]]
        tags = [each["group"] for each in entry["groups"] if each["group"]]
        fits = leaves == sorted(leaves) and len(set(tags)) == len(tags)  # owners alone may have given the same
        _require(fits, "its groups are not in their order, or one is there twice")
        _require(entry["root"] == root_of(leaves).hex(), "its root is not that of its groups")
        self._add_up(query, entry)
        for at, name in enumerate(names):
            own = [(leaf, each) for leaf, each in zip(leaves, entry["groups"], strict=True) if each["round"] == at]
            tagged = {bytes.fromhex(each["group"]): leaf for leaf, each in own if each["group"]}
            told = {**tagged, **self.found.rounds[name].told}
            _require(tagged.items() <= told.items(), "a group gave other sums in its round before")
            own_leaves = frozenset(leaf for leaf, _ in own)
            self._end(name, number, leaves=own_leaves, tags=frozenset(tagged), told=told)
        self.found.answered += 1

    def _unended(self, name: str) -> Asked:
        asked = self.found.rounds.get(name)
        _require(asked is not None, "it is about a round that nobody was asked in")
        assert asked is not None  # noqa: S101  just looked
        _require(asked.end is None, "it is about a round that ended before")
        return asked

    def _end(self, name: str, number: int, **told: Any) -> None:
        self.found.rounds[name] = replace(self.found.rounds[name], end=number, **told)

    def _add_up(self, query: RangeQuery, entry: Mapping[str, Any]) -> None:
        """Check that groups make up totals, and totals the answer."""
        groups, parts = entry["groups"], query.parts
        totals: dict[str, Sequence[int]] = {part: _whole(entry["totals"][part], query.bins) for part in parts}
        _require(set(entry["totals"]) == set(parts), "its totals are of other parts than were asked for")
        heard = sum(each["heard"] for each in groups)
        _require(heard == entry["heard"] <= entry["owners"], "its owners are not those of its groups")
        shared = math.fsum(each["heard"] / each["parts"] for each in groups if each["parts"])
        noises = shared + sum(not each["parts"] for each in groups)
        _require(math.isclose(noises, entry["noises"], rel_tol=1e-9), "its noises are not those of its groups")
        _require(math.isclose(shared, entry["shared"], rel_tol=1e-9), "its noises are not those of its groups")
        listed = len(groups) * query.bins * len(parts) <= MOST_NUMBERS
        fits = all(("sums" in each) == listed for each in groups)
        _require(fits, "it does not tell the sums of its groups" if listed else "it tells more sums than a log holds")
        if listed:
            sums = np.array([_whole(each["sums"], query.bins * len(parts)) for each in groups], dtype=object)
            added = sums.sum(axis=0).reshape(-1, len(parts))
            told = np.array([totals[part] for part in parts], dtype=object).T
            _require(bool((added == told).all()), "its totals are not the sum of its groups")
            self.found.listed += 1
        _require((entry["answer"] is not None) == query.is_range, "a question about a range has an answer, no other")
        if query.is_range:
            self._read_out(query, totals, entry)

    def _read_out(self, query: RangeQuery, totals: Mapping[str, Sequence[int]], entry: Mapping[str, Any]) -> None:
        sums = {part: np.array(each, dtype=np.int64) for part, each in totals.items()}
        scales, noises = scales_of(query, self._protection), entry["noises"]
        reading = read(
            query, NoisyTotals(sums, scales, False, noises=noises, heard=entry["heard"], shared=entry["shared"])
        )
        told, found = entry["answer"], (reading.value, *reading.interval)
        same = (_close(one, two) for one, two in zip((told["value"], *told["interval"]), found, strict=True))
        _require(all(same), "its answer is not what its totals stand for")


_KINDS = {
    "begun": LogReader._begun,
    "certificate": LogReader._renewed,
    "asked": LogReader._asked,
    "described": LogReader._described,
    "answered": LogReader._answered,
    "failed": LogReader._failed,
    "vectors": LogReader._vectors,
}


_BEGUN = {"federation": str, "agreed": str, "domain": list, "lonlat": bool, "protection": dict, "certificate": str}
_SUMS = {"noises": float, "shared": float, "totals": dict, "answer": (dict, NoneType), "groups": list, "root": str}
_FIELDS: dict[str, dict[str, Any]] = {
    "begun": _BEGUN,
    "certificate": {"certificate": str},
    "asked": {"round": str, "owners": int, "question": dict},
    "described": {"round": str, "owners": int, "columns": int, "rows": int, "epsilon_nano": int},
    "answered": {"rounds": list, "owners": int, "heard": int, **_SUMS},
    "failed": {"rounds": list},
    "vectors": {"rounds": list, "heard": int},
}
"""What an entry of each kind holds, besides its kind and when it was written."""


def _require_fields(entry: Mapping[str, Any]) -> None:
    """Refuse an entry with other fields, or values of other types, than a provider writes."""
    known = _FIELDS[entry["kind"]]
    _require(set(entry) == {"kind", "at", *known}, "it has other fields than entries of its kind")
    _require(type(entry["at"]) is str and AT.fullmatch(entry["at"]) is not None, "it does not tell when")
    for name, kind in known.items():
        fits = type(entry[name]) in (kind if isinstance(kind, tuple) else (kind,))
        _require(fits and (kind is not int or entry[name] >= 0), f"its {name} cannot be")


def read_log(lines: Iterable[bytes], *, trust: Trust | None = None) -> LogRead:
    """Return what a log tells, or raise `WrongLog` with its first wrong line."""
    reader = LogReader(trust)
    for line in lines:
        reader.take(line.removesuffix(b"\n"))
    if not reader.found.heads:
        raise WrongLog(0, "there is no line at all")
    return reader.found


def _leaf_told(group: Mapping[str, Any], rounds: Sequence[str]) -> bytes:
    """Return the leaf of a group that is told of as it should be."""
    counts = [group[name] for name in ("round", "heard", "parts")]
    fields = {"round", "group", "heard", "parts", "sums" if "sums" in group else "leaf"}
    _require(set(group) == fields and all(type(each) is int for each in counts), "it is not an entry of a log")
    _require(group["heard"] >= 1, "a group has members")
    _require(0 <= group["parts"] <= group["heard"], "a group's noise is cut into more shares than it has members")
    _require(0 <= group["round"] < len(rounds), "a group is of a round that the answer names")
    _require(len(_bytes(group["group"])) in (0, len(FIRST)), "a group is named by a hash")
    leaf = leaf_in(group, rounds)
    _require(len(leaf) == len(FIRST) and group.get("leaf", leaf.hex()) == leaf.hex(), "a leaf is a hash")
    return leaf


def _bytes(digits: str) -> bytes:
    """Return bytes that are told in hexadecimal digits, in their one spelling."""
    found = bytes.fromhex(digits)
    _require(found.hex() == digits, "it is not in its one spelling")
    return found


def _whole(numbers: Sequence[int], count: int) -> Sequence[int]:
    _require(len(numbers) == count and all(type(each) is int for each in numbers), "its sums are not of its bins")
    return numbers


def _close(one: float | None, two: float | None) -> bool:
    return one == two if one is None or two is None else math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-9)


def _require(true: bool, why: str) -> None:
    if not true:
        raise ProtocolViolation(why)
