"""Masks of members that fall silent are taken off, those of others stay on, whoever asks for what."""

from __future__ import annotations

import numpy as np
import pytest

from dealt_rounds import CONTEXT, Dealt
from fedgroup.errors import FedgroupError, ProtocolViolation
from fedgroup.secure.masking import pair_masks
from fedgroup.secure.recovery import Recovery
from fedgroup.secure.sharing import LIMBS, SHARE_BYTES, key_of, secret_of, shares_at
from fedgroup.secure.terms import MaskedTerms

ROUND, OTHER = b"r" * 16, b"s" * 16
EVERYBODY = range(4, 65)


@pytest.mark.parametrize("word_bytes", [4, 8])
@pytest.mark.parametrize(
    ("group", "absent", "silent", "mute"),
    [
        (Dealt(10), [], [], []),
        (Dealt(10), [], [3], []),
        (Dealt(21), [4], [0, 20], []),
        (Dealt(21), [], [0, 7, 20], [5]),
        (Dealt(30, colluders=3), [], [1, 2], [9, 29]),
        (Dealt(70, sparse=True), [], [], []),
        (Dealt(70, sparse=True), [11], [0, 1, 2, 3, 68, 69], [20, 30]),
    ],
)
def test_the_sum_of_who_was_heard_comes_out_exactly(
    group: Dealt, absent: list[int], silent: list[int], mute: list[int], word_bytes: int
) -> None:
    """Some are not in the roster, some fall silent after it is fixed, some after they sent their words."""
    roster = [p for p in range(group.members) if p not in absent]
    heard = [p for p in roster if p not in silent]
    values = np.random.default_rng(1).integers(-(2**20), 2**20, (group.members, 5))
    total = np.sum([group.sent(ROUND, roster, p, values[p], word_bytes=word_bytes) for p in heard], axis=0)
    found = group.unmasked(ROUND, roster, heard, telling=[p for p in heard if p not in mute])
    assert found.complete
    masks = np.concatenate([found.masks(CONTEXT, words=2, first=0), found.masks(CONTEXT, words=3, first=2)])
    left = (total - masks.astype(f"u{word_bytes}")).astype(f"u{word_bytes}").view(f"i{word_bytes}")
    assert left.tolist() == values[heard].sum(axis=0).tolist()


@pytest.mark.parametrize("colluders", [1, 2, 5])
def test_thresholds_exclude_two_sets_and_more_dropped_members_than_can_be_spared(colluders: int) -> None:
    """With e to spare: s (e + 1) > n e + c, so 2 s > n + c; and those left are enough to tell their shares."""
    found = {n: Recovery.of(MaskedTerms(n, min(colluders, n - 1)), degree=n - 1) for n in EVERYBODY}
    for members, recovery in found.items():
        if recovery is not None:
            spare, needed, c = recovery.spare, recovery.threshold(members), min(colluders, members - 1)
            assert needed * (spare + 1) > members * spare + c
            assert (needed - 1) * (spare + 1) <= members * spare + c  # and is not larger than it must be
            assert 2 * needed > members + c
            assert needed <= members - spare
            assert needed <= recovery.terms.least_heard  # nobody pays in a round whose masks can never come off
            assert spare <= members - recovery.terms.least_heard
    usual = [Recovery.of(MaskedTerms(n), degree=n - 1) for n in EVERYBODY]
    assert [each.spare for each in usual if each is not None] == [-(-n // 10) for n in EVERYBODY]
    assert Recovery.of(MaskedTerms(3), degree=2) is None
    assert Recovery.of(MaskedTerms(10, 1, 3), degree=9) == Recovery(MaskedTerms(10, 1, 3), spare=1, signers=0)
    assert Recovery.of(MaskedTerms(10, 1, 5), degree=9) is None  # five would be heard, and two secrets take six


def test_groups_without_all_pairs_need_signatures_of_more_than_half_and_of_all_colluders() -> None:
    recovery = Recovery.of(MaskedTerms(500, 20), degree=50)
    assert recovery is not None
    assert (recovery.signers, recovery.spare) == (261, 50)
    assert 2 * recovery.threshold(51) > 51 + 20
    assert recovery.threshold(3) > 20  # whatever graph is drawn, colluders alone have too few
    assert Recovery.of(MaskedTerms(500, 25), degree=50) is None  # colluders could be half of who holds shares
    assert Recovery.of(MaskedTerms(100, 60, 30), degree=28) is None


@pytest.mark.parametrize("members", [4, 6, 11, 21, 50])
@pytest.mark.parametrize("colluders", [1, 2])
def test_a_provider_that_tells_everybody_another_set_leaves_out_no_more_than_it_may(
    members: int, colluders: int
) -> None:
    """Every honest member is told to leave out as many as it would, the same few by as many as can be, in turn."""
    recovery = Recovery.of(MaskedTerms(members, colluders), degree=members - 1)
    if recovery is None:
        assert (members, colluders) == (4, 2)
        return
    honest, needed = range(colluders, members), recovery.threshold(members)
    for wanted in range(recovery.spare, len(honest) + 1):
        victims = list(honest)[:wanted]
        out = dict.fromkeys(victims, colluders)  # colluders tell every share that they hold
        for number, member in enumerate(honest):
            others = [victim for victim in victims if victim != member]
            turn = [
                others[(number * recovery.spare + k) % len(others)] for k in range(min(recovery.spare, len(others)))
            ]
            for victim in set(turn):
                out[victim] += 1
        opened = [victim for victim, shares in out.items() if shares >= needed]
        assert len(opened) <= recovery.spare
        told_in = {victim: members + colluders - shares for victim, shares in out.items()}
        assert not [v for v in victims if out[v] >= needed and told_in[v] >= needed]


def test_of_no_member_both_secrets_come_out_when_half_are_told_another_set() -> None:
    group = Dealt(10)
    roster = list(range(10))
    with_it = group.unmasked(ROUND, roster, roster, telling=[0, 1, 2, 3, 4, 9])
    without = group.unmasked(ROUND, roster, roster[:9], telling=[0, 5, 6, 7, 8])  # 0 colludes, and tells both
    assert group.recovery.threshold(10) == 6
    assert (with_it._held[9], without._held[9]) == (6, 5)
    assert not without.complete


def test_who_was_told_another_roster_opens_nothing_of_a_seed() -> None:
    group = Dealt(10)
    dealt = group.dealers[9].masks(ROUND, set(range(10))).dealt[:SHARE_BYTES]  # for member 0
    told = [
        group.dealers[0].told(ROUND, set(roster), set(roster), bytes(SHARE_BYTES) * (len(roster) - 2) + dealt)
        for roster in ([*range(10)], [*range(8), 9])
    ]
    drawn = group.dealers[9]._drawn(ROUND)[:, :LIMBS]
    true = shares_at(drawn, np.array([1])).astype("<u4").tobytes()
    assert [each[-2 * SHARE_BYTES : -SHARE_BYTES] == true for each in told] == [True, False]


def test_no_pad_serves_for_two_shares() -> None:
    """What a share is sealed with is another one for each round, group, roster and secret."""
    group, other = Dealt(5), Dealt(5, digest=b"another group")
    pads = []
    for dealer, name in ((group.dealers[1], ROUND), (group.dealers[1], OTHER), (other.dealers[1], ROUND)):
        share = shares_at(dealer._drawn(name), np.array([1])).astype("<u4")
        for sealed, true in (
            (dealer.dealt(name), share[:, LIMBS:]),
            (dealer.masks(name, set(range(5))).dealt, share[:, :LIMBS]),
            (dealer.masks(name, {0, 1, 2, 4}).dealt, share[:, :LIMBS]),
        ):
            pads.append(np.frombuffer(sealed[:SHARE_BYTES], dtype=np.uint8) ^ true.view(np.uint8).ravel())
    assert len({pad.tobytes() for pad in pads}) == 9


def test_a_share_is_opened_as_what_it_is_of_whatever_is_given_in_its_place() -> None:
    group = Dealt(10)
    roster = list(range(10))
    without = group.unmasking(ROUND, roster, roster[:9])
    box_shares = without.sealed_for(0)  # that of member 9, the last, is of its box key
    told = group.dealers[0].told(ROUND, roster, set(roster), box_shares)
    honest = group.dealers[0].told(ROUND, roster, set(roster[:9]), box_shares)
    at = slice(8 * SHARE_BYTES, 9 * SHARE_BYTES)
    assert told[at] != honest[at]
    assert told[: 8 * SHARE_BYTES] == honest[: 8 * SHARE_BYTES]
    seeds = group.unmasked(ROUND, roster, roster, telling=range(6))
    points = [p + 1 for p in range(6)]
    box = group.unmasked(ROUND, roster, roster[:9], telling=range(6))
    shares = [np.array([each._shares[p][9] for p in range(6)]).astype(np.int64) for each in (seeds, box)]
    drawn = group.dealers[9]._drawn(ROUND)[0]
    assert secret_of(points, shares[0]).tolist() == drawn[:LIMBS].tolist()
    assert secret_of(points, shares[1]).tolist() == drawn[LIMBS:].tolist()


def test_what_is_dealt_is_the_same_again_and_another_in_another_round() -> None:
    one, same, other = Dealt(5).dealers[1], Dealt(5).dealers[1], Dealt(5, digest=b"another group").dealers[1]
    assert one.dealt(ROUND) == same.dealt(ROUND)
    before = [one.dealt(ROUND), one.dealt(OTHER), other.dealt(ROUND)]
    assert len({each[start : start + 16] for each in before for start in range(0, len(each), 18)}) == 24
    everybody, without = set(range(5)), {0, 1, 2, 4}
    assert one.masks(ROUND, everybody).dealt == same.masks(ROUND, everybody).dealt
    rounds = [(one, ROUND, everybody), (one, OTHER, everybody), (other, ROUND, everybody), (one, ROUND, without)]
    then = [dealer.masks(name, roster).dealt for dealer, name, roster in rounds]
    assert [len(each) for each in then] == [80, 80, 80, 60]  # for those in the roster only
    assert len({each[start : start + 20] for each in then for start in range(0, len(each), 20)}) == 15
    assert "private" in repr(one)
    assert "private" in repr(one.masks(ROUND, {0, 2}))


def test_keys_of_a_round_are_of_that_round_and_group_alone() -> None:
    groups = (Dealt(5), Dealt(5, digest=b"another group"))
    found = [each.dealers[1].masks(name, {0, 2, 3, 4}) for each in groups for name in (ROUND, OTHER)]
    assert len({key.tobytes() for each in found for key in each.keys}) == 16
    assert len({each.seed.tobytes() for each in found}) == 4
    other_side = Dealt(5).dealers[2].masks(ROUND, {0, 1, 3, 4})
    assert other_side.keys[1].tobytes() == found[0].keys[1].tobytes()  # both of a pair have the same


def test_a_member_that_is_left_out_stays_hidden_by_its_own_seed() -> None:
    """All keys of the round are known, as those of a member whose box was opened: its words still look like noise."""
    group, roster, words = Dealt(5), range(5), []
    for number in range(64):
        name = number.to_bytes(16, "big")
        sent = group.sent(name, roster, 4, [7])
        keys = group.dealers[4].masks(name, set(roster)).keys
        words.append(int((sent + pair_masks(keys, CONTEXT).sum(axis=0, dtype=np.uint64))[0]))
    bits = np.array([[word >> b & 1 for b in range(64)] for word in words])
    assert 0.45 < bits.mean() < 0.55
    assert (np.abs(bits.mean(axis=0) - 0.5) < 0.36).all()  # false alarm: less than 1 in 10**7


def test_sets_outside_the_roster_or_with_too_few_members_are_refused() -> None:
    recovery = Dealt(10).recovery
    for roster, survivors in [
        (range(10), range(11)),
        (range(9), range(10)),
        (range(10), range(8)),
        (range(9), range(8)),
    ]:
        assert not recovery.allows(roster, survivors)
        with pytest.raises(FedgroupError):
            recovery.require_enough(roster, survivors)
    assert recovery.allows(range(10), range(9))


def test_shares_that_do_not_fit_are_not_taken_in() -> None:
    group, roster = Dealt(10), list(range(10))
    found = group.unmasking(ROUND, roster, roster[:9])
    told = group.dealers[0].told(ROUND, roster, set(roster[:9]), found.sealed_for(0))
    assert not found.take(9, told)  # it was not heard
    assert not found.take(0, told[:-1])
    assert not found.complete
    with pytest.raises(ProtocolViolation):
        group.dealers[0].told(ROUND, roster, set(roster), b"")


def test_a_key_is_sixteen_bytes_of_a_secret() -> None:
    assert len(key_of(np.arange(LIMBS))) == 16
