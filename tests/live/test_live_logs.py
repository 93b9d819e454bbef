"""What live roles say on stderr: every event, in one line, and nothing that was counted, drawn or asked."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from live_world import PATIENCE_S, until

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.live.logs import MOST_ALIKE, MOST_KNOWN, WINDOW_S, begin_log
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle, Grid

CIRCLE = Circle(5.4321, 4.8765, 3.2109)
RECORDS = (7919, 7907, 7901, 7883, 7879, 7877)
"""How many each owner has: numbers that nothing else here can be."""


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    root, ours = logging.getLogger(), [logging.getLogger(name) for name in ("fedgroup", "fedgroup.wire")]
    before, levels = root.handlers, [each.level for each in (root, *ours)]
    written = io.StringIO()
    begin_log("json", "debug", stream=written)
    yield written
    root.handlers = before
    for each, level in zip((root, *ours), levels, strict=True):
        each.setLevel(level)


def lines(log: io.StringIO) -> list[dict[str, str]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


def words(log: io.StringIO) -> set[str]:
    """Every word and every number that was written, but for the times."""
    values = [value for line in lines(log) for name, value in line.items() if name != "at"]
    return {word for value in values for word in re.split(r"[^\w.-]+", value)}


def test_a_federation_tells_what_happens_and_nothing_that_it_knows(city: Callable[..., Any], log: io.StringIO) -> None:
    private: set[str] = set()

    async def story() -> None:
        async with city(0) as here:
            for number, count in enumerate(RECORDS):
                await here.add(f"owner-{number}", count=count, cap=1e4, modes=("masked",) if number else ())
            assert await here.provider.desk.until_present(len(RECORDS), PATIENCE_S)
            grid = Grid(here.provider.settings.public_map.domain, 2, 2)
            query = RangeQuery("count", CIRCLE, Epsilon.of(30))
            for owner in here.owners.values():
                records = owner.silo.records
                private.update(f"{value:.6f}"[:6] for value in (*records.x[:200], *records.y[:200]))
                private.update(str(int(value)) for value in owner.silo.vector(grid))
                private.update(str(value) for value in owner.silo.totals(query).values())
            await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(20), grid=(2, 2))
            for method in ("dp", "fedgroup", "cohorts"):
                answer = await here.provider.ask(query, method=method)
                private.update((str(int(answer.value)), *(str(int(end)) for end in answer.interval)))
            here.owners["owner-1"].silo.broken = True
            await here.provider.ask(query, method="dp", fresh=True)
            await here.kill("owner-2")
            await until(lambda: "owner-2" not in here.provider.desk.present)

    asyncio.run(story())
    said = lines(log)
    assert {line["event"] for line in said} >= {"connected", "lost", "asked", "answered", "refused"}
    assert {line["reason"] for line in said if line["event"] == "refused"} == {"mode", "silo"}
    private |= {str(value) for value in (*RECORDS, CIRCLE.x, CIRCLE.y, CIRCLE.radius)}
    found = words(log)
    assert not {value for value in private if len(value) > 2} & found
    assert not {word for word in found for value in private if "." in value and value in word}


def test_an_error_shows_its_kind_and_place_and_not_its_text(log: io.StringIO) -> None:
    try:
        raise ValueError("the count is 7919")
    except ValueError:
        logging.getLogger("fedgroup.service").exception("a question failed", extra={"question": "q1", "value": 7919})
    (line,) = lines(log)
    assert (line["event"], line["question"], line["error"]) == ("a question failed", "q1", "ValueError")
    assert line["place"].startswith("test_live_logs.py:")
    assert "7919" not in log.getvalue()


def test_other_libraries_are_heard_of_but_not_quoted(log: io.StringIO) -> None:
    logging.getLogger("uvicorn.error").warning("a payload: %s", "7919")
    logging.getLogger("uvicorn.error").info("something else")
    assert [line["event"] for line in lines(log)] == ["trouble in uvicorn.error"]
    assert "7919" not in log.getvalue()


def test_text_has_one_line_an_event(log: io.StringIO) -> None:
    begin_log("text", "warning", stream=log)
    logging.getLogger("fedgroup.wire").warning("no connection\nto %s", "there")
    logging.getLogger("fedgroup.owner").info("asked")
    (line,) = log.getvalue().splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z warning lost why=no connection to there", line)


@pytest.mark.parametrize("level", ["debug", "info"])
def test_connections_are_told_at_the_level_info_and_as_such(level: str, log: io.StringIO) -> None:
    begin_log("text", level, stream=log)
    logging.getLogger("fedgroup.wire").debug("connected")
    logging.getLogger("fedgroup.wire").warning("no connection")
    told = [line.split()[1:3] for line in log.getvalue().splitlines()]
    assert told == [["info", "connected"], ["warning", "lost"]]


def test_there_are_two_forms_and_four_levels(log: io.StringIO) -> None:
    for form, level in (("xml", "info"), ("json", "loud")):
        with pytest.raises(InvalidInput):
            begin_log(form, level)


@pytest.fixture
def minutes(log: io.StringIO) -> list[float]:
    """What the log's clock shows, in minutes."""
    now = [0.0]
    begin_log("json", "debug", stream=log, clock=lambda: now[0] * WINDOW_S)
    return now


def test_lines_alike_are_written_a_few_times_a_minute_and_then_counted(log: io.StringIO, minutes: list[float]) -> None:
    owner, wire = logging.getLogger("fedgroup.owner"), logging.getLogger("fedgroup.wire")
    for number in range(1_000):
        owner.warning("a message was refused", extra={"party": "a", "round": f"{number:08x}"})
        wire.warning("no connection (refused); next try in %.1f s", number / 10)
        logging.getLogger("asyncio").error("accept: %s", number)
    assert len(lines(log)) == 3 * MOST_ALIKE
    minutes[0] = 1
    owner.info("asked")
    told = [(line["event"], line["left_out"]) for line in lines(log)[3 * MOST_ALIKE : -1]]
    events = ("a message was refused", "lost", "trouble in asyncio")
    assert told == [(event, str(1_000 - MOST_ALIKE)) for event in events]
    owner.warning("a message was refused", extra={"party": "a"})
    assert "left_out" not in lines(log)[-1]


def test_lines_that_differ_in_who_what_or_where_are_all_written(log: io.StringIO, minutes: list[float]) -> None:
    for number in range(2 * MOST_ALIKE):
        logging.getLogger("fedgroup.provider").info("refused", extra={"owner": f"o{number}", "reason": "budget"})
    assert len({line["owner"] for line in lines(log)}) == 2 * MOST_ALIKE


def test_an_error_of_another_kind_is_written_among_thousands(log: io.StringIO, minutes: list[float]) -> None:
    for number in range(1_000):
        try:
            raise KeyError(number) if number == 900 else ValueError(number)
        except LookupError:
            logging.getLogger("fedgroup.service").exception("a question failed")
        except ValueError:
            logging.getLogger("fedgroup.service").exception("a question failed")
    assert [line["error"] for line in lines(log)].count("KeyError") == 1
    assert len(lines(log)) == MOST_ALIKE + 1


def test_what_was_left_out_is_told_at_the_end_too(log: io.StringIO, minutes: list[float]) -> None:
    for _ in range(MOST_ALIKE + 7):
        logging.getLogger("fedgroup.owner").warning("a message was refused")
    logging.getLogger().handlers[0].close()
    assert lines(log)[-1]["left_out"] == "7"


def test_the_kinds_of_lines_that_are_counted_have_an_end(log: io.StringIO, minutes: list[float]) -> None:
    for number in range(3 * MOST_KNOWN):
        logging.getLogger("fedgroup.service").warning("a question failed", extra={"question": f"q{number}"})
    assert len(vars(logging.getLogger().handlers[0])["_known"]) <= MOST_KNOWN + 1
    assert len(lines(log)) == 3 * MOST_KNOWN
