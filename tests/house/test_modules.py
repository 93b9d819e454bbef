"""Modules stay small, say what they are for, and have names that mean something."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import fedgroup

SOURCE = Path(fedgroup.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST_MODULE = 500
LONGEST_FUNCTION = 60
MEANINGLESS = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}


def named(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_is_read_without_getting_lost(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_function_fits_on_a_screen(path):
    functions = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = {f.name: f.end_lineno - f.lineno + 1 for f in functions if f.end_lineno - f.lineno >= LONGEST_FUNCTION}
    assert not long


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_says_what_it_is_for(path):
    assert ast.get_docstring(parsed(path))


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_is_named_by_what_it_holds(path):
    assert path.stem not in MEANINGLESS


def test_the_package_says_that_it_has_types():
    assert (SOURCE / "py.typed").exists()
