"""Who is who: the federation's own certificate authority, certificates, TLS, and letters sealed between owners.

The authority belongs to the federation, never to the provider: whoever holds it can make owners up.
"""

from fedgroup.identity.authority import Authority
from fedgroup.identity.certificate import Certificate
from fedgroup.identity.naming import Role
from fedgroup.identity.own import Identity
from fedgroup.identity.sealing import SEAL_BYTES, context_of
from fedgroup.identity.trust import Trust

__all__ = [
    "SEAL_BYTES",
    "Authority",
    "Certificate",
    "Identity",
    "Role",
    "Trust",
    "context_of",
]
