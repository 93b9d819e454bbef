"""What the documents say is true: examples run, commands and errors are documented, the reference is current."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedgroup import errors
from fedgroup.cli.main import main
from fedgroup.cli.reference import reference
from fedgroup.lab.bench.measuring import BenchReport, BenchRow

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND = Path(sys.executable).with_name("fedgroup")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.M | re.S)


def pages_with(language: str, mark: str) -> list[Path]:
    return [page for page in PAGES if any(mark in block for block in blocks(page, language))]


@pytest.mark.parametrize("page", pages_with("python", ""), ids=lambda page: page.name)
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


def shell_lines(page: Path) -> list[str]:
    return [line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("fedgroup ")]


def words_of(line: str) -> list[str]:
    return shlex.split(line, comments=True)[1:]


def typed(line: str, folder: Path) -> tuple[int, str, str]:
    """Run a line as a process of its own; return how it ended and what it said."""
    ran = subprocess.run(
        [str(COMMAND), *words_of(line)], cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )
    return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture
def run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], tuple[int, str, str]]:
    """Run a line in this process, as `typed` does in one of its own."""
    monkeypatch.chdir(tmp_path)

    def run(line: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fedgroup", *words_of(line)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def test_the_readmes_plans_pay_off_with_what_the_readme_spends(run_here: Callable[[str], tuple[int, str, str]]) -> None:
    # 25 cells and a cohort for each 50 of the rest: whatever the noise, there are few groups
    names: dict[str, Any] = {}
    exec(compile(blocks(ROOT / "README.md", "python")[1], "README.md", "exec"), names)
    assert names["plan"].pays_off_above < names["plan"].epsilon + names["answer"].epsilon <= names["federation"].spent
    lines = shell_lines(ROOT / "README.md")
    (budget,) = (float(line.split("--budget ")[1]) for line in lines if "--budget " in line)
    for line in (line for line in lines if line.startswith(("fedgroup synthesize", "fedgroup group"))):
        code, out, err = run_here(f"{line} --json")
        assert code == 0, err
    assert json.loads(out)["pays_off_above"] < budget


EXAMPLES = [page for page in pages_with("sh", "fedgroup ") if page.name not in ("results.md", "performance.md")]


def command_of(line: str) -> tuple[str, ...]:
    """The command of a line, with its second word where it has one: `certificates issue`."""
    name, *others = words_of(line)
    return (name, others[0]) if name in ("certificates", "users", "broker", "init") else (name,)


# The first line of every command is a process of its own, as are all of clusters, which start processes themselves.
FIRST = {command_of(line): line for page in reversed(EXAMPLES) for line in reversed(shell_lines(page))}.values()


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.name)
def test_shell_examples_run(page: Path, tmp_path: Path, run_here: Callable[[str], tuple[int, str, str]]) -> None:
    for line in shell_lines(page):
        apart = line in FIRST or " --cluster " in line
        code, _, err = typed(line, tmp_path) if apart else run_here(line)
        assert code == 0, f"{line}\n{err}"


def test_benches_that_are_told_of_can_be_run(
    tmp_path: Path, run_here: Callable[[str], tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every bench is measured in tests/bench; here, that its command is right, and one of them as a process."""
    lines = shell_lines(ROOT / "docs/performance.md")
    assert {words_of(line)[0] for line in lines} == {"bench"}
    assert typed("fedgroup bench noise --quick", tmp_path)[0] == 0
    measured: list[str] = []

    def run(name: str, *, quick: bool) -> BenchReport:
        measured.append(name)
        assert not quick
        return BenchReport(name, quick, 2, {}, (BenchRow("a case", ours_s=1, peak_mb=1),))

    monkeypatch.setattr("fedgroup.cli.bench.run", run)
    assert [(line, code) for line in lines if (code := run_here(line)[0])] == []
    assert measured == [name for line in lines for name in words_of(line)[1:]]


def test_the_readmes_two_commands_are_make_targets() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M)
    asked = re.findall(r"^make ([a-z-]+)", "\n".join(blocks(ROOT / "README.md", "sh")), flags=re.M)
    assert asked == ["demo", "test"]
    assert set(asked) <= set(targets)


def test_the_command_reference_is_current() -> None:
    assert (ROOT / "docs/reference/cli.md").read_text() == reference()


def test_every_error_is_documented() -> None:
    page = (ROOT / "docs/reference/errors.md").read_text()
    names = [
        name for name, _ in inspect.getmembers(errors, inspect.isclass) if issubclass(getattr(errors, name), Exception)
    ]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_every_room_is_on_the_map() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    rooms = [path.name for path in (ROOT / "src/fedgroup").iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert [room for room in rooms if f"`{room}/`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text())
    local = [link for link in links if not link.startswith("http")]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_anchors_of_proofs_exist() -> None:
    text = (ROOT / "docs/guarantees.md").read_text()
    headings = {
        re.sub(r"[^a-z0-9 -]", "", h.lower()).strip().replace(" ", "-")
        for h in re.findall(r"^#+ (.+)$", text, flags=re.M)
    }
    sources = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"docs/guarantees\.md#([a-z-]+)", sources))
    assert named - headings == set()
