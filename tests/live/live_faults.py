"""Sudden death at a chosen moment, and clocks that jump: put into live roles from outside, never part of them.

An owner dies by "KIND MOMENT": while it handles a message of that kind, when the message is `received`, when its ledger
is writing the charge (`charged`), when the reply is `made` but not kept, `kept` on disk, about to be sent (`sending`),
or `sent`.
A provider dies by "KIND MOMENT" when it is about to send a message of that kind (`sending`), has `sent` it or `heard`
one, and `before` or `after` a step of its accounts: begin, keep, finish; by "published N" when N rounds of a map are
kept, before the next begins. Both live on until a file is there.
"""

from __future__ import annotations

import datetime as datetimes
import os
import signal
import sys
import time as times
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from fedgroup.live.attendance import Attendance
from fedgroup.live.channels import ProviderChannels
from fedgroup.live.replies import Switchboard
from fedgroup.owner.node import OwnerNode
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.storage.provider_state import ProviderState
from fedgroup.transport.backoff import Backoff
from fedgroup.transport.inbox import Pulse
from fedgroup.transport.mqtt import MqttOwnerLink


def owner_dies(at: str, once: Path) -> None:
    """Make this process end at a moment of its owner's work."""
    kind, moment = at.split()
    now = SimpleNamespace(kind="")
    receive, charge, keep, say = OwnerNode.prepare, OwnerLedger._write, OwnerLedger.keep_replies, MqttOwnerLink.say

    def reached(this: str) -> None:
        if (now.kind, this) == (kind, moment):
            _die(once)

    def receiving(self: Any, sender: str, message: Any, **named: Any) -> Any:
        now.kind = type(message).__name__ if once.exists() else ""  # what is still under way then is no reason to die
        reached("received")
        return receive(self, sender, message, **named)

    def charging(self: Any, *given: Any) -> Any:
        charged = charge(self, *given)
        reached("charged")
        return charged

    def keeping(self: Any, replies: Any) -> Any:
        reached("made")
        kept = keep(self, replies)
        reached("kept")
        return kept

    def saying(self: Any, messages: Any) -> None:
        reached("sending")
        say(self, messages)
        reached("sent")

    _put(OwnerNode, prepare=receiving)
    _put(OwnerLedger, _write=charging, keep_replies=keeping)
    _put(MqttOwnerLink, say=saying)


def provider_dies(at: str, once: Path) -> None:
    """Make this process end at a moment of its provider's work."""
    kind, moment = at.split()
    send, deliver = ProviderChannels.send_many, Switchboard.deliver

    async def sending(self: Any, messages: Any) -> None:
        found = list(messages)
        kinds = {kind_of(payload) for _, payload in found}
        if kind in kinds and moment == "sending":
            _die(once)
        await send(self, found)
        if kind in kinds and moment == "sent":
            _die(once)

    def delivering(self: Any, owner: str, message: Any) -> None:
        deliver(self, owner, message)
        if (type(message).__name__, "heard") == (kind, moment):
            _die(once)

    _put(ProviderChannels, send_many=sending)
    _put(Switchboard, deliver=delivering)
    if kind == "published":
        _put(ProviderState, keep_progress=_deadly_after(int(moment), once))
    if kind in ("begin", "keep", "finish"):
        _put(ProviderState, **{kind: _deadly(getattr(ProviderState, kind), moment, once)})


def kind_of(payload: bytes) -> str:
    """Return the class of an encoded message."""
    return str(msgspec.msgpack.decode(payload)["t"])


def _die(once: Path) -> None:
    """kill -9, by oneself, once a file is there."""
    if once.exists():
        os.kill(os.getpid(), signal.SIGKILL)


def _deadly(usual: Callable[..., Any], moment: str, once: Path) -> Callable[..., Any]:
    def step(*given: Any, **named: Any) -> Any:
        if moment == "before":
            _die(once)
        result = usual(*given, **named)
        _die(once)
        return result

    return step


def _deadly_after(rounds: int, once: Path) -> Callable[..., Any]:
    usual = ProviderState.keep_progress

    def keep(self: Any, question: Any, progress: Any) -> None:
        usual(self, question, progress)
        if progress["begun"] == len(progress["publication"]["released"]) == rounds:
            _die(once)

    return keep


def _put(kind: type, **functions: Callable[..., Any]) -> None:
    for name, function in functions.items():
        setattr(kind, name, function)


def comes_back_at_once() -> None:
    """Make links of this process wait a moment only before they connect again, however often they had to."""
    Backoff.wait_s = lambda *_: 0.1


def plant(what: str) -> None:
    """Break this process's promise: an owner counts `uncharged`, or a provider says that one more was `heard`."""
    if what == "uncharged":
        begun = lambda _, rounds: [(True, None)] * len(rounds)
        _put(OwnerLedger, begin_rounds=begun, keep_replies=lambda _, replies: [reply for _, reply in replies])
    elif what == "heard":
        usual = Attendance.counts
        _put(Attendance, counts=lambda self, heard: usual(self, heard) | {"heard": len(heard) + 1})


def sleeps(file: Path) -> None:
    """Make this process find, whenever it looks, that it slept for the seconds that a file holds at that moment."""
    awake = Pulse.now
    Pulse.now = staticmethod(lambda: awake() + float(file.read_text() or 0))


def clock_jumps(file: Path) -> None:
    """Make the wall clock of this process run ahead (or behind) by the seconds that a file holds at that moment."""

    def jumped_s() -> float:
        return float(file.read_text() or 0)

    class Jumping(datetimes.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetimes.datetime.now(tz) + datetimes.timedelta(seconds=jumped_s())

    jumping = SimpleNamespace(**{name: getattr(times, name) for name in dir(times)})
    jumping.time = lambda: times.time() + jumped_s()
    jumping.gmtime = lambda seconds=None: times.gmtime(jumping.time() if seconds is None else seconds)
    for name, module in list(sys.modules.items()):
        if name.startswith("fedgroup"):
            _replace(module, datetimes.datetime, Jumping)
            _replace(module, times, jumping)


def _replace(module: Any, usual: Any, other: Any) -> None:
    for name in [name for name, value in vars(module).items() if value is usual]:
        setattr(module, name, other)
