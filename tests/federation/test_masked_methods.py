"""Masked groups, cohorts, mpc and mixed plans: right sums, the stated noise, the stated trust."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.owner import role
from fedgroup.owner.role import DataOwners
from fedgroup.privacy.law import DiscreteLaplace, NoiseSum
from fedgroup.privacy.release import scale_of_noise
from fedgroup.secure.mask_graph import mask_degree
from fedgroup.secure.round import MaskSettings

DOMAIN = fg.Box(0, 0, 10, 10)
ALL = fg.Rectangle(0, 0, 10, 10)
HUGE = 1_000_000


def federation(owners: int = 60, **settings: object) -> fg.Federation:
    code = np.arange(owners * 3) % owners
    place = (code % 5) * 2.0 + 1
    records = fg.Records(owner=code, x=place, y=place, attributes={"fare": np.full(len(code), 2.5)})
    return fg.Federation(records, DOMAIN, **settings)


@pytest.mark.parametrize("owners", [1, 2, 3, 50, 1_000])
@pytest.mark.parametrize("method", ["cohorts", "mpc"])
def test_masked_sums_are_plain_sums_when_noise_is_negligible(method: str, owners: int) -> None:
    answer = federation(owners).count(ALL, epsilon=HUGE, method=method)
    assert answer.value == 3 * owners
    assert (answer.heard, answer.missing, answer.in_group) == (owners, 0, "masked")


def test_sums_and_averages_are_masked_alike() -> None:
    asked = federation()
    assert asked.sum(ALL, attribute="fare", clip=5, epsilon=HUGE, method="mpc").value == pytest.approx(450)
    assert asked.avg(ALL, attribute="fare", clip=5, epsilon=HUGE, method="cohorts").value == pytest.approx(2.5)


DRAWS = 20_000
COHORTS = ("cohorts", 10, 1, 0.1)


@cache
def drawn(method: str, cohort_size: int, colluders: int, dropouts: float) -> fg.Answer:
    """The same question of 20 owners very often, drawn once for all tests."""
    settings = {"method": method, "cohort_size": cohort_size, "colluders": colluders, "dropouts": dropouts}
    return federation(20, seed=31).count(ALL, epsilon=0.3, repeat=DRAWS, **settings)


@pytest.mark.parametrize(
    ("details", "noises"),
    [
        (("mpc", 50, 1, 0), 20 / 19),
        (("mpc", 50, 1, 0.1), 20 / 17),
        (COHORTS, 2 * 10 / 8),
        (("cohorts", 10, 2, 0.2), 2 * 10 / 6),
    ],
)
def test_answers_carry_the_noise_of_their_terms(details: tuple[str, int, int, float], noises: float) -> None:
    """Variance of 20,000 answers within 6 %: 3.8 standard errors and more; one term of noise less is 5 % and more."""
    answer = drawn(*details)
    law = NoiseSum(DiscreteLaplace(scale_of_noise(1, Epsilon.of(0.3))), noises)
    assert np.var(answer.values) == pytest.approx(law.standard_deviation**2, rel=0.06)
    assert (answer.interval[1] - answer.interval[0]) / 2 == law.half_width(0.95)


def test_the_interval_of_masked_answers_covers_as_often_as_computed() -> None:
    """Within 4 standard errors of the exact coverage: false alarm 6e-5."""
    answer = drawn(*COHORTS)
    half = (answer.interval[1] - answer.interval[0]) / 2
    exact = NoiseSum(DiscreteLaplace(scale_of_noise(1, Epsilon.of(0.3))), 2 * 10 / 8).coverage(half)
    covered = np.mean(np.abs(np.array(answer.values) - 60) <= half)
    assert abs(covered - exact) < 4 * math.sqrt(exact * (1 - exact) / DRAWS)


def test_a_masked_plan_is_as_good_as_its_groups() -> None:
    asked = federation(seed=33)
    plan = asked.group(graph="exact")
    masked = asked.expect("count", ALL, epsilon=0.3, plan=plan, in_group="masked", dropouts=0)
    trusted = asked.expect("count", ALL, epsilon=0.3, plan=plan)
    assert trusted.errors["count"].mean_absolute < masked.errors["count"].mean_absolute
    assert masked.errors["count"].mean_absolute < 1.1 * trusted.errors["count"].mean_absolute


def test_a_mixed_plan_trusts_groups_and_masks_the_rest(tmp_path) -> None:
    asked = federation(seed=34)
    mixed = asked.group(epsilon=0.05, grid=(5, 5), leftovers="cohort", cohort_size=10)
    mixed.save(tmp_path / "plan.parquet")
    loaded = fg.Plan.load(tmp_path / "plan.parquet")
    assert loaded.partition.is_masked.tolist() == mixed.partition.is_masked.tolist()
    assert 0 < mixed.partition.is_masked.sum() <= 7
    assert mixed.partition.sizes[mixed.partition.is_masked].max() <= 10
    answer = asked.count(ALL, epsilon=HUGE, plan=loaded)
    assert (answer.value, answer.in_group) == (180, "trusted")
    assert "leaders" in answer.trust


def test_new_owners_stay_alone_beside_masked_cohorts() -> None:
    plan = federation(50).group(epsilon=0.05, grid=(5, 5), leftovers="cohort", cohort_size=10)
    answer = federation(60).count(ALL, epsilon=HUGE, plan=plan)
    assert (answer.value, answer.groups) == (180, plan.groups + 10)


def test_every_round_is_masked_anew() -> None:
    asked = federation(seed=35)
    first, second = (asked.count(ALL, epsilon=0.3, method="mpc", fresh=True) for _ in range(2))
    assert first.charged == second.charged == 0.3
    assert asked.spent == pytest.approx(0.6)


def test_floating_point_noise_cannot_be_shared_and_nothing_is_spent() -> None:
    asked = federation(noise=fg.FloatingPointLaplace(1))
    with pytest.raises(fg.InvalidInput, match="whole numbers"):
        asked.count(ALL, epsilon=0.3, method="mpc")
    assert asked.spent == 0


@pytest.mark.parametrize("graph", ["secure", "hybrid"])
def test_compared_groups_are_those_of_the_exact_graph_when_noise_is_negligible(graph: str) -> None:
    compared = federation(40).group(graph=graph, grid=(5, 5), **({"epsilon": HUGE} if graph == "hybrid" else {}))
    exact = federation(40, evaluation=True).group(graph="exact", grid=(5, 5))
    assert compared.partition.labels.tolist() == exact.partition.labels.tolist()
    assert compared.settings["comparisons"] <= compared.settings["pairs"]
    assert "not epsilon-DP" in compared.guarantee


def test_a_plan_by_secure_comparison_can_be_saved_and_used_and_its_answers_say_what_they_are_worth(tmp_path) -> None:
    asked = federation(30)
    asked.group(graph="secure", grid=(5, 5)).save(tmp_path / "plan.parquet")
    answer = asked.count(ALL, epsilon=HUGE, plan=fg.Plan.load(tmp_path / "plan.parquet"))
    assert answer.value == 90
    assert any("given the groups only" in note for note in answer.notes)


def test_owners_are_compared_in_one_way_per_epoch_and_the_ledger_tells() -> None:
    asked = federation(20)
    asked.group(graph="secure", grid=(5, 5), threshold=0.5)
    asked.group(graph="secure", grid=(5, 5), threshold=0.5)
    with pytest.raises(fg.InvalidInput, match="compared otherwise"):
        asked.group(graph="secure", grid=(5, 5), threshold=0.6)
    lines = [entry.question for entry in asked.ledger.entries()]
    assert sum("not epsilon-DP" in line for line in lines) == 2


@pytest.mark.parametrize("colluders", [1, 25, 40])
def test_large_groups_mask_densely_enough_for_their_colluders(colluders: int) -> None:
    """At the stated colluders and dropouts an honest member is cut off with a chance of at most 2^-40."""
    settings = MaskSettings(colluders, 0.1)
    share = settings.terms(50).bad_share
    degree = mask_degree(50, bad_share=share)
    assert share >= (colluders + 5) / 50
    assert degree == 49 or 50 * share**degree <= 2**-40


def test_ledgers_tell_the_terms_of_masked_answers() -> None:
    asked = federation()
    asked.count(ALL, epsilon=0.1, method="mpc", colluders=3)
    assert "3 colluding" in asked.ledger.entries()[0].question


def test_answers_tell_how_many_noises_they_hold() -> None:
    asked = federation()
    assert asked.count(ALL, epsilon=0.1, method="cohorts", cohort_size=2).noises == 60
    assert asked.count(ALL, epsilon=0.1).noises == 60


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All words that members of masked groups send, an array for each round."""
    heard: list[Any] = []
    usual = DataOwners._masked

    def listening(*given: Any) -> Any:
        found = usual(*given)
        words = np.concatenate(list(found.chunks), axis=1)
        heard.append(words)
        return replace(found, chunks=[words])

    monkeypatch.setattr(DataOwners, "_masked", listening)
    return heard


def least_gap(words: Any) -> int:
    """The least difference of any two words of a member, modulo 2^64: values and noise are small, masks are not."""
    ordered = np.sort(words, axis=1)
    gaps = np.diff(ordered, axis=1, append=ordered[:, :1])
    return int(gaps.min())


def test_no_mask_hides_two_answers_in_one_process(sent: list[Any]):
    """Were a round's id used again, the difference of two masked values would be that of two noises: small."""
    asked = federation(30)
    for _ in range(2):
        asked.count(ALL, epsilon=1, method="mpc", fresh=True)
    assert least_gap(np.concatenate(sent, axis=1)) > 1 << 20  # by chance, less with a probability of 30 * 2^-43


@pytest.mark.parametrize("chunk", [1 << 22, 64])
def test_no_mask_hides_two_bins_of_a_map(sent: list[Any], monkeypatch: pytest.MonkeyPatch, chunk: int):
    monkeypatch.setattr(role, "_WORDS_AT_ONCE", chunk)  # few words at once: a map goes in many chunks
    made = federation(30).map(grid=(8, 8), epsilon=1, method="mpc")
    assert (sent[0].shape, made.values.shape) == ((30, 64), (64,))
    assert least_gap(sent[0]) > 1 << 20  # by chance, less with a probability of 30 * 64 * 2^-43
