"""SQL with parameters written `:name`, spelled anew as each database's driver wants them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from fedgroup.errors import InvalidInput

Spell = Callable[[str], str]
"""Writes the placeholder of a parameter."""

_TOKENS = re.compile(
    r"""
    (?P<kept> '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ | :: )
    | :(?P<name>[A-Za-z_]\w*)
    """,
    flags=re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Statement:
    """A SELECT cut at its parameters: texts[0], names[0], texts[1], ..., texts[-1]."""

    texts: tuple[str, ...]
    names: tuple[str, ...]

    def written(self, spell: Spell, *, literal: Callable[[str], str] = str) -> str:
        """Return the text with every parameter's placeholder; `literal` writes what stands between them."""
        parts = [literal(self.texts[0])]
        for name, text in zip(self.names, self.texts[1:], strict=True):
            parts += [spell(name), literal(text)]
        return "".join(parts)


def statement(text: str, *, known: Collection[str]) -> Statement:
    """Return a text as a statement; quoted texts, comments and `::` casts stay as they are."""
    texts, names, start = [], [], 0
    for found in _TOKENS.finditer(text):
        if (name := found["name"]) is None:
            continue
        if name not in known:
            raise InvalidInput(
                f"the query of a silo has the parameter :{name}; the parameters are: {', '.join(sorted(known))}"
            )
        texts.append(text[start : found.start()])
        names.append(name)
        start = found.end()
    return Statement((*texts, text[start:]), tuple(names))
