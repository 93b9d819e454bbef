"""What is wrong with the address of a service, where no reply came: http for https, or a certificate of another."""

from __future__ import annotations

import socket
import ssl
from urllib.parse import urlsplit

from fedgroup.errors import InvalidInput

PROBE_SECONDS = 3.0
_OTHER_HOST = (62, 64)
"""OpenSSL's codes for a certificate of another name, or of another address."""


def mistake_in(error: BaseException | None, url: str) -> InvalidInput | None:
    """Return what is wrong with an https address or its certificate; nothing was sent in such a case."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return _not_believed(error, url)
        if isinstance(error, ssl.SSLError) and error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST"):
            return InvalidInput(f"the service at {url} does not speak https; if it is to be so, ask {_other(url)}")
        error = error.__cause__ or error.__context__
    return None


def plain_mistake(url: str) -> InvalidInput | None:
    """Return what is wrong with an http address at which only https is spoken; whoever asked there was not heard."""
    if not url.startswith("http://") or not _speaks_tls(url):
        return None
    return InvalidInput(f"the service at {url} speaks https only: ask {_other(url)}; nothing was charged")


def _not_believed(error: ssl.SSLCertVerificationError, url: str) -> InvalidInput:
    if error.verify_code in _OTHER_HOST:
        return InvalidInput(
            f"the certificate of {url} is for another host; ask at an address that the certificate names"
        )
    return InvalidInput(
        f"the certificate of {url} is not trusted ({error.verify_message}); name that of the authority behind it: "
        "--ca FILE, in Python ca=FILE (a federation's own is its ca.pem)"
    )


def _speaks_tls(url: str) -> bool:
    """Tell whether a server greets in TLS; whose certificate it shows does not matter here, and nothing is sent."""
    place = urlsplit(url)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((place.hostname or "", place.port or 80), PROBE_SECONDS) as line,
            context.wrap_socket(line, server_hostname=place.hostname),
        ):
            return True
    except (OSError, ValueError):
        return False


def _other(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{'http' if scheme == 'https' else 'https'}://{rest}"
