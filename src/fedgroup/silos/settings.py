"""What a silo's table in the configuration may say, checked before any database is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedgroup.errors import InvalidInput

_COLUMNS = {"kind", "x", "y", "time", "attributes", "order", "subject", "texts"}
_KEYS = {
    "parquet": {"path", "memory_mb"},
    "csv": {"path", "delimiter", "memory_mb"},
    "sqlite": {"path", "table", "rtree", "version", "timeout_s"},
    "postgres": {"url", "schema", "table", "geometry", "version", "timeout_s"},
    "ibis": {"url", "table"},
    "sql": {"url", "query", "version", "timeout_s", "folder"},
}
_REQUIRED = {
    "parquet": ("path",),
    "csv": ("path",),
    "sqlite": ("path", "table"),
    "postgres": ("url", "table"),
    "ibis": ("url", "table"),
    "sql": ("url", "query"),
}
_DEFAULT_TIMEOUT_S = 60.0
_DEFAULT_MEMORY_MB = 200.0


@dataclass(frozen=True, repr=False)
class Settings:
    """One silo's settings; a key that was not given is none. The url may hold a password: nothing here prints."""

    kind: str
    x: str | None = None
    y: str | None = None
    time: str | None = None
    attributes: tuple[str, ...] = ()
    subject: str | None = None
    texts: tuple[str, ...] = ()
    order: str | None = None
    path: Path | None = None
    delimiter: str = ","
    url: str | None = None
    schema: str | None = None
    table: str | None = None
    geometry: str | None = None
    rtree: str | None = None
    query: str | None = None
    version: str | None = None
    timeout_s: float = _DEFAULT_TIMEOUT_S
    memory_mb: float = _DEFAULT_MEMORY_MB
    folder: Path | None = None

    def __repr__(self) -> str:
        return f"Settings(kind={self.kind!r}, <private>)"

    def given(self, key: str) -> str:
        """Return a text that this kind of silo requires."""
        value = getattr(self, key)
        if value is None:
            raise InvalidInput(f"a silo of kind {self.kind} needs the setting {key}")
        return str(value)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns that are read."""
        named = (self.x, self.y, self.time, self.order, *self.attributes, self.subject, *self.texts)
        return tuple(dict.fromkeys(name for name in named if name is not None))


def settings_of(said: Mapping[str, Any]) -> Settings:
    """Return the settings of a silo, or say what is wrong with them."""
    kind = said.get("kind")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise InvalidInput(
            f"the kind of a silo is one of: {', '.join(_KEYS)}; or, in a live owner's file, records; got {kind!r}"
        )
    allowed = _COLUMNS | _KEYS[kind]
    if unknown := sorted(str(key) for key in said if key not in allowed):
        raise InvalidInput(
            f"a silo of kind {kind} has no setting {unknown[0]!r}; its settings are: {', '.join(sorted(allowed))}"
        )
    values: dict[str, Any] = {key: _text(key, value) for key, value in said.items() if key not in _READERS}
    values |= {key: read(said[key]) for key, read in _READERS.items() if key in said}
    settings = Settings(**values)
    for key in (*_REQUIRED[kind], *(() if settings.geometry else ("x", "y"))):
        settings.given(key)
    return _consistent(settings)


def _consistent(settings: Settings) -> Settings:
    if settings.geometry and (settings.x or settings.y):
        raise InvalidInput("a silo has either a geometry column or the columns x and y, not both")
    return settings


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise InvalidInput(f"the setting {key} of a silo must be a text that is not empty")
    return value


def _columns(key: str, like: str) -> Callable[[Any], tuple[str, ...]]:
    def read(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            raise InvalidInput(f'the setting {key} of a silo must be a list of columns, such as ["{like}"]')
        return tuple(dict.fromkeys(_text(key, name) for name in value))

    return read


def _path(value: Any) -> Path:
    # absolute: a process may change its folder before it asks again
    return Path(_text("path", str(value) if isinstance(value, Path) else value)).absolute()


def _delimiter(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1 or value in '"\r\n\0':
        raise InvalidInput("the setting delimiter of a silo must be one character, such as ; or a tab")
    return value


def _seconds(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 86_400:
        raise InvalidInput("the setting timeout_s of a silo must be a number of seconds between 0 and 86400")
    return float(value)


def _megabytes(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1_000_000:
        raise InvalidInput("the setting memory_mb of a silo must be a number of megabytes between 0 and 1000000")
    return float(value)


_READERS = {
    "attributes": _columns("attributes", "fare"), "texts": _columns("texts", "category"), "path": _path,
    "folder": _path, "delimiter": _delimiter, "timeout_s": _seconds, "memory_mb": _megabytes,
}  # fmt: skip
