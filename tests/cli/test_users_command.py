"""`fedgroup users`: tokens are shown once, allowances are kept, removed users stay on record."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.storage.provider_state import ProviderState


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "provider.db"


def test_a_user_is_added_listed_and_removed(fedgroup, state):
    added = fedgroup("users", "add", "ann", "--allowance", 2.5, "--per-minute", 5, "--state", state)
    token = added.out.strip()
    assert (added.code, len(token)) == (0, 43)
    with closing(ProviderState(state)) as opened:
        user = opened.user_of(token)
    assert (user.name, user.role, user.per_minute, user.allowance) == ("ann", "user", 5, Epsilon.of(2.5))
    operator = fedgroup("users", "add", "op", "--allowance", 9, "--state", state, "--operator", "--json").json
    assert (operator["role"], operator["per_minute"], operator["left"]) == ("operator", 60, 9)
    assert fedgroup("users", "remove", "ann", "--state", state).code == 0
    listed = {user["name"]: user for user in fedgroup("users", "list", "--state", state, "--json").json["users"]}
    assert (listed["ann"]["removed"], listed["op"]["removed"]) == (True, False)
    shown = fedgroup("users", "list", "--state", state).out
    assert "removed" in shown
    assert token not in shown
    with closing(ProviderState(state)) as opened:
        assert opened.user_of(token) is None


def test_a_user_added_again_gets_a_new_token_and_keeps_what_it_spent(fedgroup, state):
    first = fedgroup("users", "add", "ann", "--allowance", 2, "--state", state, "--json").json["token"]
    with closing(ProviderState(state)) as opened:
        opened.begin("ann", {}, Epsilon.of(1.5))
    again = fedgroup("users", "add", "ann", "--allowance", 5, "--state", state, "--json").json
    assert (again["allowance"], again["spent"]) == (5, 1.5)
    with closing(ProviderState(state)) as opened:
        assert opened.user_of(first) is None
        assert opened.user_of(again["token"]).name == "ann"


@pytest.mark.parametrize(
    "words",
    [
        ("add", "ann", "--allowance", 0),
        ("add", "ann", "--allowance", 1, "--per-minute", 0),
        ("add", "a\nb", "--allowance", 1),
        ("add", "a" * 65, "--allowance", 1),
        ("add", "ann"),
        ("list",),
        ("remove", "ann"),
    ],
)
def test_what_is_no_user_is_refused(fedgroup, state, words):
    assert fedgroup("users", *words, "--state", state).code == 2


def test_an_unknown_user_cannot_be_removed(fedgroup, state):
    fedgroup("users", "add", "ann", "--allowance", 1, "--state", state)
    assert "no user 'bob'" in fedgroup("users", "remove", "bob", "--state", state).err


def test_a_copy_of_the_state_is_whole_private_and_replaces_nothing(fedgroup, state, tmp_path):
    copy = tmp_path / "copy.db"
    token = fedgroup("users", "add", "ann", "--allowance", 2, "--state", state, "--json").json["token"]
    with closing(ProviderState(state)):  # the provider runs
        assert fedgroup("users", "backup", copy, "--state", state).code == 0
    assert copy.stat().st_mode & 0o777 == 0o600
    with closing(ProviderState(copy)) as opened:
        assert opened.user_of(token).name == "ann"
    assert "is there already" in fedgroup("users", "backup", copy, "--state", state).err
    assert "there is no provider's state file" in fedgroup("users", "backup", copy, "--state", tmp_path / "none").err
