"""What a live role says on stderr: one line an event, as text or as JSON, and nothing private.

Events are started, stopped, connected, lost, asked, answered, refused (with a reason of the fixed list), and troubles.
A line holds the time, the level, the event, and facts out of `FACTS`: who, and about what, never how many or where. Of
an error it holds the kind and the place in the program, not the text; of other libraries' warnings not even the words.
Of lines alike but for their round only the first few of a minute are written, and then how many were left out.
"""

from __future__ import annotations

import json
import logging
import math
import re
import sys
import time
import traceback
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TextIO, get_args

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.messages.live import FromOwner
from fedgroup.messages.said import Left, Refused
from fedgroup.questions.words import round_name
from fedgroup.transport.codec import decode

MOST_ALIKE = 50
WINDOW_S = 60.0
"""So many lines alike are written in so many seconds."""
MOST_KNOWN = 1_000
"""Of so many kinds of lines it is known how many there were."""

_LEFT_OUT = "fedgroup_left_out"


def left_out_of(record: logging.LogRecord) -> dict[str, str]:
    """Return how many lines like this one were left out, if it tells that."""
    count = getattr(record, _LEFT_OUT, None)
    return {} if count is None else {"left_out": str(count)}


@dataclass
class _Alike:
    """Lines alike in one window: how many were written, how many not, and the last of those."""

    ends: float
    written: int = 0
    left_out: int = 0
    last: logging.LogRecord | None = None


class SparingHandler(logging.StreamHandler[TextIO]):
    """Writes the first `MOST_ALIKE` lines that are `alike` in a window, and after it one with the number left out.

    The number is told with the next line of whatever kind, or when the handler is closed.
    """

    def __init__(
        self, stream: TextIO, *, alike: Callable[[logging.LogRecord], Hashable], clock: Callable[[], float]
    ) -> None:
        super().__init__(stream)
        self._alike = alike
        self._clock = clock
        self._known: dict[Hashable, _Alike] = {}  # in the order in which their windows end

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, unless enough like it were written."""
        now, kind = self._clock(), self._alike(record)
        self._end(now)
        known = self._known.setdefault(kind, _Alike(now + WINDOW_S))
        if known.written < MOST_ALIKE:
            known.written += 1
            super().emit(record)
            return
        known.left_out += 1
        # without its error: that would keep alive what the program held when it was raised
        known.last = logging.makeLogRecord(record.__dict__ | {"exc_info": None})

    def close(self) -> None:
        """Tell what was left out so far, and end."""
        self.acquire()
        try:
            self._end(math.inf)
        finally:
            self.release()
        super().close()

    def _end(self, now: float) -> None:
        """Tell what was left out in windows that are over, and forget them."""
        while self._known:
            kind, oldest = next(iter(self._known.items()))
            if oldest.ends > now and len(self._known) <= MOST_KNOWN:
                return
            del self._known[kind]
            if oldest.last is not None:
                setattr(oldest.last, _LEFT_OUT, oldest.left_out)
                super().emit(oldest.last)


FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")
FACTS = ("party", "owner", "method", "kind", "said", "round", "question", "reason", "until", "url")
"""All that a line may tell besides its event."""

_OURS = "fedgroup"
_WIRE = "fedgroup.wire"
"""It tells of its connections only: with a warning of those lost, below that of those made, which we tell as info."""


def begin_log(
    form: str, level: str, *, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> None:
    """Write events of at least this level to stderr from now on."""
    if form not in FORMATS or level not in LEVELS:
        raise InvalidInput(f"logs are {' or '.join(FORMATS)}, and their levels {', '.join(LEVELS)}")
    handler = SparingHandler(sys.stderr if stream is None else stream, alike=_alike, clock=clock)
    handler.setFormatter(_AsJson() if form == "json" else _AsText())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger(_OURS).setLevel(level.upper())
    logging.getLogger(_WIRE).setLevel("DEBUG" if level == "info" else level.upper())


def note_exchange(log: logging.Logger, party: str, message: Any, replies: Iterable[tuple[str, bytes]]) -> None:
    """Note that an owner was asked something, and whether it answered or refused."""
    if not log.isEnabledFor(logging.INFO):
        return
    facts = {"party": party, "said": type(message).__name__, "round": _about(message)}
    log.info("asked", extra=facts)
    for _, reply in replies:
        try:
            said = decode(reply, get_args(FromOwner))
        except ProtocolViolation:  # a letter to another owner
            continue
        if isinstance(said, Refused):
            log.info("refused", extra=facts | {"reason": said.reason})
        elif not isinstance(said, Left):  # it comes with an answer
            log.info("answered", extra=facts | {"said": type(said).__name__})


def note_refusals(log: logging.Logger, refused: Mapping[str, str]) -> None:
    """Note which owners refused, and the reasons they gave."""
    for owner, reason in refused.items():
        log.info("refused", extra={"owner": owner, "reason": reason})


def _about(message: Any) -> str | None:
    """Return the name of a round, as ledgers have it, or a plan's."""
    found = getattr(message, "round", None) or getattr(message, "session", None)
    return round_name(found) if isinstance(found, bytes) else getattr(message, "plan", None)


def facts_of(record: logging.LogRecord) -> dict[str, str]:
    """Return what a line tells: its time, level and event, and the facts that it may tell."""
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
    level = max(record.levelno, logging.INFO) if record.name == _WIRE else record.levelno
    said = {"at": at, "level": logging.getLevelName(level).lower(), "event": f"trouble in {record.name}"}
    if record.name.split(".")[0] == _OURS:
        words = " ".join(record.getMessage().split())
        lost = record.name == _WIRE and record.levelno == logging.WARNING
        said |= {"event": "lost", "why": words} if lost else {"event": words}
        said |= {name: str(value) for name in FACTS if (value := getattr(record, name, None)) is not None}
    return said | _error(record) | left_out_of(record)


def _alike(record: logging.LogRecord) -> Hashable:
    """Return what is the same of lines that tell the same: all but when, in which round, and numbers in their words."""
    facts = facts_of(record)
    same = {name: value for name, value in facts.items() if name not in ("at", "round", "event", "why")}
    words = re.sub(r"\d+", "", facts["event"] + facts.get("why", ""))
    return words, tuple(sorted(same.items()))


class _AsJson(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(facts_of(record))


class _AsText(logging.Formatter):
    """Time, level and event, and the rest as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        facts = facts_of(record)
        head = " ".join(facts.pop(name) for name in ("at", "level", "event"))
        return " ".join([head, *(f"{name}={value}" for name, value in facts.items())])


def _error(record: logging.LogRecord) -> dict[str, str]:
    """Return the kind of an error and where it was raised; its text may hold anything."""
    if not record.exc_info or record.exc_info[0] is None:
        return {}
    frames = traceback.extract_tb(record.exc_info[2])
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames]
    return {"error": record.exc_info[0].__name__, "place": " ".join(places[-5:])}
