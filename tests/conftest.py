"""One profile for all property tests, and which tests need real data."""

from __future__ import annotations

import os

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
