"""Identities of owners in one process: real keys and sealed boxes, without a certificate authority."""

from __future__ import annotations

from dataclasses import dataclass

import nacl.exceptions
import nacl.public
import nacl.signing

from fedgroup.errors import ProtocolViolation
from fedgroup.secure.pair_keys import OwnerKey


@dataclass(frozen=True)
class Card:
    name: str
    exchange_key: bytes
    tls_key: bytes


class Keys:
    """Real keys and boxes, without a certificate authority."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._secret = nacl.public.PrivateKey.generate()
        self.owner_key = OwnerKey(bytes(self._secret))
        self.exchange_key = self.owner_key.public
        self._signer = nacl.signing.SigningKey.generate()
        self.tls_key = bytes(self._signer.verify_key)
        self.der = name.encode() + b"|" + self.exchange_key + self.tls_key

    @property
    def card(self) -> Card:
        return Card(self.name, self.exchange_key, self.tls_key)

    def sign(self, statement: bytes) -> bytes:
        return bytes(self._signer.sign(statement).signature)

    def seal(self, to: Card, context: bytes, plain: bytes) -> bytes:
        return bytes(nacl.public.Box(self._secret, nacl.public.PublicKey(to.exchange_key)).encrypt(context + plain))

    def open(self, sender: Card, context: bytes, sealed: bytes) -> bytes:
        try:
            plain = nacl.public.Box(self._secret, nacl.public.PublicKey(sender.exchange_key)).decrypt(sealed)
        except nacl.exceptions.CryptoError as fault:
            raise ProtocolViolation("a letter does not open") from fault
        if not plain.startswith(context):
            raise ProtocolViolation("a letter of another context")
        return plain[len(context) :]

    def letters_to(self, to: Card, context: bytes) -> Letters:
        return Letters(self, to, context)

    def letters_from(self, sender: Card, context: bytes) -> Letters:
        return Letters(self, sender, context)


class Letters:
    """Letters to or from one owner, in their order."""

    def __init__(self, keys: Keys, other: Card, context: bytes) -> None:
        self._keys = keys
        self._other = other
        self._context = context
        self._number = 0

    def seal(self, plain: bytes) -> bytes:
        self._number += 1
        return self._keys.seal(self._other, self._context + bytes([self._number]), plain)

    def open(self, letter: bytes) -> bytes:
        plain = self._keys.open(self._other, self._context + bytes([self._number + 1]), letter)
        self._number += 1
        return plain


def believed(der: bytes) -> Card:
    name, _, keys = der.partition(b"|")
    if len(keys) != 64:
        raise ProtocolViolation("not a certificate")
    return Card(name.decode(), keys[:32], keys[32:])
