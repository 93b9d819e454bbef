"""Similarity graphs whose blocks are computed by an executor's workers: the same edges as without."""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from fedgroup.cluster.ordered import in_order
from fedgroup.cluster.strips import sees, strip_edges
from fedgroup.cluster.vector_files import write_dense, write_sparse
from fedgroup.errors import InvalidInput
from fedgroup.messages import NoisyVectors
from fedgroup.provider.dense_graph import known_rows
from fedgroup.provider.graph import EdgeBlock, Neighbours, SimilarityGraph
from fedgroup.provider.role import Join, joined_here
from fedgroup.provider.settings import GroupingSettings
from fedgroup.provider.similarity import estimated_squares, kept_cells

Folder = str | os.PathLike[str]

_STRIPS_AHEAD = 256
"""How many tasks are handed out ahead: a task is a number, and what it finds is kept in any case."""


def joining(executor: Executor | None, *, shared: Folder | None = None) -> Join:
    """Return what makes graphs of noisy vectors: the executor's workers, or this process if there is no executor.

    Workers read the vectors from a folder that is made inside `shared`, by default where temporary files are, and that
    is removed as soon as they are done. A place where none can be made, or that workers do not see, is refused now.
    """
    if executor is not None:
        _require_reach(executor, shared)
        return partial(_joined_by, executor, shared)
    if shared is not None:
        raise InvalidInput("a shared folder is for the workers of an executor (--shared goes with --cluster)")
    return joined_here


@contextmanager
def _folder(shared: Folder | None) -> Iterator[Path]:
    try:
        # A plan that was paid for is not lost over a file that cannot be removed.
        made = tempfile.TemporaryDirectory(prefix="fedgroup-", dir=shared, ignore_cleanup_errors=True)
    except OSError:
        place = tempfile.gettempdir() if shared is None else os.fspath(shared)
        raise InvalidInput(f"no folder can be made in {place}; share one that exists and is writable") from None
    with made as name:
        yield Path(name).absolute()


def _require_reach(executor: Executor, shared: Folder | None) -> None:
    """Refuse workers that cannot do the work; one of them is asked."""
    with _folder(shared) as folder:
        mark = folder / "mark"
        mark.touch()
        try:
            seen = executor.submit(sees, str(mark)).result()
        except Exception as error:
            raise InvalidInput("the executor's workers cannot run fedgroup; install the same version there") from error
    if not seen:
        raise InvalidInput(f"the executor's workers do not see {folder.parent}; share a folder that all of them see")


def _joined_by(
    executor: Executor, shared: Folder | None, vectors: NoisyVectors, settings: GroupingSettings
) -> SimilarityGraph:
    names, write = _deciding(vectors, settings)
    with _folder(shared) as folder:
        path = folder / "vectors.parquet"
        task = partial(strip_edges, str(path), settings.threshold)
        strips = deque(in_order(executor, task, range(write(path)), ahead=_STRIPS_AHEAD))
    return SimilarityGraph.from_blocks(vectors.owners, (block.renamed(names) for block in _taken(strips)))


def _deciding(vectors: NoisyVectors, settings: GroupingSettings) -> tuple[Neighbours, Callable[[Path], int]]:
    """Return whose rows decide about pairs, in order, and what writes them."""
    if settings.estimate == "thresholded":
        everybody = np.arange(vectors.owners, dtype=np.int32)
        return everybody, partial(write_sparse, rows=kept_cells(vectors, settings.false_cells))
    squares = estimated_squares(vectors, settings.estimate)
    known = known_rows(squares)
    return known, partial(write_dense, values=vectors.values, squares=squares, known=known)


def _taken(strips: deque[list[EdgeBlock]]) -> Iterator[EdgeBlock]:
    """Yield all blocks and hold none of them back."""
    while strips:
        yield from strips.popleft()
