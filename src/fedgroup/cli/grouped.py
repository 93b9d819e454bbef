"""Options that several commands share, as dataclasses: a command takes a group, the user sees its fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with each dataclass parameter replaced by that dataclass's fields."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hints[name] for name in inspect.signature(command).parameters if is_dataclass(hints[name])}
    parameters = [
        parameter
        for name, plain in inspect.signature(command).parameters.items()
        for parameter in (_flattened(groups[name]) if name in groups else [plain.replace(annotation=hints[name])])
    ]

    @functools.wraps(command)
    def flat(**given: Any) -> None:
        whole = {name: group(**{f.name: given.pop(f.name) for f in fields(group)}) for name, group in groups.items()}
        command(**whole, **given)

    flat.__signature__ = inspect.Signature(_required_first(parameters))  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat


def _flattened(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def _required_first(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    return sorted(parameters, key=lambda parameter: parameter.default is not inspect.Parameter.empty)
