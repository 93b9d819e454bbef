"""The front door: every public name is there, and coming in costs nothing."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import fedgroup
from fedgroup import errors

HEAVY = {"numpy", "pyarrow", "numba", "scipy", "shapely", "matplotlib", "pandas", "cryptography", "fastapi", "httpx"}


def names_for_type_checkers() -> dict[str, str]:
    """The names imported under `if TYPE_CHECKING`, with their modules."""
    tree = ast.parse(Path(fedgroup.__file__).read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in guarded.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: str(node.module) for node in imports for alias in node.names}


def loaded_after(code: str) -> set[str]:
    """The top-level modules that a fresh process has loaded after `code`."""
    ask = f"{code}\nimport json, sys\nprint(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    ran = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", fedgroup.__all__)
def test_every_public_name_loads(name):
    assert getattr(fedgroup, name) is not None


def test_type_checkers_see_the_same_names_from_the_same_places():
    assert names_for_type_checkers() == fedgroup._HOME
    assert sorted(fedgroup._HOME) == fedgroup.__all__


def test_every_error_can_be_caught_by_its_public_name():
    defined = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)}
    assert defined <= set(fedgroup.__all__)


def test_dir_lists_the_public_names():
    assert set(dir(fedgroup)) == {*fedgroup.__all__, "__version__"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        fedgroup.Nonsense  # noqa: B018


def test_importing_the_package_loads_nothing_heavy():
    assert not loaded_after("import fedgroup") & (HEAVY | {"typer", "rich"})


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["count", "--help"], ["group", "--help"], ["ask", "count", "--help"]]
)
def test_help_loads_nothing_heavy(words):
    code = f"""
import sys
from fedgroup.cli.main import main
sys.argv = ["fedgroup", *{words!r}]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
"""
    assert not loaded_after(code) & HEAVY
