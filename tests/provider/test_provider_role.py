"""The provider groups by noisy vectors and adds noisy answers up; it is never given anything else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages import NoisyAnswers, NoisyVectors
from fedgroup.provider.grouping.limits import Limits
from fedgroup.provider.role import Provider
from fedgroup.provider.settings import GroupingSettings
from fedgroup.space import Box, Grid

VALUES = np.array([[90, 1, 0, 0], [80, 2, 1, 0], [0, 0, 70, 3], [1, 1, 1, 1], [85, 0, 0, 1]])
VECTORS = NoisyVectors(VALUES, Grid(Box(0, 0, 1, 1), 2, 2), Fraction(10, 3), Epsilon.of(0.3))


@pytest.mark.parametrize("settings", [GroupingSettings(), GroupingSettings("noisy"), GroupingSettings("noisy", "raw")])
def test_owners_in_the_same_place_are_grouped(settings: GroupingSettings) -> None:
    labels = Provider().group(VECTORS, settings, private=True).partition.labels
    assert labels[0] == labels[1] == labels[4] != labels[2]


def test_a_plan_states_how_it_was_made_and_what_it_guarantees() -> None:
    grouping = Provider().group(VECTORS, GroupingSettings("noisy", algorithm="dsatur"), private=True)
    assert grouping.guarantee.startswith("epsilon-DP")
    assert (grouping.settings["graph"], grouping.settings["algorithm"]) == ("noisy", "dsatur")
    assert grouping.edges == 3
    assert grouping.epsilon == Epsilon.of(0.3)


def test_seeded_noise_leaves_no_guarantee() -> None:
    assert Provider().group(VECTORS, GroupingSettings(), private=False).guarantee.startswith("none")


def test_settings_without_meaning_are_null() -> None:
    facts = GroupingSettings().facts()
    assert [facts[name] for name in ("estimate", "algorithm", "threshold")] == [None, None, None]
    assert GroupingSettings("noisy", "raw").facts()["false_cells"] is None


def test_limits_hold_for_topcell_groups() -> None:
    grouping = Provider().group(VECTORS, GroupingSettings(limits=Limits(2)), private=True)
    assert grouping.partition.sizes.max() == 2


def test_groups_answers_are_added_up() -> None:
    answers = NoisyAnswers({"count": np.array([6, 4])}, {"count": Fraction(1)}, continuous=False, noises=3, heard=7)
    totals = Provider().combine(answers)
    assert (totals.parts["count"].tolist(), totals.noises, totals.heard) == ([6, 4], 3, 7)


@pytest.mark.parametrize(
    "wrong",
    [
        {"graph": "hybrid", "algorithm": "dsatur", "comparisons": 5}, {"graph": "nearest"}, {"estimate": "best"},
        {"threshold": 1.0},
        {"graph": "noisy", "algorithm": "magic"}, {"graph": "topcell", "algorithm": "greedy"}, {"threshold": -0.1},
        {"threshold": float("nan")}, {"false_cells": 0}, {"leftovers": "cohort", "cohort_size": 1},
        {"leftovers": "dropped"}, {"lower": 0.2}, {"extra_comparisons": -0.1},
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(wrong: dict) -> None:
    with pytest.raises(InvalidInput):
        GroupingSettings(**wrong)


def test_the_provider_refuses_the_exact_graph() -> None:
    with pytest.raises(InvalidInput, match="never sees"):
        Provider().group(VECTORS, GroupingSettings("exact"), private=True)
