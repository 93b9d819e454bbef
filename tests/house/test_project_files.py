"""Files for people who join: what they name is there, and all of them tell the same version."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import fedgroup

ROOT = Path(__file__).parents[2]
HOOKS: dict[str, Any] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
MAKEFILE = (ROOT / "Makefile").read_text()


def test_all_files_tell_the_same_version() -> None:
    released = re.findall(r"^## (\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert released[0] == fedgroup.__version__ == cited["version"]
    assert sorted(set(released), key=lambda one: [int(part) for part in one.split(".")], reverse=True) == released


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md"])
def test_files_and_targets_that_are_named_are_there(name: str) -> None:
    text = (ROOT / name).read_text()
    paths = re.findall(r"`((?:src|tests|docs|scripts|deploy)/[\w./-]+|[\w-]+\.(?:toml|txt|md|cff))`", text)
    assert [path for path in paths if "NAME" not in path and not (ROOT / path).exists()] == []
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, flags=re.M))
    assert set(re.findall(r"`make ([a-z-]+)`", text)) <= targets
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_hooks_before_a_commit_fetch_nothing_and_are_commands_of_make_check() -> None:
    (local,) = HOOKS["repos"]
    assert local["repo"] == "local"
    assert {hook["language"] for hook in local["hooks"]} == {"system"}
    entries = [hook["entry"].replace(".venv/bin", "$(BIN)") for hook in local["hooks"]]
    assert [entry for entry in entries if entry not in MAKEFILE] == []


@pytest.mark.parametrize("script", sorted((ROOT / "scripts").glob("*.py")), ids=lambda script: script.stem)
def test_what_a_script_takes_of_the_package_is_there(script: Path) -> None:
    """Scripts are run by hand: one whose import fails would be noticed by nobody."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fedgroup"):
            module = importlib.import_module(str(node.module))
            assert [name.name for name in node.names if not hasattr(module, name.name)] == []
