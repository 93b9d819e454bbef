"""The provider's desk encodes what it sends when it sends it: offers to thousands are never in memory together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from fedgroup.live.desk import Desk


class Link:
    """Notes how many messages were encoded whenever one is taken."""

    def __init__(self) -> None:
        self.encoded: list[str] = []
        self.taken: list[tuple[str, bytes, int]] = []

    def encode(self, message: str) -> bytes:
        self.encoded.append(message)
        return message.encode()

    async def send_many(self, messages: Iterable[tuple[str, bytes]]) -> None:
        self.taken += [(owner, payload, len(self.encoded)) for owner, payload in messages]

    def received(self) -> Any: ...


def test_each_message_is_encoded_when_it_is_sent_and_one_to_many_owners_once() -> None:
    link, same = Link(), "the same"
    desk = Desk(link, encode=link.encode, decode=lambda *_: None, verify=lambda _: None)
    asyncio.run(desk.tell({"ann": same, "bob": "to bob", "cid": same, "dan": "to dan"}))
    assert link.taken == [
        ("ann", b"the same", 1),
        ("bob", b"to bob", 2),
        ("cid", b"the same", 2),
        ("dan", b"to dan", 3),
    ]
