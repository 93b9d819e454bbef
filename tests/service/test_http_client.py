"""`fg.connect` and `fg.aconnect`: the same answers and errors as in one process, from a service on a port."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.errors import ServiceUnavailable, TooFewHeard
from fedgroup.questions.answers import Expectation
from fedgroup.service import client as client_module
from fedgroup.service.calls import PlanDetails, question_call
from fedgroup.service.requests import PlanAsked
from fedgroup.service.serving import served

Running = Callable[..., Any]
CIRCLE = fg.Circle(5, 5, 3.2)
WEST = fg.Polygon([(0, 0), (5, 0), (5, 10), (0, 10)])


def test_a_client_asks_as_a_federation_does(running: Running) -> None:
    with running(owners=4) as up, fg.connect(up.url, up.here.tokens["ann"]) as federation:
        answer = federation.count(WEST, epsilon=30)
        assert isinstance(answer, fg.Answer)
        assert answer.value == pytest.approx(80, abs=2)
        assert answer.interval[0] <= 80 <= answer.interval[1]
        assert federation.sum(WEST, epsilon=20, attribute="fare", clip=4).value == pytest.approx(160, abs=3)
        assert federation.avg(WEST, epsilon=20, attribute="fare", clip=4).value == pytest.approx(2, abs=0.2)
        both = fg.MultiPolygon([WEST, fg.Polygon([(6, 0), (10, 0), (10, 10), (6, 10)])])
        assert federation.count(both, epsilon=10, method="mpc").method == "mpc"
        assert federation.budget()["left"] == 20
        assert [each["request"]["kind"] for each in federation.queries()] == ["count", "avg", "sum", "count"]
        assert federation.owners() == {"present": 4, "known": 4}
        assert [plan["method"] for plan in federation.groups()] == ["mpc"]
        assert federation.federation()["domain"] == [0, 0, 10, 10]
        assert up.here.tokens["ann"] not in repr(federation)


def test_an_expectation_costs_nothing(running: Running) -> None:
    with running(owners=4) as up, fg.connect(up.url, up.here.tokens["ann"]) as federation:
        expected = federation.expect("count", CIRCLE, epsilon=0.3, method="dp")
        assert isinstance(expected, Expectation)
        assert (expected.noises, expected.affordable, expected.owners) == (4, True, 4)
        assert expected.errors["count"].half_width > 0
        assert federation.budget()["spent"] == 0


def test_errors_are_those_of_a_federation_in_one_process(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(owners=2, allowance=1) as up, fg.connect(up.url, up.here.tokens["ann"]) as federation:
        with pytest.raises(fg.BudgetExhausted) as exhausted:
            federation.count(CIRCLE, epsilon=1.5)
        assert (exhausted.value.asked, exhausted.value.left, exhausted.value.cap) == (1.5, 1, 1)
        with pytest.raises(fg.InvalidQuery, match="outside the domain"):
            federation.count(fg.Circle(99, 99, 1), epsilon=0.1)
        with pytest.raises(fg.InvalidQuery, match="no plan in force"):
            federation.count(CIRCLE, epsilon=0.1, method="fedgroup")
        with pytest.raises(fg.InvalidQuery, match=r"body\.method"):
            federation.count(CIRCLE, epsilon=0.1, method="exact")
        with pytest.raises(fg.InvalidInput, match="greater than 0"):
            federation.count(CIRCLE, epsilon=0)
        with pytest.raises(fg.InvalidQuery, match="no sincee"):
            federation.count(CIRCLE, epsilon=0.1, sincee="2026")  # type: ignore[call-arg]
        up.here.city.break_silos()
        with pytest.raises(TooFewHeard, match="2 owners refused: the owner's database does not answer") as unheard:
            federation.count(CIRCLE, epsilon=0.1)
        assert unheard.value.refused == {"silo": 2}
        monkeypatch.setenv("FEDGROUP_TOKEN", "unknown")
        with fg.connect(up.url) as stranger, pytest.raises(fg.InvalidInput, match="token"):
            stranger.budget()


def test_the_asynchronous_client_does_the_same(running: Running) -> None:
    async def story(url: str, token: str) -> None:
        async with fg.aconnect(url, token) as federation:
            asked = [fg.Circle(5, 5, 1 + i / 10) for i in range(10)]
            answers = await asyncio.gather(*(federation.count(each, epsilon=1) for each in asked))
            assert all(answer.heard == 4 for answer in answers)
            assert (await federation.expect("count", CIRCLE, epsilon=1)).owners == 4
            assert (await federation.budget())["spent"] == 10
            assert (await federation.owners())["present"] == 4
            assert (await federation.groups(), len(await federation.queries())) == ([], 10)
            assert not (await federation.federation())["lonlat"]
            with pytest.raises(fg.BudgetExhausted):
                await federation.avg(CIRCLE, epsilon=1000, attribute="fare", clip=4)
            with pytest.raises(fg.InvalidQuery):
                await federation.sum(CIRCLE, epsilon=1)
            assert token not in repr(federation)

    with running(owners=4) as up:
        asyncio.run(story(up.url, up.here.tokens["ann"]))


def test_operators_have_owners_grouped_anew_and_pay_once_for_a_key(running: Running) -> None:
    async def once_more(url: str, token: str) -> dict[str, Any]:
        async with fg.aconnect(url, token) as federation:
            return await federation.regroup(epsilon=20, columns=2, rows=2, graph="topcell", key="first")

    with running(owners=4) as up, fg.connect(up.url, up.here.tokens["op"]) as federation:
        made = federation.regroup(epsilon=20, columns=2, rows=2, graph="topcell", key="first")
        assert sorted(map(sorted, made["members"])) == [["owner-0", "owner-2"], ["owner-1", "owner-3"]]
        assert asyncio.run(once_more(up.url, up.here.tokens["op"])) == made
        assert (up.here.spent("op"), up.here.owners_spent()) == (Epsilon.of(20), {Epsilon.of(20)})
        assert federation.count(CIRCLE, epsilon=1).method == "fedgroup"
        with pytest.raises(fg.InvalidQuery, match="no colums"):
            federation.regroup(epsilon=1, colums=2)  # type: ignore[call-arg]
        with fg.connect(up.url, up.here.tokens["ann"]) as user, pytest.raises(fg.InvalidInput, match="an operator"):
            user.regroup(epsilon=1)


def test_whatever_can_be_sent_about_a_plan_can_be_said_to_a_client() -> None:
    assert set(PlanDetails.__annotations__) - {"key"} == set(PlanAsked.model_fields) - {"epsilon"}


def whole(sender: socket.socket) -> bytes:
    """Read one message with its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += sender.recv(1 << 16)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += sender.recv(1 << 16)
    return head + b"\r\n\r\n" + body


GREETING = b"\x16"
"""How TLS begins; this proxy does not speak it."""


class Cutting:
    """A proxy that loses the first replies on their way back."""

    def __init__(self, url: str, lost: int) -> None:
        self._host, _, port = url.removeprefix("http://").partition(":")
        self._port, self._lost = int(port), lost
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Cutting:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self._thread.join(10)

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._door.accept()
            except OSError:
                return
            with near, socket.create_connection((self._host, self._port)) as far:
                if near.recv(1, socket.MSG_PEEK) == GREETING:
                    continue
                far.sendall(whole(near))
                reply = whole(far)
                self._lost -= 1
                if self._lost < 0:
                    near.sendall(reply)


def test_a_question_whose_reply_was_lost_is_charged_once(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "PAUSES", (0.01, 0.01))
    with running(owners=2) as up, Cutting(up.url, lost=2) as cutting:
        with fg.connect(cutting.url, up.here.tokens["ann"]) as federation:
            assert federation.count(CIRCLE, epsilon=1, fresh=True).heard == 2
        assert up.here.spent() == Epsilon.of(1)
    with running(owners=2) as up, Cutting(up.url, lost=3) as cutting:
        with fg.connect(cutting.url, up.here.tokens["bob"]) as federation, pytest.raises(ServiceUnavailable) as lost:
            federation.count(CIRCLE, epsilon=1, fresh=True)
        assert up.here.spent("bob") == Epsilon.of(1)
        key = str(lost.value).partition("with key ")[2].split()[0]
        with fg.connect(up.url, up.here.tokens["bob"]) as federation:
            assert federation.count(CIRCLE, epsilon=1, fresh=True, key=key).heard == 2
        assert up.here.spent("bob") == Epsilon.of(1)


def test_nobody_at_the_address_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with fg.connect(f"http://127.0.0.1:{port}", "x") as federation:
        with pytest.raises(ServiceUnavailable, match="ConnectError") as error:
            federation.count(CIRCLE, epsilon=1)
        assert "charged" not in str(error.value)


@pytest.mark.parametrize("url", ["federation.example", "ftp://x", "http://x:port"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(fg.InvalidInput):
        fg.connect(url)


def test_bad_tokens_authorities_and_keys_are_refused(tmp_path: Path) -> None:
    with pytest.raises(fg.InvalidInput, match="printable"):
        fg.connect("http://127.0.0.1:1", "a\nb")
    with pytest.raises(fg.InvalidInput, match="authority"):
        fg.connect("https://127.0.0.1:1", "x", ca=tmp_path / "none.pem")
    with pytest.raises(fg.InvalidQuery, match="idempotency key"):
        question_call("count", CIRCLE, 1, {"key": "two words"})
    with pytest.raises(fg.InvalidQuery, match="finite"):
        question_call("sum", CIRCLE, 1, {"attribute": "fare", "clip": float("nan")}).content()


def test_times_are_said_as_they_are_and_zero_is_a_time() -> None:
    call = question_call("count", CIRCLE, 0.3, {"since": 0, "until": datetime(2026, 1, 5, tzinfo=UTC), "clip": None})
    assert call.body is not None
    assert (call.body["since"], call.body["until"]) == (0, "2026-01-05T00:00:00+00:00")
    assert "clip" not in call.body
    assert call.key != question_call("count", CIRCLE, 0.3, {}).key


def test_a_port_that_is_taken_is_told() -> None:
    async def story(port: int) -> None:
        async with served(None, port=port):
            pass

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ServiceUnavailable, match="another port"):
        asyncio.run(story(taken.getsockname()[1]))
