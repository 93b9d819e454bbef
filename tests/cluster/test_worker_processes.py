"""Workers in processes of their own, by Dask or in a pool: the same edges, also when one of them is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import psutil
import pytest

from fedgroup.cluster.graphs import joining
from fedgroup.cluster.ordered import in_order
from fedgroup.data import synthetic
from fedgroup.data.synthetic import write_synthetic
from fedgroup.messages import NoisyVectors
from fedgroup.provider.role import joined_here
from fedgroup.provider.settings import GroupingSettings


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        yield processes


class Killing(Executor):
    """Hands tasks on, and kills one worker when there are several under way."""

    def __init__(self, executor: Executor, *, after: int) -> None:
        self.executor, self.after = executor, after
        self.victim = executor.submit(os.getpid).result()
        self.handed = 0

    def submit(self, task: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future = self.executor.submit(task, *arguments, **named)
        self.handed += 1
        if self.handed == self.after:
            os.kill(self.victim, signal.SIGKILL)
        return future


def require_same_edges(executor: Executor, vectors: NoisyVectors, shared: Path, estimate: str) -> None:
    settings = GroupingSettings("noisy", estimate=estimate)
    found, expected = joining(executor, shared=shared)(vectors, settings), joined_here(vectors, settings)
    assert np.array_equal(found.offsets, expected.offsets)
    assert np.array_equal(found.neighbours, expected.neighbours)
    assert not list(shared.iterdir())


@pytest.mark.parametrize("estimate", ["thresholded", "raw", "debiased"])
def test_a_dask_cluster_of_two_workers_finds_the_same_edges(
    two_workers: Executor, vectors: NoisyVectors, tmp_path: Path, estimate: str
) -> None:
    require_same_edges(two_workers, vectors, tmp_path, estimate)


def test_a_local_cluster_listens_on_this_machine_and_to_those_with_its_keys(two_workers: Executor) -> None:
    me = psutil.Process()
    families = [me, *me.children(recursive=True)]
    listening = [c.laddr.ip for one in families for c in one.net_connections("inet") if c.status == "LISTEN"]
    assert len(listening) >= 3
    assert set(listening) == {"127.0.0.1"}
    assert distributed.get_client().scheduler.address.startswith("tls://")


@pytest.mark.parametrize("estimate", ["thresholded", "debiased"])
def test_a_pool_of_processes_finds_the_same_edges(
    pool: Executor, vectors: NoisyVectors, tmp_path: Path, estimate: str
) -> None:
    require_same_edges(pool, vectors, tmp_path, estimate)


def test_workers_write_the_same_city(two_workers: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "_OWNERS_AT_ONCE", 70)
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    write_synthetic(here, owners=500, seed=3)
    write_synthetic(there, owners=500, seed=3, run=partial(in_order, two_workers, ahead=4))
    assert here.read_bytes() == there.read_bytes()


@pytest.mark.parametrize("estimate", ["thresholded", "raw"])
def test_a_killed_dask_worker_costs_no_edge(
    two_workers: Executor, vectors: NoisyVectors, tmp_path: Path, estimate: str
) -> None:
    killing = Killing(two_workers, after=8)
    require_same_edges(killing, vectors, tmp_path, estimate)
    assert killing.handed > 8
    assert two_workers.submit(os.getpid).result() != killing.victim


def test_a_pool_that_breaks_costs_no_edge(vectors: NoisyVectors, tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        require_same_edges(Killing(pool, after=8), vectors, tmp_path, "raw")
