"""An owner's page in a running federation: questions appear on it, and whether it takes part is decided there."""

from __future__ import annotations

import re
import signal

import pytest
from journey_roles import COMMAND, Roles, Running, eventually, free_ports
from playwright.sync_api import expect

import fedgroup as fg

OWNERS = 6
EPSILON = 0.25
GROUPING = {"epsilon": 0.5, "columns": 2, "rows": 2, "graph": "likely", "leftovers": "cohort"}
AREA = fg.Circle(10_000, 10_000, 3_000)


@pytest.fixture
def roles(tmp_path):
    with Roles(tmp_path, owners=OWNERS) as found:
        (port,) = free_ports(1)
        found.point_provider_at(port, embedded=True)
        found.port = port  # type: ignore[attr-defined]
        yield found


def with_page(roles) -> tuple[Running, str]:
    """Run the first owner with its page; return it and the address that signs in."""
    words = [COMMAND, "owner", "--config", str(roles.trial.owners[0]), "--broker-port", str(roles.port)]
    owner = Running([*words, "--new-ledger", "--page", "--log-level", "error"], roles.folder / "owner.log")
    roles.running.append(owner)
    return owner, owner.wait_for(lambda: re.search(r"http\S+login\?code=\S+", owner.said))[0]


def test_an_owner_with_a_page_is_asked_pauses_and_comes_back(roles, opened, picture):
    provider, url = roles.start_provider()
    roles.start_owners("others", roles.trial.owners[1:], roles.port)
    owner, address = with_page(roles)
    page = opened(anywhere=True)
    page.goto(address)
    expect(page.get_by_text("budget set to 10")).to_be_visible()
    expect(page.get_by_role("meter", name="epsilon 10 of 10 left")).to_be_visible()

    with roles.client(url, present=OWNERS) as federation:
        assert federation._http.post("/v1/plans", json=GROUPING).status_code == 200
        expect(page.get_by_role("meter", name="epsilon 9.5 of 10 left")).to_be_visible()
        asked = federation.count(AREA, epsilon=EPSILON, method="fedgroup")
        assert (asked.heard, asked.missing) == (OWNERS, 0)
        expect(page.get_by_text("count within 3000 of 10000,10000")).to_be_visible()
        expect(page.get_by_role("meter", name="epsilon 9.25 of 10 left")).to_be_visible()
        picture(page)

        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_text("paused")).to_be_visible()
        eventually(lambda: federation.owners()["present"] == OWNERS - 1)
        without = federation.count(AREA, epsilon=EPSILON, method="fedgroup", fresh=True)
        assert (without.heard, without.missing) == (OWNERS - 1, 1)
        expect(page.get_by_role("meter", name="epsilon 9.25 of 10 left")).to_be_visible()

        page.get_by_role("button", name="Resume").click()
        expect(page.get_by_text("takes part")).to_be_visible()
        eventually(lambda: federation.owners()["present"] == OWNERS)
        again = federation.count(AREA, epsilon=EPSILON, method="fedgroup", fresh=True)
        assert (again.heard, again.missing) == (OWNERS, 0)
        expect(page.get_by_role("meter", name="epsilon 9 of 10 left")).to_be_visible()
        expect(page.get_by_text("count within 3000 of 10000,10000")).to_have_count(2)
    assert owner.stop(signal.SIGINT) == 0
    assert provider.stop() == 0
