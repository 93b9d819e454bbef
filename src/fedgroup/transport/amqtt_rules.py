"""The federation's rules as a plugin of amqtt: who a client is, by its certificate, and what it may read and write.

In a configuration of amqtt, under `plugins`:

    fedgroup.transport.amqtt_rules.FederationRules: {federation: city}

The plugin keeps owners from reading and writing elsewhere. Prefer `EmbeddedBroker`, which adds what amqtt 0.12 cannot
be told: a client is known before it can touch another one's session, it is sent nothing that it did not ask for (amqtt
sends whoever connects all that is retained), packets are limited before they are read, and the silent are cut off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amqtt.contexts import Action
from amqtt.plugins.base import BaseAuthPlugin, BaseTopicPlugin

from fedgroup.errors import ProtocolViolation
from fedgroup.transport.access import Access, access_of
from fedgroup.transport.listening import Identify, by_common_name
from fedgroup.transport.topics import Topics

_ACCESS = "fedgroup.access"


def access_by_certificate(topics: Topics, identify: Identify, ssl_object: Any) -> tuple[str, Access] | None:
    """Return the name of a TLS peer and what it may do, or nothing if it has no business here."""
    certificate = None if ssl_object is None else ssl_object.getpeercert(binary_form=True)
    if not certificate:
        return None
    try:
        role, name = identify(certificate)
    except (ProtocolViolation, ValueError):
        return None
    access = access_of(topics, role, name)
    return None if access is None else (name, access)


def may_enter(name: str, access: Access, greeting: Any) -> bool:
    """Tell whether a greeting (a packet or a session) is in the client's own name, clean, with a will of its own."""
    clean = getattr(greeting, "clean_session_flag", None) or getattr(greeting, "clean_session", None)
    if greeting.client_id != name or not clean:
        return False
    return not greeting.will_flag or (greeting.will_qos == 0 and access.may_publish(greeting.will_topic))


class FederationRules(BaseAuthPlugin, BaseTopicPlugin):  # type: ignore[misc]
    """Lets in whoever has a certificate, under the name in it, and keeps everybody to its topics."""

    @dataclass
    class Config:
        """The federation, and a function of the certificate if its common name is not to be taken."""

        federation: str
        prefix: str = "fedgroup"
        identify: Any = by_common_name

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._topics = Topics(self.config.federation, self.config.prefix)
        self._identify: Identify = self.config.identify

    async def authenticate(self, *, session: Any) -> bool:
        known = access_by_certificate(self._topics, self._identify, session.ssl_object)
        if known is None or not may_enter(*known, session):
            return False
        session.attributes[_ACCESS] = known[1]
        return True

    async def topic_filtering(self, *, session: Any = None, topic: Any = None, action: Any = None) -> bool:
        access: Access | None = None if session is None else session.attributes.get(_ACCESS)
        if access is None or topic is None:
            return False
        if action == Action.PUBLISH:
            return access.may_publish(topic)
        if action == Action.SUBSCRIBE:
            return access.may_subscribe(topic)
        return bool(action == Action.RECEIVE)
