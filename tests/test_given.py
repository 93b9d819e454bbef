"""Wrong types get one clear sentence at every front door, numpy's scalars are numbers, and nothing long is repeated."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fedgroup as fg
from fedgroup.given import is_list, is_number, number, one_of, path_like, whole_number, written, yes_or_no

DOMAIN = fg.Box(0, 0, 10, 10)
CIRCLE = fg.Circle(5, 5, 4)
EVERYTHING: dict[str, Any] = {
    "None": None, "flag": True, "text": "x", "bytes": b"x", "number": 1.5, "NaN": float("nan"),
    "complex": 1j, "tuple": (0, 0, 10, 10), "list": [1, 2, 3], "dict": {"a": 1}, "object": object(), "type": int,
    "path": Path("plan.parquet"), "array": np.arange(4.0), "cell": np.array(3.0), "frame": pd.DataFrame({"a": [1]}),
    "NA": pd.NA, "NaT": pd.NaT, "Decimal": Decimal("1.5"), "circle": CIRCLE, "box": DOMAIN,
}  # fmt: skip
COLUMNS: dict[str, Any] = {"owner": [1, 2], "x": [5.0, 6.0], "y": [5.0, 6.0], "attributes": {"fare": [1.0, 2.0]}}


def records(**changes: Any) -> fg.Records:
    return fg.Records(**COLUMNS | changes)


def federation(**settings: Any) -> fg.Federation:
    given: dict[str, Any] = {"records": records(), "domain": DOMAIN} | settings
    return fg.Federation(**given)


def asked(**changes: Any) -> fg.Answer:
    details: dict[str, Any] = {"kind": "avg", "asked": CIRCLE, "epsilon": 1, "attribute": "fare", "clip": 10} | changes
    return federation(seed=1).ask(details.pop("kind"), details.pop("asked"), **details)


def framed(**changes: Any) -> fg.Records:
    frame = pd.DataFrame({"owner": [1, 2], "x": [5.0, 6.0], "y": [5.0, 6.0]})
    return fg.Records.from_frame(**{"frame": frame} | changes)


def grouped(**settings: Any) -> fg.Plan:
    return federation(seed=1).group(**{"epsilon": 1, "graph": "noisy"} | settings)


def judged(**changes: Any) -> Any:
    one = federation(seed=1)
    return one.judge(**{"plan": one.group(epsilon=1), "threshold": 0.5} | changes)


DOORS: list[tuple[Any, str, set[str]]] = [
    *((federation, name, {"None"} | more) for name, more in {
        "domain": {"box"}, "budget": {"number", "cell", "Decimal"}, "lonlat": {"flag"}, "seed": set(),
        "noise": set(), "max_records": set(),
    }.items()),
    *((federation, name, set()) for name in ("records", "neighbours", "unit")),
    (federation, "evaluation", {"flag"}),
    *((asked, name, {"None"}) for name in (
        "method", "plan", "in_group", "cohort_size", "colluders", "repeat",
    )),
    *((asked, name, {"None", "flag"}) for name in ("signed", "fresh", "evaluate")),
    (asked, "dropouts", {"None", "number", "Decimal"}), (asked, "kind", set()), (asked, "asked", {"circle"}),
    (asked, "attribute", set()),
    (asked, "epsilon", {"number", "cell", "Decimal"}), (asked, "clip", {"number", "Decimal"}),
    (asked, "resolution", {"None", "number", "Decimal"}), (asked, "since", {"None"}),
    *((grouped, name, {"None"}) for name in (
        "algorithm", "max_group_size", "owner_limits", "lower", "upper", "comparisons", "executor", "shared",
    )),
    *((grouped, name, set()) for name in ("graph", "estimate", "grid", "threshold", "leftovers", "cohort_size")),
    (grouped, "false_cells", {"number", "Decimal"}), (grouped, "misplaced", set()),
    (grouped, "epsilon", {"number", "cell", "Decimal"}),
    (judged, "plan", set()), (judged, "threshold", {"number", "Decimal"}),
    *((records, name, set()) for name in ("owner", "x", "y", "attributes")),
    (records, "time", {"None"}), (records, "lonlat", {"flag"}), (records, "domain", {"None", "box"}),
    (framed, "frame", set()), (framed, "planar", {"flag"}),
    *((framed, name, {"None"} | more) for name, more in {"owner": {"text"}, "x": {"text"}, "time": {"text"}}.items()),
]  # fmt: skip


@pytest.mark.parametrize(("door", "name", "right"), DOORS, ids=lambda part: getattr(part, "__name__", None))
def test_a_wrong_type_gets_one_clear_sentence(door: Any, name: str, right: set[str]) -> None:
    for wrong in EVERYTHING.keys() - right:
        with pytest.raises(fg.InvalidInput) as refusal:
            door(**{name: EVERYTHING[wrong]})
        assert len(str(refusal.value)) < 250
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("wrong", sorted(set(EVERYTHING) - {"text", "path"}))
@pytest.mark.parametrize("door", [fg.read, fg.Plan.load, fg.SQLiteLedger, grouped(epsilon=1).save])
def test_what_names_no_file_is_refused(door: Any, wrong: str) -> None:
    with pytest.raises(fg.InvalidInput, match="is the name of a file"):
        door(EVERYTHING[wrong])


@pytest.mark.parametrize("wrong", EVERYTHING)
@pytest.mark.parametrize("door", [
    fg.Polygon, fg.MultiPolygon, lambda v: fg.MultiPolygon([v]), lambda v: fg.Polygon([(0, 0), (1, 0), (1, 1)], v),
    lambda v: fg.Grid(None, v, 1), fg.SeededNoise, fg.FloatingPointLaplace, fg.synthesize,
])  # fmt: skip
def test_shapes_seeds_and_cities_of_wrong_types_are_refused(door: Any, wrong: str) -> None:
    with pytest.raises(fg.InvalidInput):
        door(EVERYTHING[wrong])


def test_a_path_as_plan_is_told_how_to_load_it() -> None:
    with pytest.raises(fg.InvalidQuery, match=r"what Federation\.group or fg\.Plan\.load returns, got 'plan\.parquet'"):
        federation().count(CIRCLE, epsilon=1, plan=Path("plan.parquet"))


def test_a_fraction_of_a_record_cannot_be_protected() -> None:
    with pytest.raises(fg.InvalidInput, match=r"max_records must be a whole number of at least 1, got 1\.5"):
        federation(unit="owner", max_records=1.5)


def test_numpys_scalars_are_numbers_everywhere() -> None:
    whole, part = np.int64(3), np.float32(0.5)
    opened = federation(seed=np.int64(1), budget=np.float64(50), unit="owner", max_records=np.int32(2))
    plan = opened.group(epsilon=part, grid=(whole, whole), threshold=part, max_group_size=whole, graph="noisy")
    assert plan.settings["threshold"] == 0.5
    shape = fg.Rectangle(np.float32(1), np.int8(1), np.uint16(9), np.float64(9))
    asked = {"attribute": "fare", "clip": np.float32(10), "resolution": part, "signed": np.bool_(False)}
    assert opened.sum(shape, epsilon=part, plan=plan, repeat=np.int64(2), **asked).epsilon == 1
    masked = {"method": "cohorts", "cohort_size": whole, "colluders": np.int64(1), "dropouts": np.float32(0)}
    assert opened.count(fg.Circle(whole, whole, whole), epsilon=1, **masked).heard == 2
    assert fg.Polygon(np.array([(0, 0), (4, 0), (4, 4)])).points == ((0, 0), (4, 0), (4, 4))


def test_a_plan_made_with_numpys_scalars_can_be_saved(tmp_path: Path) -> None:
    plan = grouped(threshold=np.float32(0.5), false_cells=np.float64(0.2), cohort_size=np.int64(3))
    plan.save(tmp_path / "plan.parquet")
    assert fg.Plan.load(tmp_path / "plan.parquet").settings["threshold"] == 0.5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"), (3, "3"), (-0.5, "-0.5"), (1e-12, "1e-12"), (np.float64(3), "3"), (np.float32(0.5), "0.5"),
        (None, "None"), (True, "True"), ("no", "'no'"), (Path("a") / "b", "'a/b'"), (Fraction(1, 3), "1/3"),
        ([1, 2], "a value of type list"), (fg.Circle, "a value of type type"), ("x" * 99, "'" + "x" * 79 + "..."),
    ],
)  # fmt: skip
def test_what_was_given_is_written_as_people_write_it(value: object, text: str) -> None:
    assert written(value) == text


def test_a_number_of_thousands_of_digits_is_not_repeated() -> None:
    assert written(10**5000) == "a number that is far too large"
    with pytest.raises(fg.InvalidInput, match="far too large"):
        federation(budget=10**5000)


def test_checks_return_plain_values() -> None:
    assert (whole_number(np.int8(3), name="n", least=1), type(whole_number(np.int8(3), name="n", least=1))) == (3, int)
    assert type(number(np.float32(1), name="n")) is type(number(Decimal(1), name="n")) is float
    assert (yes_or_no(np.True_, name="f"), one_of("a", ("a", "b"), name="c"), path_like("p", name="p")) == (
        True,
        "a",
        "p",
    )
    assert [is_number(value) for value in (1, Fraction(1, 2), True, "1", float("inf"), 10**400)] == [True, True] + [
        False
    ] * 4
    assert [is_list(value) for value in ((), {}, "ab", b"", 3, np.array(3))] == [True, True, False, False, False, False]
