"""Who comes in, for how long, and what a page may show and load."""

from __future__ import annotations

import httpx
import pytest
from page_steps import ask, is_sent_out, ready, sign_in
from playwright.sync_api import expect


@pytest.fixture
def client(here):
    with httpx.Client(base_url=here.url) as found:
        yield found


def test_a_wrong_token_stays_outside(here, opened, picture):
    page = opened()
    sign_in(page, here.url, "not-a-token")
    expect(page.get_by_role("alert")).to_contain_text("unknown")
    assert page.url.endswith("/login")
    picture(page)


@pytest.mark.parametrize("path", ["", "federation", "learn", "history.csv", "history.geojson", "history.gpkg"])
def test_whoever_is_not_signed_in_sees_nothing(client, path):
    reply = client.get(path)
    assert (reply.status_code, reply.headers["location"]) == (303, "/map/login")


def test_a_session_ends_by_itself(here, opened):
    page = opened(token=here.new_user()[1])
    ready(page)
    here.tell("expire")
    try:
        is_sent_out(page)
    finally:
        here.tell("unexpire")


def test_signing_out_ends_a_session_in_all_tabs(here, opened):
    page = opened(token=here.new_user()[1])
    ready(page)
    other = page.context.new_page()
    other.goto(here.url)
    ready(other)
    other.get_by_role("button", name="Sign out").click()
    other.wait_for_url("**/login")
    is_sent_out(page)


def test_a_removed_user_is_out_at_once(here, opened):
    name, token = here.new_user()
    page = opened(token=token)
    ready(page)
    here.tell("remove", name)
    is_sent_out(page)
    assert here.tell("spent", name) == 0


def test_nobody_sees_the_questions_of_others(here, opened, client):
    page = opened(token=here.new_user()[1])
    ready(page)
    page.get_by_label("x", exact=True).fill("12345")
    ask(page)
    expect(page.locator(".fg-answers")).to_contain_text("within 2000 of 12345")
    other = opened(token=here.new_user()[1])
    ready(other)
    expect(other.get_by_text("None yet.")).to_be_visible()
    assert "12345" not in other.content()
    with httpx.Client(base_url=here.url) as third:
        third.post("login", data={"token": here.new_user()[1]})
        assert len(third.get("history.csv").text.splitlines()) == 1


def test_a_link_signs_in_once(here, opened):
    link = here.tell("code", here.new_user()[1])
    page = opened()
    page.goto(link)
    ready(page)
    late = opened()
    late.goto(link)
    expect(late.get_by_role("alert")).to_contain_text("used already")


def test_cookies_are_for_our_pages_only_and_end(client, here):
    cookie = client.post("login", data={"token": here.new_user()[1]}).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/map" in cookie
    assert "max-age=28800" in cookie


@pytest.mark.parametrize("path", ["ask", "expect", "free"])
def test_strangers_ask_nothing_and_questions_need_a_key(client, here, path):
    said = {"kind": "count", "epsilon": 0.3, "circle": {"x": 1, "y": 1, "radius": 1}}
    assert client.post(path, json=said).status_code == 401
    name, token = here.new_user()
    client.post("login", data={"token": token})
    if path == "ask":
        assert "Idempotency-Key" in client.post(path, json=said).json()["detail"]
    refused = 404 if path == "free" else 422  # no map is published here
    assert client.post(path, json={**said, "epsilon": -1}, headers={"Idempotency-Key": "a"}).status_code == refused
    assert here.tell("spent", name) == 0


@pytest.mark.parametrize("path", ["", "guarantees", "federation"])
def test_the_policy_lets_nothing_in_from_elsewhere(client, here, path):
    client.post("login", data={"token": here.new_user()[1]})
    policy = client.get(path).headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert "unsafe-inline" not in rules["script-src"]
    assert ("unsafe" in policy) == (path == "federation")  # NiceGUI's exceptions
    assert rules["connect-src"] == rules["font-src"] == rules["form-action"] == "'self'"
    assert rules["frame-ancestors"] == "'none'"
    assert "://" not in policy


def test_the_api_is_as_it_is_without_pages(here):
    root = here.url.removesuffix("map/")
    assert httpx.get(f"{root}health").json() == {"ok": True}
    assert httpx.get(f"{root}v1/nothing").headers["content-type"] == "application/problem+json"
    assert httpx.get(root).headers["location"] == "/map/"
