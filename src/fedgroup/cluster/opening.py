"""Executors on Dask clusters: one on this machine, or one that runs already (`pip install 'fedgroup[cluster]'`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

from fedgroup.errors import InvalidInput

_PATIENCE_S = 10
_RETRIES = 3


@contextmanager
def opened(name: str, *, workers: int | None = None) -> Iterator[Executor]:
    """Yield an executor on the cluster `local`, with one worker per core or as many as said, or at an address."""
    with _connected(name, workers) as client:
        yield client.get_executor(pure=False, retries=_RETRIES)


def _connected(name: str, workers: int | None) -> Any:
    if name == "local":
        return _local(workers)
    if "://" not in name:
        raise InvalidInput(f"a cluster is local or a Dask scheduler's address, such as tcp://host:8786, got {name!r}")
    return _remote(name)


@contextmanager
def _local(workers: int | None) -> Iterator[Any]:
    """Start processes that listen on this machine, to those with the keys made for them, and end them in the end."""
    with _distributed().Client(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        security=True,
        memory_limit=0,
        preload="fedgroup.cluster.local_worker",
        silence_logs=logging.ERROR,
    ) as client:
        yield client


@contextmanager
def _remote(address: str) -> Iterator[Any]:
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=_PATIENCE_S)
    except (OSError, ValueError):
        raise InvalidInput(f"no Dask scheduler answers at {address}; start one, or use the cluster local") from None
    with client:
        _require_workers(client, address)
        yield client


def _require_workers(client: Any, address: str) -> None:
    """Refuse a cluster that nobody works on, or on which another fedgroup would be run."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE_S)
    except TimeoutError:
        raise InvalidInput(f"the Dask scheduler at {address} has no workers; start some") from None
    own = version("fedgroup")
    try:
        found = set(client.run(version, "fedgroup").values())
    except ImportError:
        found = {"none"}
    if found != {own}:
        told = ", ".join(sorted(found))
        raise InvalidInput(f"all workers of {address} must have fedgroup {own} installed, as here; found: {told}")


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise InvalidInput("a cluster needs Dask: pip install 'fedgroup[cluster]'") from None
