"""A federation's authority for tests: certificates made when they are needed, and a list of those revoked."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fedgroup.errors import ProtocolViolation
from fedgroup.transport.listening import Listening

FEDERATION = "city"
SERVING = ("broker", "provider")


class Federation:
    """A folder with the authority's certificate, its list of revocations, and NAME.pem and NAME.key of every party."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = Ed25519PrivateKey.generate()
        self._certificate = self._signed(_subject("authority"), self._key, authority=True)
        self._revoked: list[int] = []
        self.pem("authority").write_bytes(self._certificate.public_bytes(Encoding.PEM))
        self._write_list()

    def pem(self, name: str) -> Path:
        """The file of a party's certificate."""
        if name not in ("authority", "revoked") and not self._key_file(name).exists():
            self._issue(name)
        return self.folder / f"{name}.pem"

    def der(self, name: str) -> bytes:
        return x509.load_pem_x509_certificate(self.pem(name).read_bytes()).public_bytes(Encoding.DER)

    def revoke(self, name: str) -> None:
        self._revoked.append(x509.load_pem_x509_certificate(self.pem(name).read_bytes()).serial_number)
        self._write_list()

    def client(self, name: str, *, trusting: Federation | None = None) -> ssl.SSLContext:
        """What `name` connects with; it trusts this federation, or another one."""
        context = ssl.create_default_context(cafile=(trusting or self).pem("authority"))
        context.load_cert_chain(self.pem(name), self._key_file(name))
        return context

    def listening(self, port: int) -> Listening:
        files = (self.pem("authority"), self.pem("broker"), self._key_file("broker"), self.pem("revoked"))
        return Listening("127.0.0.1", port, *files)

    def _key_file(self, name: str) -> Path:
        return self.folder / f"{name}.key"

    def _issue(self, name: str) -> None:
        key = Ed25519PrivateKey.generate()
        certificate = self._signed(_subject(name), key, authority=False)
        (self.folder / f"{name}.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
        self._key_file(name).write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

    def _signed(self, subject: x509.Name, key: Ed25519PrivateKey, *, authority: bool) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(_subject("authority"))
        builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        builder = builder.add_extension(_uses(authority=authority), critical=True)
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        builder = builder.add_extension(signer, critical=False)
        if _name_of(subject) in SERVING:
            hosts = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
            uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        return builder.sign(self._key, None)

    def _write_list(self) -> None:
        now = datetime.now(UTC)
        builder = x509.CertificateRevocationListBuilder().issuer_name(_subject("authority"))
        builder = builder.last_update(now - timedelta(hours=1)).next_update(now + timedelta(days=1))
        for serial in self._revoked:
            entry = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now)
            builder = builder.add_revoked_certificate(entry.build())
        self.pem("revoked").write_bytes(builder.sign(self._key, None).public_bytes(Encoding.PEM))


def by_subject(certificate: bytes) -> tuple[str, str]:
    """Role and name as the subject states them."""
    subject = x509.load_der_x509_certificate(certificate).subject
    return str(subject.get_attributes_for_oid(NameOID.ORGANIZATIONAL_UNIT_NAME)[0].value), _name_of(subject)


def refusing(_: bytes) -> tuple[str, str]:
    raise ProtocolViolation("nobody is let in")


def _uses(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _subject(name: str) -> x509.Name:
    role = "authority" if name == "authority" else "provider" if name in SERVING else "owner"
    parts = ((NameOID.ORGANIZATION_NAME, FEDERATION), (NameOID.ORGANIZATIONAL_UNIT_NAME, role))
    return x509.Name([x509.NameAttribute(kind, word) for kind, word in (*parts, (NameOID.COMMON_NAME, name))])


def _name_of(subject: x509.Name) -> str:
    return str(subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
