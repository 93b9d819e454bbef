"""Tables of the documents are those of the means that are kept with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedgroup.errors import InvalidInput
from fedgroup.lab.experiments.documents import DATA, IMAGES, PAGES, filled
from fedgroup.lab.experiments.running import EXPERIMENTS, load_results
from fedgroup.lab.experiments.tables import Results

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_table_is_what_the_means_say(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "<!-- table: " in text
    assert filled(text, load_results(ROOT / DATA)) == text


def test_every_figure_is_there_and_the_whole_stays_small():
    pictures = [ROOT / IMAGES / f"{name}.png" for name in EXPERIMENTS]
    assert all(path.exists() for path in pictures)
    assert sum(path.stat().st_size for path in [*pictures, *(ROOT / DATA).iterdir()]) < 1_500_000


def test_the_documents_stand_on_a_full_run_of_real_data():
    facts = load_results(ROOT / DATA).facts
    assert not facts["quick"]
    assert [scene["data"] for scene in facts["scenes"]] == ["New York", "worldwide"]
    assert facts["selections"] == 10


def test_a_table_that_does_not_exist_is_refused():
    with pytest.raises(InvalidInput, match="no table 'nonsense'"):
        filled("<!-- table: nonsense -->\n<!-- /table -->", Results({}))
