"""What `verify` refuses in entries that a provider signed: sums left out, groups twice, other sums in a round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import ProtocolViolation, WrongLog
from fedgroup.identity import Authority, Identity, Trust
from fedgroup.live.agreement import agreement
from fedgroup.live.public_log import answer_told
from fedgroup.live.sheets import MOST_NUMBERS
from fedgroup.live.verifying import Asked, LogRead, LogReader, _require_fields
from fedgroup.messages import NoisyTotals
from fedgroup.messages.logged import Head
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.release import scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.chain import group_tag, leaf_of, root_of
from fedgroup.space import Box, Circle, Grid
from fedgroup.storage.heads_table import MOST_FORKS
from fedgroup.storage.owner_books import OwnerBooks
from fedgroup.storage.owner_ledger import OwnerLedger

ONE = Epsilon.of(1)
COUNT = RangeQuery("count", Circle(5, 5, 3), ONE)
ROUND, OTHER = b"\x0a" * 16, b"\x0b" * 16
TAG = group_tag(ROUND, "a group").hex()

Told = dict[str, Any]


def group(sums: Sequence[int], *, tag: str = TAG, **more: Any) -> Told:
    return {"round": 0, "group": tag, "heard": 3, "parts": 0, "sums": list(sums)} | more


def leaf(told: Mapping[str, Any], at: bytes = ROUND) -> bytes:
    if "leaf" in told:
        return bytes.fromhex(told["leaf"])
    sums = np.array(told["sums"], dtype=">i8").tobytes()
    return leaf_of(at, bytes.fromhex(told["group"]), heard=told["heard"], parts=told["parts"], sums=sums)


def hashed(told: Told) -> Told:
    return {name: fact for name, fact in told.items() if name != "sums"} | {"leaf": leaf(told).hex()}


def entry(groups: Sequence[Told], total: Sequence[int], *, query: RangeQuery = COUNT, **more: Any) -> Told:
    """An entry as a provider makes it of such groups, whose totals are as told."""
    ordered, noises = sorted(groups, key=leaf), float(len(groups))
    totals = NoisyTotals(
        {"count": np.array(total)}, scales_of(query, Protection()), False, noises=noises, heard=3, shared=0.0
    )
    heard = sum(each["heard"] for each in groups)
    return {
        "rounds": [ROUND.hex()], "groups": ordered, "root": root_of([leaf(each) for each in ordered]).hex(),
        "owners": 9, "heard": heard, "noises": noises, "shared": 0.0, "totals": {"count": list(total)},
        "answer": answer_told(query, totals) if query.is_range else None,
    } | more  # fmt: skip


def reader(query: RangeQuery = COUNT) -> LogReader:
    found = LogReader()
    found.found.rounds |= {
        name.hex(): Asked(at, ONE.nano, None, query, owners=9) for at, name in enumerate((ROUND, OTHER), 1)
    }
    return found


def test_an_honest_answer_is_believed_and_told_again_in_its_round() -> None:
    found = reader()
    found._answered(3, entry([group([10]), group([4], tag="", heard=1)], [14]))
    found._begin(ROUND.hex(), Asked(4, ONE.nano, None, COUNT, owners=9))
    found._answered(5, entry([group([10])], [10]))
    asked = found.found.rounds[ROUND.hex()]
    assert (found.found.answered, asked.tags, asked.numbers) == (2, frozenset([bytes.fromhex(TAG)]), (1, 4))


LONG = RangeQuery("count", Grid(Box(0, 0, 10, 10), 256, 128), ONE)


def test_sums_of_long_answers_alone_may_be_hashes() -> None:
    half, rest = [1] * (MOST_NUMBERS // 2), group_tag(ROUND, "another").hex()
    two = [group(half), group(half, tag=rest)]
    with pytest.raises(ProtocolViolation, match="does not tell the sums"):
        reader(LONG)._answered(3, entry([hashed(each) for each in two], [2] * len(half), query=LONG))
    three = [hashed(each) for each in (*two, group(half, tag=group_tag(ROUND, "a third").hex()))]
    found = reader(LONG)
    found._answered(3, entry(three, [3] * len(half), query=LONG))
    assert (found.found.answered, found.found.listed) == (1, 0)


LIES: dict[str, Callable[[], Told]] = {
    "does not tell the sums": lambda: entry([group([10]), hashed(group([10], tag="", heard=1))], [999]),
    "one spelling": lambda: entry([group([50]), group([50], tag=TAG.upper())], [100]),
    "has an answer": lambda: entry([group([10])], [10], answer=None),
    "a round that the answer names": lambda: entry([group([10], round=-1)], [10]),
    "one round twice": lambda: entry([group([10])], [10], rounds=[ROUND.hex()] * 2),
    "named by a hash": lambda: entry([group([10], tag="00")], [10]),
    "not an entry": lambda: entry([hashed(group([10])) | {"heard": 3.0}], [10]),
    "is not an entry of a log": lambda: entry([group([10], who="ann")], [10]),
    "more shares than it has members": lambda: entry([group([10], parts=4)], [10]),
    "other owners than were asked": lambda: entry([group([10]) | {"heard": 900}], [10], owners=900),
}


@pytest.mark.parametrize("why", LIES)
def test_what_an_answer_leaves_out_or_says_twice_is_refused(why: str) -> None:
    with pytest.raises(ProtocolViolation, match=why):
        reader()._answered(3, LIES[why]())


def test_groups_that_nobody_was_asked_in_do_not_make_an_answer_too_long_to_be_added_up() -> None:
    many = [hashed(group([0], tag="", heard=1)) for _ in range(MOST_NUMBERS + 1)]
    with pytest.raises(ProtocolViolation, match="other owners than were asked"):
        reader()._answered(3, entry(many, [999], owners=len(many)))
    with pytest.raises(ProtocolViolation, match="not those of its groups"):
        reader()._answered(3, entry(many, [999]))


def test_an_answer_tells_of_the_owners_that_were_asked_the_last_time() -> None:
    found = reader()
    found._failed(3, {"rounds": [ROUND.hex()]})
    found._begin(ROUND.hex(), Asked(4, ONE.nano, None, COUNT, owners=5))
    with pytest.raises(ProtocolViolation, match="other owners than were asked"):
        found._answered(5, entry([group([10])], [10]))
    found._answered(5, entry([group([10])], [10], owners=5))


AT = "2026-01-01T00:00:00.000+00:00"
FAILED: Told = {"kind": "failed", "rounds": [ROUND.hex()], "at": AT}
SHAPES: dict[str, Told] = {
    "other fields": FAILED | {"who": "ann"},
    "other fields than": {"kind": "failed", "at": AT},
    "does not tell when": FAILED | {"at": "at noon, by ann"},
    "its rounds cannot be": FAILED | {"rounds": ROUND.hex()},
    "its owners cannot be": {"kind": "described", "round": ROUND.hex(), "at": AT, "columns": 1, "rows": 1}
    | {"epsilon_nano": 1, "owners": "none"},
    "its heard cannot be": {"kind": "vectors", "rounds": [], "at": AT, "heard": -1},
    "its heard": {"kind": "vectors", "rounds": [], "at": AT, "heard": True},
}


@pytest.mark.parametrize("why", SHAPES)
def test_an_entry_has_no_room_for_what_no_provider_writes(why: str) -> None:
    _require_fields(FAILED)
    with pytest.raises(ProtocolViolation, match=why):
        _require_fields(SHAPES[why])


def test_a_group_gives_one_vector_of_sums_in_a_round_however_often_that_is_asked() -> None:
    found = reader()
    found._answered(3, entry([group([10])], [10]))
    found._begin(ROUND.hex(), Asked(4, ONE.nano, None, COUNT, owners=9))
    found._failed(5, {"rounds": [ROUND.hex()]})  # that it failed since changes nothing
    found._begin(ROUND.hex(), Asked(6, ONE.nano, None, COUNT, owners=9))
    with pytest.raises(ProtocolViolation, match="other sums in its round before"):
        found._answered(7, entry([group([5_000])], [5_000]))


def test_a_round_has_one_spelling() -> None:
    with pytest.raises(ProtocolViolation, match="one spelling"):
        reader()._begin(ROUND.hex().upper(), Asked(3, ONE.nano, None, COUNT))


# --- owners' books ----------------------------------------------------------------------------------------------------


def charge(ledger: OwnerLedger, name: bytes, number: int) -> None:
    ledger.note_head(Head(number, name * 2, bytes(64), name))
    ledger.begin_rounds([(name, Charge(ONE, "query", f"count, round {name[:4].hex()}, log entry {number}"), "s")])


def test_charges_for_entries_of_a_log_that_is_believed_no_more_are_those_from_before(tmp_path: Path) -> None:
    with closing(OwnerLedger(tmp_path / "l.db")) as ledger:
        charge(ledger, ROUND, 1)
        ledger.accept_another_log()
        charge(ledger, OTHER, 1)
    log = LogRead("f", [bytes(32), OTHER * 2], {OTHER.hex(): Asked(1, ONE.nano)})
    agreed = agreement(log, tmp_path / "l.db")
    assert (agreed.heads, agreed.charges, agreed.before) == (1, 1, 1)
    dearer = replace(log, rounds={OTHER.hex(): Asked(1, 2 * ONE.nano)})
    with pytest.raises(WrongLog, match="another price"):
        agreement(dearer, tmp_path / "l.db")


def test_a_charge_that_names_no_entry_after_one_that_does_is_wrong(tmp_path: Path) -> None:
    log = LogRead("f", [bytes(32), ROUND * 2], {ROUND.hex(): Asked(1, ONE.nano)})

    def unnamed(ledger: OwnerLedger, name: bytes) -> None:
        ledger.begin_rounds([(name, Charge(ONE, "query", f"count, round {name[:4].hex()}"), "s")])

    with closing(OwnerLedger(tmp_path / "l.db")) as ledger:
        unnamed(ledger, b"\x01" * 16)  # before there was a log
        charge(ledger, ROUND, 1)
    assert agreement(log, tmp_path / "l.db").before == 1
    with closing(OwnerLedger(tmp_path / "l.db")) as ledger:
        unnamed(ledger, OTHER)
    with pytest.raises(WrongLog, match="no entry tells of"):
        agreement(log, tmp_path / "l.db")


def test_what_an_owner_gave_is_in_an_answer_once(tmp_path: Path) -> None:
    """A round that was spoilt and its rerun end with one answer: a group's sums are from one of them."""
    tags = {name: group_tag(name, "a group") for name in (ROUND, OTHER)}
    with closing(OwnerLedger(tmp_path / "l.db")) as ledger:
        for number, (name, tag) in enumerate(tags.items(), 1):
            ledger.note_head(Head(number, name * 2, bytes(64), name, tag))
            ledger.begin_rounds(
                [(name, Charge(ONE, "query", f"count, round {name[:4].hex()}, log entry {number}"), "s")]
            )
    ends = {
        name.hex(): Asked(number, ONE.nano, None, COUNT, end=3, tags=frozenset([tag]))
        for number, (name, tag) in enumerate(tags.items(), 1)
    }
    log = LogRead("f", [bytes(32), ROUND * 2, OTHER * 2], ends)
    with pytest.raises(WrongLog, match="in this answer twice"):
        agreement(log, tmp_path / "l.db")
    spoilt = ends | {ROUND.hex(): replace(ends[ROUND.hex()], tags=frozenset[bytes]())}
    assert agreement(replace(log, rounds=spoilt), tmp_path / "l.db").counted == 1
    two_answers = ends | {ROUND.hex(): replace(ends[ROUND.hex()], end=4)}
    assert agreement(replace(log, rounds=two_answers), tmp_path / "l.db").counted == 2


def test_a_few_proofs_of_a_second_log_are_kept_of_each_log(tmp_path: Path) -> None:
    with closing(OwnerLedger(tmp_path / "l.db")) as ledger:
        for log in (1, 2):
            for number in range(3 * MOST_FORKS):
                ledger.note_fork(Head(number, bytes([number]) * 32, bytes(64)), base=bytes(32), links=bytes(32))
            ledger.flush()
            with closing(OwnerBooks(tmp_path / "l.db")) as books:
                assert books.forks() == log * MOST_FORKS
            ledger.accept_another_log()


def test_a_revoked_certificate_is_told_with_what_can_still_be_checked(
    tmp_path: Path, provider_of: Callable[[Path], Identity]
) -> None:
    provider = provider_of(tmp_path)
    before = Trust.load(tmp_path / "authority", stale=True)
    Authority.open(tmp_path / "authority").revoke("provider")
    now = Trust.load(tmp_path / "authority", stale=True)
    with pytest.raises(ProtocolViolation, match=r"was revoked.*revoked\.pem of that time.*--ledger"):
        LogReader(now)._believed(provider.certificate.der)
    assert LogReader(before)._believed(provider.certificate.der) == provider.certificate
