"""Pages for people in a hurry have short sentences: measured, because sentences grow when nobody looks."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/how-to/operate.md",
    "docs/how-to/certificates.md",
]
MEAN, MOST = 15, 30
"""Words a sentence."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a page's prose: without code, tables, headings and pictures."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    text = re.sub(r"^(\||#|!\[|<!--).*$", "", text, flags=re.M)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    blocks = re.split(r"\n\s*\n|^ *(?:[-*]|\d+\.) ", text, flags=re.M)
    flat = [" ".join(block.split()).replace("*", "") for block in blocks]
    return [part for block in flat for part in re.split(r"(?<=[.!?])\s+", block) if part]


@pytest.mark.parametrize("page", PAGES)
def test_sentences_are_short(page: str) -> None:
    lengths = {sentence: len(sentence.split()) for sentence in sentences((ROOT / page).read_text())}
    assert {sentence: words for sentence, words in lengths.items() if words > MOST} == {}
    assert mean(lengths.values()) <= MEAN
