"""A federation's authority and parties with real files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from fedgroup.identity import Authority, Identity, Trust
from fedgroup.identity.own import write_answer, write_request
from fedgroup.identity.requests import LOCAL_HOSTS

Enrol = Callable[..., Identity]


def enrolled(authority: Authority, folder: Path, name: str, role: Any = "owner", **how: Any) -> Identity:
    """Make a party's keys in a folder and have them certified."""
    request = write_request(folder, name, role, hosts=LOCAL_HOSTS if role == "provider" else ())
    write_answer(folder, authority.issue(request, **how), Trust.load(authority.folder, stale=True))
    return Identity.load(folder)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.create(tmp_path / "authority", "taxis")


@pytest.fixture
def enrol(authority: Authority, tmp_path: Path) -> Enrol:
    """Make a certified party of the federation, in a folder of its name."""

    def party(name: str, role: str = "owner", *, at: datetime | None = None, days: int = 365) -> Identity:
        return enrolled(authority, tmp_path / name, name, role, at=at, days=days)

    return party


@pytest.fixture
def enrolled_by() -> Enrol:
    """Make a party of any authority's."""
    return enrolled


@pytest.fixture
def trust(authority: Authority) -> Callable[[], Trust]:
    """What the authority's folder says now."""
    return lambda: Trust.load(authority.folder)


@pytest.fixture(scope="session")
def owners(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identity]:
    """Three owners who write letters, and a provider who must not."""
    place = tmp_path_factory.mktemp("letters")
    authority = Authority.create(place / "authority", "taxis")
    found = {name: enrolled(authority, place / name, name) for name in ("ann", "bob", "eve")}
    return found | {"provider": enrolled(authority, place / "provider", "provider", "provider")}
