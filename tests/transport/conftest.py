"""One federation and one broker of each kind for the journeys; every journey has owners of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from wire_brokers import KINDS, BrokerProcess
from wire_certificates import Federation

OWNERS = tuple(f"{name}-{number}" for name in ("ann", "bob", "cid") for number in range(9))
REVOKED = "dan"


@pytest.fixture(scope="session")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    made = Federation(tmp_path_factory.mktemp("federation"))
    made.revoke(REVOKED)
    return made


@pytest.fixture(scope="module", params=KINDS)
def broker(request: pytest.FixtureRequest, federation: Federation, tmp_path_factory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(request.param, tmp_path_factory.mktemp(request.param), federation, OWNERS).start()
    yield process
    process.kill()


@pytest.fixture(params=KINDS)
def mortal_broker(request: pytest.FixtureRequest, federation: Federation, tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker that a test may kill and start again."""
    process = BrokerProcess(request.param, tmp_path, federation, OWNERS).start()
    yield process
    process.kill()
