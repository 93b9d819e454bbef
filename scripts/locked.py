"""Versions with hashes: what is installed is what was tested, byte for byte.

    python scripts/locked.py > locked.txt        written anew from constraints.txt, with the index that pip is set up for
    pip install --require-hashes --no-deps --requirement locked.txt

Hashes are those of the files that pip chooses on the machine that this ran on: one Python and one kind of system. It names
files by their hashes alone, so that any index that has them will do.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
HEAD = """\
# Every package with the hash of its file, for Python {python} on {system}: 'make locked' writes it from constraints.txt.
# pip install --require-hashes --no-deps --requirement locked.txt
"""


def lines_of(report: dict[str, Any]) -> list[str]:
    """Return a line for each package that pip would install; what has no hash is this project itself."""
    found = {}
    for each in report["install"]:
        hashes = each["download_info"].get("archive_info", {}).get("hashes")
        if hashes:
            name = each["metadata"]["name"].lower().replace("_", "-")
            found[name] = f"{name}=={each['metadata']['version']} --hash=sha256:{hashes['sha256']}"
    return [found[name] for name in sorted(found)]


def read(path: Path) -> dict[str, tuple[str, str]]:
    """Return the version and the hash of every package of a locked file."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            package, digest = line.split(" --hash=sha256:")
            name, version = package.split("==")
            found[name] = version, digest
    return found


def resolved() -> dict[str, Any]:
    """Return what pip would install: this project with all its extras but the GPU's, and the tools of its developers."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    wanted = f".[{','.join(name for name in extras if name != 'gpu')}]"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--only-binary=:all:"]
        command += ["--constraint", "constraints.txt", "--report", str(report), wanted, "pip", "--group", "dev"]
        subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return found


if __name__ == "__main__":
    report = resolved()
    about = report["environment"]
    print(HEAD.format(python=about["python_version"], system=f"{about['sys_platform']} {about['platform_machine']}"), end="")
    print("\n".join(lines_of(report)))
