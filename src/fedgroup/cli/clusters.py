"""Who does the work: this process, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fedgroup.cli.options import option
from fedgroup.cli.output import working

if TYPE_CHECKING:
    from concurrent.futures import Executor

CLUSTER = "Workers (with the extra 'cluster')"

Cluster = Annotated[
    str | None,
    option(CLUSTER, "--cluster", "local: a worker per core; or a Dask scheduler, such as tcp://host:8786", "ADDRESS"),
]


@dataclass(frozen=True)
class ClusterOptions:
    """Which cluster, and the folder through which its workers get their blocks."""

    cluster: Cluster = None
    shared: Annotated[
        Path | None,
        option(
            CLUSTER,
            "--shared",
            "folder that this machine and all workers see; default: that of temporary files, for local",
            "FOLDER",
        ),
    ] = None


@contextmanager
def workers_of(cluster: str | None) -> Iterator[Executor | None]:
    """Yield an executor on the cluster, or nothing if there is none."""
    if cluster is None:
        yield None
        return
    from fedgroup.cluster.opening import opened

    with ExitStack() as stack:
        with working(f"opening the cluster {cluster}"):
            executor = stack.enter_context(opened(cluster))
        yield executor
