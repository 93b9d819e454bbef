"""One profile for all property tests, which tests need real data, and which come first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Kernels are compiled on their first call, so a deadline per example would time the compiler.
settings.register_profile("fedgroup", deadline=None, derandomize=True)
settings.load_profile("fedgroup")

# Real check-ins are not part of the project; with FEDGROUP_DATA=FOLDER the tests that need them are collected.
collect_ignore_glob = [] if os.environ.get("FEDGROUP_DATA") else ["*/test_real_*.py"]


def pytest_report_header() -> str:
    folder = os.environ.get("FEDGROUP_DATA")
    return (
        f"real data: {folder}" if folder else "real data: none (set FEDGROUP_DATA to a folder with Gowalla check-ins)"
    )


# What starts processes takes longest. It comes first, so that short tests fill the end, when workers run out of files.
_FIRST = ("journeys", "pages", "live", "house", "bench", "guarantees", "service", "cli", "mutants")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(_FIRST)}
    items.sort(key=lambda item: places.get(_room(item.path, config.rootpath), len(places)))


def _room(file: Path, root: Path) -> str:
    """The folder of tests that a file is in."""
    return next(iter(file.relative_to(root / "tests").parts), "")
