"""The site's pages that are not in docs/: the README is its first page, and files of the repository come along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {"index.md": "README.md", **{name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")}}
ASSETS = ("LICENSE", "CITATION.cff", "Makefile", "pyproject.toml", "deploy/**/*")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and files that documents link to."""
    for name, source in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](").replace("](README.md", "](index.md")
        files.append(File.generated(config, name, content=text))
    for path in sorted(path for pattern in ASSETS for path in ROOT.glob(pattern)):
        if path.is_file() and "federation" not in path.relative_to(ROOT).parts:
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), content=path.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the text of a page with links that lead out of docs/ leading to the same files in the site."""
    depth = page.file.src_uri.count("/")
    return markdown.replace(f"]({'../' * (depth + 1)}", f"]({'../' * depth}") if depth else markdown
