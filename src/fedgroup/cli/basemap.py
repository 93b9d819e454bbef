"""`fedgroup basemap`: coast, water and names for the map of a federation in degrees, made offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, OutputOptions, option
from fedgroup.cli.output import print_json, result, several, working
from fedgroup.cli.parsing import parse_domain
from fedgroup.errors import InvalidInput


@grouped
def basemap(
    domain: Annotated[str, option(OPTIONS, "--domain", "the federation's rectangle, in degrees", "W,S,E,N")],
    out: Annotated[Path, option(OPTIONS, "--out", "the GeoJSON file to write", "FILE.geojson")],
    output: OutputOptions,
) -> None:
    """Write a base map: coast, water and names, of data that comes with the extra [basemap]."""
    from fedgroup.data.basemap import CREDIT, make_basemap, write_basemap

    box = parse_domain(domain, lonlat=True)
    if box is None:
        raise InvalidInput("say which domain: --domain W,S,E,N")
    with working("drawing coast and names"):
        made = make_basemap(box)
    write_basemap(made, out)
    if output.json:
        print_json({"file": str(out), "corners": made.corners, "names": len(made.names), "credit": CREDIT})
        return
    result.print(
        f"{out}: shores with {several(made.corners, 'corner')}, and {several(len(made.names), 'name')}. {CREDIT}"
    )
    result.print(f'name it in the provider\'s file: [page] outlines = "{out.name}"')
