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
from fedgroup.live.logs import begin_log
from fedgroup.messages import RangeQuery
from fedgroup.provider.settings import GroupingSettings
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
    logging.getLogger("amqtt.broker").warning("a payload: %s", "7919")
    logging.getLogger("amqtt.broker").info("something else")
    assert [line["event"] for line in lines(log)] == ["trouble in amqtt.broker"]
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
