from __future__ import annotations

import math

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln, logsumexp
from scipy.stats import chi2

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.privacy.keystream import Keystream
from fedgroup.questions.methods import COHORT_SIZE
from fedgroup.secure.mask_graph import (
    ALL_PAIRS,
    LIVE_FAILURE,
    commitment,
    failure_chance,
    least_neighbours,
    mask_degree,
    mask_edges,
    public_seed,
    require_opened,
    shuffled,
    uniform_below,
)

FALSE_ALARM = 1e-6
"""The chance that a right implementation fails a statistical test, were its seeds not fixed."""


def one_group(members: int) -> np.ndarray:
    return np.zeros(members, dtype=np.int32)


def log_choose(n, k):
    with np.errstate(all="ignore"):
        value = gammaln(np.add(n, 1.0)) - gammaln(np.add(k, 1.0)) - gammaln(np.subtract(n, k) + 1.0)
    return np.where((np.asarray(k) < 0) | (np.asarray(k) > np.asarray(n)), -np.inf, value)


def log_cut_off(size: int, honest: int, bad: int) -> float:
    """The log chance that in one random cycle no one of `size` given honest members is beside another honest one.

    The bad members leave `bad` gaps; each is empty, or filled from the set only, or from the others only.
    """
    own = np.arange(1, min(size, bad) + 1)[:, None]
    other = np.arange(1, min(honest - size, bad) + 1)[None, :]
    gaps = log_choose(bad, own) + log_choose(bad - own, other)
    ways = gaps + log_choose(size - 1, own - 1) + log_choose(honest - size - 1, other - 1)
    return float(logsumexp(ways) - log_choose(honest + bad - 1, bad - 1) - log_choose(honest, size))


@pytest.mark.parametrize(("bad_share", "degree"), [(0.2, 26), (0.33, 38), (0.5, 60)])
def test_a_million_owners_have_the_specified_degree(bad_share, degree):
    assert mask_degree(10**6, bad_share=bad_share) == degree


def test_groups_of_the_default_cohort_and_a_little_more_mask_all_pairs():
    assert COHORT_SIZE < ALL_PAIRS
    assert [mask_degree(n, bad_share=0.2) for n in (1, 2, 3, 22, 50, 64)] == [0, 1, 2, 21, 49, 63]
    assert [failure_chance(n, bad_share=0.2) for n in (22, COHORT_SIZE, ALL_PAIRS)] == [0, 0, 0]


def test_the_degree_of_larger_groups_is_even_and_never_more_than_everybody():
    assert [mask_degree(n, bad_share=0.2) for n in (65, 99, 1000, 2000)] == [20, 22, 22, 22]
    assert mask_degree(1000, bad_share=0.2, failure=2.0**-52) == 28
    assert mask_degree(70, bad_share=0.9) == 69
    assert failure_chance(1000, bad_share=0.2) == 2.0**-40
    assert mask_degree(500, bad_share=1) == 499
    assert mask_degree(500, bad_share=0) == 2


@pytest.mark.parametrize("bad_share", [0.05, 0.1, 0.2, 0.33, 0.5])
@pytest.mark.parametrize("members", [65, 80, 100, 200, 400])
def test_all_sets_together_are_cut_off_less_often_than_2_to_the_minus_40(members, bad_share):
    degree, bad = mask_degree(members, bad_share=bad_share), math.floor(bad_share * members)
    if degree == members - 1 or bad == 0:
        return
    sizes = range(1, (members - bad) // 2 + 1)
    chances = [log_choose(members - bad, s) + degree // 2 * log_cut_off(s, members - bad, bad) for s in sizes]
    assert logsumexp(chances) <= -40 * math.log(2)


def log_dense(size: int, members: int, colluders: int, *, degree: int, needed: int) -> float:
    """The log chance, at most, that some `size` honest members all have `needed` neighbours among them and colluders.

    In one cycle both neighbours of each are looked at, one after the other: whatever came before, one is a colluder
    with a chance of at most colluders / (members - 2 size), and one of the set, for which two then have a neighbour
    more, with at most size / (members - 2 size). Chernoff's bound for degree / 2 cycles.
    """
    room = members - 2 * size
    if room <= size + colluders:
        return float(log_choose(members - colluders, size))
    tilt = np.linspace(0.02, 8, 400)
    each = np.log1p(colluders / room * np.expm1(tilt) + size / room * np.expm1(2 * tilt))
    chance = min(0.0, float(np.min(degree * size * each - tilt * size * needed)))
    return float(log_choose(members - colluders, size)) + chance


def log_left_alone(size: int, members: int, colluders: int, dropouts: int, *, degree: int) -> float:
    """The log chance, at most, that some `dropouts` exist without which some `size` honest members are cut off."""
    honest = members - colluders
    choices = float(log_choose(honest, size) + log_choose(honest - size, dropouts))
    return choices + degree // 2 * log_cut_off(size, honest - dropouts, colluders + dropouts)


LIVE_TERMS = [
    (members, colluders, math.ceil(share * members))
    for members in (65, 80, 100, 200, 500, 1000)
    for share in (0.02, 0.1, 0.3, 0.6)
    for colluders in (1, 3, 10, 24)
]


@pytest.mark.parametrize(("members", "colluders", "dropouts"), LIVE_TERMS)
def test_whoever_is_left_out_by_who_knows_the_graph_nobody_is_cut_off(members, colluders, dropouts):
    bad_share = max(0.2, (colluders + dropouts) / members)
    degree = mask_degree(members, bad_share=min(1, bad_share), failure=LIVE_FAILURE)
    if degree >= members - 1 or 2 * colluders >= degree:  # nobody is left out whom an honest member masks with
        return
    needed = least_neighbours(math.ceil(0.6 * degree), degree=degree, colluders=colluders)  # of whoever needs fewest
    chances = []
    for size in range(max(1, needed - colluders + 1), (members - colluders - dropouts) // 2 + 1):
        dense = log_dense(size, members, colluders, degree=degree, needed=needed)
        sparse = log_left_alone(size, members, colluders, dropouts, degree=degree) if dense > -100 else 0.0
        chances.append(min(dense, sparse))
    assert logsumexp([-math.inf, *chances]) <= math.log(LIVE_FAILURE)


def test_more_than_half_of_the_neighbours_are_needed_and_more_if_some_of_them_collude():
    assert [least_neighbours(28, degree=28, colluders=c) for c in (0, 1, 2, 3, 13, 14, 900)] == [
        14,
        15,
        15,
        16,
        21,
        28,
        28,
    ]
    assert [least_neighbours(n, degree=26, colluders=1) for n in (3, 9, 10, 16, 17, 20)] == [3, 9, 9, 9, 9, 11]


@pytest.mark.parametrize("members", [65, 100])
def test_honest_members_have_enough_neighbours_though_as_many_as_may_be_are_silent(members):
    """Of 200 groups with a tenth of the members silent at random, not one member is left with too few."""
    silent = np.arange(members) < -(-members // 10)
    degree = mask_degree(members, bad_share=0.2, failure=LIVE_FAILURE)
    for group in range(200):
        first, second = mask_edges(one_group(members), seed=b"%d" % group, failure=LIVE_FAILURE)
        ends = np.concatenate([first, second]), np.concatenate([second, first])
        distinct = np.bincount(ends[0], minlength=members)
        there = np.bincount(ends[0], weights=~silent[ends[1]], minlength=members)
        least = [least_neighbours(int(n), degree=degree, colluders=1) for n in distinct]
        assert (there >= least)[~silent].all()


def test_honest_survivors_stay_connected_in_1000_random_trials():
    rng = np.random.default_rng(20)
    labels = one_group(2000)
    for trial in range(1000):
        first, second = mask_edges(labels, seed=b"trial %d" % trial)
        honest = np.ones(2000, dtype=bool)
        honest[rng.choice(2000, 400, replace=False)] = False
        kept = honest[first] & honest[second]
        graph = coo_array((np.ones(kept.sum()), (first[kept], second[kept])), shape=(2000, 2000))
        assert connected_components(graph, directed=False)[0] == 1 + 400


def test_a_small_group_has_all_its_pairs():
    first, second = mask_edges(one_group(20), seed=b"any")
    assert list(zip(first, second, strict=True)) == [(i, j) for i in range(20) for j in range(i + 1, 20)]


def test_a_large_group_is_a_nearly_regular_graph():
    first, second = mask_edges(one_group(5000), seed=b"regular")
    degrees = np.bincount(np.concatenate([first, second]), minlength=5000)
    wanted = mask_degree(5000, bad_share=0.2)
    assert degrees.max() == wanted
    assert (degrees == wanted).mean() > 0.9
    assert degrees.min() >= wanted - 3


@given(st.lists(st.integers(0, 3), max_size=150), st.sampled_from([0, 0.05, 0.2, 1]))
def test_edges_join_each_group_and_nothing_else(groups, bad_share):
    labels = np.unique(np.array(groups, dtype=np.int32), return_inverse=True)[1].astype(np.int32)
    first, second = mask_edges(labels, seed=b"groups", bad_share=bad_share)
    graph = networkx.Graph()
    graph.add_nodes_from(range(len(labels)))
    graph.add_edges_from(zip(first.tolist(), second.tolist(), strict=True))
    assert graph.number_of_edges() == len(first)
    assert (first < second).all()
    parts = sorted(map(sorted, networkx.connected_components(graph)))
    assert parts == sorted(np.flatnonzero(labels == g).tolist() for g in np.unique(labels))


def test_the_same_seed_gives_the_same_graph_and_another_another():
    one, same, other = (mask_edges(one_group(100), seed=seed) for seed in (b"a", b"a", b"b"))
    assert np.array_equal(one, same)
    assert not np.array_equal(one[1][:500], other[1][:500])


def test_every_pair_is_joined_equally_often():
    members, seeds = ALL_PAIRS + 1, 500
    count = np.zeros((members, members))
    for seed in range(seeds):
        count[mask_edges(one_group(members), seed=b"%d" % seed, bad_share=0.01)] += 1
    joined = count[np.triu_indices(members, 1)]
    share = joined.mean() / seeds
    # Each of 2,080 binomial counts lies within 6.4 standard deviations but for a chance of 2,080 * 2e-10 < FALSE_ALARM.
    assert np.abs(joined - seeds * share).max() < 6.4 * math.sqrt(seeds * share * (1 - share))


def test_shuffling_makes_all_orders_equally_likely():
    segments = 96_000
    values = np.tile(np.arange(4, dtype=np.int32), segments)
    orders = shuffled(Keystream(b"o" * 32), values, sizes=np.full(segments, 4)).reshape(-1, 4)
    _, counts = np.unique(orders @ [64, 16, 4, 1], return_counts=True)
    assert len(counts) == 24
    assert ((counts - segments / 24) ** 2).sum() / (segments / 24) < chi2.isf(FALSE_ALARM, 23)


class ChosenWords(Keystream):
    """A stream of chosen 32-bit words."""

    def __init__(self, *words: int) -> None:
        self._left = list(words)

    def words(self, count, dtype):
        taken, self._left = self._left[:count], self._left[count:]
        return np.array(taken, dtype=dtype)


def test_words_that_would_favour_an_outcome_are_drawn_again():
    # 2^32 = 1 mod 3: one word, 0, is too many.
    drawn = uniform_below(ChosenWords(0, 2**32 - 1, 0, 1431655766), np.array([3, 3]))
    assert drawn.tolist() == [1, 2]


def test_the_seed_depends_on_every_nonce_and_their_order():
    nonces = [bytes([i]) * 32 for i in range(3)]
    seeds = {
        public_seed(n) for n in (nonces, nonces[::-1], nonces[:2], [nonces[0] + nonces[1], nonces[2]], [*nonces, b""])
    }
    assert len(seeds) == 5


def test_opened_commitments_are_accepted():
    nonces = [bytes([i]) * 32 for i in range(3)]
    require_opened([commitment(nonce) for nonce in nonces], nonces)


@pytest.mark.parametrize("revealed", [[b"a" * 32], [b"a" * 32, b"x" * 32], [b"b" * 32, b"a" * 32], [b"a" * 32, b""]])
def test_a_nonce_that_was_not_committed_to_is_a_violation(revealed):
    with pytest.raises(ProtocolViolation):
        require_opened([commitment(b"a" * 32), commitment(b"b" * 32)], revealed)


@pytest.mark.parametrize("bad", [lambda: commitment(b"short"), lambda: mask_degree(0, bad_share=0.2)])
def test_short_nonces_and_empty_groups_are_invalid(bad):
    with pytest.raises(InvalidInput):
        bad()


@pytest.mark.parametrize("bad_share", [-0.1, 1.1, math.nan])
def test_a_share_lies_between_0_and_1(bad_share):
    with pytest.raises(InvalidInput):
        mask_degree(10, bad_share=bad_share)
