"""Times of every usual form become microseconds in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput
from fedgroup.owner.times import NO_TIME, as_times
from fedgroup.questions.instants import as_instant

MOMENT = 1_267_430_400_000_000  # 2010-03-01T08:00 UTC


@pytest.mark.parametrize(
    "value",
    [
        "2010-03-01T08:00",
        " 2010-03-01 08:00:00Z ",
        "2010-03-01T09:00+01:00",
        1_267_430_400,
        1_267_430_400.0,
        np.int64(1_267_430_400),
        "1267430400",
        datetime(2010, 3, 1, 8),
        datetime(2010, 3, 1, 9, tzinfo=timezone(timedelta(hours=1))),
        pd.Timestamp("2010-03-01T08:00"),
    ],
)
def test_one_instant_can_be_said_in_many_ways(value: Any) -> None:
    assert as_instant(value, name="since") == MOMENT


def test_a_date_is_its_first_moment() -> None:
    assert as_instant(date(2010, 3, 1), name="since") == as_instant("2010-03-01T00:00Z", name="since")


@pytest.mark.parametrize("value", ["soon", "", True, float("nan"), float("inf"), 1.7e15, "2010-13-01"])
def test_what_is_no_time_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match="since must be an ISO time"):
        as_instant(value, name="since")


@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds_are_exact(when: datetime) -> None:
    assert (
        as_instant(when.isoformat(), name="t") == as_times(np.array([when.replace(tzinfo=None)], "datetime64[us]"))[0]
    )


@pytest.mark.parametrize(
    "column",
    [
        np.array(["2010-03-01T08:00", "NaT"], dtype="datetime64[ns]"),
        np.array([1_267_430_400.0, np.nan]),
        ["2010-03-01T08:00Z", ""],
        np.array([datetime(2010, 3, 1, 8), None], dtype=object),
        np.array([pd.Timestamp("2010-03-01T08:00Z"), pd.NaT], dtype=object),
        np.array([1_267_430_400, pd.NA], dtype=object),
    ],
)
def test_a_missing_time_is_no_time(column: Any) -> None:
    assert as_times(column).tolist() == [MOMENT, NO_TIME]


def test_whole_seconds_are_counted_from_1970() -> None:
    assert as_times(np.array([-1, 0, 1], dtype=np.int32)).tolist() == [-1_000_000, 0, 1_000_000]
    assert as_times(np.zeros(0, dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.float64])
def test_milliseconds_are_not_taken_for_seconds(kind: type) -> None:
    with pytest.raises(InvalidInput, match="are they milliseconds"):
        as_times(np.array([1_267_430_400_000], dtype=kind))


def test_a_column_of_words_is_refused_without_quoting_it() -> None:
    with pytest.raises(InvalidInput, match="column seen has values that are not times") as caught:
        as_times(["2010-03-01", "secret"], name="seen")
    assert "secret" not in str(caught.value)


def test_digits_are_seconds_however_the_other_records_are_written() -> None:
    alone, among_texts = as_times([20100301]), as_times(["20100301", "2010-03-02"])
    assert alone[0] == among_texts[0] == 20100301 * 1_000_000
