"""What a visitor is told while asking: hints before faults, the radius just typed, intervals as they are."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from page_steps import ask, choose, ready
from playwright.sync_api import expect

from fedgroup.service.pages.answer_card import hearing, in_short

AVERAGE, SUM = "average of an attribute", "sum of an attribute"
ASK_AT_ONCE = """() => {
  const field = document.querySelector('input[aria-label="radius in m"]');
  field.value = "700";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  const map = document.querySelector(".fg-map");
  map.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
}"""


@pytest.fixture
def page(opened, here):
    found = opened(token=here.new_user()[1])
    ready(found)
    return found


@pytest.fixture
def offer(here):
    yield lambda *attributes: here.tell("offer", attributes)
    here.tell("offer", None)


def average(page, *, clip="5"):
    choose(page, "question", AVERAGE)
    page.get_by_label("attribute").fill("fare")
    page.get_by_label("clip").fill(clip)
    expect(page.locator(".fg-expected")).to_be_visible()


@pytest.mark.parametrize("kind", [AVERAGE, SUM])
def test_what_is_still_to_be_filled_in_is_no_fault(page, kind, picture):
    choose(page, "question", kind)
    expect(page.locator(".fg-needed")).to_contain_text("clip")
    expect(page.locator(".fg-fault")).to_have_count(0)
    picture(page)
    page.get_by_label("attribute").fill("fare")
    page.get_by_label("clip").fill("5")
    expect(page.locator(".fg-expected")).to_be_visible()
    ask(page)


def test_asking_without_it_is_a_fault_until_another_kind_is_chosen(page):
    choose(page, "question", SUM)
    expect(page.locator(".fg-needed")).to_be_visible()
    page.get_by_role("button", name="Ask for").click()
    expect(page.locator(".fg-panel .fg-fault")).to_contain_text("clip")
    expect(page.locator(".fg-answer .fg-fault")).to_contain_text("clip")
    choose(page, "question", AVERAGE)
    expect(page.locator(".fg-needed")).to_be_visible()


def test_attributes_that_are_named_are_chosen_from_a_list(offer, here, opened, picture):
    offer("fare", "tip")
    page = opened(token=here.new_user()[1])
    ready(page)
    choose(page, "question", SUM)
    choose(page, "attribute", "fare")
    page.get_by_label("clip").fill("5")
    expect(page.locator(".fg-expected")).to_be_visible()
    ask(page)
    picture(page)
    page.get_by_role("button", name="Ask again").first.click()
    expect(page.locator(".fg-answer")).to_contain_text("nothing: the same as before")


def test_counts_are_all_that_is_offered_where_there_are_no_attributes(offer, here, opened):
    offer()
    page = opened(token=here.new_user()[1])
    ready(page)
    page.get_by_label("question", exact=True).click()
    expect(page.get_by_role("option")).to_have_text(["count records", "count people"])


def test_an_interval_that_is_not_symmetric_is_told_by_its_ends(page, picture):
    average(page)
    page.get_by_role("spinbutton", name="epsilon").fill("3")
    expect(page.get_by_role("button", name="Ask for epsilon 3")).to_be_visible()
    ask(page)
    short = re.compile(r"^[\d.]+, from [\d.]+ to [\d.]+$")
    expect(page.locator(".fg-told")).to_have_text(short)
    expect(page.locator('td[data-name="answer"]').first).to_have_text(short)
    picture(page)


def test_your_questions_say_attribute_and_method(page):
    average(page)
    page.get_by_role("radio", name=re.compile("^mpc")).click()
    expect(page.get_by_text("little more noise than one owner")).to_be_visible()
    ask(page)
    expect(page.locator('td[data-name="question"]').first).to_have_text(
        "avg of fare up to 5 within 2000 of 10000, 10000"
    )
    expect(page.locator('td[data-name="method"]').first).to_have_text("mpc")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Export as CSV").click()
    head, row = waiting.value.path().read_text().splitlines()
    assert head.endswith(",charged,stored,clip,absent")
    assert ",fare,0.3,mpc," in row
    assert row.split(",")[-2] == "5.0"


def test_a_failed_question_takes_the_earlier_answer_off_the_map(here, opened):
    page = opened(token=here.new_user(allowance=0.35)[1])
    ready(page)
    ask(page)
    expect(page.locator(".fg-told")).to_be_visible()
    page.get_by_role("spinbutton", name="epsilon").fill("0.4")
    page.get_by_role("button", name="Ask for epsilon 0.4").click()
    expect(page.locator(".fg-answer .fg-fault")).to_contain_text("allowance")
    expect(page.locator(".fg-told")).to_have_count(0)


def test_a_circle_has_the_radius_just_typed(page):
    page.evaluate(ASK_AT_ONCE)
    ask(page)
    expect(page.locator('td[data-name="question"]').first).to_contain_text("within 700 of")


def test_the_slider_follows_the_epsilon_typed(page):
    page.get_by_role("spinbutton", name="epsilon").fill("0.8")
    expect(page.get_by_role("slider", name="epsilon")).to_have_value("0.8")


def test_who_is_trusted_is_one_clause(page):
    for method, start in (("dp", "Nobody is trusted: every"), ("mpc", "No party is trusted with an owner's answer: ")):
        page.get_by_role("radio", name=re.compile(f"^{method}")).click()
        expect(page.locator(".fg-trust")).to_contain_text(start)
        assert page.locator(".fg-trust").inner_text().count(":") == 1
    expect(page.locator(".fg-expected")).to_contain_text(
        re.compile(r"from (1 noise term|[\d.]+ noise terms) of 6 owners")
    )


def test_what_owners_have_left_is_told_to_be_unknown(page):
    expect(page.locator(".fg-left")).to_have_text("What owners have left is unknown: no owner tells.")


def test_owners_that_are_away_are_told_beside_those_missing(page, here, picture):
    here.tell("leave", "owner-4")
    try:
        page.get_by_role("radio", name=re.compile("^dp")).click()
        page.get_by_label("x", exact=True).fill("6100")
        ask(page)
        expect(page.locator(".fg-answer")).to_contain_text("5 of 6 heard, 1 missing (away)")
        picture(page)
    finally:
        here.tell("back", "owner-4")


@pytest.mark.parametrize(
    ("missing", "absent", "told"),
    [(0, 0, "none missing"), (3, 0, "3 missing"), (3, 1, "3 missing (1 of them away)"), (3, 3, "3 missing (away)")],
)
def test_who_is_away_is_told_of_those_missing(missing, absent, told):
    answer = SimpleNamespace(heard=4, owners=4 + missing, missing=missing, absent=absent)
    assert hearing(answer) == f"4 of {4 + missing} heard, {told}"


@pytest.mark.parametrize(
    ("interval", "told"),
    [((20, 40), "30 ± 10"), ((18.76, 35.59), "30, from 18.8 to 35.6"), ((30, 30), "30 ± 0")],
)
def test_a_symmetric_interval_is_told_by_its_half(interval, told):
    assert in_short(SimpleNamespace(value=30, interval=interval)) == told
