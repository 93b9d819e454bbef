"""What the documents say is true: examples run, commands and errors are documented, the reference is current."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fedgroup import errors
from fedgroup.cli.reference import reference

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


def test_the_readmes_plans_pay_off_with_what_the_readme_spends(tmp_path: Path) -> None:
    # 25 cells and a cohort for each 50 of the rest: whatever the noise, there are few groups
    names: dict[str, Any] = {}
    exec(compile(blocks(ROOT / "README.md", "python")[1], "README.md", "exec"), names)
    assert names["plan"].pays_off_above < names["plan"].epsilon + names["answer"].epsilon <= names["federation"].spent
    lines = [line for block in blocks(ROOT / "README.md", "sh") for line in block.splitlines()]
    (budget,) = (float(line.split("--budget ")[1]) for line in lines if "--budget " in line)
    for line in (line for line in lines if line.startswith(("fedgroup synthesize", "fedgroup group"))):
        command = [str(COMMAND), *shlex.split(line)[1:], "--json"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    assert json.loads(ran.stdout)["pays_off_above"] < budget


@pytest.mark.parametrize(
    "page", [p for p in pages_with("sh", "fedgroup ") if p.name != "results.md"], ids=lambda p: p.name
)
def test_shell_examples_run(page: Path, tmp_path: Path) -> None:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("fedgroup ")]
    for line in lines:
        command = [str(COMMAND), *shlex.split(line, comments=True)[1:]]
        command += ["--quick"] if command[1] == "bench" else []  # that it runs, not how fast
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
        assert ran.returncode == 0, f"{line}\n{ran.stderr}"


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
