"""The private tables of all owners on one host, column by column."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.given import written, yes_or_no
from fedgroup.owner.columns import choose_columns
from fedgroup.owner.identity import Codes, OwnerIds, as_ids, enrol
from fedgroup.owner.times import Times, as_times
from fedgroup.space import Box

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Texts:
    """A column of words: `codes[i]` is the position of record i's word in `values`, -1 where it has none."""

    codes: Codes
    values: tuple[str, ...]

    @classmethod
    def of(cls, column: Any, name: str) -> Texts:
        """Return a column of texts; None and NaN stand for no text."""
        if isinstance(column, Texts):
            return column
        place: dict[str, int] = {}
        codes = np.array([-1 if _absent(each) else place.setdefault(each, len(place)) for each in column], np.int32)
        if not all(isinstance(each, str) for each in place):
            raise InvalidInput(f"column {name} has values that are not texts")
        return cls(_frozen(codes), tuple(place))

    def keep(self, rows: npt.NDArray[Any]) -> Texts:
        return Texts(_frozen(self.codes[rows]), self.values)

    def __repr__(self) -> str:
        return "Texts(<private>)"


@dataclass(frozen=True, repr=False, eq=False)
class Records:
    """Every record of every owner on this host: who owns it, where it is, and optionally numbers and a time.

    `owners` is the public list of owners; without it the owners that appear in the records become the list.
    `listed` says whether the list was given, so that being in it is no secret that records tell.
    `subject` says which records of an owner are of one subject, such as a car or a person; the same id at two owners is
    two subjects. `texts` are columns of words that records can be told apart by.
    `lonlat` and `domain` are public facts about the table: how x and y are to be read, and the agreed rectangle.
    The arrays are copied or frozen: a table does not change under a question.
    """

    owner: InitVar[Any]
    x: Floats
    y: Floats
    attributes: Mapping[str, Floats] = field(default_factory=dict)
    time: Times | None = None
    owners: OwnerIds = None  # type: ignore[assignment]  # always a list once built
    lonlat: bool = False
    domain: Box | None = None
    listed: bool | None = None
    subject: Any = None
    texts: Mapping[str, Any] = field(default_factory=dict)
    code: Codes = field(init=False)

    def __post_init__(self, owner: Any) -> None:
        self._require_types()
        owners, code = enrol(owner, self.owners)
        time = None if self.time is None else as_times(self.time)
        values = {
            "x": _numbers(self.x, "x", missing=False),
            "y": _numbers(self.y, "y", missing=False),
            "attributes": {name: _numbers(column, name, missing=True) for name, column in self.attributes.items()},
            "time": None if time is None else _frozen(time),
            "listed": self.owners is not None if self.listed is None else self.listed,
            "owners": _frozen(owners),
            "code": _frozen(code),
            "texts": {name: Texts.of(column, name) for name, column in self.texts.items()},
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._require_one_length()
        if self.subject is not None:
            object.__setattr__(self, "subject", _frozen(_subjects(self.subject, code)))
        if self.lonlat:
            require_degrees(self.x, self.y)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        owner: str | None = None,
        x: str | None = None,
        y: str | None = None,
        time: str | None = None,
        subject: str | None = None,
        owners: Any = None,
        planar: bool = False,
        lonlat: bool | None = None,
    ) -> Records:
        """Return the records of a pandas or GeoPandas frame; columns are found by their usual names.

        A GeoPandas frame's CRS says what its points are: degrees are turned to WGS84, a projection is taken as a plane,
        in its units. Points without a CRS are refused unless `planar` or `lonlat` is said.
        """
        if not (hasattr(frame, "columns") and hasattr(frame, "iloc")):
            raise InvalidInput(f"Records.from_frame takes a pandas or GeoPandas frame, got {written(frame)}")
        names = [name for name in frame.columns if isinstance(name, str)]
        if len(set(names)) < len(names):
            raise InvalidInput("the frame has two columns of the same name; rename one")
        geometry = getattr(frame, "active_geometry_name", None) if x is None and y is None else None
        chosen = choose_columns(
            names, owner=owner, x=x, y=y, time=time, subject=subject, planar=planar, points=geometry
        )
        if geometry is None:
            east, north = _plain(frame[chosen.x]), _plain(frame[chosen.y])
            degrees = chosen.lonlat if lonlat is None else yes_or_no(lonlat, name="lonlat")
        else:
            points, degrees = _read_crs(frame[geometry], planar=planar, lonlat=lonlat)
            east, north = _point_columns(points)
        others = [name for name in names if name not in chosen.taken and frame[name].dtype.kind in "iufb"]
        texts = [name for name in names if name not in chosen.taken and _holds_texts(frame[name])]
        return cls(
            owner=frame[chosen.owner].to_numpy(),
            x=east,
            y=north,
            owners=owners,
            lonlat=degrees,
            attributes={name: _plain(frame[name]) for name in others},
            time=None if chosen.time is None else _plain_times(frame[chosen.time]),
            subject=None if chosen.subject is None else frame[chosen.subject].to_numpy(),
            texts={name: frame[name].astype(object).to_numpy() for name in texts},
        )

    @classmethod
    def of_columns(
        cls,
        code: Codes,
        owners: OwnerIds,
        *,
        x: Floats,
        y: Floats,
        attributes: Mapping[str, Floats],
        time: Times | None,
        lonlat: bool,
        domain: Box | None,
        listed: bool,
        snapshot: str | None = None,
        subject: Codes | None = None,
        texts: Mapping[str, Texts] | None = None,
    ) -> Records:
        """Return a table of columns that another table or an index made: frozen, neither copied nor looked at again.

        With a `snapshot` it counts as the table with that digest, though its rows are in another order or fewer.
        """
        records = object.__new__(cls)
        columns = {"code": code, "owners": owners, "x": x, "y": y} | ({} if time is None else {"time": time})
        values: dict[str, Any] = {name: _frozen(column) for name, column in columns.items()} | {
            "attributes": {name: _frozen(column) for name, column in attributes.items()},
            "lonlat": lonlat,
            "domain": domain,
            "listed": listed,
        }
        values |= {"subject": None if subject is None else _frozen(subject), "texts": texts or {}}
        for name, value in ({"time": None} | values | ({} if snapshot is None else {"snapshot": snapshot})).items():
            records.__dict__[name] = value
        return records

    def attribute(self, name: str) -> Floats:
        """Return a numeric column; NaN marks an absent value."""
        if name not in self.attributes:
            known = ", ".join(sorted(self.attributes)) or "none"
            raise InvalidInput(f"there is no numeric column {name!r}; the numeric columns are: {known}")
        return self.attributes[name]

    def text(self, name: str) -> Texts:
        """Return a column of words."""
        if name not in self.texts:
            known = ", ".join(sorted(self.texts)) or "none"
            raise InvalidInput(f"there is no column of texts {name!r}; those are: {known}")
        found: Texts = self.texts[name]
        return found

    @property
    def of_subject(self) -> Codes:
        """The subject of each record, numbered from 0; an owner without subjects is its own."""
        return self.code if self.subject is None else self.subject

    @cached_property
    def subjects(self) -> int:
        """How many subjects there are."""
        return len(self.owners) if self.subject is None else int(self.subject.max(initial=-1)) + 1

    def keep(self, rows: npt.NDArray[Any], *, owners: OwnerIds | None = None) -> Records:
        """Return the table with these rows only; the list of owners stays, unless another is given.

        Guarantee: a subject keeps its number, whatever else is kept: parts of a table are added up by it.
        """
        kept = replace(
            self,
            owner=self.owners[self.code[rows]],
            owners=self.owners if owners is None else owners,
            listed=self.listed,
            x=self.x[rows],
            y=self.y[rows],
            attributes={name: column[rows] for name, column in self.attributes.items()},
            # as datetimes: bare integers would be read as seconds
            time=None if self.time is None else self.time[rows].view("datetime64[us]"),
            subject=None,
            texts={name: column.keep(rows) for name, column in self.texts.items()},
        )
        object.__setattr__(kept, "subject", None if self.subject is None else _frozen(self.subject[rows]))
        return kept

    @cached_property
    def snapshot(self) -> str:
        """A digest of the whole table: another table, another digest."""
        names = sorted(self.attributes)
        facts = [len(self), names, self.time is not None, self.lonlat, [repr(owner) for owner in self.owners.tolist()]]
        words = {name: list(self.texts[name].values) for name in sorted(self.texts)}
        header = json.dumps([*facts, *([words] if words else [])]).encode()
        digest = hashlib.sha256(len(header).to_bytes(8, "big") + header)
        told = (self.subject, *(self.texts[name].codes for name in words))
        for column in (self.code, self.x, self.y, self.time, *(self.attributes[name] for name in names), *told):
            if column is not None:
                digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return "Records(<private>)"

    def _require_types(self) -> None:
        if not (isinstance(self.attributes, Mapping) and all(isinstance(name, str) for name in self.attributes)):
            raise InvalidInput("attributes is a dict of columns by their names, such as {'fare': [12.0, 7.5]}")
        if not (self.domain is None or isinstance(self.domain, Box)):
            raise InvalidInput(f"a domain is a Box, such as Box(0, 0, 20_000, 20_000), got {written(self.domain)}")
        yes_or_no(self.lonlat, name="lonlat")

    def _require_one_length(self) -> None:
        columns = {"x": self.x, "y": self.y, **self.attributes} | ({} if self.time is None else {"time": self.time})
        columns |= {name: column.codes for name, column in self.texts.items()}
        for name, column in columns.items():
            if len(column) != len(self.code):
                raise InvalidInput(f"the columns owner and {name} must have the same length")
        if len(self.owners) == 0:
            raise InvalidInput("there are no records and no owners; give at least one")


def require_degrees(x: Floats, y: Floats) -> None:
    """Refuse coordinates that cannot be longitude and latitude."""
    if not ((y >= -90) & (y <= 90)).all():
        raise InvalidInput("the latitude column has values outside -90..90; are longitude and latitude swapped?")
    if not ((x >= -360) & (x <= 360)).all():
        raise InvalidInput("the longitude column has values outside -360..360; are these metres? then say planar")


def _numbers(values: Any, name: str, *, missing: bool) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"column {name} has values that are not numbers") from None
    if array.ndim != 1:
        raise InvalidInput(f"column {name} must be one-dimensional")
    if np.isinf(array).any() or (not missing and np.isnan(array).any()):
        fault = "infinite" if missing else "NaN or infinite"
        raise InvalidInput(f"column {name} has values that are {fault}; drop those records")
    array.flags.writeable = False
    return array


def _plain(column: Any) -> npt.NDArray[Any]:
    """The numbers of a frame's column, NaN where a nullable column has none."""
    if column.dtype.kind in "iufb":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column.to_numpy())


def _plain_times(column: Any) -> npt.NDArray[Any]:
    """The times of a frame's column; those with a zone are turned to UTC, which numpy's times are read as."""
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert(None)
    return np.asarray(column.to_numpy() if column.dtype.kind in "MO" else _plain(column))


def _read_crs(points: Any, *, planar: bool, lonlat: bool | None) -> tuple[Any, bool]:
    """Return points with whether they are degrees; those of another datum are turned to WGS84."""
    degrees = lonlat if lonlat is None else yes_or_no(lonlat, name="lonlat")
    if planar and degrees:
        raise InvalidInput("points are planar or lonlat, not both")
    if points.crs is None:
        if not planar and degrees is None:
            raise InvalidInput(
                "the frame does not tell its coordinate system; say frame.set_crs(...), or lonlat=True for degrees of "
                "longitude and latitude, or planar=True for x and y on a plane"
            )
        return points, bool(degrees)
    if not points.crs.is_geographic:
        if degrees:
            raise InvalidInput("the frame is projected, not in degrees; leave lonlat out, or use frame.to_crs(4326)")
        return points, False
    if planar or degrees is False:
        raise InvalidInput(
            "the frame is in degrees, which are no plane: 500 would be 500 degrees; leave planar out, or project it "
            "first: frame.to_crs(frame.estimate_utm_crs())"
        )
    return points.to_crs("EPSG:4326"), True


def _point_columns(points: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    if not (points.isna() | (points.geom_type == "Point")).all():
        raise InvalidInput("the geometry column has shapes that are not points; use their centroids")
    return points.x.to_numpy(), points.y.to_numpy()


def _subjects(ids: Any, code: Codes) -> Codes:
    """Return subjects numbered over all owners: the same id at two owners is two subjects."""
    given = as_ids(ids, name="subject")
    if len(given) != len(code):
        raise InvalidInput("the columns owner and subject must have the same length")
    _, own = enrol(given, None)
    pairs = code.astype(np.int64) * (int(own.max(initial=0)) + 1) + own
    numbered: Codes = np.unique(pairs, return_inverse=True)[1].astype(np.int32)
    return numbered


def _absent(value: Any) -> bool:
    return value is None or value != value  # NaN is not itself


def _holds_texts(column: Any) -> bool:
    """Tell whether a frame's column is of texts."""
    kind = str(column.dtype)
    return kind in ("str", "string", "category") or (
        kind == "object" and all(isinstance(each, str) or _absent(each) for each in column)
    )


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array
