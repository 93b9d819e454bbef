"""From files to answers: a broker of each kind, a provider and six owners as processes, and a user over HTTP."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import httpx
import pytest
from journey_roles import Roles, broker_words, documented, free_ports, program, typed
from msgspec.structs import replace

import fedgroup as fg
from fedgroup.identity import Identity, Trust
from fedgroup.live.config import ProviderConfig, read_config
from fedgroup.live.running import broker_address

PLACE = (10_000, 10_000, 3_000)
EPSILON = 1.0


@pytest.mark.parametrize("kind", ["embedded", "mosquitto", "nats"])
def test_a_federation_answers_by_every_method_and_stops_in_good_order(kind: str, tmp_path: Path) -> None:
    with Roles(tmp_path) as roles:
        (port,) = free_ports(1)
        roles.point_provider_at(port, embedded=kind == "embedded")
        if kind != "embedded":
            roles.start_server(kind, broker_words(roles, kind, port), port)
        provider, url = roles.start_provider()
        files = roles.trial.owners
        owners = [roles.start_owners(f"owners-{n}", files[n::2], port) for n in range(2)]
        truth = sum(roles.true_counts(*PLACE))
        with roles.client(url, present=6) as federation:
            told = {"epsilon": 0.5, "columns": 2, "rows": 2, "graph": "likely", "leftovers": "cohort"}
            made = federation._http.post("/v1/plans", json=told)
            assert made.status_code == 200, made.text
            for method in ("dp", "fedgroup", "cohorts"):
                answer = federation.count(fg.Circle(*PLACE), epsilon=EPSILON, method=method)
                assert (answer.method, answer.heard, answer.missing, answer.private) == (method, 6, 0, True)
                assert answer.in_group == (None if method == "dp" else "masked")
                half = (answer.interval[1] - answer.interval[0]) / 2
                assert abs(answer.value - truth) <= 6 * half  # false alarm: less than 1 in 10**7
            again = federation.count(fg.Circle(*PLACE), epsilon=EPSILON, method="dp")
            assert again.stored
            assert federation.budget()["spent"] == pytest.approx(0.5 + 3 * EPSILON)
        assert [each.stop() for each in (*owners, provider)] == [0, 0, 0]
        assert roles.spent() == {0.5 + 3 * EPSILON}
        for each in (*owners, provider):
            assert each.events("stopped")


def test_a_provider_serves_https_with_its_own_certificate(tmp_path: Path) -> None:
    with Roles(tmp_path, owners=2) as roles:
        roles.rewrite(roles.trial.provider, {"tls = false": "tls = true"})
        provider, url = roles.start_provider()
        token, authority = roles.add_user(), roles.trial.folder / "authority" / "ca.pem"
        assert url.startswith("https://127.0.0.1:")
        with fg.connect(url, token, ca=authority) as federation:
            assert federation.owners()["present"] == 0
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/health")
        assert provider.stop() == 0


def test_a_broker_that_is_not_there_is_named_in_one_sentence(tmp_path: Path) -> None:
    with Roles(tmp_path, owners=2) as roles:
        (port,) = free_ports(1)
        owners = roles.start_owners("owners", roles.trial.owners, port)
        lost = owners.wait_for(lambda: owners.events("lost"))
        assert str(port) in json.dumps(lost)
        assert owners.stop() == 0


def test_a_provider_finds_its_own_broker_wherever_that_listens(tmp_path: Path) -> None:
    with Roles(tmp_path, owners=2) as roles:
        (port,) = free_ports(1)
        roles.point_provider_at(port, embedded=True, host="127.0.0.2")  # its certificate does not name it
        provider, _ = roles.start_provider()
        assert provider.stop() == 0
        config = read_config(roles.trial.provider, ProviderConfig)
        everywhere = replace(config, broker=replace(config.broker, host="0.0.0.0"))
        identity = Identity.load(config.identity.folder)
        found = broker_address(everywhere, port, identity, identity.client_context(Trust.load(config.identity.folder)))
        assert (found.host, found.named) == ("127.0.0.1", "localhost")


def test_mosquitto_set_up_as_told_runs_without_rights_and_serves(tmp_path: Path) -> None:
    with Roles(tmp_path, owners=2) as roles:
        (port,) = free_ports(1)
        here = roles.reachable
        shutil.copytree(roles.trial.folder / "authority", here / "authority")
        *told, start = documented("Move to mosquitto")
        for line in told:
            typed(line.replace("0.0.0.0", "127.0.0.1").replace("8883", str(port)), here)
        words = [program("mosquitto"), *start.split()[1:-1], str(here / start.split()[-1])]
        broker = roles.start_server("mosquitto", words, port)
        assert Path(f"/proc/{broker.process.pid}").stat().st_uid != 0
        assert (here / "mosquitto" / "tls.key").stat().st_mode & 0o077 == 0
        roles.point_provider_at(port, embedded=False)
        for file in roles.trial.owners:
            roles.rewrite(file, {'host = "127.0.0.1"': 'host = "localhost"'})
        provider, url = roles.start_provider()
        owners = roles.start_owners("owners", roles.trial.owners, port)
        with roles.client(url, present=2) as federation:
            assert federation.count(fg.Circle(*PLACE), epsilon=EPSILON).heard == 2
        assert [owners.stop(), provider.stop()] == [0, 0]
