"""Noisy vectors in a Parquet file, one row an owner, in row groups that workers read one by one.

Guarantee: what is written was released by the owners' turnstile, or is made of such values alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sparse

from fedgroup.provider.dense_graph import DenseVectors
from fedgroup.provider.graph import Neighbours

STRIPS = 64
"""Into how many row groups a file is cut, about: a worker compares one with all later ones in one task."""

LEAST_ROWS = 1024
"""Row groups are no smaller: a task is worth being sent."""

MOST_ROWS, MOST_VALUES = 8192, 1 << 23
"""Nor is one of dense vectors larger, so that a worker holds two of them easily."""


def write_sparse(path: Path, rows: sparse.csr_array) -> int:
    """Write the cells of each row and what they hold; return the number of row groups."""
    count = int(rows.shape[0])
    size = max(LEAST_ROWS, -(-count // STRIPS))
    schema = pa.schema([("cell", pa.large_list(pa.int32())), ("value", pa.large_list(pa.from_numpy_dtype(rows.dtype)))])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, count, size):
            some = rows[start : start + size]
            begin = pa.array(some.indptr.astype(np.int64))
            lists = [pa.LargeListArray.from_arrays(begin, pa.array(held)) for held in (some.indices, some.data)]
            writer.write_table(pa.table(lists, schema=schema), row_group_size=size)
    return -(-count // size)


def write_dense(path: Path, *, values: npt.NDArray[Any], squares: npt.NDArray[np.float64], known: Neighbours) -> int:
    """Write the vectors of the owners that are known, with their squares; return the number of row groups."""
    cells = int(values.shape[1])
    size = max(1, min(max(LEAST_ROWS, -(-len(known) // STRIPS)), MOST_ROWS, MOST_VALUES // cells))
    schema = pa.schema([("vector", pa.list_(pa.from_numpy_dtype(values.dtype), cells)), ("square", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, len(known), size):
            some = known[start : start + size]
            vector = pa.FixedSizeListArray.from_arrays(pa.array(values[some].ravel()), cells)
            writer.write_table(pa.table([vector, pa.array(squares[some])], schema=schema), row_group_size=size)
    return -(-len(known) // size)


def is_sparse(file: pq.ParquetFile) -> bool:
    """Tell which of the two kinds of files this is."""
    return "cell" in file.schema_arrow.names


def rows_of(file: pq.ParquetFile, group: int) -> int:
    """Return how many rows a row group holds."""
    return int(file.metadata.row_group(group).num_rows)


def read_sparse(file: pq.ParquetFile, first: int) -> sparse.csr_array:
    """Return all rows from a row group on, in 64-bit floats."""
    table = file.read_row_groups(range(first, file.num_row_groups), use_threads=False).combine_chunks()
    lists = table["cell"].combine_chunks()
    start, cell = lists.offsets.to_numpy(), lists.values.to_numpy()
    value = table["value"].combine_chunks().values.to_numpy().astype(np.float64)
    return sparse.csr_array((value, cell, start), shape=(len(start) - 1, int(cell.max(initial=0)) + 1))


def read_dense(file: pq.ParquetFile, first: int) -> Iterator[tuple[int, DenseVectors]]:
    """Yield the row groups from one on, each with the number of its first row, counted from the first one's."""
    done = 0
    for group in range(first, file.num_row_groups):
        table = file.read_row_group(group, use_threads=False)
        values = table["vector"].combine_chunks().flatten().to_numpy().reshape(len(table), -1)
        yield done, DenseVectors.of(values, table["square"].to_numpy())
        done += len(table)
