"""An owner's file says at which pace it answers, and its wire keeps it: letters leave in their order, none is lost."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from driven_time import DrivenLoop, in_driven_time
from fedgroup.errors import InvalidInput
from fedgroup.live import pacing
from fedgroup.live.channels import OwnerChannel
from fedgroup.live.config import OwnerConfig, read_config
from fedgroup.live.pacing import Moments, PacedLink, paced
from fedgroup.live.running import running_owners
from fedgroup.live.trial import make_trial
from fedgroup.transport.inbox import Pulse

EVERY_S = 0.01


@dataclass
class Wire:
    """What came, each at its moment, and what left, with the moments."""

    comes_at: list[float] = field(default_factory=list)
    left: list[tuple[bytes, float]] = field(default_factory=list)
    waited_s: float = 0.0

    async def send(self, _: str, payload: bytes) -> None:
        self.left.append((payload, round(asyncio.get_running_loop().time(), 6)))

    async def received(self) -> AsyncIterator[tuple[str, bytes]]:
        loop = asyncio.get_running_loop()
        for moment in self.comes_at:
            await asyncio.sleep(max(moment - loop.time(), 0.0))
            self.waited_s = max(loop.time() - moment, 0.0)
            yield "provider", b"%d" % round(moment * 1e3)


class ReadLate(Wire):
    """A message that comes just before a moment, and is opened when that is over."""

    async def received(self) -> AsyncIterator[tuple[str, bytes]]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, DrivenLoop)
        await asyncio.sleep(EVERY_S - 10e-6)
        loop.stand_still(20e-6)
        self.waited_s = 20e-6
        yield "provider", b"count"


def test_messages_are_handed_on_at_the_next_moment_and_tell_how_long_they_waited() -> None:
    link = PacedLink(Wire([0.003, 0.004, 0.021]), Moments(EVERY_S))

    async def story() -> list[tuple[bytes, float, float]]:
        loop = asyncio.get_running_loop()
        return [(it, round(loop.time(), 6), round(link.waited_s, 6)) async for _, it in link.received()]

    assert in_driven_time(story()) == [(b"3", 0.01, 0.007), (b"4", 0.01, 0.006), (b"21", 0.03, 0.009)]


def test_nobody_begins_to_work_before_what_was_to_leave_at_that_moment_has_left() -> None:
    wire = ReadLate()
    link = PacedLink(wire, Moments(EVERY_S))

    async def story() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, DrivenLoop)
        await link.send("provider", b"earlier")
        async for _ in link.received():
            loop.stand_still(EVERY_S / 2)  # counting
        await asyncio.sleep(EVERY_S)

    in_driven_time(story())
    assert wire.left == [(b"earlier", round(EVERY_S + 10e-6, 6))]


def test_a_machine_that_sleeps_while_a_message_waits_for_its_moment_counts_that() -> None:
    link = PacedLink(Wire([0.003]), Moments(EVERY_S))

    async def story() -> list[float]:
        loop = asyncio.get_running_loop()
        with pytest.MonkeyPatch.context() as sleeping:  # an hour, in which the loop's clock stands still
            sleeping.setattr(Pulse, "now", staticmethod(lambda: loop.time() + 3_600 * (loop.time() > 0.005)))
            return [round(link.waited_s, 6) async for _ in link.received()]

    assert in_driven_time(story()) == [3_600.007]


@pytest.mark.parametrize("bound", ["_MOST_HELD", "_MOST_HELD_BYTES"])
def test_letters_leave_at_the_next_moment_in_their_order_and_who_sends_many_waits(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, bound, 3)
    wire = Wire()
    link = PacedLink(wire, Moments(EVERY_S))

    async def story() -> float:
        loop = asyncio.get_running_loop()
        await link.send("a", b"1")
        await asyncio.sleep(0.004)
        await link.send("b", b"2")
        assert wire.left == []
        await link.send("a", b"3")
        await link.send("a", b"4")  # waits until there is room
        full_until = loop.time()
        await asyncio.sleep(EVERY_S * 2)
        return round(full_until, 6)

    assert in_driven_time(story()) == EVERY_S
    assert wire.left == [(b"1", 0.01), (b"2", 0.01), (b"3", 0.01), (b"4", 0.02)]


def test_an_owner_answers_at_the_pace_of_its_file(tmp_path: Path) -> None:
    (file, *_) = make_trial(tmp_path / "city", owners=2, seed=1).owners
    usual, channels = file.read_text(), list[OwnerChannel]()

    async def started() -> object:
        config = read_config(file, OwnerConfig)
        async with running_owners([config], port=9, new_ledger=True, through=lambda it: channels.append(it) or it):
            return channels[-1]._link

    def wire_with(line: str) -> object:
        file.write_text(re.sub(r"every_ms = \S+", f"every_ms = {line}", usual))
        return asyncio.run(started())

    link = wire_with("25")
    assert isinstance(link, PacedLink)
    assert link.every_s == 0.025
    assert not isinstance(wire_with("0"), PacedLink)
    for wrong in ("-1", "501", '"10"'):
        with pytest.raises(InvalidInput, match="every_ms"):
            wire_with(wrong)


def test_owners_of_one_process_have_one_pace(tmp_path: Path) -> None:
    """Else one's letters leave while another counts: at 15 ms what at 10 ms was begun is not ready."""
    files = make_trial(tmp_path / "city", owners=2, seed=1).owners

    async def started(other: str) -> int:
        files[1].write_text(re.sub(r"every_ms = \S+", f"every_ms = {other}", files[1].read_text()))
        configs = [read_config(file, OwnerConfig) for file in files]
        async with running_owners(configs, port=9, new_ledger=True) as nodes:
            return len(nodes)

    for other in ("15", "0"):
        with pytest.raises(InvalidInput, match="one every_ms"):
            asyncio.run(started(other))
    assert asyncio.run(started("10")) == 2


def test_without_a_pace_a_link_is_itself() -> None:
    wire = Wire()
    assert paced(wire, Moments(0.0)) is wire
