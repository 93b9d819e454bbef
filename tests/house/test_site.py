"""The documents as a site: built without a warning, every page is in it, and no page asks another host for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FETCHED = r"""<(?:script|link|img|iframe|source|object)\b[^>]*?\b(?:src|href|srcset|data)=["']?([^"' >]+)"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built as `make site` does."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    surroundings = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(build, cwd=ROOT, env=surroundings, capture_output=True, text=True, timeout=300, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    return folder


def test_every_document_is_a_page(site: Path) -> None:
    documents = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]
    named = [page.with_name("index.html") if page.stem == "README" else page for page in documents]
    first = [Path("index.html"), Path("CHANGELOG.html"), Path("CONTRIBUTING.html"), Path("SECURITY.html")]
    assert [page for page in (*first, *named) if not (site / page).is_file()] == []


def test_pages_ask_no_other_host_for_anything(site: Path) -> None:
    wanted = {place for page in site.rglob("*.html") for place in re.findall(FETCHED, page.read_text())}
    wanted |= {place for sheet in site.rglob("*.css") for place in re.findall(r"url\(([^)]+)\)", sheet.read_text())}
    assert len(wanted) > 10
    assert [place for place in wanted if re.match(r"""["']?(?:[a-z]+:)?//""", place)] == []
