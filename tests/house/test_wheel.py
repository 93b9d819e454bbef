"""What is built is whole: an installed wheel runs the demo and tells the guarantees, without the repository."""

from __future__ import annotations

import email
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def run(*words: str | Path, at: Path = ROOT, **surroundings: str) -> str:
    """Run this Python with words, and return what it printed."""
    ran = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=at,
        env=os.environ | surroundings,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that a wheel of this repository was installed into; nothing is fetched for that."""
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "hatchling", "build", "--target", "wheel", "--directory", folder / "built")
    (wheel,) = (folder / "built").iterdir()
    run("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", folder / "installed", wheel)
    return folder / "installed"


def test_the_demo_of_an_installed_wheel_runs(installed: Path, tmp_path: Path) -> None:
    # kernels run as plain Python: a new place has no compiled ones, and compiling takes longer than all else
    plain = {"PYTHONPATH": str(installed), "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    words = ("demo", "--owners", "10", "--out", tmp_path / "pictures", "--json")
    facts = json.loads(run(installed / "bin/fedgroup", *words, at=tmp_path, **plain))
    assert len(facts["rows"]) > 30
    assert all(Path(picture).stat().st_size > 1_000 for picture in facts["pictures"])


def test_the_learn_page_of_an_installed_wheel_has_all_guarantees(installed: Path, tmp_path: Path) -> None:
    ask = "from fedgroup.service.pages import learn; print(learn.__file__); print(learn.guarantees_text())"
    place, _, text = run("-c", ask, at=tmp_path, PYTHONPATH=str(installed)).partition("\n")
    assert Path(place).is_relative_to(installed)
    assert text.strip() == (ROOT / "docs/guarantees.md").read_text().strip()


def test_the_wheel_says_what_the_project_says(installed: Path) -> None:
    (facts,) = installed.glob("*.dist-info/METADATA")
    said = email.message_from_string(facts.read_text())
    assert said["Name"] == PROJECT["name"]
    assert said["Summary"] == PROJECT["description"]
    assert {*said.get_all("Provides-Extra", [])} == {*PROJECT["optional-dependencies"]}
    assert str(said.get_payload()).startswith("# fedgroup")
