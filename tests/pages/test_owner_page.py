"""An owner's own page: its ledger, its cap, and whether it takes part."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from fedgroup.epsilon import Epsilon
from fedgroup.live.trial import make_trial
from fedgroup.privacy.budget import Charge
from fedgroup.storage.owner_ledger import OwnerLedger

COMMAND = str(Path(sys.executable).with_name("fedgroup"))


@pytest.fixture
def owner(tmp_path):
    """An owner whose ledger has a line, with its page; its broker is away, which does not matter here."""
    folder = make_trial(tmp_path / "trial", owners=2, seed=1).owners[0].parent
    with closing(OwnerLedger(folder / "ledger.db", holder=folder.name)) as ledger:
        ledger.set_cap(Epsilon.of(10))
        ledger.charge([Charge(Epsilon.of(0.25), "query", "count by ann")])
    words = [
        COMMAND,
        "owner",
        "--config",
        str(folder / "owner.toml"),
        "--page",
        "--broker-port",
        "9",
        "--log-level",
        "error",
    ]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        yield folder, process, re.search(r"http\S+", process.stdout.readline())[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stdout.close()


def test_an_owner_sees_its_ledger_and_decides(owner, opened, picture):
    folder, process, address = owner
    page = opened(anywhere=True)
    page.goto(address)
    expect(page.get_by_text("count by ann")).to_be_visible()
    expect(page.get_by_role("meter", name="epsilon 9.75 of 10 left")).to_be_visible()
    page.get_by_label("cap per epoch").fill("4")
    page.get_by_role("button", name="Change the cap").click()
    expect(page.get_by_role("meter", name="epsilon 3.75 of 4 left")).to_be_visible()
    assert "cap = 4.0" in (folder / "owner.toml").read_text()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("paused")).to_be_visible()
    picture(page)
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("takes part")).to_be_visible()
    page.get_by_role("button", name="Leave for good").click()
    assert process.wait(20) == 0


def test_nobody_else_sees_it(owner, opened):
    _, _, address = owner
    page = opened(anywhere=True)
    page.goto(address.split("login")[0])
    expect(page.get_by_label("Your token")).to_be_visible()
    page.get_by_label("Your token").fill("guess")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("unknown")
