"""Whatever is logged is a sentence of ours, with facts that may be told."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import fedgroup
from fedgroup.live.logs import FACTS

SOURCE = Path(fedgroup.__file__).parent
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}


@cache
def logged() -> list[ast.Call]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        call
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in LEVELS
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id in ("log", "events", "logger")
    ]


def test_words_are_written_in_the_program():
    assert len(logged()) > 10
    assert all(isinstance(call.args[0], ast.Constant) for call in logged())


def test_facts_are_of_the_list():
    keys = {
        key.value
        for call in logged()
        for keyword in call.keywords
        if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict)
        for key in keyword.value.keys
        if isinstance(key, ast.Constant)
    }
    assert keys <= set(FACTS)
