"""Graphs made by workers have the edges of graphs made here; workers see noisy vectors, and nothing stays behind."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from fedgroup.cluster import graphs, vector_files
from fedgroup.cluster.graphs import joining
from fedgroup.errors import InvalidInput
from fedgroup.messages import NoisyVectors
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.role import joined_here
from fedgroup.provider.settings import GroupingSettings
from fedgroup.provider.similarity import estimated_squares, kept_cells

ESTIMATES: tuple[...] = ("thresholded", "raw", "debiased")


def by_workers(executor: Executor, vectors: NoisyVectors, shared: Path, **settings: Any) -> SimilarityGraph:
    return joining(executor, shared=shared)(vectors, GroupingSettings("noisy", **settings))


def same(first: SimilarityGraph, second: SimilarityGraph) -> bool:
    return np.array_equal(first.offsets, second.offsets) and np.array_equal(first.neighbours, second.neighbours)


class Copying(ThreadPoolExecutor):
    """Keeps a copy of everything that lies in the shared folder when a task is handed out."""

    def __init__(self, shared: Path, copies: Path) -> None:
        super().__init__(1)
        self.shared, self.copies = shared, copies

    def submit(self, task: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        shutil.copytree(self.shared, self.copies, dirs_exist_ok=True)
        return super().submit(task, *arguments, **named)

    def files(self) -> dict[str, Path]:
        return {path.name: path for path in self.copies.rglob("*") if path.is_file()}


@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_workers_find_the_same_edges(vectors: NoisyVectors, tmp_path: Path, estimate: str, threshold: float) -> None:
    settings = {"estimate": estimate, "threshold": threshold}
    with ThreadPoolExecutor(2) as pool:
        found = by_workers(pool, vectors, tmp_path, **settings)
    assert found.edges > 0
    assert same(found, joined_here(vectors, GroupingSettings("noisy", **settings)))


@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("rows", [1, 7, 39, 5_000])
def test_neither_strips_nor_floating_point_noise_change_anything(
    vectors: NoisyVectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, estimate: str, rows: int
) -> None:
    monkeypatch.setattr(vector_files, "LEAST_ROWS", rows)
    monkeypatch.setattr(vector_files, "STRIPS", 100_000)
    few = replace(vectors, values=vectors.values[:40] + np.linspace(-0.4, 0.4, 100))
    with ThreadPoolExecutor(2) as pool:
        found = by_workers(pool, few, tmp_path, estimate=estimate)
    assert same(found, joined_here(few, GroupingSettings("noisy", estimate=estimate)))


def test_owners_without_any_kept_cell_have_no_edges(vectors: NoisyVectors, tmp_path: Path) -> None:
    nothing = replace(vectors, values=np.zeros_like(vectors.values))
    with ThreadPoolExecutor(1) as pool:
        assert [by_workers(pool, nothing, tmp_path, estimate=estimate).edges for estimate in ESTIMATES] == [0, 0, 0]


def test_thresholded_files_hold_kept_noisy_cells_and_nothing_else(vectors: NoisyVectors, tmp_path: Path) -> None:
    (shared := tmp_path / "shared").mkdir()
    with Copying(shared, tmp_path / "copies") as pool:
        by_workers(pool, vectors, shared)
    table = pq.read_table(pool.files()["vectors.parquet"])
    kept = kept_cells(vectors, 0.1)
    assert table.column_names == ["cell", "value"]
    assert table["cell"].combine_chunks().values.to_pylist() == kept.indices.tolist()
    assert table["value"].combine_chunks().values.to_pylist() == kept.data.tolist()
    assert set(pool.files()) == {"mark", "vectors.parquet"}
    assert pool.files()["mark"].stat().st_size == 0


def test_dense_files_hold_noisy_vectors_and_nothing_else(vectors: NoisyVectors, tmp_path: Path) -> None:
    (shared := tmp_path / "shared").mkdir()
    with Copying(shared, tmp_path / "copies") as pool:
        by_workers(pool, vectors, shared, estimate="raw")
    table = pq.read_table(pool.files()["vectors.parquet"])
    assert table.column_names == ["vector", "square"]
    assert np.array_equal(np.array(table["vector"].to_pylist()), vectors.values)
    assert np.array_equal(table["square"].to_numpy(), estimated_squares(vectors, "raw"))
    assert set(pool.files()) == {"mark", "vectors.parquet"}


def test_nothing_stays_in_the_shared_folder(vectors: NoisyVectors, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        by_workers(pool, vectors, tmp_path)
    assert not list(tmp_path.iterdir())


def test_nothing_stays_after_an_error_either(
    vectors: NoisyVectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(graphs, "strip_edges", fail)
    with ThreadPoolExecutor(2) as pool, pytest.raises(ZeroDivisionError):
        by_workers(pool, vectors, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(InvalidInput, match="no folder can be made"):
        joining(pool, shared=tmp_path / "nowhere")


def test_a_folder_that_workers_do_not_see_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "sees", lambda path: False)
    with ThreadPoolExecutor(1) as pool, pytest.raises(InvalidInput, match="do not see"):
        joining(pool, shared=tmp_path)
    assert not list(tmp_path.iterdir())


def test_workers_that_cannot_work_are_refused(tmp_path: Path) -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(InvalidInput, match="cannot run fedgroup"):
        joining(pool, shared=tmp_path)


def test_a_shared_folder_without_workers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--cluster"):
        joining(None, shared=tmp_path)
