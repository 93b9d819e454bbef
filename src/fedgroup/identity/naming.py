"""What parties and hosts may be called: a name is a topic, a file's name and a certificate's subject at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Literal, get_args

from fedgroup.errors import InvalidInput
from fedgroup.messages.limits import MOST_NAME

Role = Literal["owner", "provider", "broker"]
ROLES: tuple[Role, ...] = get_args(Role)
SERVING: tuple[Role, ...] = ("provider", "broker")
"""The roles that listen; a broker carries messages and asks nobody anything."""

MOST_HOSTS = 20

# Links address the provider by this word, and mosquitto tells it from others by it, so nobody else is called so.
_PROVIDER_ONLY = "provider"
_NAME = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{MOST_NAME - 1}}}")
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")


def require_name(name: str) -> None:
    """Refuse what is not 1 to 64 lower-case letters, digits, `-` and `_`, beginning with a letter or digit."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"a name has 1 to {MOST_NAME} lower-case letters, digits, - and _, and begins with a letter or digit, "
            f"got {name!r}"
        )


def role_called(word: str) -> Role:
    """Return the role of that name."""
    for role in ROLES:
        if word == role:
            return role
    raise InvalidInput(f"a role is {' or '.join(ROLES)}, got {word!r}")


def require_party(name: str, role: str) -> None:
    """Refuse a name that a party of that role may not have."""
    require_name(name)
    if role_called(role) != "provider" and name == _PROVIDER_ONLY:
        article = "an" if role == "owner" else "a"
        raise InvalidInput(f"{article} {role} cannot be called {name!r}: that is who it speaks to; choose another name")


def require_hosts(hosts: Sequence[str], role: Role) -> None:
    """Refuse hosts that are neither addresses nor plain names, and any host of an owner: owners do not serve."""
    if (role in SERVING) != bool(hosts):
        raise InvalidInput("a provider's or broker's certificate names the hosts it serves at; an owner's names none")
    if len(hosts) > MOST_HOSTS:
        raise InvalidInput(f"a certificate names at most {MOST_HOSTS} hosts, got {len(hosts)}")
    for host in hosts:
        if not (is_address(host) or _HOST.fullmatch(host)):
            raise InvalidInput(f"a host is an address or a lower-case name such as broker.example.org, got {host!r}")


def is_address(host: str) -> bool:
    """Tell whether a host is written as an IP address, in its shortest form."""
    try:
        return str(ip_address(host)) == host
    except ValueError:
        return False
