"""What all parties of a federation agreed on, as a digest that they show each other.

An owner that counts in degrees what others count in metres would make answers wrong without anybody noticing. So the
provider admits nobody with another digest than its own, and an owner refuses messages with another one.
"""

from __future__ import annotations

import hashlib
import json

from fedgroup.messages.limits import AGREED_BYTES
from fedgroup.privacy.sensitivity import Protection
from fedgroup.space import PublicMap


def agreed_on(federation: str, public_map: PublicMap, protection: Protection) -> bytes:
    """Return the digest of a federation's name, map and protection."""
    domain = [float(side) + 0.0 for side in public_map.domain.sides]  # -0 is 0
    protected = [protection.neighbours, protection.unit, protection.max_records]
    facts = json.dumps([federation, domain, public_map.lonlat, *protected])
    return hashlib.sha256(b"fedgroup agreed v1 " + facts.encode()).digest()[:AGREED_BYTES]
