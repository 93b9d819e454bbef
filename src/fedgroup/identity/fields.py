"""How a certificate says who is who: subject, role, exchange key and hosts, in the words of X.509.

A subject is O = federation, OU = role, CN = name. The exchange key stands in an extension of its own, below an OID made
of a random UUID in short arcs (Microsoft's branch for such, which needs no registration): Go's libraries, and so NATS,
read none longer than 31 bits. It is not critical, so that TLS libraries let it pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fedgroup.identity.naming import Role, is_address

_ARC = "1.2.840.113556.1.8000.2554.9007.37074.22623.19926.37701.1541922.4524823"
EXCHANGE_KEY = x509.ObjectIdentifier(f"{_ARC}.1")
POSSESSION = x509.ObjectIdentifier(f"{_ARC}.2")
_OCTET_STRING = 0x04

FEDERATION, ROLE, NAME = NameOID.ORGANIZATION_NAME, NameOID.ORGANIZATIONAL_UNIT_NAME, NameOID.COMMON_NAME
USES: dict[Role, list[x509.ObjectIdentifier]] = {
    "owner": [ExtendedKeyUsageOID.CLIENT_AUTH],
    "provider": [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH],
    "broker": [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH],
}
"""What TLS lets a role do: owners cannot serve; brokers of a cluster also call each other."""

FAULTS = (
    ValueError,
    TypeError,
    x509.ExtensionNotFound,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
    UnsupportedAlgorithm,
)
"""What reading a malformed certificate or request can raise."""


def subject(**parts: str) -> x509.Name:
    """Return a subject of `federation`, `role` and `name`, as far as they are given."""
    kinds = {"federation": FEDERATION, "role": ROLE, "name": NAME}
    return x509.Name([x509.NameAttribute(kinds[part], text) for part, text in parts.items()])


def words_of(name: x509.Name, *kinds: x509.ObjectIdentifier) -> tuple[str, ...]:
    """Return the words of a subject that consists of exactly these kinds, in this order."""
    if tuple(word.oid for word in name) != kinds:
        raise ValueError("a subject has other parts")
    return tuple(str(word.value) for word in name)


def own_extension(kind: x509.ObjectIdentifier, text: bytes) -> x509.UnrecognizedExtension:
    """Return an extension of ours: a DER octet string of less than 128 bytes."""
    return x509.UnrecognizedExtension(kind, bytes((_OCTET_STRING, len(text))) + text)


def own_text(extensions: x509.Extensions, kind: x509.ObjectIdentifier) -> bytes:
    """Return the bytes in an extension of ours."""
    value = extensions.get_extension_for_oid(kind).value
    if not isinstance(value, x509.UnrecognizedExtension):
        raise ValueError("an extension has another type")
    text = value.value[2:]
    if value.value[:2] != bytes((_OCTET_STRING, len(text) & 0x7F)):
        raise ValueError("an extension of ours is an octet string")
    return text


def alternative_names(hosts: Sequence[str]) -> x509.SubjectAlternativeName:
    """Return hosts as X.509 lists them."""
    return x509.SubjectAlternativeName(
        [x509.IPAddress(ip_address(host)) if is_address(host) else x509.DNSName(host) for host in hosts]
    )


def hosts_in(extensions: x509.Extensions) -> tuple[str, ...]:
    """Return the hosts that a certificate or request names, none if it has no such extension."""
    try:
        listed = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    if any(not isinstance(host, x509.DNSName | x509.IPAddress) for host in listed):
        raise ValueError("a host is a name or an address")
    return tuple(str(host.value) for host in listed)
