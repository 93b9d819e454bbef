from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.secure.mask_graph import mask_edges
from fedgroup.secure.masking import masked, pair_masks, sums_of_masked
from fedgroup.secure.member import Member
from fedgroup.secure.pair_keys import OwnerKey, agreed_secrets

CONTEXT = hashlib.sha256(b"a round").digest()
OTHER_CONTEXT = hashlib.sha256(b"another round").digest()
KEYS = [OwnerKey(hashlib.sha256(b"member %d" % i).digest()) for i in range(30)]
ROSTER = [key.public for key in KEYS]


def member(position: int = 1, **changes) -> Member:
    """One of three members that all mask with each other."""
    others = [other for other in range(3) if other != position]
    return Member(KEYS[position], position, **{"roster": ROSTER[:3], "neighbours": others} | changes)


@pytest.mark.parametrize("members", [1, 2, 3, 30])
def test_members_together_send_what_the_vectorised_path_computes(members):
    labels = np.zeros(members, dtype=np.int32)
    first, second = mask_edges(labels, seed=b"graph")
    values = np.random.default_rng(4).integers(-(2**63), 2**63 - 1, members)
    sent = bytearray()
    for position in range(members):
        near = np.concatenate([second[first == position], first[second == position]]).tolist()
        one = Member(KEYS[position], position, roster=ROSTER[:members], neighbours=near)
        sent += one.answer(CONTEXT, [int(values[position])])
    expected = masked(values, first, second, pair_masks(agreed_secrets(KEYS, first, second), CONTEXT))
    assert np.array_equal(np.frombuffer(sent, dtype="<u8"), expected)
    assert sums_of_masked(expected, labels, 1)[0] == values.sum()


def test_an_owner_alone_sends_its_value_as_it_is():
    alone = Member(KEYS[0], 0, roster=ROSTER[:1], neighbours=[])
    assert alone.answer(CONTEXT, [-5]) == (-5).to_bytes(8, "little", signed=True)


def test_a_repeat_gets_the_same_bytes():
    one = member()
    sent = one.answer(CONTEXT, [7])
    assert one.answer(CONTEXT, [7]) == sent
    assert one.answer(OTHER_CONTEXT, [7]) != sent
    assert dict(one.answered) == {CONTEXT: sent, OTHER_CONTEXT: one.answer(OTHER_CONTEXT, [7])}


def test_another_value_for_an_answered_round_is_refused():
    one = member()
    sent = one.answer(CONTEXT, [7])
    with pytest.raises(ProtocolViolation):
        one.answer(CONTEXT, [8])
    assert one.answered[CONTEXT] == sent


def test_the_record_outlives_the_member():
    sent = member().answer(CONTEXT, [7])
    reborn = member(answered={CONTEXT: sent})
    assert reborn.answer(CONTEXT, [7]) == sent
    with pytest.raises(ProtocolViolation):
        reborn.answer(CONTEXT, [8])


def test_nothing_but_what_is_on_record_leaves_for_a_recorded_round():
    with pytest.raises(ProtocolViolation):
        member(answered={CONTEXT: bytes(8)}).answer(CONTEXT, [7])


def test_the_record_cannot_be_changed_from_outside():
    one = member()
    with pytest.raises(TypeError):
        one.answered[CONTEXT] = bytes(8)  # type: ignore[index]


def test_of_threads_that_answer_one_round_at_once_one_value_wins():
    one = member()

    def outcome(value: int) -> bytes | None:
        try:
            return one.answer(CONTEXT, [value])
        except ProtocolViolation:
            return None

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(outcome, range(64))) - {None}) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"roster": [ROSTER[1], ROSTER[0], ROSTER[2]]},
        {"roster": [ROSTER[0], ROSTER[1], ROSTER[0]]},
        {"roster": [ROSTER[0], ROSTER[1], bytes(32)]},
        {"roster": ROSTER[:1]},
        {"neighbours": [0, 1]},
        {"neighbours": [0, 0]},
        {"neighbours": [0, 3]},
        {"neighbours": [-1]},
        {"neighbours": []},
    ],
)
def test_a_roster_or_neighbours_that_cannot_be_right_are_a_violation(change):
    with pytest.raises(ProtocolViolation):
        member(**change)


@pytest.mark.parametrize("position", [-1, 3])
def test_a_position_outside_the_roster_is_a_violation(position):
    with pytest.raises(ProtocolViolation):
        Member(KEYS[2], position, roster=ROSTER[:3], neighbours=[0])


@pytest.mark.parametrize(
    "bad",
    [
        lambda: member().answer(CONTEXT, [2**63]),
        lambda: member().answer(CONTEXT, [-(2**63) - 1]),
        lambda: member().answer(b"short", [1]),
        lambda: member(answered={b"short": bytes(8)}),
        lambda: member(answered={CONTEXT: bytes(9)}),
    ],
)
def test_values_contexts_and_records_of_the_wrong_size_are_invalid(bad):
    with pytest.raises(InvalidInput):
        bad()


def test_a_refused_value_is_not_told():
    with pytest.raises(InvalidInput) as caught:
        member().answer(CONTEXT, [2**70 + 12345])
    assert str(2**70 + 12345) not in str(caught.value)


def test_a_member_prints_nothing_private():
    assert repr(member()) == "Member(<private>)"


def test_vectors_add_up_and_no_word_is_masked_like_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedgroup.secure.member._WORDS_AT_ONCE", 4)  # masks are made some words after the other
    values = np.arange(3 * 11).reshape(3, 11) - 20
    sent = np.array([np.frombuffer(member(at).answer(CONTEXT, row), "<u8") for at, row in enumerate(values)])
    assert np.array_equal(sent.sum(axis=0, dtype=np.uint64).view(np.int64), values.sum(axis=0))
    gaps = np.diff(np.sort(sent, axis=1), axis=1)
    assert gaps.min() > 1 << 20  # by chance, less with a probability of 3 * 11 * 2^-43
