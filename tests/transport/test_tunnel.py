"""TLS without sockets: what is said arrives, in whatever pieces, and only from who has a certificate."""

from __future__ import annotations

import ssl
from contextlib import suppress

import pytest
from wire_certificates import Federation

from fedgroup.transport.tunnel import PIECE, Tunnel


class Far:
    """The client's end, and the wire in between."""

    def __init__(self, federation: Federation, tls: ssl.SSLContext) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = tls.wrap_bio(self._in, self._out, server_hostname="localhost")
        self.near = Tunnel(federation.listening(0).tls())

    def shake_hands(self, *, piece: int = 1 << 14) -> None:
        while not self.near.open:
            with suppress(ssl.SSLWantReadError):
                self.tls.do_handshake()
            self.arrives(piece=piece)

    def arrives(self, *, piece: int = 1 << 14) -> bytes:
        """Carry over what there is, both ways, in pieces, and return what was said."""
        stream = self._out.read()
        said = b"".join(self.near.receive(stream[at : at + piece]) for at in range(0, len(stream), piece))
        self._in.write(self.near.to_send())
        return said


@pytest.mark.parametrize("piece", [1, 100, 1 << 14])
def test_what_is_said_arrives_in_any_pieces(federation: Federation, piece: int) -> None:
    far = Far(federation, federation.client("ann-0"))
    far.shake_hands(piece=piece)
    assert far.near.certificate == federation.der("ann-0")
    far.tls.write(b"first")
    far.tls.write(b"second")
    assert far.arrives(piece=piece) == b"firstsecond"
    far.near.seal(b"reply")
    assert (far.arrives(), far.tls.read()) == (b"", b"reply")


def test_what_is_longer_than_a_record_arrives_whole(federation: Federation) -> None:
    far, long = Far(federation, federation.client("ann-0")), bytes(range(256)) * 1_000
    far.shake_hands()
    far.near.seal(long)
    far.arrives()
    heard = b""
    while len(heard) < len(long):
        heard += far.tls.read(1 << 14)
    assert heard == long


def test_each_end_tells_the_other_that_nothing_follows(federation: Federation) -> None:
    far = Far(federation, federation.client("ann-0"))
    far.shake_hands()
    far.near.end()
    far.arrives()
    assert far.tls.read() == b""
    far.tls.unwrap()
    assert (far.arrives(), far.near.ended) == (b"", True)


def test_the_end_of_what_was_never_open_is_no_trouble(federation: Federation) -> None:
    far = Far(federation, federation.client("ann-0"))
    far.near.end()
    assert (far.near.open, far.near.ended) == (False, False)


@pytest.mark.parametrize("stranger", ["nobody", "revoked", "of another authority"])
def test_nothing_is_heard_from_who_has_no_certificate(federation: Federation, stranger: str, tmp_path) -> None:
    tls = {
        "nobody": lambda: ssl.create_default_context(cafile=federation.pem("authority")),
        "revoked": lambda: federation.client("dan"),
        "of another authority": lambda: Federation(tmp_path).client("ann-0", trusting=federation),
    }[stranger]()
    far = Far(federation, tls)
    with pytest.raises(ssl.SSLError):
        far.shake_hands()
    assert not far.near.open


def ends(federation: Federation, *, to: str) -> tuple[Tunnel, Tunnel]:
    """A client's end and the server's, after as many flights as a handshake has."""
    client, server = Tunnel(federation.client("ann-0"), to=to), Tunnel(federation.listening(0).tls())
    client.receive(b"")
    for _ in range(2):
        server.receive(client.to_send())
        client.receive(server.to_send())
    return client, server


def test_both_ends_can_be_tunnels(federation: Federation) -> None:
    client, server = ends(federation, to="localhost")
    assert (client.open, server.open, server.certificate) == (True, True, federation.der("ann-0"))
    client.seal(b"said" * 10_000)
    assert server.receive(client.to_send()) == b"said" * 10_000
    server.seal(b"heard")
    assert client.receive(server.to_send()) == b"heard"


def test_what_is_long_is_sealed_in_pieces_so_that_tls_keeps_no_place_for_more(federation: Federation) -> None:
    client, server = ends(federation, to="localhost")
    client.seal(bytes(10 * PIECE + 1))
    sealed = client.to_send()
    assert client.to_send() == b""
    assert server.receive(sealed) == bytes(10 * PIECE + 1)
    lengths = []
    while sealed:
        lengths.append(int.from_bytes(sealed[3:5], "big"))
        sealed = sealed[5 + lengths[-1] :]
    assert (len(lengths), max(lengths) - PIECE < 100) == (11, True)


def test_a_client_says_nothing_to_a_server_of_another_name(federation: Federation) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        ends(federation, to="elsewhere.example")


def test_what_is_no_tls_is_refused(federation: Federation) -> None:
    with pytest.raises(ssl.SSLError):
        Tunnel(federation.listening(0).tls()).receive(b"GET / HTTP/1.1\r\n\r\n")
