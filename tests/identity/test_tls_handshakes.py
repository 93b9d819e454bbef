"""Real handshakes over loopback sockets."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

import pytest

from fedgroup.identity import Authority, Identity, Trust
from fedgroup.identity.issuing import now
from fedgroup.identity.tls import refresh
from fedgroup.identity.tls import server_context as context_of_anyone

SECONDS = 60


@dataclass
class Served:
    """What a server saw of its client."""

    certificate: bytes | None = None
    version: str | None = None
    error: Exception | None = None


def serve_one(listener: socket.socket, context: ssl.SSLContext, seen: Served) -> None:
    """Answer one client's greeting, if its handshake succeeds."""
    connection, _ = listener.accept()
    connection.settimeout(SECONDS)
    try:
        with context.wrap_socket(connection, server_side=True) as tls:
            seen.certificate, seen.version = tls.getpeercert(binary_form=True), tls.version()
            tls.sendall(b"welcome " + tls.recv(100))
            with suppress(OSError):
                tls.recv(1)  # until the client has read and gone
    except OSError as error:
        seen.error = error
        connection.close()


def talk(server: ssl.SSLContext, client: ssl.SSLContext, *, host: str = "localhost") -> tuple[bytes | None, Served]:
    """Return what the client was told, nothing if either side refused, and what the server saw."""
    seen = Served()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve_one, args=(listener, server, seen))
        serving.start()
        try:
            raw = socket.create_connection(listener.getsockname(), timeout=SECONDS)
            with raw, client.wrap_socket(raw, server_hostname=host) as tls:
                tls.sendall(b"taxi")
                return tls.recv(100) or None, seen
        except OSError:
            return None, seen
        finally:
            serving.join(SECONDS)


@pytest.fixture
def provider(enrol) -> Identity:
    return enrol("provider", "provider")


@pytest.fixture
def owner(enrol) -> Identity:
    return enrol("taxi-a")


@pytest.fixture
def outside(tmp_path) -> Authority:
    """Another federation's authority that has the same name."""
    return Authority.create(tmp_path / "outside", "taxis")


def unchecked_client(identity: Identity, trust: Trust) -> ssl.SSLContext:
    """A client that shows a certificate without asking whether it is any good."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(trust.authority_file)
    context.load_cert_chain(identity.certificate_file, identity.key_file)
    return context


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_owner_and_provider_talk(provider, owner, trust, host):
    said, seen = talk(provider.server_context(trust()), owner.client_context(trust()), host=host)
    assert said == b"welcome taxi"
    assert seen.version == "TLSv1.3"
    assert seen.certificate is not None
    assert trust().verify(seen.certificate) == owner.certificate


def test_a_provider_connects_to_a_broker_of_the_federation(provider, enrol, trust):
    broker = enrol("broker", "provider")
    said, seen = talk(broker.server_context(trust()), provider.client_context(trust()))
    assert said is not None
    assert trust().verify(seen.certificate, role="provider").name == "provider"


def test_a_client_of_another_authority_is_refused(provider, trust, outside, enrolled_by, tmp_path):
    stranger = enrolled_by(outside, tmp_path / "stranger", "taxi-a")
    said, seen = talk(provider.server_context(trust()), unchecked_client(stranger, trust()))
    assert said is None
    assert isinstance(seen.error, ssl.SSLCertVerificationError)


def test_a_client_without_a_certificate_is_refused(provider, trust):
    anonymous = ssl.create_default_context(cafile=trust().authority_file)
    said, seen = talk(provider.server_context(trust()), anonymous)
    assert said is None
    assert isinstance(seen.error, ssl.SSLError)


def test_a_server_of_another_authority_is_refused(owner, trust, outside, enrolled_by, tmp_path):
    pretender = enrolled_by(outside, tmp_path / "pretender", "provider", "provider")
    said, _ = talk(pretender.server_context(Trust.load(outside.folder)), owner.client_context(trust()))
    assert said is None


def test_an_expired_client_is_refused(provider, enrol, authority, trust):
    late = enrol("taxi-late", at=now() - timedelta(days=30), days=10)
    authority.renew_list()
    said, seen = talk(provider.server_context(trust()), unchecked_client(late, trust()))
    assert said is None
    assert "expired" in str(seen.error)


def test_a_revoked_client_is_refused(provider, owner, authority, trust):
    before = owner.client_context(trust())
    authority.revoke("taxi-a")
    said, seen = talk(provider.server_context(trust()), before)
    assert said is None
    assert "revoked" in str(seen.error)


def test_a_running_server_learns_of_revocations(provider, owner, enrol, authority, trust):
    other, server = enrol("taxi-b"), provider.server_context(trust())
    client = owner.client_context(trust())
    assert talk(server, client)[0] is not None
    authority.revoke("taxi-a", at=now() + timedelta(seconds=5))
    refresh(server, trust())
    said, seen = talk(server, client)
    assert said is None
    assert "revoked" in str(seen.error)
    assert talk(server, other.client_context(trust()))[0] is not None


def test_a_revoked_server_is_refused(provider, owner, authority, trust):
    server = provider.server_context(trust())
    authority.revoke("provider")
    assert talk(server, owner.client_context(trust()))[0] is None


def test_an_owner_posing_as_provider_is_refused(owner, enrol, trust):
    posing = enrol("taxi-b")
    server = context_of_anyone(posing.certificate_file, posing.key_file, trust())
    client = owner.client_context(trust())
    assert talk(server, client)[0] is None
    client.check_hostname = False  # not the missing host alone: the role itself is wrong
    assert talk(server, client)[0] is None


def test_a_provider_at_another_host_is_refused(provider, owner, trust):
    said, _ = talk(provider.server_context(trust()), owner.client_context(trust()), host="broker.example.org")
    assert said is None


def test_older_tls_is_refused(provider, owner, trust):
    client = unchecked_client(owner, trust())
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    assert talk(provider.server_context(trust()), client)[0] is None


def test_no_handshake_succeeds_with_a_list_that_ran_out(provider, owner, authority, trust):
    server, client = provider.server_context(trust()), owner.client_context(trust())
    assert talk(server, client)[0] is not None
    authority.renew_list(days=1, at=now() - timedelta(days=2))
    stale = Trust.load(authority.folder, stale=True)
    assert talk(context_of_anyone(provider.certificate_file, provider.key_file, stale), client)[0] is None


def test_sessions_are_not_resumed(provider, owner, trust):
    assert provider.server_context(trust()).num_tickets == 0
    assert owner.client_context(trust()).verify_flags & ssl.VERIFY_CRL_CHECK_LEAF
