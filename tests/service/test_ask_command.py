"""`fedgroup ask` against a service on a port: options, environment, the file of `fedgroup up`, exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fedgroup.cli.main import main
from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.privacy.accounting import Accounting
from fedgroup.rho import Delta

Running = Callable[..., Any]
WHERE = ("--near", "5,5", "--within", "3.2", "--epsilon", "1")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep" / "folder").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "folder")
    for name in ("FEDGROUP_URL", "FEDGROUP_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def run(*words: object, command: str = "ask") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fedgroup", command, *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def up_file(folder: Path, up: Any, *, mode: int = 0o600) -> Path:
    path = folder / ".fedgroup" / "up.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"url": up.url, "token": up.here.tokens["ann"], "ca": None}))
    path.chmod(mode)
    return path


def test_the_federation_of_this_folder_or_one_above_is_asked(running: Running, ask: Any, tmp_path: Path) -> None:
    with running(owners=4) as up:
        up_file(tmp_path, up)
        code, out, err = ask("count", *WHERE, "--json")
        assert code == 0, err
        assert json.loads(out)["heard"] == 4
        code, out, _ = ask("avg", *WHERE, "--attribute", "fare", "--clip", 4)
        assert (code, "95 %" in out) == (0, True)
        code, out, _ = ask(
            "count", "--rectangle", "0,0,10,10", "--epsilon", 0.5, "--method", "mpc", "--dry-run", "--json"
        )
        assert (code, json.loads(out)["dry_run"], json.loads(out)["method"]) == (0, True, "mpc")
        assert "the answer of" in ask("count", *WHERE)[1]
        assert ask("count", *WHERE, "--fresh", "--key", "one")[0] == 0
        assert ask("count", *WHERE, "--fresh", "--key", "one")[0] == 0
        assert up.here.spent() == Epsilon.of(3)


def test_a_map_is_asked_for_written_and_paid_once(running: Running, ask: Any, tmp_path: Path) -> None:
    with running(owners=3) as up:
        up_file(tmp_path, up)
        bins = ("map", "--grid", "4x4", "--kind", "people", "--epsilon", "1", "--method", "dp")
        code, out, err = ask(*bins, "--out", tmp_path / "map.geojson", "--json")
        assert code == 0, err
        assert (json.loads(out)["shape"], len(json.loads(out)["values"])) == ([16, 1, 1], 16)
        features = json.loads((tmp_path / "map.geojson").read_text())["features"]
        assert [each["properties"]["value"] for each in features] == json.loads(out)["values"]
        assert "free" in ask(*bins)[1]
        code, out, _ = ask("map", "--grid", "4x4", "--by", "fare=2,other", "--epsilon", 1, "--dry-run", "--json")
        assert (code, json.loads(out)["dry_run"]) == (0, True)
        assert ask("map", "--grid", "4x4", "--out", tmp_path / "map.xlsx", "--epsilon", 1)[0] == 2
        assert ask("map", "--grid", "400x400", "--epsilon", 1)[0] == 2
        assert ask("map", "--epsilon", 1)[0] == 2
        assert up.here.spent() == Epsilon.of(1)


def test_a_federation_is_named_by_options_or_by_the_environment(
    running: Running, ask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token_file = tmp_path / "token"
    with running(owners=2) as up:
        token_file.write_text(up.here.tokens["bob"] + "\n")
        assert ask("count", *WHERE, "--url", up.url, "--token-file", token_file)[0] == 0
        monkeypatch.setenv("FEDGROUP_URL", up.url)
        monkeypatch.setenv("FEDGROUP_TOKEN", up.here.tokens["ann"])
        assert ask("count", *WHERE, "--fresh")[0] == 0
        assert (up.here.spent("ann"), up.here.spent("bob")) == (Epsilon.of(1), Epsilon.of(1))


def test_the_file_of_up_is_a_token_file_with_its_address(running: Running, ask: Any, tmp_path: Path) -> None:
    with running(owners=2) as up:
        path = up_file(tmp_path, up)
        elsewhere = path.rename(tmp_path / "up.json")
        assert ask("count", *WHERE, "--token-file", elsewhere)[0] == 0
        code, _, err = ask("count", *WHERE, "--token-file", elsewhere, "--url", "http://127.0.0.1:1")
        assert (code, f"is for {up.url} only" in err) == (2, True)
        copied = tmp_path / "token.json"
        copied.write_text(elsewhere.read_text())
        code, _, err = ask("count", *WHERE, "--url", up.url, "--token-file", copied)
        assert (code, "holds no token: that is one line without spaces" in err) == (2, True)
        elsewhere.unlink()
        code, _, err = ask("count", *WHERE, "--token-file", elsewhere)
        assert (code, "there is no file" in err) == (2, True)


@pytest.mark.parametrize("asked", [("count", *WHERE[:4]), ("map", "--grid", "4x4")])
def test_what_owners_policies_do_not_allow_is_refused_and_not_for_later(
    running: Running, ask: Any, tmp_path: Path, asked: tuple[str, ...]
) -> None:
    with running(owners=2) as up:
        up_file(tmp_path, up)
        code, out, err = ask(*asked, "--epsilon", 60, "--method", "dp")
        assert (code, out) == (3, "")
        told = " ".join(err.split())
        assert "2 owners refused: it costs more at once than the owner's policy allows" in told
        assert "later" not in told
        assert up.here.spent() == Epsilon(0)


def test_exit_codes_are_those_of_all_commands(running: Running, ask: Any, tmp_path: Path) -> None:
    with running(owners=1, allowance=0.5) as up:
        up_file(tmp_path, up)
        assert ask("count", *WHERE)[0] == 3
        assert ask("count", "--near", "99,99", "--within", 1, "--epsilon", 0.1)[0] == 2
        assert ask("count", "--near", "5,5", "--epsilon", 0.1)[0] == 2
        assert ask("count", *WHERE, "--method", "exact")[0] == 2
        up.here.city.owners["owner-0"].silo.broken = True
        assert ask("count", *WHERE[:4], "--epsilon", 0.1)[0] == 75
    code, out, err = ask("count", *WHERE)
    assert (code, out, err.count("\n")) == (75, "", 1)


def test_why_owners_refuse_is_told(running: Running, ask: Any, tmp_path: Path) -> None:
    with running(owners=3) as up:
        up_file(tmp_path, up)
        up.here.city.owners["owner-0"].ledger.set_cap(Epsilon.of(0.5))
        code, out, err = ask("count", *WHERE)
        assert (
            code,
            "2 of 3 owners were heard" in out,
            "1 owner refused: the owner's budget does not cover it" in err,
        ) == (0, True, True)
        code, out, _ = ask("count", *WHERE, "--json")
        assert (json.loads(out)["refused"], json.loads(out)["missing"]) == ({"budget": 1}, 1)
        up.here.city.break_silos()
        code, out, err = ask("count", *WHERE, "--fresh")
        assert (code, out) == (75, "")
        assert "no owner answered; 3 owners refused: the owner's database does not answer" in " ".join(err.split())


def spend_all(up: Any, *owners: str) -> None:
    for name in owners:
        up.here.city.owners[name].ledger.set_cap(Epsilon.of(0.5))


def test_a_question_that_owners_budgets_do_not_cover_exits_3(running: Running, ask: Any, tmp_path: Path) -> None:
    with running(owners=3) as up:
        up_file(tmp_path, up)
        spend_all(up, "owner-0", "owner-1")
        assert ask("count", *WHERE, "--method", "dp")[0] == 0  # one is heard, and a note tells of the others
        spend_all(up, "owner-2")
        code, out, err = ask("count", *WHERE, "--method", "dp", "--fresh", "--key", "spent")
        assert (code, out) == (3, "")
        assert "3 owners refused: the owner's budget does not cover it; nothing was charged" in " ".join(err.split())
        told = " ".join(err.split())
        assert "what owners have left is unknown: no owner tells" in told
        assert "budgets do not renew themselves" in told
        assert "raises its cap or begins an epoch (fedgroup ledger FILE --new-epoch)" in told
        assert up.here.spent() == Epsilon.of(1)


def test_a_masked_group_that_budgets_leave_too_small_exits_3(running: Running, ask: Any, tmp_path: Path) -> None:
    with running(owners=4) as up:
        up_file(tmp_path, up)
        assert ask("count", *WHERE, "--method", "mpc")[0] == 0
        spend_all(up, "owner-0", "owner-1")
        assert ask("count", *WHERE, "--method", "mpc", "--fresh")[0] == 3


def test_budgets_are_not_to_blame_where_more_owners_fail_otherwise(running: Running, ask: Any, tmp_path: Path) -> None:
    with running(owners=3) as up:
        up_file(tmp_path, up)
        up.here.city.break_silos()
        spend_all(up, "owner-0")
        up.here.city.owners["owner-0"].silo.broken = False
        assert ask("count", *WHERE, "--method", "dp")[0] == 75
        spend_all(up, "owner-1", "owner-2")
        for name in ("owner-1", "owner-2"):
            up.here.city.owners[name].silo.broken = False
        assert ask("count", *WHERE, "--method", "dp")[0] == 3


def test_a_dry_run_tells_what_is_known_of_owners_budgets(running: Running, ask: Any, tmp_path: Path) -> None:
    with running(owners=3) as up:
        up_file(tmp_path, up)
        code, out, _ = ask("count", *WHERE, "--method", "dp", "--dry-run")
        assert (code, "cost 1, 100 is left of your allowance" in out) == (0, True)
        assert "what owners have left is unknown: no owner tells\n" in out
        spend_all(up, "owner-0", "owner-1")
        ask("count", *WHERE, "--method", "dp")
        told = json.loads(ask("count", *WHERE, "--method", "dp", "--dry-run", "--json")[1])["owners_left"]
        assert told == {"telling": 0, "unknown": 3, "lowest": None, "median": None, "refusing": 2}
        out = ask("count", *WHERE, "--method", "dp", "--dry-run")[1]
        assert "2 of 3 refused this price before, for their budgets" in " ".join(out.split())
        cheaper = ("--near", "5,5", "--within", "3.2", "--epsilon", "0.4")
        assert "refused" not in ask("count", *cheaper, "--method", "dp", "--dry-run")[1]


def test_a_dry_run_and_a_refusal_tell_what_owners_let_be_told(running: Running, ask: Any, tmp_path: Path) -> None:
    with running(owners=3) as up:
        up_file(tmp_path, up)
        for name, cap in (("owner-0", 2.5), ("owner-1", 4.5)):
            owner = up.here.city.owners[name]
            owner.node.policy = replace(owner.node.policy, tell_left=True)
            owner.ledger.set_cap(Epsilon.of(cap))
        assert ask("count", *WHERE, "--method", "dp")[0] == 0
        out = " ".join(ask("count", *WHERE, "--method", "dp", "--dry-run")[1].split())
        assert "owners have 1.5 left at least, 2.5 in the middle: 2 tell, 1 do not" in out
        up.here.city.owners["owner-1"].ledger.begin_epoch()
        out = " ".join(ask("count", *WHERE, "--method", "dp", "--dry-run")[1].split())
        assert "owners have 1.5 left at least, 3 in the middle" in out
        spend_all(up, *up.here.city.owners)
        code, _, err = ask("count", *WHERE, "--method", "dp", "--fresh")
        assert (code, "owners have" in err) == (3, True)


def test_notes_that_come_with_every_answer_stay_in_the_json(running: Running, ask: Any, tmp_path: Path) -> None:
    with running(owners=1) as up:
        up_file(tmp_path, up)
        code, out, err = ask("count", *WHERE)
        assert (code, err) == (0, "")
        assert "1 group with 1 noise term for 1 owner" in out
        assert "records outside the domain are not counted" in json.loads(ask("count", *WHERE, "--json")[1])["notes"]


def test_attributes_that_there_are_not_are_refused_with_those_that_there_are(
    running: Running, ask: Any, tmp_path: Path
) -> None:
    with running(owners=1, attributes=("fare",)) as up:
        up_file(tmp_path, up)
        code, _, err = ask("avg", *WHERE, "--attribute", "tip", "--clip", 4)
        assert (code, "can be asked about: fare" in err) == (2, True)
        assert up.here.spent() == Epsilon(0)


def test_without_a_federation_or_a_token_nothing_is_sent(ask: Any, tmp_path: Path) -> None:
    assert ask("count", *WHERE)[0] == 2
    assert ask("count", *WHERE, "--url", "http://127.0.0.1:1")[0] == 2
    (tmp_path / "empty").touch()
    assert ask("count", *WHERE, "--url", "http://127.0.0.1:1", "--token-file", tmp_path / "empty")[0] == 2
    assert ask("count", *WHERE, "--url", "http://127.0.0.1:1", "--token-file", tmp_path / "none")[0] == 2


@pytest.mark.skipif(sys.platform == "win32", reason="files have no modes there")
def test_a_file_that_others_may_read_or_that_says_nothing_is_refused(ask: Any, tmp_path: Path) -> None:
    path = tmp_path / ".fedgroup" / "up.json"
    path.parent.mkdir()
    path.write_text('{"url": "http://127.0.0.1:1", "token": "x"}')
    path.chmod(0o644)
    code, _, err = ask("count", *WHERE)
    assert (code, "0600" in err) == (2, True)
    path.chmod(0o600)
    path.write_text("[]")
    assert ask("count", *WHERE)[0] == 2


def test_a_map_is_published_once_and_read_for_nothing(running: Running, ask: Any, tmp_path: Path) -> None:
    with running(owners=3) as up:
        up_file(tmp_path, up)
        code, _, err = ask("read", "--near", "3,3", "--within", "2")
        assert (code, "published" in err) == (2, True)
        kept = tmp_path / "map.gpkg"
        words = ("--epsilon", "40", "--records-guess", "24", "--method", "dp")
        code, out, err = ask("publish", *words, "--dry-run", "--json")
        assert (code, json.loads(out)["charge"], up.here.spent()) == (0, 40, NOTHING), err
        code, out, err = ask("live", *words, "--budget", "3", command="publish")
        assert (code, "fedgroup ask publish --help" in " ".join(err.split()), up.here.spent()) == (2, True, NOTHING), (
            err
        )
        code, out, err = ask("live", *words, "--out", kept, command="publish")
        assert code == 0, err
        assert "fedgroup ask read" in out
        assert kept.exists()
        code, out, err = ask("read", "--near", "3,3", "--within", "2", "--json")
        assert code == 0, err
        told = json.loads(out)
        assert (told["free"], told["charged"]) == (True, 0.0)
        assert told["interval"][0] <= told["value"] <= told["interval"][1]
        assert json.loads(ask("read", "--top", "2", "--json")[1])["top"]
        assert up.here.spent() == Epsilon.of(40)
        assert up.here.owners_spent() == {Epsilon.of(40)}


def test_a_map_is_published_for_a_rho(running: Running, ask: Any, tmp_path: Path) -> None:
    with running(owners=3, accounting=Accounting(Delta.of("1e-6"))) as up:
        up_file(tmp_path, up)
        words = ("--rho", "2", "--records-guess", "24", "--method", "dp", "--most-cells", "256")
        code, out, err = ask("publish", *words, "--dry-run", "--json")
        assert (code, 1.99 < json.loads(out)["rho"] <= 2, up.here.spent()) == (0, True, NOTHING), err
        code, told, err = ask("publish", *words, "--json")
        assert (code, json.loads(told)["rho"], json.loads(told)["delta"]) == (0, json.loads(out)["rho"], 0.0), err
        code, out, err = ask("live", *words, command="publish")
        assert (code, "(rho 2), once for all" in " ".join(out.split())) == (0, True), err
        for wrong in (("publish", *words, "--epsilon", "1"), ("publish", "--records-guess", "24")):
            assert ask(*wrong)[0] == 2
