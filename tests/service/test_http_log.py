"""The public log over HTTP: anybody reads it, page by page, and nothing is spent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fedgroup.live.public_log import PublicLog
from fedgroup.service import log_routes
from fedgroup.storage.log_file import LogFile
from owner_keys import Keys

QUESTION = {"kind": "count", "circle": {"x": 5, "y": 5, "radius": 3.2}, "epsilon": 1, "method": "dp"}


def test_a_log_is_read_page_by_page_without_a_token_and_costs_nothing(
    service: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with service(owners=2) as here:
            empty = await here.client(None).get("/v1/log")
            assert (empty.status_code, empty.content, empty.headers["log-entries"]) == (200, b"", "0")
            provider, keys = here.city.provider, Keys("provider")
            signer = SimpleNamespace(certificate=keys, sign=keys.sign)
            file = LogFile(tmp_path / "log")
            provider.log = provider._asking._log = PublicLog(file, provider.settings, signer, agreed=b"")
            answer = (await here.client().post("/v1/queries", json=QUESTION)).json()
            assert answer["log_entry"] == 2
            spent = here.spent(), here.owners_spent()
            monkeypatch.setattr(log_routes, "MOST_BYTES", 10)  # every entry is longer
            read, first, pages = b"", 0, 0
            while True:
                page = await here.client(None).get("/v1/log", params={"first": first, "limit": 2})
                read, first, pages = read + page.content, int(page.headers["log-next"]), pages + 1
                if page.headers["log-next"] == page.headers["log-entries"]:
                    break
            assert (pages, read) == (3, (tmp_path / "log").read_bytes())
            assert (await here.client(None).get("/v1/log", params={"first": 99})).content == b""
            assert (await here.client(None).get("/v1/log", params={"limit": 0})).status_code == 422
            assert (here.spent(), here.owners_spent()) == spent
            file.close()

    asyncio.run(run())
