"""How much it takes to add a kind, a method or a graph: one of each is added to a copy of the package."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

KIND = {
    "src/fedgroup/questions/kinds.py": (
        "KINDS = {\n    kind.name: kind\n    for kind in (\n",
        'Kind("density", ("count",), "records per area", "Count records per unit of area, privately", "density"),',
    ),
    "src/fedgroup/user/role.py": (
        '_READERS = {"avg": _read_average',
        ', "density": lambda query, totals: _per_area(_read_sum(query, totals), query)',
    ),
}
READER = """

def _per_area(read: Reading, query: RangeQuery) -> Reading:
    area = math.pi * query.range.radius**2
    return Reading(read.value / area, (read.interval[0] / area, read.interval[1] / area), read.notes)
"""
METHOD = {
    "src/fedgroup/questions/methods.py": (
        "    for method in (\n",
        'Method("trios", "trios", "Nobody.", "Three by three.", "Never.", together=lambda _owners, _cohort: 3),',
    )
}
GRAPH = {
    "src/fedgroup/questions/graphs.py": (
        "    for graph in (\n",
        'Graph("lastcell", "owners whose last large cell is the same", frozenset({"false_cells"})),',
    ),
    "src/fedgroup/provider/role.py": (
        '_PLACINGS = {"topcell": _by_top_cell',
        ', "lastcell": lambda vectors, _: (vectors.grid.cells - 1 - vectors.values[:, ::-1].argmax(axis=1), {})',
    ),
}
CITY = """
import math
import fedgroup as fg, numpy as np
place = np.repeat([1.5, 8.5], 30)
records = fg.Records(owner=np.arange(60) % 6 + 10 * (place > 5), x=place, y=place)
federation = fg.Federation(records, fg.Box(0, 0, 10, 10), seed=1)
circle = fg.Circle(1.5, 1.5, 1)
"""


def changed(folder: Path, changes: dict[str, tuple[str, str]]) -> Path:
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name, (after, added) in changes.items():
        text = (folder / name).read_text()
        assert text.count(after) == 1
        (folder / name).write_text(text.replace(after, after + added))
    return folder / "src"


def said(source: Path, program: str) -> str:
    # kernels run as plain Python: a copy has no compiled ones, and a city of twelve owners needs none
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(source), "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def listed(what: str) -> list[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (table,) = re.findall(rf"<!-- files: {what} -->\n(.*?)<!-- /files -->", text, re.S)
    return re.findall(r"^\| `([^`]+)` \|", table, re.M)


@pytest.mark.parametrize(("what", "changes", "most"), [("kind", KIND, 4), ("method", METHOD, 3), ("graph", GRAPH, 2)])
def test_an_addition_touches_few_files(what: str, changes: dict[str, tuple[str, str]], most: int) -> None:
    files = listed(what)
    assert changes.keys() <= set(files)
    assert len(files) <= most
    assert all((ROOT / name).exists() for name in files)


def test_a_new_kind_can_be_asked_everywhere(tmp_path: Path) -> None:
    source = changed(tmp_path, KIND)
    role = source / "fedgroup/user/role.py"
    role.write_text(role.read_text().replace("\n_READERS =", f"{READER}\n\n_READERS =").replace(
        "from fractions import", "import math\nfrom fractions import", 1
    ))  # fmt: skip
    asked = said(
        source,
        f"""{CITY}
answer = federation.ask("density", circle, epsilon=1000)
assert abs(answer.value - 30 / math.pi) < 0.1, answer
from typer.testing import CliRunner
from fedgroup.cli.main import app
for words in (["density", "--help"], ["ask", "density", "--help"]):
    assert "per unit of area" in CliRunner().invoke(app, words).output
from fedgroup.service.requests import QuestionAsked
assert "density" in QuestionAsked.model_json_schema()["properties"]["kind"]["enum"]
from fedgroup.owner.policy import Policy
assert "density" in Policy().kinds
from fedgroup.live.samples import owner_text
from fedgroup.messages.wire_query import WireQuery
from fedgroup.questions.said import question_of, some_epsilon
query = question_of("density", circle, some_epsilon(1), {{}}, federation.public_map)
assert WireQuery.of(query).read(federation.public_map.domain) == query
print(answer.kind)
""",
    )
    assert asked.strip() == "density"


def test_a_new_method_can_be_used_everywhere(tmp_path: Path) -> None:
    source = changed(tmp_path, METHOD)
    asked = said(
        source,
        f"""{CITY}
answer = federation.count(circle, epsilon=1000, method="trios")
assert (answer.groups, answer.in_group) == (4, "masked"), answer
from fedgroup.service.requests import QuestionAsked
assert "trios" in QuestionAsked.model_json_schema()["properties"]["method"]["anyOf"][0]["enum"]
from typer.testing import CliRunner
from fedgroup.cli.main import app
assert "trios" in CliRunner().invoke(app, ["ask", "count", "--help"]).output
print(round(answer.value))
""",
    )
    assert asked.strip() == "30"


def test_a_new_graph_can_be_used_everywhere(tmp_path: Path) -> None:
    source = changed(tmp_path, GRAPH)
    asked = said(
        source,
        f"""{CITY}
plan = federation.group(epsilon=1000, grid=(2, 2), graph="lastcell")
from fedgroup.live.settings import UsualGrouping
assert UsualGrouping(graph="lastcell").graph == "lastcell"
from fedgroup.service.requests import PlanAsked
assert "lastcell" in PlanAsked.model_json_schema()["properties"]["graph"]["anyOf"][0]["enum"]
plan.save("{tmp_path}/plan.parquet")
print(fg.Plan.load("{tmp_path}/plan.parquet").partition.groups)
""",
    )
    assert asked.strip() == "2"
