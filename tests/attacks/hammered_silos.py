"""24 SQLite silos of one process, asked in threads at the same moment about polygons that all of them share.

Run with how many questions to ask and how many corners a polygon has: the more corners, the longer GEOS builds its
index of one, and the surer two threads meet in it.
"""

from __future__ import annotations

import math
import pickle
import sqlite3
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

from fedgroup.epsilon import Epsilon
from fedgroup.questions.query import RangeQuery
from fedgroup.silos import open_silo
from fedgroup.silos.silo import Silo
from fedgroup.space import Box, Polygon, PublicMap

SILOS = 24
MAP = PublicMap(Box(0, 0, 100, 100))
PLACES = [(float(x), float(y)) for x in range(5, 100, 10) for y in range(5, 100, 10)]


def silo(file: Path) -> Silo:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE records (x REAL, y REAL)")
        connection.executemany("INSERT INTO records VALUES (?, ?)", PLACES)
    return open_silo({"kind": "sqlite", "path": str(file), "table": "records", "x": "x", "y": "y"}, MAP)


def round_polygon(corners: int) -> Polygon:
    turns = (math.tau * corner / corners for corner in range(corners))
    return Polygon([(50 + 40 * math.cos(turn), 50 + 40 * math.sin(turn)) for turn in turns])


def main(questions: int, corners: int) -> None:
    one = pickle.dumps(RangeQuery("count", round_polygon(corners), Epsilon.of(1)))
    together = Barrier(SILOS)

    def asked(own: Silo) -> list[int]:
        counts = []
        for query in queries:
            together.wait()
            counts.append(int(own.totals(query)["count"][0]))
        return counts

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(SILOS) as threads:
        silos = [silo(Path(folder) / f"{number}.db") for number in range(SILOS)]
        inside = sum(math.dist(place, (50, 50)) < 40 for place in PLACES)
        # each question is a value of its own, as if it came in another message; all silos share it
        queries = [pickle.loads(one) for _ in range(questions)]
        if list(threads.map(asked, silos)) != [[inside] * questions] * SILOS:
            sys.exit("a silo miscounted")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
