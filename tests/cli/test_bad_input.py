"""Bad input gets one clear sentence on stderr, exit code 2, and costs nothing."""

from __future__ import annotations

import pytest

CIRCLE = "--near 10000,10000 --within 3000"
FARE = "--attribute fare --clip 50"

FILES = {
    "nan.csv": "owner,x,y\n1,2,3\n2,NaN,4\n",
    "infinite.csv": "owner,x,y\n1,2,3\n2,inf,4\n",
    "words.csv": "owner,x,y\n1,here,3\n",
    "empty.csv": "",
    "header.csv": "owner,x,y\n",
    "headless.csv": "1,2,3\n4,5,6\n",
    "corrupt.parquet": "PAR1 and then nonsense",
    "kind.xyz": "who knows",
    "broken.geojson": '{"type": "Polygon"',
    "point.geojson": '{"type": "Point", "coordinates": [1, 2]}',
    "bowtie.geojson": '{"type": "Polygon", "coordinates": [[[0,0],[9,9],[9,0],[0,9],[0,0]]]}',
    "limits.csv": "owner,limit\n1,0\n",
    "strangers.csv": "owner,limit\n1,3\n999,3\n",
}

DATA = [
    "nan.csv", "infinite.csv", "words.csv", "empty.csv", "header.csv", "headless.csv", "corrupt.parquet", "kind.xyz",
    "missing.parquet", "missing.csv", ".",
]  # fmt: skip

QUESTIONS = [
    "--near 1,1 --within -3",
    "--near 1,1 --within 0",
    "--near 1,1 --within nan",
    "--near 1,1 --within inf",
    "--near 1,1 --within wide",
    "--near nan,1 --within 3",
    "--near 1 --within 3",
    "--near 1,1",
    "--within 3",
    "",
    f"{CIRCLE} --rectangle 0,0,9,9",
    "--near 90000,90000 --within 3",
    "--rectangle 20000,0,30000,9",
    "--rectangle 9,0,1,9",
    "--rectangle 0,0,9",
    "--polygon broken.geojson",
    "--polygon point.geojson",
    "--polygon bowtie.geojson",
    "--polygon missing.geojson",
    "--polygon .",
    f"{CIRCLE} --epsilon 0",
    f"{CIRCLE} --epsilon -1",
    f"{CIRCLE} --epsilon nan",
    f"{CIRCLE} --epsilon inf",
    f"{CIRCLE} --epsilon 1e99",
    f"{CIRCLE} --epsilon much",
    f"{CIRCLE} --x nowhere",
    f"{CIRCLE} --owner nobody",
    f"{CIRCLE} --time never",
    f"{CIRCLE} --owner-list missing.csv",
    f"{CIRCLE} --method magic",
    f"{CIRCLE} --method fedgroup",
    f"{CIRCLE} --plan missing.parquet",
    f"{CIRCLE} --plan corrupt.parquet",
    f"{CIRCLE} --plan CITY",
    f"{CIRCLE} --domain 1,2,3",
    f"{CIRCLE} --domain a,b,c,d",
    f"{CIRCLE} --domain 9,9,1,1",
    f"{CIRCLE} --domain 0,0,inf,9",
    f"{CIRCLE} --since 2026-02-01 --until 2026-01-01",
    f"{CIRCLE} --since whenever",
    f"{CIRCLE} --budget 0",
    f"{CIRCLE} --budget -2",
    f"{CIRCLE} --neighbours friendly",
    f"{CIRCLE} --unit country",
    f"{CIRCLE} --unit owner",
    f"{CIRCLE} --unit owner --max-records 0",
    f"{CIRCLE} --max-records 5",
    f"{CIRCLE} --seed -1",
    f"{CIRCLE} --seed 1.5",
    f"{CIRCLE} --float-laplace",
    f"{CIRCLE} --repeat 0",
    f"{CIRCLE} --repeat -1",
    f"{CIRCLE} --owners 0",
    f"{CIRCLE} --owners 61",
    f"{CIRCLE} --owners 5 --seed -1",
    f"{CIRCLE} --min-records 5",
    f"{CIRCLE} --method exact",
    f"{CIRCLE} --method exact --seed 1",
    f"{CIRCLE} --method exact --evaluate --dry-run",
    f"{CIRCLE} --epsilom 1",
    f"{CIRCLE} surplus",
]

MEASURES = [
    "--attribute nothing --clip 50",
    "--attribute fare --clip 0",
    "--attribute fare --clip -5",
    "--attribute fare --clip nan",
    "--attribute fare",
    "--clip 50",
    f"{FARE} --resolution 0",
    f"{FARE} --resolution -1",
    f"{FARE} --resolution 1e-12",
    f"{FARE} --resolution 100",
]

GROUPINGS = [
    "--grid 0x5",
    "--grid 5",
    "--grid fine",
    "--grid 99999x99999",
    "--epsilon 0",
    "--epsilon -1",
    "--graph magic",
    "--graph exact",
    "--graph exact --seed 1",
    "--estimate magic --graph noisy",
    "--graph noisy --algorithm magic",
    "--algorithm greedy",
    "--threshold 1",
    "--threshold -1 --graph noisy",
    "--threshold nan",
    "--false-cells 0",
    "--false-cells nan",
    "--max-group-size 0",
    "--max-group-size -3",
    "--owner-limits limits.csv",
    "--owner-limits strangers.csv",
    "--owner-limits missing.csv",
    "--owner-limits CITY",
    "--leftovers magic",
    "--graph hybrid --lower 0.9",
    "--graph secure --comparisons 5",
    "--leftovers cohort --cohort-size 1",
    "--out .",
    "--out nowhere/plan.parquet",
    "--seed -1",
]


@pytest.fixture
def refused(fedgroup, city, ledger, spent, tmp_path, monkeypatch):
    """Run a command that must be refused, in a folder of bad files, with a ledger."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)

    def run(command: str, data: object, words: str) -> str:
        given = [city if word == "CITY" else word for word in words.split()]
        epsilon = () if "--epsilon" in given else ("--epsilon", "0.3")
        ran = fedgroup(command, data, "--ledger", ledger, *epsilon, *given)
        assert (ran.code, ran.out, spent()) == (2, "", 0), ran
        assert ran.err.startswith("fedgroup: ")
        assert ran.err.count("\n") == 1
        assert "Traceback" not in ran.err
        return ran.err

    return run


@pytest.mark.parametrize("data", DATA)
def test_bad_data_is_refused(refused, data):
    refused("count", data, "--domain 0,0,10,10 --near 5,5 --within 1")


@pytest.mark.parametrize("words", QUESTIONS)
def test_bad_questions_are_refused(refused, city, words):
    refused("count", city, words)


@pytest.mark.parametrize("words", MEASURES)
@pytest.mark.parametrize("command", ["sum", "avg"])
def test_bad_measures_are_refused(refused, city, command, words):
    refused(command, city, f"{CIRCLE} {words}")


@pytest.mark.parametrize("words", GROUPINGS)
def test_bad_groupings_are_refused(refused, city, words):
    refused("group", city, words)


def test_a_question_without_epsilon_is_refused(fedgroup, city):
    ran = fedgroup("count", city, *CIRCLE.split())
    assert (ran.code, ran.out) == (2, "")
    assert "epsilon" in ran.err


def test_private_values_are_not_repeated(refused):
    assert "here" not in refused("count", "words.csv", "--domain 0,0,10,10 --near 5,5 --within 1")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("nonsense",), "'fedgroup --help'"),
        (("count",), "'fedgroup count --help'"),
        (("count", "--nonsense"), "'fedgroup count --help'"),
        (("index", "a"), "'fedgroup index --help'"),
    ],
)
def test_misuse_names_the_help_that_helps(fedgroup, words, hint):
    ran = fedgroup(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert hint in ran.err


@pytest.mark.parametrize(
    ("failure", "code"),
    [(KeyboardInterrupt(), 130), (MemoryError(), 2), (OSError(28, "No space left on device"), 75)],
)
def test_what_goes_wrong_on_the_way_is_told_in_one_line(fedgroup, city, monkeypatch, failure, code):
    def fail(*_, **__):
        raise failure

    monkeypatch.setattr("fedgroup.data.files.read", fail)
    ran = fedgroup("count", city, *CIRCLE.split(), "--epsilon", 1)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert ran.err.startswith("fedgroup: ")
