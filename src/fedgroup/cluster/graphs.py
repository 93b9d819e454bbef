"""Similarity graphs whose blocks are computed by an executor's workers: the same edges as without."""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from fedgroup.cluster.ordered import in_order
from fedgroup.cluster.vector_files import is_sparse, read_dense, read_sparse, rows_of, write_dense, write_sparse
from fedgroup.errors import InvalidInput
from fedgroup.messages import NoisyVectors
from fedgroup.provider.dense_graph import dense_strip, known_rows
from fedgroup.provider.graph import EdgeBlock, Neighbours, SimilarityGraph
from fedgroup.provider.role import Join, joined_here
from fedgroup.provider.settings import GroupingSettings
from fedgroup.provider.similarity import estimated_squares, kept_cells
from fedgroup.provider.sparse_graph import sparse_blocks


def sees(path: str) -> bool:
    """Tell whether a file is seen from here."""
    return Path(path).exists()


def strip_edges(path: str, threshold: float, group: int) -> list[EdgeBlock]:
    """Return the edges from the rows of one row group to each other and to all later rows, by their numbers."""
    with pq.ParquetFile(path) as file:
        first = sum(rows_of(file, earlier) for earlier in range(group))
        blocks = _sparse_strip(file, threshold, group) if is_sparse(file) else _dense_strip(file, threshold, group)
    return [EdgeBlock(block.earlier + first, block.degrees, block.later + first) for block in blocks]


def _sparse_strip(file: pq.ParquetFile, threshold: float, group: int) -> list[EdgeBlock]:
    return list(sparse_blocks(read_sparse(file, group), threshold=threshold, until=rows_of(file, group)))


def _dense_strip(file: pq.ParquetFile, threshold: float, group: int) -> list[EdgeBlock]:
    groups = read_dense(file, group)
    own = next(groups)
    return dense_strip(own[1], chain([own], groups), threshold=threshold)


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
