"""What must add up in a federation whose processes are killed at random: answers, users' accounts, owners' ledgers.

Every question has an epsilon of its own, to the nano-epsilon, so that a line in a ledger names the question it is for.
Which owners a value is of follows from what they hold (`chaos_holdings.py`). Nothing here looks at a process: values
in, sentences about what is wrong out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chaos_holdings import Holdings, Sum

from fedgroup.epsilon import Epsilon

PLAN = "plan"
"""The method of a request for a plan."""
RERUN = "was asked again, at the same price once more"
"""What an answer says of itself that was charged twice."""


@dataclass(frozen=True)
class Asked:
    """A request that a user made under one key, the last reply to it, and what the user was told that it cost.

    `replies` are all replies to the same key: a key stands for one answer for ever.
    """

    user: str
    key: str
    method: str
    nano: int
    began: float
    ended: float
    status: int
    reply: Mapping[str, Any]
    told: int
    replies: tuple[Mapping[str, Any], ...] = ()

    @property
    def answered(self) -> bool:
        return self.status == 200

    @property
    def fresh(self) -> bool:
        """Whether owners were asked for this answer."""
        return self.answered and not self.reply.get("stored", False)

    @property
    def reason(self) -> str:
        """Why there is no answer."""
        return str(self.reply.get("type", "no reply")).rpartition(":")[2]

    def __str__(self) -> str:
        return f"{self.user} {self.method} {self.nano} {self.key}"


@dataclass(frozen=True)
class Row:
    """A question in the provider's file."""

    user: str
    nano: int
    state: str
    answer: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Account:
    """An owner's ledger: how many lines it has for each amount, its balance, and how many rounds it knows."""

    lines: Counter[int] = field(default_factory=Counter)
    balance: int = 0
    rounds: int = 0


@dataclass(frozen=True)
class Books:
    """What was on disk at the end: what users spent, their questions by key, and every owner's ledger."""

    spent: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, Row] = field(default_factory=dict)
    ledgers: Mapping[str, Account] = field(default_factory=dict)


@dataclass(frozen=True)
class Down:
    """When an owner was dead for certain."""

    owner: str
    began: float
    ended: float


def wrong_in_answer(
    asked: Asked, holdings: Holdings, lines: Mapping[str, Counter[int]], downs: Sequence[Down] = ()
) -> Iterator[str]:
    """Yield what does not add up in one answer; `lines` are those of the owners' ledgers after it came."""
    yield from _wrong_in_counts(asked, len(holdings.names))
    yield from _wrong_in_cost(asked)
    said = asked.reply
    charged = [name for name in holdings.names if lines[name][asked.nano]]
    dead = {down.owner for down in downs if down.began < asked.began and asked.ended < down.ended}
    alive = Counter(name for name in charged if name not in dead)
    found = holdings.counted([Sum(said["value"], said["heard"])], alive)
    if found is None:
        yield f"{asked}: the value {said['value']} is no sum of records of {said['heard']} owners that were charged"
        return
    if len(found) != said["heard"]:
        yield f"{asked}: {said['heard']} were heard, and the value {said['value']} holds {len(found)}"
    for name in found:
        if name not in charged:
            yield f"{asked}: {name} was counted and not charged"
        if name in dead:
            yield f"{asked}: {name} was counted, and was dead all the time"


def _wrong_in_counts(asked: Asked, everybody: int) -> Iterator[str]:
    said = asked.reply
    owners, heard, missing, absent = (said[name] for name in ("owners", "heard", "missing", "absent"))
    if owners != heard + missing:
        yield f"{asked}: {owners} owners are not {heard} heard and {missing} missing"
    if owners != everybody:
        yield f"{asked}: {owners} owners are known, and there are {everybody}"
    if absent + sum(said["refused"].values()) > missing:
        yield f"{asked}: {absent} absent and {said['refused']} refused are more than {missing} missing"
    if asked.method != said["method"] or not said["private"]:
        yield f"{asked}: answered by {said['method']}, private: {said['private']}"
    if asked.method == "dp" and not said["groups"] == said["noises"] == heard:
        yield f"{asked}: {heard} owners alone, {said['groups']} groups, {said['noises']} noises"


def _wrong_in_cost(asked: Asked) -> Iterator[str]:
    said = asked.reply
    cost = Epsilon.of(said["charged"]).nano if said["charged"] else 0
    again = any(RERUN in note for note in said["notes"])
    if cost != asked.told:
        yield f"{asked}: the answer says that it cost {cost}, the account {asked.told}"
    if asked.told != (0 if said["stored"] else asked.nano * (1 + again)):
        yield f"{asked}: cost {asked.told}, stored: {said['stored']}, asked again: {again}"


def wrong_in_books(all_asked: Sequence[Asked], books: Books, holdings: Holdings) -> Iterator[str]:
    """Yield what does not add up when all is over."""
    yield from _wrong_in_accounts(all_asked, books)
    yield from _wrong_in_ledgers(all_asked, books, holdings)
    for asked in all_asked:
        yield from _wrong_in_repeats(asked)
    yield from _answered_otherwise(all_asked)


def _wrong_in_accounts(all_asked: Sequence[Asked], books: Books) -> Iterator[str]:
    known = {asked.key for asked in all_asked}
    yield from (f"the provider has a question that nobody asked: {key}" for key in books.rows.keys() - known)
    told: Counter[str] = Counter()
    for asked in all_asked:
        told[asked.user] += asked.told
        yield from _wrong_in_row(asked, books.rows.get(asked.key))
    for user, spent in books.spent.items():
        if told[user] != spent:
            yield f"{user} was told of {told[user]}, and its account says {spent}"


def _wrong_in_row(asked: Asked, row: Row | None) -> Iterator[str]:
    charged = 0 if row is None else row.nano
    if charged != asked.told:
        yield f"{asked}: told of {asked.told}, charged {charged}"
    if row is not None and row.user != asked.user:
        yield f"{asked}: charged to {row.user}"
    if asked.answered:
        if row is None or row.state != "answered":
            yield f"{asked}: answered, and kept as {None if row is None else row.state}"
        elif row.answer is not None and any(asked.reply[name] != value for name, value in row.answer.items()):
            yield f"{asked}: another answer is kept"
    elif row is not None and row.state == "answered":
        yield f"{asked}: an answer is kept, and its user never got it"
    elif bool(asked.reply.get("charged")) != (charged > 0):
        yield f"{asked}: {asked.reason} said charged {asked.reply.get('charged')}, the account {charged}"


def _wrong_in_ledgers(all_asked: Sequence[Asked], books: Books, holdings: Holdings) -> Iterator[str]:
    names, paid = holdings.names, Counter[int]()
    for asked in all_asked:
        paid[asked.nano] += asked.told // asked.nano
    counts = {name: Counter[int]() for name in names}
    for nano, found in _counted(all_asked, books, holdings).items():
        if found is None:
            yield f"the owners that were charged {nano} do not hold what was answered for it"
        for name, times in (found or {}).items():
            counts[name][nano] += times
    for name in names:
        lines = books.ledgers[name].lines
        for nano in lines.keys() | counts[name].keys():
            if lines[nano] < counts[name][nano]:
                yield f"{name} was counted {counts[name][nano]} times in {nano}, and charged {lines[nano]} times"
            if lines[nano] > paid[nano]:
                yield f"{name} was charged {lines[nano]} times for {nano}, which users paid {paid[nano]} times"
        yield from _wrong_in_ledger(name, books.ledgers[name])


def _wrong_in_ledger(name: str, ledger: Account) -> Iterator[str]:
    total = sum(nano * times for nano, times in ledger.lines.items())
    if total != ledger.balance:
        yield f"the lines of {name} add up to {total}, and its balance is {ledger.balance}"
    if ledger.lines.total() != ledger.rounds:
        yield f"{name} has {ledger.lines.total()} lines for {ledger.rounds} rounds"


def _counted(all_asked: Sequence[Asked], books: Books, holdings: Holdings) -> dict[int, Counter[str] | None]:
    """Return how often owners are in what users got for each amount; None: they cannot be."""
    found: dict[int, Counter[str] | None] = {}
    sums: dict[int, list[Sum]] = {}
    for asked in (each for each in all_asked if each.fresh):
        if asked.method == PLAN:
            found[asked.nano] = Counter(name for members in asked.reply["members"] for name in members)
        else:
            sums.setdefault(asked.nano, []).append(Sum(asked.reply["value"], asked.reply["heard"]))
    for nano, answers in sums.items():
        charged = Counter({name: books.ledgers[name].lines[nano] for name in holdings.names})
        found[nano] = holdings.counted(answers, charged)
    return found


def _wrong_in_repeats(asked: Asked) -> Iterator[str]:
    """Yield where one key got two answers, or an answer and later none."""
    answers = [reply for reply in asked.replies if "value" in reply]
    if any(reply != answers[0] for reply in answers[1:]):
        yield f"{asked}: one key, and several answers: {[reply['value'] for reply in answers]}"
    if answers and "value" not in asked.replies[-1]:
        yield f"{asked}: answered at first, and then refused: {asked.reason}"


def _answered_otherwise(all_asked: Sequence[Asked]) -> Iterator[str]:
    """Yield stored answers that nobody was given before, unless they may be of a question whose asker was lost."""
    given: dict[int, set[Any]] = {}
    lost = {asked.nano for asked in all_asked if asked.told and not asked.answered}
    for asked in all_asked:
        if asked.fresh and asked.method != PLAN:
            given.setdefault(asked.nano, set()).add(asked.reply["value"])
    for asked in all_asked:
        repeated = asked.answered and not asked.fresh
        if repeated and asked.nano not in lost and asked.reply["value"] not in given.get(asked.nano, ()):
            yield f"{asked}: the value {asked.reply['value']} was given again, and nobody was given it before"
