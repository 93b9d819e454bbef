"""Where messages go. One owner, one branch; the sender of a message is read from its topic, which brokers enforce.

PREFIX/FEDERATION/owner/OWNER/ask           provider -> owner
PREFIX/FEDERATION/owner/OWNER/say           owner -> provider
PREFIX/FEDERATION/owner/TO/from/SENDER      owner -> owner, sealed
PREFIX/FEDERATION/owner/OWNER/presence      retained: here or gone
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fedgroup.errors import InvalidInput

PROVIDER = "provider"
"""The provider's name on the wire, which no owner can have."""

_NAME = re.compile(r"[a-z0-9_-]{1,64}")


def require_name(name: str, what: str) -> str:
    """Return a name that can stand in a topic, or say what is wrong with it."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{what} is 1 to 64 of the characters a-z 0-9 _ -, got {name!r}")
    return name


def require_owner(name: str) -> str:
    """Return the name of an owner, or say what is wrong with it."""
    if name == PROVIDER:
        raise InvalidInput(f"no owner can be called {PROVIDER}; choose another name")
    return require_name(name, "an owner's name")


def is_owner(name: str) -> bool:
    """Tell whether an owner can have this name."""
    return name != PROVIDER and _NAME.fullmatch(name) is not None


@dataclass(frozen=True)
class Topics:
    """The topics of one federation; `+` in place of an owner makes a filter of all owners."""

    federation: str
    prefix: str = "fedgroup"

    def __post_init__(self) -> None:
        require_name(self.federation, "a federation's name")
        require_name(self.prefix, "the prefix of topics")

    def ask(self, owner: str) -> str:
        return f"{self._root}{owner}/ask"

    def say(self, owner: str) -> str:
        return f"{self._root}{owner}/say"

    def letter(self, to: str, sender: str) -> str:
        return f"{self._root}{to}/from/{sender}"

    def presence(self, owner: str) -> str:
        return f"{self._root}{owner}/presence"

    def filter_of(self, topic: str) -> str | None:
        """Return the one filter that may be granted to who reads a topic, or nothing if nobody does."""
        match self._branch(topic):
            case [_, "ask"]:
                return topic
            case [_, ("say" | "presence") as what]:
                return f"{self._root}+/{what}"
            case [to, "from", _]:
                return self.letter(to, "+")
        return None

    def heard_by_provider(self, topic: str) -> str | None:
        """Return the owner that spoke on a topic, or nothing if it is none that the provider listens to."""
        match self._branch(topic):
            case [owner, "say" | "presence"] if is_owner(owner):
                return owner
        return None

    def heard_by_owner(self, topic: str, owner: str) -> str | None:
        """Return who spoke to `owner` on a topic, or nothing if it is none that this owner listens to."""
        match self._branch(topic):
            case [to, "ask"] if to == owner:
                return PROVIDER
            case [to, "from", sender] if to == owner and is_owner(sender):
                return sender
        return None

    @property
    def _root(self) -> str:
        return f"{self.prefix}/{self.federation}/owner/"

    def _branch(self, topic: str) -> list[str]:
        return topic[len(self._root) :].split("/") if topic.startswith(self._root) else []
