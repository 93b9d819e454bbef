"""A command whose extras are not installed says which to install, before it begins."""

from __future__ import annotations

import subprocess
import sys

import pytest

HIDDEN = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in {hidden} else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
sys.argv = ["fedgroup", *{words}]
from fedgroup.cli.main import main
main()
"""
SERVE, LIVE, PAGE = ("fastapi", "starlette", "uvicorn", "httpx"), ("msgspec",), ("nicegui",)
QUESTION = "--near 1,1 --within 1 --epsilon 1"


@pytest.mark.parametrize(
    ("hidden", "words", "extras"),
    [
        (SERVE, "up", "serve"),
        (LIVE, "up", "live"),
        (SERVE + LIVE, "up", "live,serve"),
        (SERVE + LIVE + PAGE, "up --open", "live,serve,page"),
        (PAGE, "demo --open", "page"),
        (SERVE, "provider --config provider.toml", "serve"),
        (LIVE, "owner --config owner.toml", "live"),
        (PAGE, "owner --config owner.toml --page", "page"),
        (SERVE, f"ask count {QUESTION} --url http://127.0.0.1:1", "serve"),
        (("distributed",), "group city.parquet --graph noisy --epsilon 1 --cluster local", "cluster"),
        (("pandas", "geopandas"), "map city.parquet --grid 4x4 --epsilon 1 --out map.gpkg", "maps"),
        (("matplotlib",), "demo", "lab"),
        (("matplotlib",), "experiment accuracy-epsilon --quick", "lab"),
        (("matplotlib",), "map city.parquet --grid 4x4 --epsilon 1 --picture map.png", "lab"),
        (("torch",), "group city.parquet --graph noisy --epsilon 1 --device cuda", "gpu"),
    ],
    ids=lambda part: part if isinstance(part, str) else None,
)  # fmt: skip
def test_a_missing_extra_is_named_before_anything_begins(tmp_path, city, monkeypatch, hidden, words, extras):
    monkeypatch.setenv("FEDGROUP_TOKEN", "token")
    given = [str(city) if word == "city.parquet" else word for word in words.split()]
    code = HIDDEN.format(hidden=set(hidden), words=given)
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
    assert f"fedgroup[{extras}]" in ran.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "hidden", [("matplotlib", "pandas", "geopandas"), ("duckdb", "ibis", "psycopg"), SERVE + LIVE + PAGE]
)
def test_commands_on_files_need_no_extra(tmp_path, city, hidden):
    words = ["count", str(city), "--near", "9000,9000", "--within", "999", "--epsilon", "1", "--json"]
    code = HIDDEN.format(hidden=set(hidden), words=words)
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


def test_experiments_that_write_tables_alone_draw_nothing(tmp_path):
    code = HIDDEN.format(hidden={"matplotlib"}, words=["experiment", "published-maps", "--quick", "--out", "tables"])
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "tables/published-maps.md").exists()
