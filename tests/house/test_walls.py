"""Every wall of pyproject.toml stands: an import through it is found and named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = [contract["name"] for contract in SETTINGS["tool"]["importlinter"]["contracts"]]

LAYERS = "upper rooms import lower ones, never the other way"
PURE = "the core is pure: no files, sockets, clock, logging"
RECORDS = "raw records are visible in the owner's room, in loaders and in evaluation only"
EVALUATION = "evaluation is out of reach of roles, storage and data"

# contract: the module that breaks it, by which import, and the contracts that then fail.
# Whatever reaches evaluation from below goes upwards too, so that wall never falls alone.
BREACHES = {
    LAYERS: ("space/box.py", "import fedgroup.messages", {LAYERS}),
    PURE: ("owner/counting.py", "import socket", {PURE}),
    RECORDS: ("storage/memory.py", "import fedgroup.owner.records", {RECORDS}),
    EVALUATION: ("data/drafts.py", "import fedgroup.evaluation.truth", {LAYERS, EVALUATION}),
}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the house to break."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def broken_walls(house: Path) -> set[str]:
    """The contracts that import-linter finds broken in a house."""
    lint = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    surroundings = os.environ | {"PYTHONPATH": str(house / "src"), "COLUMNS": "200"}
    ran = subprocess.run(
        [sys.executable, "-c", lint], cwd=house, env=surroundings, capture_output=True, text=True, check=False
    )
    checked = {name: line.split()[-1] for name in CONTRACTS for line in ran.stdout.splitlines() if _about(line, name)}
    assert set(checked) == set(CONTRACTS), ran.stdout + ran.stderr
    broken = {name for name, verdict in checked.items() if verdict == "BROKEN"}
    assert ran.returncode == (1 if broken else 0)
    return broken


def _about(line: str, name: str) -> bool:
    return line.startswith(name) and line.split()[-1] in ("KEPT", "BROKEN")


def test_every_wall_has_a_breach_to_try():
    assert list(BREACHES) == CONTRACTS


def test_all_walls_stand(house):
    assert broken_walls(house) == set()


@pytest.mark.parametrize("contract", BREACHES)
def test_an_import_through_a_wall_is_found(house, contract):
    module, line, fallen = BREACHES[contract]
    path = house / "src" / "fedgroup" / module
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    assert broken_walls(house) == fallen


@pytest.mark.parametrize(
    ("line", "fallen"),
    [("import fedgroup.live.plans", LAYERS), ("import fedgroup.messages", LAYERS), ("import asyncio", PURE)],
)
def test_a_question_knows_nothing_of_what_carries_it(house, line, fallen):
    path = house / "src" / "fedgroup" / "questions" / "said.py"
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    assert broken_walls(house) == {fallen}


def test_a_room_that_no_layer_knows_is_found(house):
    (house / "src" / "fedgroup" / "attic.py").write_text('"""Nobody planned this."""\n')
    assert broken_walls(house) == {LAYERS}
