"""The README's heat map: people of a synthetic city, privately; `make docs` runs it with the folder to draw into."""

from __future__ import annotations

import sys
from pathlib import Path

import fedgroup as fg
from fedgroup.maps.pictures import save_picture

OWNERS = 20_000


def main(folder: Path) -> None:
    """Draw how many people were where, each in 6 cells at most."""
    records = fg.synthesize(owners=OWNERS, records_per_owner=20, seed=1)
    federation = fg.Federation(records, unit="owner", max_records=100, max_bins=6)
    save_picture(federation.map(grid=(40, 40), kind="people", method="mpc", epsilon=1), folder / "heat-map.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
