"""Whether an owner's own books agree with the provider's public log: the heads it saw, and every charge it made.

Guarantee: if they agree, every head that the owner kept is one of this log, so nothing that it saw was changed or left
           out; and every charge since the first that names an entry names one, a round of its own with the same price,
           and no entry is charged twice. What it gave, alone or in a group, is in an answer once. Where the owner was
           told to believe another log, that is the last one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import pairwise

from fedgroup.errors import ProtocolViolation, WrongLog
from fedgroup.live.verifying import Asked, LogRead
from fedgroup.messages.logged import Head
from fedgroup.messages.said import Noisy
from fedgroup.privacy.budget import Entry
from fedgroup.secure.chain import leaf_of
from fedgroup.storage.heads_table import ANOTHER_LOG
from fedgroup.storage.hosted_file import HostedFile
from fedgroup.storage.hosted_ledger import HostedLedger
from fedgroup.storage.owner_books import OwnerBooks
from fedgroup.transport.codec import decode

_NAMED = re.compile(r"round ([0-9a-f]+), log entry ([0-9]+)$")
_CHARGED = ("query", "setup")


@dataclass(frozen=True)
class Agreement:
    """What an owner's books say beside a log: charges that name an entry, and those from `before` the first of them.

    `counted` are the charges whose answers, or those of whose groups, are in the log's sums; the others failed, or came
    too late to count.
    """

    heads: int
    charges: int
    counted: int
    before: int
    forks: int


def agreement(log: LogRead, ledger: str | os.PathLike[str], *, of: str | None = None) -> Agreement:
    """Return how an owner's ledger agrees with a log, or raise `WrongLog`; `of` whom, where many share a file."""
    with closing(OwnerBooks(ledger) if of is None else HostedLedger(_looked_at(ledger), of)) as books:
        heads, entries, forks = books.heads(), books.entries(), books.forks()
        for head in heads:
            _require_in_log(head, log)
        charges = [entry for entry in entries if entry.purpose in _CHARGED]
        named = _all_named(_since(entries))
        numbers = [number for number, _, _ in named]
        if len(set(numbers)) < len(numbers):
            raise WrongLog(_twice(numbers), "the owner was charged twice for it")
        by_number = {number: (name, asked) for name, asked in log.rounds.items() for number in asked.numbers}
        counted, rounds, answers, tags = 0, set[str](), set[int | None](), _tags(heads)
        for number, round_name, entry in named:
            name, asked = _same_price(by_number, number, round_name, entry)
            if name in rounds:
                raise WrongLog(number, "the owner was charged twice for it")
            rounds.add(name)
            if not _counted(asked, bytes.fromhex(name), books, tags.get(bytes.fromhex(name))):
                continue
            if asked.query is not None and asked.end in answers:
                raise WrongLog(asked.end or 0, "what the owner gave is in this answer twice")
            answers.add(asked.end)
            counted += 1
    return Agreement(len(heads), len(named), counted, len(charges) - len(named), forks)


def _looked_at(ledger: str | os.PathLike[str]) -> HostedFile:
    return HostedFile(ledger, flushed_later=False, read_only=True)


def _require_in_log(head: Head, log: LogRead) -> None:
    if head.number >= len(log.heads):
        raise WrongLog(head.number, "the owner saw it, and the log ends before it")
    if log.heads[head.number] != head.head:
        raise WrongLog(head.number, "the owner saw another log up to here")


def _since(entries: Sequence[Entry]) -> list[Entry]:
    """Return the charges since the last log was believed: those before it name entries of another."""
    lines = [number for number, entry in enumerate(entries) if (entry.purpose, entry.question) == ("note", ANOTHER_LOG)]
    return [entry for entry in entries[max(lines, default=0) :] if entry.purpose in _CHARGED]


def _all_named(charges: Sequence[Entry]) -> list[tuple[int, str, Entry]]:
    """Return the charges from the first on that names an entry; refuse one after it that names none."""
    found: list[tuple[int, str, Entry]] = []
    for each in charges:
        named = _named(each)
        if named is not None:
            found.append(named)
        elif found:
            raise WrongLog(found[-1][0], "after it the owner was charged for what no entry tells of")
    return found


def _named(entry: Entry) -> tuple[int, str, Entry] | None:
    found = _NAMED.search(entry.question)
    return None if found is None else (int(found[2]), found[1], entry)


def _twice(numbers: Iterable[int]) -> int:
    ordered = sorted(numbers)
    return next(one for one, two in pairwise(ordered) if one == two)


def _same_price(
    rounds: Mapping[int, tuple[str, Asked]], number: int, round_name: str, entry: Entry
) -> tuple[str, Asked]:
    """Return the round that a charge names, if the log has it at the same price."""
    name, asked = rounds.get(number, ("", None))
    if asked is None or not name.startswith(round_name):
        raise WrongLog(number, "the owner was charged for another round than stands there")
    in_rho = asked.rho_pico is not None and entry.rho is not None
    same = entry.rho.pico == asked.rho_pico if in_rho and entry.rho else entry.epsilon.nano == asked.epsilon_nano
    if not same:
        raise WrongLog(number, "the owner was charged another price than stands there")
    return name, asked


def _tags(heads: Iterable[Head]) -> dict[bytes, set[bytes]]:
    """Return the groups that an owner was in, by their rounds."""
    found: dict[bytes, set[bytes]] = {}
    for head in heads:
        if head.tag:
            found.setdefault(head.round, set()).add(head.tag)
    return found


def _counted(asked: Asked, round_id: bytes, books: OwnerBooks | HostedLedger, tags: set[bytes] | None) -> bool:
    """Tell whether what the owner gave in a round is in the sums that the log tells: its own, or its group's."""
    if tags:
        return not asked.tags.isdisjoint(tags)
    with suppress(ProtocolViolation):
        noisy = decode(books.reply(round_id), (Noisy,))
        sums = b"".join(each.to_bytes(8, "big", signed=True) for each in noisy.sums)
        return leaf_of(round_id, b"", heard=1, parts=0, sums=sums) in asked.leaves
    return asked.query is None and asked.end is not None
