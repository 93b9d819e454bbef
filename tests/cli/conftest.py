"""Run commands in this process, and a small city to run them on."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fedgroup.cli.main import main
from fedgroup.data.synthetic import write_synthetic
from fedgroup.storage.sqlite import SQLiteLedger


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on stdout of a command that succeeded."""
        assert self.code == 0, self.err
        assert self.out.count("\n") == 1
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


Run = Callable[..., Ran]


@pytest.fixture
def fedgroup(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["fedgroup", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Ran(int(ended.value.code or 0), said.out, said.err)

    return run


@pytest.fixture(scope="session")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 owners on 20 x 20 km, with fares and times."""
    path = tmp_path_factory.mktemp("city") / "city.parquet"
    write_synthetic(path, owners=60, records_per_owner=20, seed=1)
    return path


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def spent(ledger: Path) -> Callable[[], float]:
    """What the ledger says was spent; a ledger that was never made says nothing was."""

    def ask() -> float:
        if not ledger.exists():
            return 0.0
        with closing(SQLiteLedger(ledger)) as opened:
            return float(opened.spent())

    return ask


@pytest.fixture
def plan(fedgroup: Run, city: Path, tmp_path: Path) -> Path:
    """A plan that cost epsilon 2."""
    path = tmp_path / "plan.parquet"
    assert fedgroup("group", city, "--epsilon", 2, "--out", path).code == 0
    return path
