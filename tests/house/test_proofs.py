"""Promise, proof and test stay in step: docs/proofs.md names heading and tests of whatever promises something."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE, TESTS = ROOT / "src/fedgroup", ROOT / "tests"
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
IMPORT = re.compile(r"^ *(?:from|import) ([\w.]+)(?: as \w+)?(?: import (\([^)]*\)|.*))?$", flags=re.M)
STARTED = re.compile(r"[\"/](\w+)\.py\"")
ROW = re.compile(r"^\| `([\w/]+\.py)` \| (`.+`) \|$", flags=re.M)


def anchor(heading: str) -> str:
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).strip().replace(" ", "-")


def anchors() -> dict[str, str]:
    """The anchors of the guarantees, each with the text below its heading."""
    _, *pieces = re.split(r"^#+ (.+)$", (ROOT / "docs/guarantees.md").read_text(), flags=re.M)
    return {anchor(heading): text for heading, text in zip(pieces[::2], pieces[1::2], strict=True)}


def docstrings(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    nodes = ast.walk(ast.parse(text)) if "Guarantee:" in text else ()
    return [ast.get_docstring(node) or "" for node in nodes if isinstance(node, DOCUMENTED)]


def promising() -> dict[str, set[str]]:
    """The modules that promise something, with the anchors that their docstrings name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        texts = docstrings(path)
        if any(re.search(r"^\s*Guarantee:", text, flags=re.M) for text in texts):
            named = re.findall(r"^ *Proof:(?:.|\n {8,})*", "\n".join(texts), flags=re.M)
            found[path.relative_to(SOURCE).as_posix()] = set(re.findall(r"guarantees\.md#([a-z-]+)", "".join(named)))
    return found


def listed() -> dict[str, dict[str, list[str]]]:
    """What the page says: by heading, the tests of each module."""
    _, *pieces = re.split(r"^## \[.+\]\(guarantees\.md#([a-z-]+)\)$", (ROOT / "docs/proofs.md").read_text(), flags=re.M)
    return {
        name: {module: re.findall(r"`([^`]+)`", tests) for module, tests in ROW.findall(text)}
        for name, text in zip(pieces[::2], pieces[1::2], strict=True)
    }


PROMISING, LISTED = promising(), listed()


def named_tests(module: str) -> set[str]:
    return {test for rows in LISTED.values() for test in rows.get(module, ())}


def test_every_module_that_promises_something_has_a_proof_and_tests() -> None:
    assert {module for rows in LISTED.values() for module in rows} == set(PROMISING)
    assert all(named_tests(module) for module in PROMISING)


def test_headings_are_there_and_docstrings_name_the_same() -> None:
    assert set(LISTED) <= set(anchors())
    for module, named in PROMISING.items():
        assert named <= {name for name, rows in LISTED.items() if module in rows}, module


def test_attacks_that_are_told_of_are_there() -> None:
    told = set(re.findall(r"`(tests/[\w/]+\.py)`", (ROOT / "docs/audit.md").read_text()))
    assert {path for path in told if not (ROOT / path).exists()} == set()
    assert {f"tests/attacks/{path.name}" for path in (TESTS / "attacks").glob("test_*.py")} <= told


def test_no_proof_is_without_code() -> None:
    proofs = {name for name, text in anchors().items() if re.search(r"\*Proof", text)}
    assert proofs - set(LISTED) == set()


@pytest.mark.parametrize("module", PROMISING)
def test_tests_are_there_and_reach_what_they_are_named_for(module: str) -> None:
    for test in named_tests(module):
        assert (TESTS / test).exists(), test
        if not test.startswith("house/"):  # those look at the source itself
            assert SOURCE / module in reached(TESTS / test), f"{test} does not reach {module}"


def test_where_bugs_are_planted_one_of_the_tests_is_known_to_notice() -> None:
    planted: dict[str, set[str]] = {}
    for path in (TESTS / "mutants").glob("*.toml"):
        for mutant in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            planted.setdefault(mutant["file"], set()).update(test.removeprefix("tests/") for test in mutant["tests"])
    unknown = {
        module for module, killers in planted.items() if module in PROMISING and not killers & named_tests(module)
    }
    assert unknown == set()


@cache
def reached(test: Path) -> set[Path]:
    """All modules of the package that a test, its fixtures, or a program that they start import, one by one."""
    waiting, known = [test, *(folder / "conftest.py" for folder in test.parents)], set[Path]()
    while waiting:
        path = waiting.pop()
        if path not in known and path in files():
            known.add(path)
            waiting.extend(imported(path))
    return known


@cache
def imported(path: Path) -> tuple[Path, ...]:
    text = path.read_text(encoding="utf-8")
    names: set[str] = set(STARTED.findall(text)) if TESTS in path.parents else set()
    for module, some in IMPORT.findall(text):
        names |= {module, *(f"{module}.{each}" for each in re.findall(r"\w+", some))}
    return tuple({place for name in names for place in places(name)} & files())


def places(name: str) -> list[Path]:
    """Where a module may be: in the package, with the packages that it is in, or beside the tests."""
    if name.split(".")[0] != "fedgroup":
        return list(beside().get(name, ()))
    parts = name.split(".")[1:]
    inside = [SOURCE.joinpath(*parts[:n]) / "__init__.py" for n in range(1, len(parts) + 1)]
    return [*inside, SOURCE.joinpath(*parts).with_suffix(".py")] if parts else [SOURCE / "__init__.py"]


@cache
def files() -> frozenset[Path]:
    return frozenset([*SOURCE.rglob("*.py"), *TESTS.rglob("*.py")])


@cache
def beside() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in TESTS.rglob("*.py"):
        found.setdefault(path.stem, []).append(path)
    return found
