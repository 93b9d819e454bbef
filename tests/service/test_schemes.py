"""Mistakes with https: what is wrong with the address or the certificate is said, and nothing about charges."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from service_city import PATIENCE_S

import fedgroup as fg
from fedgroup.cli.main import main
from fedgroup.identity import Authority, Trust
from fedgroup.identity.own import write_answer, write_request
from fedgroup.service import client as client_module
from fedgroup.service.serving import served

CIRCLE = fg.Circle(5, 5, 3.2)
WRONG_CERTIFICATE = ("is not trusted", "--ca FILE")


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "PAUSES", (0.01, 0.01))


@contextmanager
def serving(**files: Path) -> Iterator[str]:
    """An empty service on a port, with its event loop in another thread."""
    started, found = threading.Event(), []
    loop, stop = asyncio.new_event_loop(), asyncio.Event()

    async def story() -> None:
        async with served(FastAPI(), **files) as url:
            found.append(url)
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(story()))
    thread.start()
    started.wait(PATIENCE_S)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_S)
        loop.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A provider's folder, with a certificate for one host."""
    place = tmp_path_factory.mktemp("schemes")
    authority = Authority.create(place / "authority", "city")
    request = write_request(place / "provider", "provider", "provider", hosts=("127.0.0.1",))
    write_answer(place / "provider", authority.issue(request), Trust.load(place / "authority"))
    return place / "provider"


@pytest.fixture
def https(folder: Path) -> Iterator[str]:
    with serving(certificate=folder / "certificate.pem", key=folder / "tls.key") as url:
        yield url


def asked(url: str, **options: Any) -> str:
    """What a client says that cannot ask there."""
    with fg.connect(url, "x", **options) as federation, pytest.raises(fg.InvalidInput) as error:
        federation.count(CIRCLE, epsilon=1)
    return str(error.value)


def asked_in_a_coroutine(url: str, **options: Any) -> str:
    async def story() -> str:
        async with fg.aconnect(url, "x", **options) as federation:
            with pytest.raises(fg.InvalidInput) as error:
                await federation.count(CIRCLE, epsilon=1)
            return str(error.value)

    return asyncio.run(story())


WAYS = pytest.mark.parametrize("said", [asked, asked_in_a_coroutine])


@WAYS
def test_a_certificate_that_is_not_trusted_is_named_and_what_helps(https: str, said: Callable[..., str]) -> None:
    text = said(https)
    assert all(words in text for words in (*WRONG_CERTIFICATE, https))
    assert "try later" not in text
    assert "charged" not in text


@WAYS
def test_a_certificate_of_another_host_is_told_as_such(https: str, folder: Path, said: Callable[..., str]) -> None:
    text = said(https.replace("127.0.0.1", "localhost"), ca=folder / "ca.pem")
    assert "for another host" in text


@WAYS
def test_http_where_https_is_spoken_was_not_charged(https: str, said: Callable[..., str]) -> None:
    text = said(https.replace("https://", "http://"))
    assert f"ask {https};" in text
    assert "nothing was charged" in text


@WAYS
def test_https_where_http_is_spoken_is_told(said: Callable[..., str]) -> None:
    with serving() as url:
        assert f"ask {url}" in said(url.replace("http://", "https://"))


def test_the_command_tells_the_same_and_that_it_was_misused(
    https: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_text("x\n")
    words = ["--near", "5,5", "--within", "3", "--epsilon", "1", "--url", https, "--token-file", tmp_path / "token"]
    monkeypatch.setattr(sys, "argv", ["fedgroup", "ask", "count", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert all(word in said for word in WRONG_CERTIFICATE)
