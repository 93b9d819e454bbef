"""Scripts, sheets and pages of ours, as browsers load them."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
_KINDS = {".css", ".html", ".js", ".mjs"}


@cache
def digest() -> str:
    """Return a name for these very files: part of their address, so that no browser mixes old ones with new ones."""
    found = hashlib.sha256()
    for path in sorted(FOLDER.rglob("*")):
        if path.suffix in _KINDS:
            found.update(path.relative_to(FOLDER).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:12]


def address() -> str:
    """Return the path under which they are served."""
    return f"/_page/{digest()}"


def read_asset(name: str) -> str:
    """Return one of them as text."""
    return (FOLDER / name).read_text(encoding="utf-8")
