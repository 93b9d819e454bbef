"""An owner's file says at which pace it answers, and its wire keeps it: letters leave in their order, none is lost."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
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
from fedgroup.transport.links import Hear, OwnerLink

EVERY_S = 0.01


@dataclass
class Wire:
    """What left, with the moments, and how often somebody asked that nothing be read."""

    left: list[tuple[bytes, float]] = field(default_factory=list)
    held: int = 0
    hear: Hear | None = None
    when_room: list[Callable[[], None]] = field(default_factory=list)

    def listen(self, hear: Hear) -> None:
        self.hear = hear

    def say(self, messages: Sequence[tuple[str, bytes]]) -> None:
        self.left += [(payload, now()) for _, payload in messages]

    def when_left(self, call: Callable[[], None]) -> None:
        self.when_room.append(call)

    def hold(self) -> None:
        self.held += 1

    def go_on(self) -> None:
        self.held -= 1

    async def bring(self, *moments: float) -> None:
        """Let a message come at each of these moments, and wait for what comes of the last."""
        assert self.hear is not None
        for moment in moments:
            await asyncio.sleep(moment - asyncio.get_running_loop().time())
            self.hear("provider", [b"%d" % round(moment * 1e3)], Pulse.now())
        await asyncio.sleep(2 * EVERY_S)


def now() -> float:
    return round(asyncio.get_running_loop().time(), 6)


def test_messages_are_handed_on_at_the_next_moment_and_tell_since_when_they_waited() -> None:
    wire, heard = Wire(), []
    PacedLink(wire, Moments(EVERY_S)).listen(lambda _, it, came_at: heard.append((*it, now(), round(came_at, 6))))
    in_driven_time(wire.bring(0.003, 0.004, 0.021))
    assert heard == [(b"3", 0.01, 0.003), (b"4", 0.01, 0.004), (b"21", 0.03, 0.021)]


def test_nobody_begins_to_work_before_what_was_to_leave_at_that_moment_has_left() -> None:
    wire = Wire()
    link = PacedLink(wire, Moments(EVERY_S))

    async def story() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, DrivenLoop)
        link.say([("provider", b"earlier")])
        link.listen(lambda *_: loop.stand_still(EVERY_S / 2))  # counting
        await asyncio.sleep(EVERY_S - 10e-6)
        loop.stand_still(20e-6)  # what came before the moment is read when that is over
        await wire.bring(loop.time())

    in_driven_time(story())
    assert wire.left == [(b"earlier", round(EVERY_S + 10e-6, 6))]


def test_nobody_begins_to_work_before_the_letters_of_others_have_left() -> None:
    wire, neighbours, pace = Wire(), Wire(), Moments(EVERY_S)
    link, neighbour = PacedLink(wire, pace), PacedLink(neighbours, pace)

    async def story() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, DrivenLoop)
        neighbour.listen(lambda *_: loop.stand_still(EVERY_S / 2))  # counting
        asked = asyncio.create_task(neighbours.bring(0.001))
        await asyncio.sleep(0.002)
        link.say([("provider", b"earlier")])
        await asked

    in_driven_time(story())
    assert wire.left == [(b"earlier", EVERY_S)]


def test_what_one_owner_does_at_a_moment_holds_up_no_other_that_fails_neither() -> None:
    wires, pace, heard = [Wire(), Wire()], Moments(EVERY_S), []

    def fail(*_: object) -> None:
        raise ValueError("a bug")

    async def story() -> list[str]:
        told: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, about: told.append(str(about["exception"])))
        for wire, hear in zip(wires, (fail, lambda _, it, __: heard.extend(it)), strict=True):
            PacedLink(wire, pace).listen(hear)
        await asyncio.gather(*(wire.bring(0.003, 0.004) for wire in wires))
        return told

    assert in_driven_time(story()) == ["a bug"] * 2
    assert heard == [b"3", b"4"]


def test_a_machine_that_sleeps_while_a_message_waits_for_its_moment_counts_that() -> None:
    wire, waited = Wire(), list[float]()

    async def story() -> None:
        loop = asyncio.get_running_loop()
        with pytest.MonkeyPatch.context() as sleeping:  # an hour, in which the loop's clock stands still
            sleeping.setattr(Pulse, "now", staticmethod(lambda: loop.time() + 3_600 * (loop.time() > 0.005)))
            link = PacedLink(wire, Moments(EVERY_S))
            link.listen(lambda _sender, _it, came_at: waited.append(round(Pulse.now() - came_at, 6)))
            await wire.bring(0.003)

    in_driven_time(story())
    assert waited == [3_600.007]


@pytest.mark.parametrize("bound", ["_MOST_HELD", "_MOST_HELD_BYTES"])
def test_letters_leave_at_the_next_moment_in_their_order_and_reading_does_not_show_when_they_were_ready(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes while they wait is begun at the same moment, however many of them were ready by then."""
    monkeypatch.setattr(pacing, bound, 3)
    wire = Wire()
    link = PacedLink(wire, Moments(EVERY_S))

    async def story() -> list[int]:
        held = []
        for to, payload in (("a", b"1"), ("b", b"2"), ("a", b"3"), ("a", b"4")):
            link.say([(to, payload)])
            held.append(wire.held)
            await asyncio.sleep(0.001)
        assert wire.left == []
        await asyncio.sleep(EVERY_S)
        link.say([("a", b"5")])
        await asyncio.sleep(EVERY_S)
        return [*held, wire.held]

    assert in_driven_time(story()) == [0] * 5
    assert wire.left == [(b"1", 0.01), (b"2", 0.01), (b"3", 0.01), (b"4", 0.01), (b"5", 0.02)]


def test_who_waits_until_its_letters_have_left_waits_for_the_moment_and_for_the_line() -> None:
    wire, called = Wire(), list[float]()
    link = PacedLink(wire, Moments(EVERY_S))

    async def story() -> None:
        await asyncio.sleep(0.003)
        link.say([("a", b"1")])
        link.when_left(lambda: called.append(len(wire.left)))
        assert wire.when_room == []
        await asyncio.sleep(EVERY_S)
        (call,) = wire.when_room
        assert called == []
        call()

    in_driven_time(story())
    assert called == [1]


@pytest.mark.parametrize("bound", ["_MOST_HELD", "_MOST_HELD_BYTES"])
def test_while_many_messages_wait_for_their_moment_nothing_more_is_read(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, bound, 3)
    wire, heard = Wire(), []

    async def story() -> list[int]:
        PacedLink(wire, Moments(EVERY_S)).listen(lambda _sender, it, _came: heard.append((*it, wire.held)))
        bringing = asyncio.create_task(wire.bring(0.001, 0.002, 0.003, 0.004))
        held = []
        for _ in range(4):
            await asyncio.sleep(0.0011)
            held.append(wire.held)
        await bringing
        return held

    assert in_driven_time(story()) == [0, 0, 1, 1]
    assert heard == [(b"1", 0), (b"2", 0), (b"3", 0), (b"4", 0)]


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
    wire: OwnerLink = Wire()
    assert paced(wire, Moments(0.0)) is wire
