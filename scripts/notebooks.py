"""Notebooks of the docs, run from their first cell to their last, with what they show; `make docs` stores it in them.

    python scripts/notebooks.py docs/notebooks

A cell shows what it prints, the figures that it draws and the value of its last line, as Jupyter does.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

DPI = 80


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs of its cells; it runs in the folder that this process is in."""
    mpl.use("Agg")
    plt.close("all")  # of whatever drew before in this process
    names: dict[str, Any] = {}
    numbers = iter(range(1, len(notebook["cells"]) + 1))
    cells = [_ran(cell, names, next(numbers)) if cell["cell_type"] == "code" else cell for cell in notebook["cells"]]
    return notebook | {"cells": cells}


def kinds(cell: dict[str, Any]) -> list[list[str]]:
    """Return what kinds of things a cell shows."""
    return [sorted(each.get("data", {each["output_type"]: None})) for each in cell["outputs"]]


def _ran(cell: dict[str, Any], names: dict[str, Any], number: int) -> dict[str, Any]:
    tree, printed = ast.parse("".join(cell["source"])), io.StringIO()
    *_, last = tree.body
    value = None
    with contextlib.redirect_stdout(printed):
        if isinstance(last, ast.Expr):
            tree.body.pop()
        exec(compile(tree, "cell", "exec"), names)  # noqa: S102  our own notebooks
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307  likewise
    outputs = [_stream(printed.getvalue())] if printed.getvalue() else []
    outputs += [_shown(value, number)] if value is not None else []
    outputs += _figures()
    return cell | {"execution_count": number, "outputs": outputs}


def _stream(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def _shown(value: Any, number: int) -> dict[str, Any]:
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        data = {"text/html": value._repr_html_().splitlines(keepends=True)} | data
    return {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}


def _figures() -> list[dict[str, Any]]:
    found = []
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, format="png", dpi=DPI)
        data = {"image/png": base64.b64encode(picture.getvalue()).decode(), "text/plain": ["a figure"]}
        found.append({"output_type": "display_data", "metadata": {}, "data": data})
    plt.close("all")
    return found


def main(folder: Path) -> None:
    """Run every notebook of a folder and store what its cells show."""
    for path in sorted(folder.resolve().glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as elsewhere:
            os.chdir(elsewhere)
            found = executed(json.loads(path.read_text(encoding="utf-8")))
            os.chdir(folder.anchor or path.anchor)
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
