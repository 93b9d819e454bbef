"""Options that several commands share, as dataclasses: a command takes a group, the user sees its fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints


def grouped(command: Callable[..., None], *, text: str | None = None) -> Callable[..., None]:
    """Return the command with each dataclass parameter replaced by that dataclass's fields, in the same order.

    `text` is its help, else the docstring is.
    """
    hints = get_type_hints(command, include_extras=True)
    defaults = {name: parameter.default for name, parameter in inspect.signature(command).parameters.items()}
    parameters = list(_flattened(hints, defaults))

    @functools.wraps(command)
    def flat(**given: Any) -> None:
        command(**{name: _built(hints[name], name, given) for name in defaults})

    flat.__doc__ = text or command.__doc__
    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat


def _flattened(hints: dict[str, Any], defaults: dict[str, Any]) -> Iterator[inspect.Parameter]:
    """Yield one parameter for each option; keyword-only ones may stand in any order, with defaults or without."""
    for name, default in defaults.items():
        kind = hints[name]
        if is_dataclass(kind):
            yield from _flattened(get_type_hints(kind, include_extras=True), _defaults(kind))
        else:
            yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _built(kind: Any, name: str, given: dict[str, Any]) -> Any:
    """Return the option of that name, or the group of options that its type asks for."""
    if not is_dataclass(kind):
        return given[name]
    hints = get_type_hints(kind, include_extras=True)
    return kind(**{field.name: _built(hints[field.name], field.name, given) for field in fields(kind)})  # type: ignore[operator]


def _defaults(group: Any) -> dict[str, Any]:
    return {f.name: inspect.Parameter.empty if f.default is MISSING else f.default for f in fields(group)}
