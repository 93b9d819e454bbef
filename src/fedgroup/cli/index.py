"""`fedgroup index`: sort records by place once, so that every later start is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fedgroup.cli.grouped import grouped
from fedgroup.cli.loading import read_records, required_domain
from fedgroup.cli.options import DataOptions, EvaluationOptions, OutputOptions, argument
from fedgroup.cli.output import notice, print_json, result, several, working


@grouped
def index(
    data: DataOptions,
    output: OutputOptions,
    out: Annotated[Path, argument("the folder to make; it can be named as DATA afterwards", "OUT")],
) -> None:
    """Save a spatial index of the records; it holds them all and is as private as they are."""
    records = read_records(data, EvaluationOptions())
    domain = required_domain(data.domain, records)
    with working("sorting records by place"):
        from fedgroup.data.indexes import save_index
        from fedgroup.federation.fitting import unlisted
        from fedgroup.owner.counting import contributing
        from fedgroup.owner.index import RecordIndex
        from fedgroup.space import PublicMap

        public_map = PublicMap(domain, records.lonlat, records.crs)
        made = RecordIndex.build(contributing(records, public_map), public_map, snapshot=records.snapshot)
        save_index(made, out)
    notes = unlisted(records)
    for note in notes:
        notice(note)
    if output.json:
        facts = {"index": str(out), "owners": len(records.owners), "domain": list(domain.sides), "notes": notes}
        print_json(facts)
    else:
        result.print(f"{out}: an index of {several(len(records.owners), 'owner')}; use it in place of {data.data}")
