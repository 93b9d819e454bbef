"""`fedgroup synthesize`."""

from __future__ import annotations

import shlex

import pytest


def test_the_same_seed_writes_the_same_bytes_and_another_seed_others(fedgroup, tmp_path):
    files = [tmp_path / name for name in ("a.parquet", "b.parquet", "c.parquet")]
    for file, seed in zip(files, (3, 3, 4), strict=True):
        assert fedgroup("synthesize", file, "--owners", 20, "--records-per-owner", 5, "--seed", seed).code == 0
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()


def test_json_tells_what_was_written_where(fedgroup, tmp_path):
    file = tmp_path / "city.parquet"
    assert fedgroup("synthesize", file, "--owners", 20, "--seed", 3, "--json").json == {
        "file": str(file),
        "owners": 20,
        "domain": [0, 0, 20_000.0, 20_000.0],
        "seed": 3,
    }


def test_companies_with_cars_are_told_as_such(fedgroup, tmp_path):
    file = tmp_path / "cars.parquet"
    cars = ("--owners", 3, "--subjects", 40, "--records-per-subject", 6)
    assert fedgroup("synthesize", file, *cars, "--json").json["subjects"] == 40
    asked = ("--rectangle", "0,0,20000,20000", "--method", "exact", "--evaluate", "--json")
    assert fedgroup("people", file, *asked).json["value"] == 40
    assert fedgroup("check", file, "--json").json["columns"]["subject"] == "subject"


@pytest.mark.parametrize("cars", [(), ("--subjects", 50)])
def test_the_suggested_command_works_even_for_a_name_with_blanks(fedgroup, tmp_path, cars):
    ran = fedgroup("synthesize", tmp_path / "my city.parquet", "--owners", 20, *cars)
    suggestion = next(line for line in ran.out.splitlines() if line.startswith("try: fedgroup "))
    assert fedgroup(*shlex.split(suggestion.removeprefix("try: fedgroup "))).code == 0


@pytest.mark.parametrize(
    "wrong",
    [
        ("--owners", 3, "--subjects", 2),
        ("--records-per-subject", 5),
        ("--owners", 0),
        ("--owners", -5),
        ("--owners", "many"),
        ("--records-per-owner", 0),
        ("--seed", -1),
    ],
)
def test_impossible_cities_are_refused(fedgroup, tmp_path, wrong):
    file = tmp_path / "city.parquet"
    ran = fedgroup("synthesize", file, *wrong)
    assert (ran.code, ran.out, file.exists()) == (2, "", False)
    assert ran.err.startswith("fedgroup: ")


def test_a_folder_that_is_not_there_is_refused(fedgroup, tmp_path):
    ran = fedgroup("synthesize", tmp_path / "nowhere" / "city.parquet")
    assert ran.code == 2
    assert "cannot be written" in ran.err
