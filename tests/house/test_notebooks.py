"""The notebooks in docs run from their first cell to their last, and are kept with what they show."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def runner() -> Any:
    """`scripts/notebooks.py`, which `make docs` stores outputs with."""
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "scripts/notebooks.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs_and_shows_what_is_kept_of_it(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run, kept = runner(), json.loads(path.read_text())
    ran = run.executed(kept)
    for before, now in zip(code_cells(kept), code_cells(ran), strict=True):
        # noise differs from run to run; what is shown does not
        assert before["execution_count"] == now["execution_count"]
        assert run.kinds(before) == run.kinds(now)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_kept_with_pictures_and_small(path: Path) -> None:
    shown = [kind for cell in code_cells(json.loads(path.read_text())) for kind in cell["outputs"]]
    assert any("image/png" in each.get("data", {}) for each in shown)
    assert any("text/html" in each.get("data", {}) for each in shown)
    assert not any(each["output_type"] == "error" for each in shown)
    assert path.stat().st_size < 400_000
