"""From files to answers: a broker of each kind, a provider and six owners as processes, and a user over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from journey_roles import Roles, broker_words, free_ports, run

import fedgroup as fg

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


def test_the_configuration_of_brokers_is_written_once(tmp_path: Path) -> None:
    with Roles(tmp_path, owners=2) as roles:
        trial = roles.trial.folder
        where = ["--identity", str(trial / "provider"), "--authority", str(trial / "authority")]
        names = [f"{node}.example" for node in ("one", "two", "three")]
        nodes = [word for name in names for word in ("--node", name)]
        made = run("broker", "nats", "--out", str(tmp_path / "nats"), *where, "--owner", "taxi-a", *nodes)
        assert [Path(file).name for file in made["files"]] == [f"{name}.conf" for name in names]
        assert all("taxi-a" in Path(file).read_text() for file in made["files"])
        with pytest.raises(AssertionError, match="is there already"):
            run("broker", "nats", "--out", str(tmp_path / "nats"), *where, "--owner", "taxi-b", *nodes)
        run("broker", "nats", "--out", str(tmp_path / "nats"), *where, "--owner", "taxi-b", *nodes, "--replace")
        assert all("taxi-b" in Path(file).read_text() for file in made["files"])
