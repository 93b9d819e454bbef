"""amqtt's broker with delivery by lookup.

amqtt 0.12 compares every message with every subscription, sends a client that connects what is retained for anybody's
subscription, and does not notice a client that ends while it is being let in. Filters here are granted word for word
and have at most one `+`, so that those of a topic can be looked up; what is retained goes to whoever subscribed; and a
client that has ended is over.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from amqtt.broker import Broker
from amqtt.errors import AMQTTError

log = logging.getLogger("fedgroup.broker")


def filters_of(topic: str) -> Iterator[str]:
    """Yield all filters with at most one `+` that a topic matches."""
    yield topic
    levels = topic.split("/")
    for place in range(len(levels)):
        yield "/".join((*levels[:place], "+", *levels[place + 1 :]))


class LookupBroker(Broker):  # type: ignore[misc]
    """A broker for a thousand owners, each with two subscriptions of its own."""

    async def _run_broadcast(self, _: Any) -> None:
        """Deliver the next message to those who subscribed to it."""
        message = await self._broadcast_queue.get()
        topic, data = message["topic"], message["data"]
        for each in filters_of(topic):
            for session, _qos in tuple(self._subscriptions.get(each, ())):
                await self._hand_over(session, topic, data, retain=False)

    async def _publish_retained_messages_for_subscription(self, subscription: tuple[str, int], session: Any) -> None:
        """Send what is retained for a filter to a client that subscribed to it, and to nobody else."""
        wanted = subscription[0]
        if not any(subscriber is session for subscriber, _ in self._subscriptions.get(wanted, ())):
            return
        for topic, retained in tuple(self._retained_messages.items()):
            if wanted in filters_of(topic):
                await self._hand_over(session, topic, retained.data, retain=True)

    async def _client_message_loop(self, client_session: Any, handler: Any) -> None:
        """Serve a client to its end, which may have come already."""
        if handler._reader_stopped.is_set():
            await handler.handle_connection_closed()
        await super()._client_message_loop(client_session, handler)

    async def _hand_over(self, session: Any, topic: str, data: bytes, *, retain: bool) -> None:
        handler = self._get_handler(session)
        if handler is None or session.transitions.state != "connected":
            return
        try:
            await handler.mqtt_publish(topic, data, 0, retain=retain)
        except (AMQTTError, OSError) as error:
            log.debug("a message was lost: %s", error)
