"""Topics are built and read by one rule, and only names that need no care stand in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput
from fedgroup.transport.access import access_of, access_of_owner, access_of_provider
from fedgroup.transport.topics import PROVIDER, Topics, is_owner, require_owner

CITY = Topics("city", "fg")
NAMES = st.from_regex(r"\A[a-z0-9_-]{1,64}\Z").filter(lambda name: name != PROVIDER)


@given(NAMES, NAMES)
def test_the_speaker_is_read_from_the_topic(owner: str, other: str) -> None:
    assert CITY.heard_by_provider(CITY.say(owner)) == owner
    assert CITY.heard_by_provider(CITY.presence(owner)) == owner
    assert CITY.heard_by_owner(CITY.ask(owner), owner) == PROVIDER
    assert CITY.heard_by_owner(CITY.letter(owner, other), owner) == other


@pytest.mark.parametrize(
    "topic",
    [
        "",
        "fg/city/owner/ann",
        "fg/city/owner/ann/ask",
        "fg/town/owner/ann/say",
        "fg/city/owner/ann/say/more",
        "fg/city/owner//say",
        "fg/city/owner/Ann/say",
        "fg/city/owner/provider/say",
        "fg/city/owner/a.b/presence",
    ],
)
def test_the_provider_hears_owners_of_its_federation_only(topic: str) -> None:
    assert CITY.heard_by_provider(topic) is None


@pytest.mark.parametrize(
    "topic",
    ["fg/city/owner/bob/ask", "fg/city/owner/ann/say", "fg/city/owner/ann/from/provider", "fg/city/owner/ann/from/+"],
)
def test_an_owner_hears_what_is_for_it_only(topic: str) -> None:
    assert CITY.heard_by_owner(topic, "ann") is None


@pytest.mark.parametrize("name", ["", "a" * 65, "Ann", "a/b", "a.b", "+", "#", "$x", "ä", "a b", "a\n", PROVIDER])
def test_other_names_are_refused(name: str) -> None:
    assert not is_owner(name)
    with pytest.raises(InvalidInput):
        require_owner(name)


@pytest.mark.parametrize("name", ["", "a/b", "A"])
def test_federations_have_such_names_too(name: str) -> None:
    with pytest.raises(InvalidInput):
        Topics(name)
    with pytest.raises(InvalidInput):
        Topics("city", name)


def test_an_owner_writes_what_comes_from_it() -> None:
    ann = access_of_owner(CITY, "ann")
    allowed = [CITY.say("ann"), CITY.presence("ann"), CITY.letter("bob", "ann")]
    others = [
        CITY.say("bob"),
        CITY.presence("bob"),
        CITY.letter("ann", "bob"),
        CITY.ask("ann"),
        CITY.letter("+", "ann"),
    ]
    assert all(ann.may_publish(topic) for topic in allowed)
    assert not any(ann.may_publish(topic) for topic in (*others, "fg/city/owner/a/b/from/ann", "$SYS/x", ""))


def test_filters_are_granted_word_for_word() -> None:
    ann, provider = access_of_owner(CITY, "ann"), access_of_provider(CITY)
    assert all(ann.may_subscribe(each) for each in (CITY.ask("ann"), CITY.letter("ann", "+")))
    assert not any(ann.may_subscribe(each) for each in ("#", CITY.ask("+"), CITY.letter("ann", "bob"), CITY.say("ann")))
    assert not any(
        provider.may_subscribe(each) for each in ("#", CITY.letter("+", "+"), CITY.ask("+"), CITY.say("ann"))
    )


@pytest.mark.parametrize(
    ("role", "name"), [("owner", PROVIDER), ("provider", "ann"), ("broker", "ann"), ("owner", "+")]
)
def test_whoever_is_neither_owner_nor_provider_may_do_nothing(role: str, name: str) -> None:
    assert access_of(CITY, role, name) is None


@given(NAMES, NAMES)
def test_a_topic_is_read_by_the_one_filter_that_is_granted_for_it(owner: str, other: str) -> None:
    granted = [*access_of_provider(CITY).reads, *access_of_owner(CITY, owner).reads]
    read = [CITY.say(other), CITY.presence(other), CITY.ask(owner), CITY.letter(owner, other)]
    assert [CITY.filter_of(topic) for topic in read] == granted


@pytest.mark.parametrize("topic", ["", "#", "fg/city/owner/ann", "fg/town/owner/ann/say", "fg/city/owner/ann/say/more"])
def test_other_topics_are_read_by_nobody(topic: str) -> None:
    assert CITY.filter_of(topic) is None
