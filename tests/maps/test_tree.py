"""Trees of windows: any time is read from few maps, without bias, with the least noise; prices are those of levels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.maps.tree import FAN_OUT, Tree, best_tree, best_weights, needed

Window = tuple[int, int]


def read(begin: int, end: int, windows: list[Window], variances: list[float]) -> dict[Window, float]:
    """Return how often each window that is needed counts."""
    chosen = needed(begin, end, windows)
    weights = best_weights(begin, end, [windows[i] for i in chosen], [variances[i] for i in chosen])
    return {windows[i]: float(weight) for i, weight in zip(chosen, weights, strict=True)}


@st.composite
def times(draw: st.DrawFn) -> tuple[int, int, int, Tree]:
    """A time in a tree that has grown for so many windows."""
    tree = Tree(draw(st.integers(1, 3)), fan_out=draw(st.integers(2, 5)))
    of = draw(st.integers(1, 90))
    begin = draw(st.integers(0, of - 1))
    return begin, draw(st.integers(begin + 1, of)), of, tree


@settings(max_examples=60, deadline=None)
@given(times(), st.randoms(use_true_random=False))
def test_a_sum_is_free_of_bias_and_no_noisier_than_windows_added_up(asked: tuple[int, int, int, Tree], luck) -> None:
    begin, end, of, tree = asked
    windows = tree.windows(of)
    variances = [luck.uniform(0.5, 2.0) for _ in windows]
    held = np.cumsum([0, *(luck.randint(0, 100) for _ in range(of))])
    found = read(begin, end, windows, variances)
    total = sum(weight * (held[last] - held[first]) for (first, last), weight in found.items())
    assert total == pytest.approx(held[end] - held[begin], abs=1e-6 * held[-1])
    mine = dict(zip(windows, variances, strict=True))
    noise = sum(weight**2 * mine[window] for window, weight in found.items())
    assert noise <= longest_first(begin, end, mine) + 1e-9


def longest_first(begin: int, end: int, variances: dict[Window, float]) -> float:
    """Return the variance of the longest windows that follow each other in a time."""
    found = 0.0
    while begin < end:
        last = max(last for first, last in variances if first == begin and last <= end)
        found += variances[begin, last]
        begin = last
    return found


def test_a_long_window_less_a_few_short_ones_is_read_where_that_is_sharper() -> None:
    tree = Tree(2)
    found = read(0, 15, tree.windows(64), [1.0] * len(tree.windows(64)))
    assert found[15, 16] < -0.8 < 0.8 < found[0, 16]
    assert sum(weight**2 for weight in found.values()) < 2
    assert len(read(3, 58, tree.windows(64), [1.0] * 68)) == 16 + 1 + 2 + 16 + 1


def test_the_weights_are_those_of_least_squares_over_all_that_is_needed() -> None:
    windows = [(0, 4), *((at, at + 1) for at in range(4))]
    variances = [3.0, 1.0, 2.0, 1.0, 5.0]
    weights = best_weights(0, 3, windows, variances)
    design = np.array([[1, 1, 1, 1], *np.eye(4)])
    precision = design.T @ np.diag(1 / np.array(variances)) @ design
    expected = np.array([1, 1, 1, 0]) @ np.linalg.solve(precision, design.T / np.array(variances))
    assert weights == pytest.approx(expected, abs=1e-9)


def test_a_window_that_is_missing_is_made_up_for_where_the_others_allow_it() -> None:
    windows = [(0, 8), *((at, at + 1) for at in range(8) if at != 3)]
    found = read(0, 5, windows, [1.0] * 8)
    assert found == pytest.approx(
        {(0, 8): 1, (5, 6): -1, (6, 7): -1, (7, 8): -1} | {(at, at + 1): 0 for at in (0, 1, 2, 4)}
    )
    for begin, end, some in ((3, 4, windows[1:]), (0, 5, [w for w in windows if w != (6, 7)]), (7, 9, windows)):
        with pytest.raises(InvalidQuery, match="do not make up"):
            read(begin, end, some, [1.0] * len(some))


def test_windows_that_cut_each_other_are_read_where_they_make_the_time_up() -> None:
    windows = [(0, 10), (0, 7), (7, 14)]
    assert read(0, 14, windows, [1.0] * 3) == pytest.approx({(0, 10): 0, (0, 7): 1, (7, 14): 1})
    assert read(0, 7, [(0, 7), (0, 7)], [1.0, 1.0]) == pytest.approx({(0, 7): 0.5})


@pytest.mark.parametrize(
    ("asked", "of", "flat", "best", "levels"), [(64, 168, 128, 72.7, 2), (365, 1_024, 730, 205, 3)]
)
def test_trees_of_16_pay_beyond_some_fifty_windows(asked: int, of: int, flat: float, best: float, levels: int) -> None:
    """Variances at epsilon 1 in all, per noise: least squares over whole trees come to 71 and 183."""
    tree = best_tree(asked, of)
    assert tree == Tree(levels)
    assert 2 * Tree(1).variance(asked, of) == pytest.approx(flat)
    assert 2 * tree.variance(asked, of) == pytest.approx(best, rel=0.01)
    assert best_tree(8, 24) == best_tree(8, 24, accounting="zcdp") == Tree(1)
    assert tree.variance(asked, of, accounting="zcdp") == pytest.approx(tree.variance(asked, of) / levels)


def test_a_record_pays_a_price_a_level_and_a_person_one_for_every_window_that_it_meets() -> None:
    tree = Tree(3)
    first, last = np.array(tree.windows(2_048)).T
    begins = np.arange(512)[:, None]
    for windows in (1, 2, 16, 17, 40, 300):
        met = (first < begins + windows) & (begins < last)
        assert tree.lost_by_person(windows) == met.sum(axis=1).max()
    assert tree.lost_by_person(1) == tree.lost_by_record == 3
    assert (tree.lengths, FAN_OUT) == ((1, 16, 256), 16)
    for levels in (0, 5):
        with pytest.raises(InvalidInput):
            Tree(levels)
    with pytest.raises(InvalidQuery):
        tree.variance(10, 9)
