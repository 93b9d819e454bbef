"""Who may read and write where: the one rule that the embedded broker enforces and configurations are written from."""

from __future__ import annotations

from dataclasses import dataclass

from fedgroup.transport.topics import PROVIDER, Topics, is_owner


@dataclass(frozen=True)
class Access:
    """Filters that a party may subscribe to, and filters of the topics that it may publish to."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]

    def may_subscribe(self, topic_filter: str) -> bool:
        """Tell whether a filter is one of those granted, word for word: nothing wider, nothing else."""
        return topic_filter in self.reads

    def may_publish(self, topic: str) -> bool:
        """Tell whether a topic is granted; `+` in a grant stands for one owner's name."""
        return any(_stands_for(grant, topic) for grant in self.writes)


def access_of_owner(topics: Topics, owner: str) -> Access:
    """An owner reads what is for it, and writes what comes from it."""
    return Access(
        reads=(topics.ask(owner), topics.letter(owner, "+")),
        writes=(topics.say(owner), topics.presence(owner), topics.letter("+", owner)),
    )


def access_of_provider(topics: Topics) -> Access:
    """The provider reads what owners say and who is here, and asks; letters between owners are not for it."""
    return Access(reads=(topics.say("+"), topics.presence("+")), writes=(topics.ask("+"),))


def access_of(topics: Topics, role: str, name: str) -> Access | None:
    """Return what a party may do by its role and name, or nothing if it has no business here."""
    if role == "owner" and is_owner(name):
        return access_of_owner(topics, name)
    if role == "provider" and name == PROVIDER:
        return access_of_provider(topics)
    return None


def _stands_for(grant: str, topic: str) -> bool:
    before, several, after = grant.partition("+")
    if not several:
        return grant == topic
    named = topic[len(before) : len(topic) - len(after)]
    return topic.startswith(before) and topic.endswith(after) and is_owner(named)
