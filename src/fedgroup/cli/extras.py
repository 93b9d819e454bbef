"""Which extra a command needs: it says so before it begins."""

from __future__ import annotations

from importlib.util import find_spec

from fedgroup.errors import InvalidInput

_BROUGHT = {"lab": ("matplotlib",), "live": ("msgspec",), "serve": ("fastapi", "uvicorn"), "page": ("nicegui",)}
"""Modules that an extra brings, and that are imported where it is used."""


def require_extras(what: str, *extras: str) -> None:
    """Say which extras are missing for `what`, all of them at once."""
    lacking = [extra for extra in extras if any(find_spec(module) is None for module in _BROUGHT[extra])]
    if lacking:
        named = " and ".join(f"[{extra}]" for extra in lacking)
        noun = "extra" if len(lacking) == 1 else "extras"
        raise InvalidInput(f"{what} needs the {noun} {named}: pip install 'fedgroup[{','.join(lacking)}]'")
