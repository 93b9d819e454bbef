"""Several messages in one frame: all of them arrive, in their order, and what is no pack is not taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.errors import ProtocolViolation
from fedgroup.live.packs import MOST_PACKED, PACK, packed, unpacked
from fedgroup.messages.asked import Check
from fedgroup.transport.codec import encode

MESSAGES = st.lists(st.binary(min_size=1, max_size=200).map(lambda rest: b"\x81" + rest), max_size=20)


@given(MESSAGES)
def test_what_is_packed_comes_out_in_its_order(messages: list[bytes]) -> None:
    assert [each for held in packed(messages) for each in unpacked(held)] == messages


def test_one_message_is_held_as_it_is_and_several_are_held_together() -> None:
    message = encode(Check(b"r" * 16, b"e" * 16))
    assert not message.startswith(PACK)
    assert list(packed([message])) == [message]
    (pack,) = packed([message] * 3)
    assert pack.startswith(PACK)
    assert len(pack) == 1 + 3 * (4 + len(message))


def test_a_pack_is_no_longer_than_it_may_be_and_long_messages_go_alone() -> None:
    short, long = b"\x81" * 100, b"\x81" * (MOST_PACKED + 1)
    assert list(packed([short, long, short]))[1] == long
    assert max(len(held) for held in packed([short] * 1_000)) < MOST_PACKED * 1.1


@pytest.mark.parametrize("cut", [1, 3, 4, 5])
def test_a_pack_that_was_cut_is_refused(cut: int) -> None:
    (pack,) = packed([b"\x81ab", b"\x81cd"])
    with pytest.raises(ProtocolViolation):
        unpacked(pack[:-cut])
