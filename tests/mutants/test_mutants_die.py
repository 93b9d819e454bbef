"""Planted bugs can be planted still, and a few of them, others in every week, die here; `make mutants` kills all."""

from __future__ import annotations

import random
from datetime import date

import pytest
from mutants_run import Mutant, Verdict, catalogue, require_plantable, verdicts

FEWEST = 60
SAMPLED = 2


def test_there_are_enough_mutants_and_each_has_its_own_name() -> None:
    names = [mutant.name for mutant in catalogue()]
    assert len(names) >= FEWEST
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("mutant", catalogue(), ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_mutant_can_still_be_planted(mutant: Mutant) -> None:
    require_plantable(mutant)


def _this_weeks() -> list[Mutant]:
    quick = [mutant for mutant in catalogue() if _is_quick(mutant)]
    return random.Random(date.today().isocalendar().week).sample(quick, SAMPLED)


def _is_quick(mutant: Mutant) -> bool:
    return all(test.split("/")[1] in ("privacy", "secure", "owner", "storage") for test in mutant.tests)


def test_some_mutants_die() -> None:
    found = {verdict.mutant.name: verdict.end for verdict in verdicts(_this_weeks(), jobs=1)}
    assert set(found.values()) == {"killed"}, found


def test_a_change_that_is_no_bug_survives() -> None:
    """What kills mutants is their tests, not the planting."""
    harmless = Mutant(
        name="another word in a message",
        file="secure/terms.py",
        changes=(("a masked group has at least 1 member", "a masked group has 1 member at least"),),
        tests=("tests/secure/test_terms.py",),
    )
    (verdict,) = verdicts([harmless], jobs=1)
    assert verdict == Verdict(harmless, "survived", "", verdict.seconds)
