"""The page to learn on: every method run on invented records, and what was measured on real ones."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from page_steps import ready, sign_in
from playwright.sync_api import expect

from fedgroup.lab.experiments.examples import METHODS, exact_count
from fedgroup.lab.experiments.trial import PAPER_TRUTH
from fedgroup.service.pages.learn import TRUST

README = Path(__file__).parents[2] / "README.md"
MEANS = Path(__file__).parents[2] / "docs" / "data" / "trust-means.csv"


@pytest.fixture
def somebody(here):
    return here.new_user()


@pytest.fixture
def page(opened, here, somebody):
    found = opened()
    sign_in(found, here.url, somebody[1])
    found.goto(f"{here.url}learn")
    return found


def card(page, title):
    return page.get_by_role("article", name=title, exact=True)


@pytest.mark.parametrize("title", METHODS)
def test_a_method_runs_here_and_says_who_saw_what(page, title):
    found = card(page, title)
    found.get_by_role("button", name="Run").click()
    expect(found.get_by_role("status")).to_contain_text(f"The exact answer is {exact_count():,}")
    told = found.inner_text()
    assert re.search(r"between [\d.,-]+ and [\d.,-]+ in 95 %", told)
    assert re.search(r"\d+ groups?, [\d.]+ noise terms?; .*\d m?s to answer", told)
    assert "The provider saw" in told


def test_all_of_them_run_on_synthetic_records_and_nobody_pays(page, here, somebody, picture):
    before = here.tell("charges")
    expect(page.get_by_text("All records here are synthetic")).to_be_visible()
    page.get_by_role("button", name="Run all").click()
    for title in METHODS:
        expect(card(page, title)).to_contain_text("The exact answer is")
    assert (here.tell("charges"), here.tell("spent", somebody[0])) == (before, 0)
    picture(page)


def test_whoever_was_signed_out_runs_nothing(page, here):
    here.tell("expire")
    try:
        card(page, "mpc").get_by_role("button", name="Run").click()
        page.wait_for_url("**/login")
    finally:
        here.tell("unexpire")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_runs_fit_on_a_phone(here, opened, dark, picture):
    page = opened(token=here.new_user()[1], viewport={"width": 390, "height": 844}, dark=dark)
    page.goto(f"{here.url}learn")
    page.get_by_role("button", name="Run all").click()
    expect(card(page, "mpc")).to_contain_text("The exact answer is")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    card(page, "dp").scroll_into_view_if_needed()
    picture(page)


def test_the_guarantees_are_a_click_away(page):
    page.get_by_role("link", name="All guarantees").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.locator("main h2").count() > 3
    assert page.locator("main table").count() > 0
    assert not re.search(r"^#+ |\|---|\*\*", page.locator("main").inner_text(), flags=re.M)


def test_it_recommends_what_ask_takes(page, here):
    told = page.locator(".fg-chosen strong").inner_text().partition(":")[0]
    half = page.locator(f".fg-chosen tr:has-text('{told}:') td").nth(1).inner_text()
    page.goto(here.url)
    ready(page)
    expect(page.locator(".fg-expected")).to_contain_text(f"by {told}")
    expect(page.locator(".fg-expected")).to_contain_text(half)


def test_the_page_and_the_readme_name_the_same_count(page):
    expect(page.get_by_text(f"{PAPER_TRUTH:g} records on average")).to_be_visible()
    assert f"{PAPER_TRUTH:g} on average" in README.read_text()


def test_the_chart_shows_what_was_measured():
    with MEANS.open() as file:
        found = {row["method"]: float(row["mae"]) for row in csv.DictReader(file) if row["data"] == "New York"}
    assert {told: error for _, told, error, _ in TRUST} == {told: round(found[told], 1) for _, told, _, _ in TRUST}
