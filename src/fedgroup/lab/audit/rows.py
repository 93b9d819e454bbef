"""Every row of an audit: a kind of release, seen by somebody, with what is protected and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.lab.audit import views
from fedgroup.lab.audit.power import Noise, promised
from fedgroup.lab.audit.views import Price, View
from fedgroup.lab.audit.worlds import (
    CLIP,
    DOMAIN,
    MEMBERS,
    MOST_BINS,
    MOST_RECORDS,
    Pair,
    SeenRecord,
    Setting,
    pairs,
)
from fedgroup.maps.publishing import Subject, sized
from fedgroup.privacy.noise import NoiseSource
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.graphs import GRAPHS
from fedgroup.questions.query import Measure
from fedgroup.space import Rectangle

PURE, CONCENTRATED = Price(1.0), Price(None, 0.2)
KINDS = (("count", False), ("sum", False), ("sum", True), ("avg", False), ("avg", True), ("people", False))
GROUPED = {
    "trusted": "everybody but the leader",
    "masked": f"{views.COLLUDERS} colluders of {MEMBERS}",
    "cohorts": f"{views.COLLUDERS} colluders of {MEMBERS}",
    "mpc": f"{views.COLLUDERS} colluders of {MEMBERS}",
}
"""Methods of groups, and who attacks them together with the provider."""

NOT_AUDITED = {
    "plans from the graph secure": "cost no epsilon: two owners' compared bit is exact, and confidential inputs are "
    "promised instead (docs/guarantees.md#secure-similarity)",
    "who is grouped with whom by the graph hybrid": "the same; its noisy vectors are audited",
    "what the leader of a trusted group sees": "is exact, and nothing is promised towards it",
}
"""What no epsilon is promised for."""

Open = Callable[[Sequence[SeenRecord], NoiseSource], View]


@dataclass(frozen=True, eq=False)
class AuditRow:
    """One line of the report: how a world is looked at, which pairs of worlds there are, and the law of the noise."""

    release: str
    bins: str
    how: str
    seen_by: str
    protection: Protection
    price: Price
    pairs: list[Pair]
    open: Open
    law: list[tuple[Noise, ...]]
    draws: int
    quick: bool = False

    @property
    def name(self) -> str:
        """What is audited, in words."""
        paid = "epsilon" if self.price.rho is None else "rho"
        return f"{self.release} of a {self.bins}, {self.how}, {self.protection}, {paid}"


def protections(kind: str, shape: str) -> Iterator[Protection]:
    """Yield everything that can be protected: records, subjects, owners and owners with subjects, in both ways."""
    several = kind == "people" and shape != "range"
    for neighbours in ("add-remove", "replace"):
        yield Protection(neighbours, subjects=kind == "people")
        for unit, subjects in (("subject", True), ("owner", False), ("owner", True)):
            most_bins = MOST_BINS if several and not (unit == "owner" and subjects) else None
            yield Protection(neighbours, unit, MOST_RECORDS, most_bins, subjects)  # type: ignore[arg-type]


def every_row() -> list[AuditRow]:
    """Return all rows, in the order of the report."""
    return [
        *_alone(),
        *_several_questions(),
        *_grouped(),
        *_vectors(),
        *_plans(),
        *_published(),
        *_live(),
    ]


def live_installed() -> bool:
    """Tell whether live owners can run here."""
    return find_spec("msgspec") is not None


def _named(kind: str, signed: bool) -> str:
    return f"signed {kind}" if signed else kind


def _row(setting: Setting, price: Price, view: Any, **more: Any) -> AuditRow:
    """Return the row of one question of a setting; `more` are fields of the row, and `view` is how it is opened."""
    found = pairs(setting)
    shared = more.pop("shared", False)
    law = promised([each.moves for each in found], epsilon=price.epsilon, rho=price.rho, shared=shared)
    owners = more.pop("owners", 1)
    return AuditRow(
        release=more.pop("release", _named(setting.kind, setting.signed)),
        bins=more.pop("bins", setting.shape),
        protection=setting.protection,
        price=price,
        pairs=found,
        law=more.pop("law", law),
        open=views.opened_with(view, setting, owners=owners, price=price),
        **more,
    )


_QUICK_ALONE = {("count", "range", "record"), ("avg", "range", "record"), ("people", "map", "subject")}


def _alone() -> Iterator[AuditRow]:
    """Every kind, over every shape of bins, for all that can be protected, by owners alone."""
    for kind, signed in KINDS:
        for shape in ("range", "map", "series"):
            if shape == "series" and kind not in ("count", "people"):
                continue
            for protection in protections(kind, shape):
                for price in (PURE, CONCENTRATED):
                    setting = Setting(kind, shape, protection, signed)
                    quick = (kind, shape, protection.unit) in _QUICK_ALONE and protection.neighbours == "add-remove"
                    signs = (kind, signed, shape, protection) == ("sum", True, "range", Protection("replace"))
                    view = partial(views.Answers, method="dp")
                    yield _row(
                        setting,
                        price,
                        view,
                        how="dp",
                        seen_by="everybody",
                        draws=30_000,
                        quick=signs or (quick and not signed),
                    )


def _several_questions() -> Iterator[AuditRow]:
    """Questions that belong together: asked anew, and about ranges that overlap."""
    for name, places in (
        ("count, asked twice", (None, None)),
        ("two overlapping counts", (None, Rectangle(0, 0, 3, 3))),
    ):
        for price in (Price(0.5), Price(None, 0.1)):
            setting = Setting("count", "range", Protection())
            moves = [{str(n): each.moves["count"] for n in range(2)} for each in pairs(setting)]
            whole: dict[str, Any] = {
                "epsilon": None if price.epsilon is None else 1.0,
                "rho": None if price.rho is None else 0.2,
            }
            yield _row(
                setting,
                price,
                partial(views.Answers, method="dp", places=places),
                release=name,
                how="dp",
                seen_by="everybody",
                draws=30_000,
                law=promised(moves, **whole),
                quick=price.rho is None,
            )


_SUBJECT = Protection("add-remove", "subject", MOST_RECORDS, MOST_BINS, subjects=True)
_OWNER = Protection("add-remove", "owner", MOST_RECORDS, subjects=True)
"""Units that move a number by three: moved by one, Skellam noise costs much less than its bound says."""


def _grouped() -> Iterator[AuditRow]:
    """Every kind by every method of groups; maps and series too."""
    for method, seen_by in GROUPED.items():
        for kind, signed in KINDS:
            for shape in ("range", "map"):
                if shape == "map" and kind not in ("count", "people"):
                    continue
                for price in (PURE, CONCENTRATED):
                    several = kind != "people" or shape == "map"
                    setting = Setting(kind, shape, _SUBJECT if several else _OWNER, signed)
                    masked = method != "trusted"
                    yield _row(
                        setting,
                        price,
                        partial(views.Answers, method=method),
                        how=method,
                        seen_by=seen_by,
                        owners=MEMBERS,
                        shared=masked,
                        draws=8_000 if masked else 30_000,
                        quick=kind == "count" and shape == "range" and method != "masked",
                    )


def _vectors() -> Iterator[AuditRow]:
    for protection in protections("count", "map"):
        yield _row(
            Setting("count", "map", protection),
            PURE,
            views.Vectors,
            release="vector",
            bins="grid",
            how="setup",
            seen_by="the provider",
            draws=20_000,
            quick=protection == Protection(),
        )


def _plans() -> Iterator[AuditRow]:
    for graph in (each for each in GRAPHS.values() if each.private and each.vectors):
        yield _row(
            Setting("count", "map", Protection()),
            PURE,
            partial(views.Plans, graph=graph.name),
            release="plan",
            bins="grid",
            how=graph.name,
            seen_by="the provider",
            owners=2,
            draws=600 if graph.compares else 5_000,
            quick=graph.name == "topcell",
        )


def _published() -> Iterator[AuditRow]:
    subject = Protection("add-remove", "subject", MOST_RECORDS, 1, subjects=True)
    measure = Measure("fare", CLIP, resolution=1.0)
    for kind, protection in (
        ("count", Protection()),
        ("count", Protection("replace")),
        ("sum", Protection()),
        ("people", subject),
    ):
        setting, price = Setting(kind, "map", protection), Price(2.0)
        about = Subject(kind, measure if kind == "sum" else None)
        sizes = sized(about, DOMAIN, Epsilon.of(2), noises=1, records=20, protection=protection, most_cells=None)
        law = []
        for pair in pairs(setting):
            each = [promised([pair.moves], epsilon=float(share))[0] for share in sizes.shares]
            law.append(tuple(noise for some in each for noise in some))
        yield _row(
            setting,
            price,
            views.PublishedMaps,
            release=f"published map of {kind}",
            bins="domain",
            how="dp",
            seen_by="everybody",
            draws=5_000,
            law=law,
            quick=kind == "count" and protection == Protection(),
        )


def _live() -> Iterator[AuditRow]:
    """Live owners' own code: alone, in groups, and their vectors; none where what they need is not installed."""
    if not live_installed():
        return
    from fedgroup.lab.audit import live_views

    for kind, signed in KINDS:
        for price in (PURE, CONCENTRATED):
            for neighbours in ("add-remove", "replace"):
                subject = Protection(neighbours, "subject", MOST_RECORDS, MOST_BINS, subjects=True)
                people = kind == "people"
                protection = subject if people else Protection(neighbours)
                setting = Setting(kind, "map" if people else "range", protection, signed)
                yield _row(
                    setting,
                    price,
                    live_views.LiveAnswers,
                    how="live, alone",
                    seen_by="the provider",
                    draws=20_000,
                    quick=kind == "count" and neighbours == "add-remove",
                )
    for mode, seen_by in (("trusted", GROUPED["trusted"]), ("masked", GROUPED["masked"])):
        for kind in ("count", "avg"):
            for price in (PURE, CONCENTRATED):
                yield _row(
                    Setting(kind, "range", _SUBJECT),
                    price,
                    partial(live_views.LiveGroups, mode=mode),
                    how=f"live, {mode}",
                    seen_by=seen_by,
                    owners=MEMBERS,
                    shared=mode == "masked",
                    draws=4_000,
                    quick=mode == "masked" and kind == "count" and price.rho is None,
                )
    for protection in (Protection(), Protection("replace", "owner", MOST_RECORDS)):
        yield _row(
            Setting("count", "map", protection),
            PURE,
            live_views.LiveVectors,
            release="vector",
            bins="grid",
            how="live",
            seen_by="the provider",
            draws=10_000,
        )
