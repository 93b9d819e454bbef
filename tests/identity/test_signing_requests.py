from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from fedgroup.errors import InvalidInput
from fedgroup.identity.fields import POSSESSION, alternative_names, own_extension, subject
from fedgroup.identity.keys import FreshKeys, exchange_key_in, pem_of, proven_exchange_key, tls_key_in
from fedgroup.identity.requests import make_request, read_request
from fedgroup.secure.pair_keys import OwnerKey


def forged(keys: FreshKeys, *extensions: x509.ExtensionType, name: x509.Name | None = None, signer=None) -> bytes:
    """A request that says whatever it likes."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(name or subject(role="owner", name="taxi-a"))
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    signer, digest = signer or (keys.tls, None)
    return builder.sign(signer, digest).public_bytes(Encoding.PEM)


def proof(keys: FreshKeys, role: str = "owner", name: str = "taxi-a") -> x509.UnrecognizedExtension:
    return own_extension(POSSESSION, keys.possession(role, name))


def test_a_request_tells_name_role_and_both_keys():
    keys = FreshKeys()
    read = read_request(make_request(keys, "taxi-a", "owner"))
    assert (read.name, read.role, read.hosts) == ("taxi-a", "owner", ())
    assert read.tls_key == keys.tls.public_key().public_bytes_raw()
    assert read.exchange_key == OwnerKey(keys.exchange.private_bytes_raw()).public


def test_a_providers_request_names_its_hosts():
    hosts = ("localhost", "127.0.0.1", "::1", "broker.example.org")
    assert read_request(make_request(FreshKeys(), "broker", "provider", hosts=hosts)).hosts == hosts


def test_fingerprints_tell_keys_apart():
    one, two = (read_request(make_request(FreshKeys(), "taxi-a", "owner")) for _ in range(2))
    assert one.fingerprint != two.fingerprint
    assert len(one.fingerprint.replace("-", "")) == 32


def test_keys_survive_their_files_and_do_not_print():
    keys = FreshKeys()
    assert tls_key_in(pem_of(keys.tls)).private_bytes_raw() == keys.tls.private_bytes_raw()
    assert exchange_key_in(pem_of(keys.exchange)) == keys.exchange.private_bytes_raw()
    assert repr(keys) == "FreshKeys(<private>)"


def test_keys_come_from_the_given_entropy():
    one, two = (FreshKeys(lambda count: bytes(range(count))) for _ in range(2))
    assert make_request(one, "a", "owner") == make_request(two, "a", "owner")
    assert one.tls.private_bytes_raw() == bytes(range(32))


@pytest.mark.parametrize("pem", [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----\n!!\n-----END PRIVATE KEY-----\n"])
def test_what_is_no_key_is_refused_without_being_quoted(pem):
    for read in (tls_key_in, exchange_key_in):
        with pytest.raises(InvalidInput) as refused:
            read(pem)
        assert refused.value.__suppress_context__


def test_keys_of_the_other_kind_are_refused():
    keys = FreshKeys()
    for read, pem in ((tls_key_in, pem_of(keys.exchange)), (exchange_key_in, pem_of(keys.tls))):
        with pytest.raises(InvalidInput):
            read(pem)


def test_every_changed_byte_of_a_request_is_noticed():
    der = x509.load_pem_x509_csr(make_request(FreshKeys(), "taxi-a", "owner")).public_bytes(Encoding.DER)
    spare_bits = len(der) - 65  # how many bits of the signature's last byte do not count
    for at in set(range(len(der))) - {spare_bits}:
        changed = der[:at] + bytes([der[at] ^ 1]) + der[at + 1 :]
        with pytest.raises(InvalidInput):
            read_request(_pem(changed))


def test_nobody_proves_possession_of_anothers_exchange_key():
    owner, thief = FreshKeys(), FreshKeys()
    stolen = [
        proof(owner),  # made for the owner's TLS key
        own_extension(POSSESSION, owner.possession("owner", "taxi-a")[:32] + thief.possession("owner", "taxi-a")[32:]),
        proof(thief, name="taxi-b"),
        proof(thief, role="provider"),
        own_extension(POSSESSION, bytes(96)),
        own_extension(POSSESSION, b"short"),
        x509.UnrecognizedExtension(POSSESSION, thief.possession("owner", "taxi-a")),  # not a DER octet string
        x509.UnrecognizedExtension(POSSESSION, b""),
    ]
    for wrong in stolen:
        with pytest.raises(InvalidInput):
            read_request(forged(thief, wrong))
    assert read_request(forged(thief, proof(thief))).name == "taxi-a"


@pytest.mark.parametrize("point", [0, 1, 2**255 - 19 - 1, 2**255 - 19, 2**256 - 1])
def test_signing_keys_outside_the_group_prove_nothing(point):
    tls = FreshKeys().tls.public_key()
    with pytest.raises(ValueError, match="possession"):
        proven_exchange_key(point.to_bytes(32, "little") + bytes(64), tls, "owner", "a")


def test_requests_with_other_keys_parts_or_wishes_are_refused():
    keys = FreshKeys()
    called = lambda *parts: x509.Name([x509.NameAttribute(kind, text) for kind, text in parts])
    role, name = (NameOID.ORGANIZATIONAL_UNIT_NAME, "owner"), (NameOID.COMMON_NAME, "taxi-a")
    wrong = [
        forged(keys),
        forged(keys, proof(keys), x509.BasicConstraints(ca=True, path_length=None)),
        forged(keys, proof(keys), alternative_names(["localhost"])),
        forged(keys, proof(keys), x509.SubjectAlternativeName([x509.RFC822Name("a@b.c")])),
        forged(keys, proof(keys), signer=(generate_private_key(SECP256R1()), SHA256())),
        forged(keys, proof(keys), name=called(name, role)),
        forged(keys, proof(keys), name=called(role, name, name)),
        forged(keys, proof(keys), name=called((NameOID.ORGANIZATION_NAME, "other"), role, name)),
        forged(keys, proof(keys, "authority"), name=called((role[0], "authority"), name)),
        forged(keys, proof(keys, "owner", "Taxi"), name=called(role, (name[0], "Taxi"))),
        forged(keys, proof(keys, "owner", "provider"), name=called(role, (name[0], "provider"))),
    ]
    for pem in wrong:
        with pytest.raises(InvalidInput):
            read_request(pem)


@pytest.mark.parametrize("pem", [b"", b"nonsense", b"x" * 100_000])
def test_what_is_no_request_is_refused(pem):
    with pytest.raises(InvalidInput, match="fedgroup certificates request"):
        read_request(pem)


def _pem(der: bytes) -> bytes:
    import base64

    return b"-----BEGIN CERTIFICATE REQUEST-----\n" + base64.encodebytes(der) + b"-----END CERTIFICATE REQUEST-----\n"
