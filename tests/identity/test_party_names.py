from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput
from fedgroup.identity.naming import require_hosts, require_name, require_party, role_called

FIRST = string.ascii_lowercase + string.digits
LATER = FIRST + "-_"


def is_name(text: str) -> bool:
    """The rule once more, in other words."""
    return 1 <= len(text) <= 64 and text[0] in FIRST and all(letter in LATER for letter in text)


def accepts(text: str) -> bool:
    try:
        require_name(text)
    except InvalidInput:
        return False
    return True


@given(st.text(alphabet=LATER, min_size=1, max_size=64).filter(lambda name: name[0] in FIRST))
def test_plain_names_are_accepted(name):
    require_name(name)


@given(st.text(max_size=70) | st.text(alphabet=LATER + "A.é/+#$ \n\0", max_size=70))
def test_nothing_but_plain_names_is_accepted(text):
    assert accepts(text) == is_name(text)


@pytest.mark.parametrize("text", ["", "a\n", "\na", "a/b", "+", "#", "Taxi", "taxi a", "a" * 65, "-a", "ａ", "a\0"])
def test_names_that_topics_files_or_subjects_could_misread_are_refused(text):
    with pytest.raises(InvalidInput):
        require_name(text)


def test_no_owner_is_called_as_the_provider_is_addressed():
    require_party("provider", "provider")
    with pytest.raises(InvalidInput, match="another name"):
        require_party("provider", "owner")


def test_there_are_two_roles():
    assert [role_called(role) for role in ("owner", "provider")] == ["owner", "provider"]
    for wrong in ("", "Owner", "authority", "user"):
        with pytest.raises(InvalidInput):
            role_called(wrong)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "broker.example.org", "a-1.b", "2001:db8::1"])
def test_addresses_and_plain_host_names_are_hosts(host):
    require_hosts([host], "provider")


@pytest.mark.parametrize("host", ["", "*", "*.example.org", "a b", "-a", "a-", "a..b", "A", "0::1", "x" * 64, "é"])
def test_wildcards_and_odd_hosts_are_refused(host):
    with pytest.raises(InvalidInput):
        require_hosts([host], "provider")


@pytest.mark.parametrize(("hosts", "role"), [([], "provider"), (["localhost"], "owner"), (["a"] * 21, "provider")])
def test_only_providers_serve_and_they_name_some_hosts(hosts, role):
    with pytest.raises(InvalidInput):
        require_hosts(hosts, role)
