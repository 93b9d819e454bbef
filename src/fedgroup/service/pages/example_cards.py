"""Every method to run on invented records, as cards: what it answered, what is true, what it took, who saw what."""

from __future__ import annotations

from html import escape

from nicegui import ui

from fedgroup.service.pages.examples import Example, ExampleRuns
from fedgroup.service.pages.frame import plain_button, telling
from fedgroup.service.pages.visits import Visit
from fedgroup.service.pages.words import counted, number

_SYNTHETIC = (
    "All records here are synthetic: nobody is behind them, so the exact answer can be shown beside the noisy one. "
    "This process plays every owner. The federation's own owners are not asked, and nobody's budget is touched."
)


def example_cards(visit: Visit) -> None:
    """Put a card for each method on a page, if this provider has examples."""
    with ui.element("section").classes("fg-card").props('aria-label="Examples"'):
        ui.html("Try it on a synthetic city", sanitize=False, tag="h2")
        runs = visit.door.examples
        if runs is None:
            ui.label("No examples are offered here.").classes("fg-small")
            return
        ui.label(_SYNTHETIC)
        ui.label(runs.city.about).classes("fg-small")
        cards: list[_ExampleCard] = []

        async def run_all() -> None:
            for card in cards:
                await card.run()

        with ui.element("div").classes("fg-row"):
            plain_button("Run all", run_all)
        with ui.element("div").classes("fg-examples"):
            cards.extend(_ExampleCard(visit, runs, title) for title in runs.city.run)


class _ExampleCard:
    """One method, and its latest run."""

    def __init__(self, visit: Visit, runs: ExampleRuns, title: str) -> None:
        self._visit = visit
        self._runs = runs
        self._title = title
        with ui.element("article").classes("fg-example").props(f'aria-label="{escape(title)}"'):
            with ui.element("div").classes("fg-head"):
                ui.html(escape(title), sanitize=False, tag="h3")
                self._button = plain_button("Run", self.run)
            self._shown = ui.html("", sanitize=False).props('role="status"')

    async def run(self) -> None:
        """Run the method and show how it did; a run that is under way is not begun again."""
        if not self._button.enabled:
            return
        self._button.disable()
        self._shown.content = '<p class="fg-waiting">running &hellip;</p>'
        try:
            with telling(self._tell):
                await self._visit.user()
                self._shown.content = _told(await self._runs.run(self._visit.session.name, self._title))
        finally:
            self._button.enable()

    def _tell(self, fault: str) -> None:
        self._shown.content = f'<p class="fg-fault">{escape(fault)}</p>'


def _told(run: Example) -> str:
    low, high = run.interval
    took = f"{_seconds(run.asking_seconds)} to answer"
    if run.grouping_seconds is not None:
        took = f"{_seconds(run.grouping_seconds)} to find groups, {took}"
    parts = f"{counted(run.groups, 'group')}, {counted(run.noises, 'noise term')}"
    return (
        f'<p><strong class="fg-number">{number(run.value)}</strong> '
        f"between {number(low)} and {number(high)} in 95 %</p>"
        f"<p>The exact answer is <strong>{run.exact:,}</strong>: off by {run.value - run.exact:+,.0f}.</p>"
        f'<p class="fg-small">{parts}; {took}</p>'
        f'<p class="fg-small">{escape(run.seen)}</p>'
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{max(1, round(seconds * 1000))} ms"
