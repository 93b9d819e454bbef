"""What live answers say about trust: what the same groups say in one process."""

from __future__ import annotations

import pytest

import fedgroup as fg
from fedgroup.questions.methods import trust_in

METHODS = [
    ("dp", frozenset[str]()),
    ("mpc", frozenset({"masked"})),
    ("fedgroup", frozenset({"trusted"})),
    ("fedgroup", frozenset({"trusted", "masked"})),
]


@pytest.mark.parametrize(("method", "modes"), METHODS)
def test_live_answers_trust_whom_those_of_one_process_trust(method: str, modes: frozenset[str]) -> None:
    federation = fg.Federation(fg.synthesize(owners=60, seed=1), fg.Box(0, 0, 20_000, 20_000))
    leftovers = "cohort" if "masked" in modes else "alone"
    plan = federation.group(epsilon=0.5, leftovers=leftovers) if method == "fedgroup" else None
    expected = federation.expect("count", fg.Circle(9, 9, 9), epsilon=1, method=method, plan=plan)
    assert trust_in(modes, colluders=1, delta=0.0) == expected.trust


@pytest.mark.parametrize("modes", [{"masked"}, {"masked", "trusted"}])
def test_masked_groups_say_with_whom_members_must_collude_and_who_must_be_heard(modes: set[str]) -> None:
    told = trust_in(modes, colluders=2, delta=0.0, alone=True)
    assert "more than 2 of a group's members, together with the provider" in told
    assert "enough honest ones must be heard" in told
    assert told.endswith("; owners in no group add their own noise")


def test_groups_too_large_to_mask_all_pairs_tell_their_delta() -> None:
    federation = fg.Federation(fg.synthesize(owners=200, seed=1), fg.Box(0, 0, 20_000, 20_000))
    cohorts = federation.count(fg.Circle(9, 9, 9), epsilon=1, method="cohorts")
    large = federation.count(fg.Circle(9, 9, 9), epsilon=1, method="cohorts", cohort_size=100)
    assert (cohorts.delta, large.delta) == (0, 2 * 2.0**-40)
    assert "9e-13" not in cohorts.trust
    assert "with a chance of 2e-12 in all" in large.trust
