"""The benches of secure similarity and secure sums run, and what they time is right; times are not judged."""

from __future__ import annotations

import os
import secrets
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput
from fedgroup.lab.bench import NAMES, measuring, run
from fedgroup.lab.bench.garbled_sum import sequential_sum
from fedgroup.lab.bench.measuring import BenchRow, cores, median_seconds, peak_mb
from fedgroup.lab.bench.processes import Alone
from fedgroup.lab.bench.secure_similarity import require_right, sample_counts, spu_python
from fedgroup.lab.bench.secure_sum import measure_masked, measure_sequential
from fedgroup.lab.bench.two_owners import compare_in_two_processes
from fedgroup.secure.comparison import SecureComparison
from fedgroup.secure.similarity import opened

INT32 = st.integers(-(2**31), 2**31 - 1)


def signed(number: int) -> int:
    """A number modulo 2^32, read as signed."""
    return (number + 2**31) % 2**32 - 2**31


@settings(max_examples=20)
@given(values=st.lists(INT32, min_size=1, max_size=4))
def test_a_sequential_garbled_sum_is_the_sum(values):
    assert sequential_sum(values, entropy=secrets.token_bytes).value == signed(sum(values))


def test_every_carry_of_a_garbled_sum_counts():
    for values in ([2**31 - 1, 1], [-1, 1], [-1, -1], [0x55555555, 0x2AAAAAAA], [0, 0, 0]):
        assert sequential_sum(values, entropy=secrets.token_bytes).value == signed(sum(values))


def test_a_sequential_sums_bytes_grow_with_its_owners():
    sizes = [sequential_sum([1] * owners, entropy=secrets.token_bytes).bytes_sent for owners in (1, 2, 5)]
    assert sizes[0] == 0
    assert sizes[2] == 4 * sizes[1]


def test_two_processes_find_the_bits_of_the_exact_comparison():
    comparison = SecureComparison(9, 0.8, 4)
    first, second = sample_counts(600, comparison)
    one, other = compare_in_two_processes(comparison, first, second, sessions=1)
    bits = opened(one.shares, other.shares)
    require_right(bits, comparison, first, second)
    assert len(bits) == 600
    assert 0 < bits.mean() < 1
    assert 0 < one.shares.mean() < 1
    assert [len(side.sessions) for side in (one, other)] == [1, 1]


def test_a_wrong_bit_is_noticed():
    comparison = SecureComparison(9, 0.8, 4)
    first, second = sample_counts(100, comparison)
    for bits in (np.zeros(100, dtype=bool), np.ones(100, dtype=bool)):
        with pytest.raises(RuntimeError):
            require_right(bits, comparison, first, second)


def test_samples_are_the_same_in_every_run_and_fit_their_width():
    for width in (4, 8):
        comparison = SecureComparison(30, 0.8, width)
        first, second = sample_counts(200, comparison)
        assert max(first.max(), second.max()) < 2**width
        assert (first == sample_counts(200, comparison)[0]).all()


@pytest.mark.parametrize(("bad_share", "pairs"), [(1.0, 50 * 49 // 2), (0.2, None)])
def test_a_timed_masked_sum_is_checked_and_sized(bad_share, pairs):
    seconds, peak, more = measure_masked(50, bad_share, 2)
    assert seconds > 0
    assert peak > 1
    assert (more["bytes_per_owner"], more["owners"], more["noise_parts"]) == (8, 50, 44)
    assert pairs in (None, more["pairs"])


def test_the_sequential_reference_is_measured_an_owner():
    measured = measure_sequential(4, 1)
    assert measured.owners == 4
    assert measured.seconds_per_owner > 0
    assert measured.bytes_per_owner == sequential_sum([1, 2], entropy=secrets.token_bytes).bytes_sent


def test_a_ratio_is_the_references_time_over_ours():
    assert BenchRow("case", ours_s=2, peak_mb=1, reference="slow", reference_s=8).ratio == 4
    assert BenchRow("case", ours_s=2, peak_mb=1).as_json()["ratio"] is None


def test_a_median_is_not_moved_by_one_slow_repeat(monkeypatch):
    now, takes = [100.0], iter([1.0, 60.0, 1.5])
    monkeypatch.setattr(measuring, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def work():
        now[0] += next(takes)

    assert median_seconds(work, repeats=3) == 1.5


def test_a_process_alone_has_another_id_and_a_peak_of_its_own():
    assert Alone(os.getpid).result() != os.getpid()
    assert 1 < Alone(peak_mb).result() < 200
    assert cores() >= 1


def test_a_process_that_fails_is_noticed(capfd):
    with pytest.raises(RuntimeError, match="without a result"):
        Alone(int, "no number").result()
    assert "invalid literal" in capfd.readouterr().err


def test_spu_is_taken_from_where_it_is_said_to_be(monkeypatch):
    monkeypatch.setenv("FEDGROUP_SPU_PYTHON", "elsewhere/python")
    assert spu_python() == "elsewhere/python"


def test_an_unknown_bench_is_refused():
    assert {"secure-similarity", "secure-sum"} <= set(NAMES)
    with pytest.raises(InvalidInput, match="secure-sum"):
        run("nonsense")
