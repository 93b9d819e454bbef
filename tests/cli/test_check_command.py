"""`fedgroup check` tells the owner what others must not know, and says so; other commands stay silent."""

from __future__ import annotations

import pytest

FAULTY = {
    "words": "owner,x,y\n{0},1,2\n{0},here,{1}\n",
    "empty places": "owner,x,y\n{0},1,2\n{0},,{1}\n",
    "milliseconds": "owner,x,y,time\n{0},1,2,{1}000000000000\n",
    "semicolons": "owner;x;y\n{0};{1};2\n",
    "no owner": "owner,x,y\n,{1},2\n{0},1,2\n",
    "no header": "{1},2,3\n4,5,6\n",
    "no such degrees": "owner,lon,lat\n{0},1,{1}99\n",
    "few fields": "owner,x,y\n{0},{1}\n",
}


@pytest.mark.parametrize("words", [(), ("--json",), ("--domain", "0,0,9000,9000")])
def test_a_check_says_loudly_for_whose_eyes_it_is(fedgroup, city, words):
    ran = fedgroup("check", city, *words)
    assert ran.code == 0
    assert ran.out.splitlines()[0].count("FOR THE OWNER OF THESE RECORDS ONLY") == 1


def test_a_check_as_json_has_the_facts_that_are_printed(fedgroup, city):
    facts = fedgroup("check", city, "--json").json
    assert (facts["loads"], facts["refusal"], facts["owners"], facts["private"]) == (True, None, 60, False)
    assert facts["columns"] == {
        "owner": "owner", "x": "x", "y": "y", "time": "time", "subject": None, "attributes": ["fare"], "texts": [],
        "left_out": [],
    }  # fmt: skip
    assert (facts["domain"], facts["outside"], facts["suspicions"]) == ([0, 0, 20_000, 20_000], 0, [])
    printed = fedgroup("check", city).out
    assert f"{facts['rows']:,} rows of 60 owners" in printed
    assert "fedgroup can read it" in printed
    assert "nothing looks suspicious" in printed


def test_without_a_domain_a_check_says_not_to_take_it_from_the_extent(fedgroup, tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("owner,lon,lat\na,2.3,48.8\nb,2.4,48.9\n")
    out = fedgroup("check", path).out
    assert "extent: 2.3,48.8,2.4,48.9" in out
    assert "do not take it from the extent" in out
    assert "lon/lat in degrees; the columns lon and lat name degrees" in out


@pytest.mark.parametrize("fault", FAULTY)
def test_a_check_explains_what_other_commands_refuse(fedgroup, tmp_path, fault):
    path = tmp_path / "faulty.csv"
    path.write_text(FAULTY[fault].format("ann", 7))
    refused = fedgroup("count", path, "--domain", "0,0,9,9", "--near", "1,1", "--within", 1, "--epsilon", 1)
    facts = fedgroup("check", path, "--json").json
    assert refused.code == 2
    assert refused.err == f"fedgroup: {facts['refusal']}\n"
    assert facts["suspicions"]


@pytest.mark.parametrize("command", ["count", "group", "index"])
@pytest.mark.parametrize("fault", FAULTY)
def test_other_commands_say_the_same_of_the_same_fault_in_other_data(fedgroup, tmp_path, monkeypatch, fault, command):
    words = {
        "count": ("--near", "1,1", "--within", 1, "--epsilon", 1), "group": ("--epsilon", 1), "index": ("made.index",),
    }[command]  # fmt: skip
    monkeypatch.chdir(tmp_path)
    said = []
    for secret in (("ann", 7), ("bob", 8123)):
        (tmp_path / "faulty.csv").write_text(FAULTY[fault].format(*secret))
        ran = fedgroup(command, "faulty.csv", "--domain", "0,0,9,9", *words)
        assert (ran.code, ran.out) == (2, "")
        said.append(ran.err)
    assert said[0] == said[1]


def test_a_check_of_nothing_is_refused(fedgroup, city, tmp_path):
    assert fedgroup("check", tmp_path / "missing.csv").code == 2
    assert fedgroup("check", tmp_path).code == 2
    assert fedgroup("index", city, tmp_path / "city.index").code == 0
    assert "check the file it was made from" in fedgroup("check", tmp_path / "city.index").err
