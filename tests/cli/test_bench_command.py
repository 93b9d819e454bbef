"""`fedgroup bench`."""

from __future__ import annotations

import pytest

from fedgroup.lab.bench import NAMES

FIELDS = {"case", "ours_s", "reference", "reference_s", "ratio", "peak_mb"}


@pytest.fixture(autouse=True)
def without_spu(monkeypatch):
    monkeypatch.delenv("FEDGROUP_SPU_PYTHON", raising=False)


@pytest.fixture
def without_gpu(monkeypatch):
    monkeypatch.setattr("fedgroup.cli.bench.obstacle", lambda name: "no GPU" if name == "gpu" else None)


@pytest.fixture
def at_once(monkeypatch):
    """Every bench tells one case and measures nothing."""
    from fedgroup.lab.bench.measuring import BenchReport, BenchRow

    row = BenchRow("a case", ours_s=0.5, peak_mb=1, reference="slow", reference_s=2, more={"extrapolated": True})
    monkeypatch.setattr(
        "fedgroup.cli.bench.run", lambda name, quick: BenchReport(name, quick, 2, {"numpy": "2"}, (row,))
    )


def test_secure_sum_names_what_is_extrapolated(fedgroup):
    facts = fedgroup("bench", "secure-sum", "--quick", "--json").json
    assert (facts["name"], facts["quick"]) == ("secure-sum", True)
    assert facts["cores"] >= 1
    assert "numpy" in facts["versions"]
    assert [row["owners"] for row in facts["rows"]] == [200, 20_000]
    for row in facts["rows"]:
        assert set(row) > FIELDS | {"setup_s", "bytes_per_owner"}
        assert "extrapolated from 50 owners" in row["reference"]
        assert row["ratio"] == pytest.approx(row["reference_s"] / row["ours_s"])


def test_secure_similarity_tells_pairs_and_a_session(fedgroup, monkeypatch):
    monkeypatch.setattr("fedgroup.lab.bench.secure_similarity.CASES", ((100, 4), (25, 8)))
    facts = fedgroup("bench", "secure-similarity", "--quick", "--json").json
    *pairs, session = facts["rows"]
    assert [(row["cells"], row["width"]) for row in pairs] == [(100, 4), (25, 8)]
    for row in pairs:
        assert set(row) > FIELDS | {"pairs_per_s", "first_us", "second_us", "bytes_per_pair"}
        assert row["reference"] == "the same with a fresh session for every comparison"
        # the transfers' corrections, the products' and the gates' sizes are the protocol's
        payload = row["cells"] * row["width"] * 8 + 32 * 4 + 31 * 32
        assert payload <= row["bytes_per_pair"] < payload + 10
    assert session["bytes"] > 128 * 32
    assert session["reference"] is None


def test_people_read_a_table_for_each_bench(fedgroup, monkeypatch, at_once):
    monkeypatch.setattr("fedgroup.cli.bench.obstacle", lambda name: None)
    ran = fedgroup("bench")
    assert ran.code == 0
    assert "secure-similarity: 2 cores; numpy 2\n" in ran.out
    assert "secure-sum: 2 cores" in ran.out
    assert ran.out.count("a case") == len(NAMES)
    several = fedgroup("bench", "secure-sum", "secure-similarity", "--json").json
    assert [bench["name"] for bench in several["benches"]] == ["secure-sum", "secure-similarity"]


def test_an_unknown_bench_is_refused_before_anything_is_measured(fedgroup):
    ran = fedgroup("bench", "secure-sum", "nonsense")
    assert (ran.code, ran.out) == (2, "")
    assert "secure-similarity, secure-sum" in ran.err


@pytest.mark.parametrize("arguments", [(), ("--quick",)])
def test_all_benches_leave_out_the_one_that_cannot_run_here(fedgroup, without_gpu, at_once, arguments):
    ran = fedgroup("bench", *arguments)
    assert (ran.code, ran.err) == (0, "note: the bench gpu is left out: no GPU\n")
    assert ran.out.count("a case") == len(NAMES) - 1


def test_a_bench_asked_for_by_name_that_cannot_run_here_is_refused_before_anything_is_measured(fedgroup, without_gpu):
    ran = fedgroup("bench", "secure-sum", "gpu")
    assert (ran.code, ran.out, ran.err) == (2, "", "fedgroup: the bench gpu cannot run here: no GPU\n")


def test_a_quick_bench_that_cannot_run_here_is_no_failure(fedgroup, without_gpu, at_once):
    assert fedgroup("bench", "gpu", "--quick", "--json").json == {"benches": []}
    several = fedgroup("bench", "gpu", "secure-sum", "--quick", "--json").json
    assert [bench["name"] for bench in several["benches"]] == ["secure-sum"]
