"""What is built is the same wherever it is built, and what it is built with is known to the byte."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "docs/guarantees.md", "src")
EPOCH = "1700000000"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that returns a script as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module


def constraints() -> dict[str, str]:
    found = re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), flags=re.M)
    return {name.lower().replace("_", "-"): version for name, version in found}


def test_every_constraint_is_locked_with_a_hash_and_nothing_names_an_index(script: Any) -> None:
    locked = script("locked").read(ROOT / "locked.txt")
    assert {name: version for name, (version, _) in locked.items()} == constraints()
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for _, digest in locked.values())
    assert "://" not in (ROOT / "locked.txt").read_text()


def test_the_bill_of_materials_lists_what_is_locked_and_is_the_same_again(script: Any) -> None:
    packages = script("locked").read(ROOT / "locked.txt")
    found = script("sbom").bill(packages, version="1.2.3")
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert {each["name"]: (each["version"], each["hashes"][0]["content"]) for each in found["components"]} == packages
    assert found == script("sbom").bill(packages, version="1.2.3")
    assert found["serialNumber"] != script("sbom").bill(packages, version="1.2.4")["serialNumber"]


def test_locked_versions_with_known_weaknesses_are_found(script: Any, tmp_path: Path) -> None:
    packages = {"some-package": ("1.5", "0" * 64), "another": ("2.0", "0" * 64)}
    between = [{"type": "ECOSYSTEM", "events": [{"introduced": "1.0"}, {"fixed": "1.6"}]}]
    before = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "2.0"}]}]
    told = {
        "A-1": {"package": {"name": "Some_Package"}, "ranges": between},
        "A-2": {"package": {"name": "another"}, "ranges": before},
        "A-3": {"package": {"name": "another"}, "versions": ["2.0"]},
    }
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, each in told.items():
            archive.writestr(f"{name}.json", json.dumps({"id": name, "affected": [each]}))
    found = script("vulnerable").affected(packages, tmp_path / "all.zip")
    assert found == ["another 2.0: A-3", "some-package 1.5: A-1"]


def wheel(source: Path, to: Path) -> bytes:
    """Build a wheel, and return its bytes."""
    ran = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(to)], cwd=source,
        env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    (built,) = to.iterdir()
    return built.read_bytes()


def test_a_wheel_built_twice_is_the_same_to_the_byte(tmp_path: Path) -> None:
    """In two folders of other names and times, whoever may read them."""
    made = []
    for number, (stamp, mode) in enumerate(((1_000_000_000, 0o600), (1_600_000_000, 0o644))):
        source = tmp_path / f"source {number}"
        for name in BUILT_FROM:
            whole = ROOT / name
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            if whole.is_dir():
                left_out = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
                shutil.copytree(whole, source / name, ignore=left_out)
            else:
                shutil.copy(whole, source / name)
        for path in source.rglob("*"):
            if path.is_file():
                path.chmod(mode)
                os.utime(path, (stamp, stamp))
        made.append(wheel(source, tmp_path / f"built {number}"))
    assert made[0] == made[1]
