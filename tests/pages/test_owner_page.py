"""An owner's own page: its ledger, its cap, and whether it takes part."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from page_steps import box_of, violations
from playwright.sync_api import expect

from fedgroup.epsilon import Epsilon
from fedgroup.live.config import OwnerConfig, read_config
from fedgroup.live.trial import make_trial
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.windows import Span, WindowBudget
from fedgroup.service.pages.owner import OwnerControl
from fedgroup.storage.owner_ledger import OwnerLedger

PHONE = {"width": 390, "height": 844}
QUESTION = "avg of fare clipped to 50 within 3000 of 10000,10000 by ann"
PATIENCE_S = 120.0
COMMAND = str(Path(sys.executable).with_name("fedgroup"))


@pytest.fixture
def owner(tmp_path):
    """An owner of one test's own, that may be changed and stopped."""
    with with_a_page(tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def same_owner(tmp_path_factory):
    """An owner of many tests, which nobody signs in to: its link is for one."""
    with with_a_page(tmp_path_factory.mktemp("owner")) as found:
        yield found


@contextmanager
def with_a_page(place):
    """Run an owner whose ledger has a line, with its page; its broker is away, which does not matter here."""
    folder = make_trial(place / "trial", owners=2, seed=1).owners[0].parent
    with closing(OwnerLedger(folder / "ledger.db", holder=folder.name)) as ledger:
        ledger.set_cap(Epsilon.of(10))
        ledger.charge([Charge(Epsilon.of(0.25), "query", QUESTION)])
    config = str(folder / "owner.toml")
    words = [COMMAND, "owner", "--config", config, "--page", "--broker-port", "9", "--log-level", "error"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        yield folder, process, re.search(r"http\S+", process.stdout.readline())[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_S)
        process.stdout.close()


def test_an_owner_sees_all_of_its_ledger_and_decides(owner, opened, picture):
    folder, _, address = owner
    page = opened(anywhere=True)
    page.goto(address)
    expect(page.get_by_text(QUESTION)).to_be_visible()
    expect(page.get_by_role("meter", name="epsilon 9.75 of 10 left")).to_be_visible()
    page.get_by_label("cap per epoch").fill("4")
    page.get_by_role("button", name="Change the cap").click()
    expect(page.get_by_role("meter", name="epsilon 3.75 of 4 left")).to_be_visible()
    assert "cap = 4.0" in (folder / "owner.toml").read_text()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("paused")).to_be_visible()
    assert violations(page) == []
    picture(page)
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("takes part")).to_be_visible()
    page.set_viewport_size(PHONE)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert_all_in_sight(page)


def assert_all_in_sight(page):
    """All of a ledger is in sight on a phone."""
    cells = page.locator("td")
    expect(cells.get_by_text(QUESTION)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for cell in cells.all():
        box = box_of(cell)
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"] - 8
    assert page.locator(".fg-scroll").evaluate("each => each.scrollWidth <= each.clientWidth")


def test_an_owner_stops_only_when_that_is_confirmed_and_says_so_after_it_is_gone(owner, opened, watch, picture):
    _, process, address = owner
    page = opened(anywhere=True, dark=True, viewport=PHONE)
    page.goto(address)
    page.get_by_role("button", name="Stop this owner").press("Enter")
    expect(page.get_by_role("dialog", name="Stop this owner?")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.evaluate("Promise.allSettled(document.getAnimations().map(each => each.finished))")  # it comes in slowly
    assert violations(page) == []
    picture(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator(".fg-number")).to_have_text("takes part")
    assert process.poll() is None
    page.get_by_role("button", name="Stop this owner").press("Enter")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".fg-number")).to_have_text("stopped")
    expect(page.get_by_role("button", name="Resume")).to_be_disabled()
    assert process.wait(PATIENCE_S) == 0
    while not any("WebSocket connection" in text for text in watch.complaints):  # it called, and nobody was there
        page.wait_for_event("console")
    expect(page.locator(".fg-number")).to_have_text("stopped")
    expect(page.get_by_text("takes part")).to_have_count(0)
    expect(page.locator("#popup")).to_be_hidden()


def test_whoever_signs_in_is_told_where_an_owners_token_is(same_owner, opened, picture):
    page = opened(anywhere=True)
    page.goto(same_owner[2].split("login")[0])
    expect(page.locator("#hint")).to_contain_text("fedgroup owner --page")
    text = page.locator("main").inner_text()
    assert "users add" not in text
    assert "fedgroup up" not in text
    picture(page)


def test_nobody_else_sees_it(same_owner, opened):
    _, _, address = same_owner
    page = opened(anywhere=True)
    page.goto(address.split("login")[0])
    expect(page.get_by_label("Your token")).to_be_visible()
    page.get_by_label("Your token").fill("guess")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("unknown")
    expect(page.get_by_role("alert")).to_contain_text("start the owner again")


def test_an_owner_is_told_what_windows_of_time_have_left(tmp_path):
    file = make_trial(tmp_path / "trial", owners=2, seed=1).owners[0]
    config = read_config(file, OwnerConfig)
    control = OwnerControl(file, config, broker_port=None)
    with closing(OwnerLedger(config.ledger.file, holder=file.parent.name)) as ledger:
        assert control.in_windows() is None
        ledger.set_window_budget(WindowBudget.said("day", 1))
        assert control.in_windows() == "1 in any window of 1d: epsilon 1 is left"
        day = Span(1_772_409_600_000_000, 1_772_496_000_000_000)
        ledger.charge([Charge(Epsilon.of(0.25), "query", QUESTION, span=day)])
        assert control.in_windows() == (
            "1 in any window of 1d: epsilon 1 is left, but 0.75 from 2026-03-02T00:00:00+00:00 until "
            "2026-03-03T00:00:00+00:00, of which most was asked"
        )
