"""`--cluster`: the same results, made by workers."""

from __future__ import annotations

import sys

import pyarrow.parquet as pq
import pytest

from fedgroup.data import synthetic

NOISY = ("--graph", "noisy", "--epsilon", 1)


def test_a_local_cluster_makes_the_same_groups(fedgroup, city, tmp_path):
    (shared := tmp_path / "shared").mkdir()
    plans = [tmp_path / name for name in ("here.parquet", "there.parquet")]
    seeded = ("group", city, *NOISY, "--seed", 3, "--json", "--out")
    here = fedgroup(*seeded, plans[0]).json
    there = fedgroup(*seeded, plans[1], "--cluster", "local", "--shared", shared).json
    assert there | {"seconds": 0} == here | {"seconds": 0}
    assert pq.read_table(plans[0]).equals(pq.read_table(plans[1]))
    assert not list(shared.iterdir())


def test_a_local_cluster_writes_the_same_city(fedgroup, tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic, "_OWNERS_AT_ONCE", 30)
    files = [tmp_path / name for name in ("here.parquet", "there.parquet")]
    for file, cluster in zip(files, ((), ("--cluster", "local")), strict=True):
        assert fedgroup("synthesize", file, "--owners", 100, "--seed", 3, *cluster).code == 0
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("graph", ["topcell", "exact", "hybrid", "secure"])
def test_a_graph_without_blocks_is_refused_and_costs_nothing(fedgroup, city, ledger, spent, graph):
    ask = ("group", city, "--graph", graph, "--epsilon", 1, "--evaluate", "--cluster", "local", "--ledger", ledger)
    ran = fedgroup(*ask)
    assert (ran.code, ran.out, spent()) == (2, "", 0)
    assert f"the graph {graph} has no blocks" in ran.err


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (("--cluster", "elsewhere"), "a cluster is local or a Dask scheduler's address"),
        (("--shared", "."), "--shared goes with --cluster"),
    ],
)
def test_what_makes_no_sense_is_refused_and_costs_nothing(fedgroup, city, ledger, spent, wrong, told):
    ran = fedgroup("group", city, *NOISY, "--ledger", ledger, *wrong)
    assert (ran.code, ran.out, spent()) == (2, "", 0)
    assert told in ran.err


@pytest.mark.parametrize("command", ["group", "synthesize"])
def test_without_dask_the_extra_is_named(fedgroup, city, tmp_path, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "distributed", None)
    what = ("group", city, *NOISY) if command == "group" else ("synthesize", tmp_path / "city.parquet")
    ran = fedgroup(*what, "--cluster", "local")
    assert (ran.code, ran.out) == (2, "")
    assert "pip install 'fedgroup[cluster]'" in ran.err
