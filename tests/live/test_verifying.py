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
from fedgroup.live.verifying import Asked, LogRead, LogReader
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
    found.found.rounds |= {name.hex(): Asked(at, ONE.nano, None, query) for at, name in enumerate((ROUND, OTHER), 1)}
    return found


def test_an_honest_answer_is_believed_and_told_again_in_its_round() -> None:
    found = reader()
    found._answered(3, entry([group([10]), group([4], tag="", heard=1)], [14]))
    found._begin(ROUND.hex(), Asked(4, ONE.nano, None, COUNT))
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
}


@pytest.mark.parametrize("why", LIES)
def test_what_an_answer_leaves_out_or_says_twice_is_refused(why: str) -> None:
    with pytest.raises(ProtocolViolation, match=why):
        reader()._answered(3, LIES[why]())


def test_a_group_gives_one_vector_of_sums_in_a_round_however_often_that_is_asked() -> None:
    found = reader()
    found._answered(3, entry([group([10])], [10]))
    found._begin(ROUND.hex(), Asked(4, ONE.nano, None, COUNT))
    found._failed(5, {"rounds": [ROUND.hex()]})  # that it failed since changes nothing
    found._begin(ROUND.hex(), Asked(6, ONE.nano, None, COUNT))
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
