"""An owner with its records in PostGIS answers with the others, sees new rows, and refuses while these are away."""

from __future__ import annotations

from pathlib import Path

import psycopg
from journey_roles import Roles, free_ports

import fedgroup as fg
from fedgroup.lab.bench.postgres_server import missing, postgres_server

PLACE = (10_000, 10_000, 3_000)
PRECISE = 40.0
"""So large that noise is 0: other than 0 with a chance of about 10^-17."""

TABLE = """
CREATE EXTENSION postgis;
CREATE TABLE trips (geom geometry(Point, 0), fare numeric);
INSERT INTO trips SELECT ST_MakePoint(10000 + n, 10000), n FROM generate_series(1, 57) AS n;
INSERT INTO trips SELECT ST_MakePoint(16000, 16000 + n), n FROM generate_series(1, 20) AS n;
CREATE INDEX ON trips USING gist (geom);
"""


def test_an_owner_on_postgis_answers_with_the_others(tmp_path: Path) -> None:
    lacking = missing()
    assert lacking is None, lacking
    with postgres_server() as server, Roles(tmp_path, owners=3) as roles:
        with psycopg.connect(server.url, autocommit=True) as database:
            database.execute(TABLE)
        for file in roles.trial.owners:
            roles.rewrite(file, {"highest_epsilon = 1.0": "highest_epsilon = 50.0", "cap = 10.0": "cap = 500.0"})
        first, *others = roles.trial.owners
        silo = f'kind = "postgres"\nurl = "{server.url}"\ntable = "trips"\ngeometry = "geom"\nattributes = ["fare"]'
        records = roles.true_counts(*PLACE)
        roles.rewrite(first, {'kind = "records"\npath = "records.parquet"': silo})
        (port,) = free_ports(1)
        roles.point_provider_at(port, embedded=True)
        provider, url = roles.start_provider()
        owners = [roles.start_owners(name, files, port) for name, files in (("first", [first]), ("others", others))]
        with roles.client(url, present=3) as federation:
            expected = 57 + sum(records[1:])
            for method in ("dp", "mpc"):
                answer = federation.count(fg.Circle(*PLACE), epsilon=PRECISE, method=method)
                assert (answer.value, answer.heard) == (expected, 3)
            assert federation.count(fg.Circle(*PLACE), epsilon=PRECISE, method="dp").stored
            with psycopg.connect(server.url, autocommit=True) as database:
                database.execute("INSERT INTO trips VALUES (ST_MakePoint(10000, 10000), 1)")
            answer = federation.count(fg.Circle(*PLACE), epsilon=PRECISE, method="dp")
            assert (answer.value, answer.stored) == (expected + 1, False)
            server.stop()
            answer = federation.count(fg.Circle(*PLACE), epsilon=PRECISE, method="dp", fresh=True)
            assert (answer.value, answer.heard, answer.missing) == (sum(records[1:]), 2, 1)
            server.start()
            answer = federation.count(fg.Circle(*PLACE), epsilon=PRECISE, method="dp", fresh=True)
            assert (answer.value, answer.heard) == (expected + 1, 3)
        assert [event["reason"] for event in owners[0].events("refused")] == ["silo"]
        assert [each.stop() for each in (*owners, provider)] == [0, 0, 0]
