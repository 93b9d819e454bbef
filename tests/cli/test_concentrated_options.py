"""`--accounting zcdp --delta --rho --error`, and `fedgroup expect`."""

from __future__ import annotations

import pytest

CIRCLE = ("--near", "10000,10000", "--within", "3000")
ZCDP = ("--accounting", "zcdp", "--delta", "1e-6", "--budget", 1)


def test_a_rho_is_counted_in_a_ledger_that_keeps_its_accounting(fedgroup, city, ledger):
    facts = fedgroup("count", city, *CIRCLE, *ZCDP, "--rho", "0.001", "--ledger", ledger, "--json").json
    assert (facts["rho"], facts["delta"]) == (0.001, 1e-6)
    assert 0.15 < facts["epsilon"] < 0.2
    again = fedgroup("count", city, *CIRCLE, "--rho", "0.002", "--ledger", ledger, "--json").json
    assert again["rho"] == 0.002
    balance = fedgroup("ledger", ledger, "--json").json
    assert (balance["accounting"], balance["delta"], balance["left_rho"]) == ("zcdp", 1e-6, 0.021355957194)
    assert [line["rho"] for line in balance["entries"] if line["purpose"] == "query"] == [0.001, 0.002]
    told = fedgroup("ledger", ledger).out
    assert "rho 0.021355957194 left" in told
    assert "accounting zcdp with delta 1e-06" in told


def test_a_map_and_a_plan_are_made_for_a_rho(fedgroup, city, ledger):
    kept = (*ZCDP[:4], "--budget", 20, "--ledger", ledger)
    plan = fedgroup("group", city, "--rho", 0.5, *kept, "--json").json
    assert (plan["epsilon"], plan["rho"]) == (1.0, 0.5)
    made = fedgroup("map", city, "--grid", "3x3", "--rho", 0.01, *kept, "--json").json
    assert (made["rho"], made["delta"]) == (0.01, 1e-6)


@pytest.mark.parametrize("accounting", [(), ("--accounting", "zcdp", "--delta", "1e-6")])
def test_an_error_is_a_price(fedgroup, city, accounting):
    asked = ("count", city, *CIRCLE, "--method", "mpc", "--budget", 5, *accounting)
    facts = fedgroup(*asked, "--error", "10% of 1000", "--json").json
    assert facts["interval"][1] - facts["value"] <= 100
    expected = fedgroup(*asked, "--error", 100, "--dry-run", "--json").json
    assert expected["half_width"] <= 100
    assert (expected["epsilon"], expected["rho"]) == (facts["epsilon"], facts["rho"])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (("--rho", 0.001), "counts pure epsilon"),
        (("--rho", 0.001, "--epsilon", 0.1), "one price"),
        (("--error", 100, "--epsilon", 0.1), "one price"),
        (("--error", "much"), "an error is a number"),
        (("--error", "0.1", "--budget", 1), "no budget could"),
        (("--epsilon", 0.1, "--accounting", "zcdp"), "needs a delta"),
        (("--epsilon", 0.1, "--delta", "1e-6"), "needs a delta"),
        (("--epsilon", 0.1, "--accounting", "rdp", "--delta", "1e-6"), "accounting is pure or zcdp"),
    ],
)
def test_misuse_is_told_in_one_sentence(fedgroup, city, said, told):
    ran = fedgroup("count", city, *CIRCLE, *said)
    assert (ran.code, told in ran.err, ran.out) == (2, True, "")


def test_what_costs_more_than_is_left_exits_3(fedgroup, city):
    ran = fedgroup("count", city, *CIRCLE, *ZCDP, "--rho", 0.03)
    assert ran.code == 3
    assert "this asks for rho 0.03 but only 0.024355957194 of the budget" in ran.err


def test_a_plan_of_work_is_told_before_anything_is_asked(fedgroup):
    facts = fedgroup("expect", "--answers", "24,168,1000", "--budget", 1, "--json").json
    gaussian = [row["errors"]["zcdp, Gaussian"]["standard_deviation"] for row in facts["work"]]
    assert gaussian == pytest.approx([22.2, 58.7, 143.3], abs=0.06)
    shown = fedgroup("expect", "--maps", 24, "--questions", 50, "--budget", 2, "--max-bins", 4)
    assert (shown.code, "sharpest" in shown.out, "zcdp, Gaussian" in shown.out) == (0, True, True)
    for wrong in (("--answers", "24,x"), ("--answers", 24, "--maps", 1), ()):
        assert fedgroup("expect", "--budget", 1, *wrong).code == 2
