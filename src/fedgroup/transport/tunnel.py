"""TLS at either end, without sockets: bytes of the wire go in and out, and what was said comes out of them.

asyncio's own TLS keeps 256 KiB for every connection; a thousand owners are a quarter of a gigabyte.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import Protocol

_RECORD = 1 << 14
"""The most that TLS seals at once."""
PIECE = 1 << 11
"""What is handed to TLS at once, unless said otherwise: for ever, it keeps as much memory as it was once given."""


class Tls(Protocol):
    """A context, or whatever gives a connection's TLS as one does."""

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
    ) -> ssl.SSLObject: ...


class Tunnel:
    """One connection's TLS, by a context that asks for the other side's certificate: the server's end, or a client's.

    A client names the server that it calls (`to`), and begins: it receives nothing, and has something to send then.

    Guarantee: nothing is received before the handshake is over and the other side's certificate was verified.
    """

    __slots__ = ("_ended", "_incoming", "_open", "_outgoing", "_piece", "_sealed", "_tls")

    def __init__(self, tls: Tls, *, to: str | None = None, piece: int = PIECE) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = tls.wrap_bio(self._incoming, self._outgoing, server_side=to is None, server_hostname=to)
        self._piece = piece
        self._sealed: list[bytes] = []
        self._open = False
        self._ended = False

    @property
    def open(self) -> bool:
        """Whether the handshake is over."""
        return self._open

    @property
    def ended(self) -> bool:
        """Whether the other side said that nothing follows."""
        return self._ended

    @property
    def certificate(self) -> bytes | None:
        """The other side's certificate (DER)."""
        return self._tls.getpeercert(binary_form=True)

    def receive(self, data: bytes | memoryview) -> bytes:
        """Take bytes of the wire and return what was said; raise `ssl.SSLError` at bytes that are no good.

        There may be something to send afterwards, also after an error.
        """
        piece = self._piece
        if len(data) <= piece:
            return self._received(data)
        view = memoryview(data)
        return b"".join(self._received(view[at : at + piece]) for at in range(0, len(view), piece))

    def _received(self, data: bytes | memoryview) -> bytes:
        self._incoming.write(data)
        if not self._open and not self._shaken():
            return b""
        said: list[bytes] = []
        while not self._ended and (self._incoming.pending or self._tls.pending()):
            try:
                piece = self._tls.read(_RECORD)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:  # after an end of our own
                piece = b""
            self._ended = not piece
            said.append(piece)
        return said[0] if len(said) == 1 else b"".join(said)

    def seal(self, plain: bytes) -> None:
        """Say something."""
        view = memoryview(plain)
        while view:
            view = view[self._tls.write(view[: self._piece]) :]
            if view:
                self._sealed.append(self._outgoing.read())

    def end(self) -> None:
        """Say that nothing follows."""
        with suppress(ssl.SSLError):  # the other side has not said so yet, or there was no handshake
            self._tls.unwrap()

    def to_send(self) -> bytes:
        """Return what is to go over the wire now."""
        rest = self._outgoing.read()
        if not self._sealed:
            return rest
        sealed, self._sealed = self._sealed, []
        return b"".join((*sealed, rest))

    def _shaken(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        self._open = True
        return True
