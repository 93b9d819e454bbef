"""A cluster that is not there is told in one sentence."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from threading import current_thread, main_thread
from typing import Any

import distributed
import pytest

from fedgroup.cluster import opening
from fedgroup.cluster.opening import opened
from fedgroup.errors import InvalidInput


@pytest.fixture
def running() -> Iterator[Any]:
    """A cluster that somebody else started, with one worker, in threads of this process."""
    quiet = {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=1, processes=False, protocol="tcp", host="127.0.0.1", **quiet) as cluster:
        yield cluster


@pytest.mark.parametrize("name", ["local", "tcp://127.0.0.1:8786"])
def test_without_dask_the_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InvalidInput, match=r"pip install 'fedgroup\[cluster\]'"), opened(name):
        pass


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(InvalidInput, match="got 'somewhere'"), opened("somewhere"):
        pass


def test_a_scheduler_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_PATIENCE_S", 0.3)
    with pytest.raises(InvalidInput, match="no Dask scheduler answers"), opened("tcp://127.0.0.1:9"):
        pass


def test_a_running_cluster_is_used_by_its_address(running: Any) -> None:
    with opened(running.scheduler_address) as executor:
        assert executor.submit(sum, [1, 2]).result() == 3


def test_workers_with_another_fedgroup_are_refused(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "version", lambda _: "0.0.0" if current_thread() is main_thread() else "0.0.1")
    with (
        pytest.raises(InvalidInput, match=r"must have fedgroup 0\.0\.0 .* found: 0\.0\.1"),
        opened(running.scheduler_address),
    ):
        pass


def test_a_cluster_without_workers_is_refused(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_PATIENCE_S", 5.0)
    running.scale(0)
    while running.scheduler.workers:
        time.sleep(0.02)
    with pytest.raises(InvalidInput, match="no workers"), opened(running.scheduler_address):
        pass
