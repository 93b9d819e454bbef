"""What a worker does: read vectors from a file and find the similar pairs of some of its rows."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pyarrow.parquet as pq

from fedgroup.cluster.vector_files import is_sparse, read_dense, read_sparse, rows_of
from fedgroup.provider.dense_graph import dense_strip
from fedgroup.provider.graph import EdgeBlock
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
