"""`fedgroup bench page` opens both kinds of pages, and asks while they are open."""

from __future__ import annotations

from fedgroup.lab.bench import page


def test_questions_are_timed_while_maps_and_pages_about_the_federation_are_open(monkeypatch):
    assert page.missing() is None
    monkeypatch.setattr(page, "_REST_S", 0.1)
    monkeypatch.setattr(page, "_PAUSE_S", 0.05)
    opened, really = [], page._opened

    def noted(browser, url, token, kind, pages):
        took = really(browser, url, token, kind, pages)
        opened.append([one.url.removeprefix(url) for one in browser.contexts[0].pages])
        return took

    monkeypatch.setattr(page, "_opened", noted)
    rows = list(page.measure(quick=True))
    assert opened == [["/map/"] * 2, ["/map/federation"] * 2]
    assert [row.case for row in rows] == [
        "a question, 2 maps open",
        "a map, until it is ready",
        "a free answer, from click to screen",
        "an answer on a map, until it is seen",
        "a question, 2 pages about the federation open",
        "a page about the federation, until it is ready",
    ]
    assert all(row.ours_s >= 0 for row in rows)
    assert [row.reference_s is None for row in rows] == [False, True, True, True, False, True]
