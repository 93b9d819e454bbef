"""Frames between two processes over a socket, each after its length, counted as they leave."""

from __future__ import annotations

import select
import socket
import struct

_LENGTH = struct.Struct(">I")
_PIECE = 1 << 20


class Channel:
    """One end: sending never waits, so that both sides may send at once; receiving sends on what is left."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._unsent = bytearray()
        self._unread = bytearray()
        self.bytes_sent = 0

    def send(self, frames: list[bytes]) -> None:
        """Send frames as far as the other side takes them now, and keep the rest."""
        for frame in frames:
            self._unsent += _LENGTH.pack(len(frame)) + frame
            self.bytes_sent += _LENGTH.size + len(frame)
        self._write()

    def receive(self) -> bytes:
        """Wait for the next frame."""
        while (frame := self._whole_frame()) is None:
            readable, writable, _ = select.select([self._socket], [self._socket] if self._unsent else [], [])
            if writable:
                self._write()
            if readable:
                self._read()
        self._write()
        return frame

    def meet(self) -> None:
        """Wait until the other side has come as far; an empty frame each way, which no side counts."""
        before = self.bytes_sent
        self.send([b""])
        if self.receive():
            raise RuntimeError("the other side is elsewhere")
        while self._unsent:
            select.select([], [self._socket], [])
            self._write()
        self.bytes_sent = before

    def _write(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(memoryview(self._unsent)[:_PIECE])]
        except BlockingIOError:
            pass

    def _read(self) -> None:
        piece = self._socket.recv(_PIECE)
        if not piece:
            raise EOFError("the other side has gone")
        self._unread += piece

    def _whole_frame(self) -> bytes | None:
        if len(self._unread) < _LENGTH.size:
            return None
        end = _LENGTH.size + _LENGTH.unpack_from(self._unread)[0]
        if len(self._unread) < end:
            return None
        frame = bytes(memoryview(self._unread)[_LENGTH.size : end])
        del self._unread[:end]
        return frame
