"""`--owner-list`: the agreed list of owners, for every command that loads data."""

from __future__ import annotations

import pytest

HERE = ("--domain", "0,0,10,10")
CIRCLE = ("--near", "5,5", "--within", "3", "--epsilon", "0.3")
FARE = ("--attribute", "fare", "--clip", "5")
COMMANDS = {
    "count": CIRCLE, "sum": (*CIRCLE, *FARE), "avg": (*CIRCLE, *FARE), "group": ("--epsilon", "1"),
}  # fmt: skip


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("owner,x,y,fare\n1,5,5,1\n2,6,6,2\n2,6,5,3\n")
    return path


@pytest.fixture
def owners(tmp_path):
    path = tmp_path / "owners.txt"
    path.write_text("1\n2\n3\n")
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_the_list_and_counts_its_owners(fedgroup, data, owners, command):
    ran = fedgroup(command, data, *HERE, *COMMANDS[command], "--owner-list", owners, "--json")
    assert ran.json["owners"] == 3
    assert not any("list of owners" in note for note in ran.json["notes"])
    assert "list of owners" not in ran.err


@pytest.mark.parametrize("command", [*COMMANDS, "index"])
def test_without_a_list_json_and_print_say_what_that_costs(fedgroup, data, tmp_path, command):
    given = COMMANDS.get(command) or (tmp_path / "index",)
    ran = fedgroup(command, data, *HERE, *given, "--json")
    assert sum("only record is not protected" in note for note in ran.json["notes"]) == 1
    assert ran.err.count("only record is not protected") == 1


def test_a_dry_run_says_it_too(fedgroup, data):
    ran = fedgroup("count", data, *HERE, *CIRCLE, "--dry-run", "--json")
    assert any("only record is not protected" in note for note in ran.json["notes"])


def test_an_index_keeps_its_list_and_refuses_another(fedgroup, data, owners, tmp_path):
    listed, bare = tmp_path / "listed.index", tmp_path / "bare.index"
    assert fedgroup("index", data, listed, *HERE, "--owner-list", owners, "--json").json["owners"] == 3
    assert fedgroup("index", data, bare, *HERE).code == 0
    assert fedgroup("count", listed, *CIRCLE, "--owner-list", owners, "--json").json["owners"] == 3
    for index in (bare, listed):
        (tmp_path / "others.txt").write_text("1\n2\n4\n")
        ran = fedgroup("count", index, *CIRCLE, "--owner-list", tmp_path / "others.txt")
        assert (ran.code, ran.out) == (2, "")
        assert "make it again" in ran.err
