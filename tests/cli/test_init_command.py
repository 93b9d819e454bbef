"""`fedgroup init`: files whose words lead on."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(("role", "words"), [("owner", "--new-ledger"), ("provider", "")])
def test_the_command_to_start_with_is_the_one_that_works(role: str, words: str, fedgroup: Any, tmp_path: Path) -> None:
    out = tmp_path / "role.toml"
    said = fedgroup("init", role, "--out", out).out
    assert f"fedgroup {role} --config {out} {words}".strip() in said
    assert ("--new-ledger" in said) == (role == "owner")


@pytest.mark.parametrize("role", ["owner", "provider"])
def test_the_authority_is_where_its_answer_puts_it(role: str, fedgroup: Any, tmp_path: Path) -> None:
    assert fedgroup("init", role, "--out", tmp_path / "role.toml").code == 0
    said = tomllib.loads((tmp_path / "role.toml").read_text())["identity"]
    assert said == {"folder": role, "authority": role}
    assert fedgroup("init", role, "--out", tmp_path / "other.toml", "--identity", "taxi-a").code == 0
    said = tomllib.loads((tmp_path / "other.toml").read_text())["identity"]
    assert said == {"folder": "taxi-a", "authority": "taxi-a"}
