"""The report of a folder of results: a section for each experiment, with its figure and its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fedgroup.data.drafts import replacing
from fedgroup.lab.experiments import figures, findings, speed_tables, tables
from fedgroup.lab.experiments.measuring import LEAST_TRUTH
from fedgroup.lab.experiments.methods import METHODS, PAPER_BAND
from fedgroup.lab.experiments.running import EXPERIMENTS, load_results
from fedgroup.lab.experiments.scenes import SYNTHETIC
from fedgroup.lab.experiments.tables import Results
from fedgroup.lab.experiments.trial import PAPER_OWNERS, PAPER_TRUTH

ADVICE = {
    "dp": (
        "Every owner adds its own noise: nobody is trusted, nobody waits for anybody, and one message is all. The "
        "error grows with the square root of the owners. Take it for a handful of large owners, or when a question is "
        "asked once and owners cannot work together."
    ),
    "fedgroup, trusted": (
        "Similar owners share one noise, which their leader adds after it saw their exact answers. Take it where such "
        "groups exist anyway, such as branches of one company or members of one club, and where many questions share "
        "the set-up; where many owners are alike, groups add less noise than cohorts do. `likely` finds the groups "
        "under epsilon-DP and says how many owners it may misplace; `hybrid` misplaces none and costs an exact bit per "
        "comparison; a mixed plan puts owners that cannot be placed honestly into masked cohorts."
    ),
    "fedgroup, masked": (
        "The same groups with nobody trusted. It buys nothing over cohorts of as many groups, and costs a set-up and "
        "the knowledge of who is similar to whom: take it only if a plan of similar owners is there already."
    ),
    "cohorts": (
        "Random masked groups of 50: nobody is trusted, no set-up epsilon, nothing about similarity is revealed. The "
        "first choice for many small owners such as phones: a dropout costs one cohort, not the answer."
    ),
    "mpc": (
        "All owners in one masked group: the smallest error there is, one noise. Too many owners missing, and the "
        "whole round gives no answer: take it where owners are reliable, such as companies with servers."
    ),
}


def paragraphs() -> str:
    """Return the advice as Markdown."""
    return "\n\n".join(f"**{name}**. {text}" for name, text in ADVICE.items())


Table = Callable[[Results], str]

TABLES: dict[str, Table] = {
    "setting": lambda results: setting(results),
    "methods": lambda _: methods(),
    "accuracy-epsilon": tables.errors_by_epsilon,
    "relative-errors": tables.relative_errors,
    "paper-accuracy-epsilon": lambda results: tables.against_paper(results, "accuracy-epsilon"),
    "every-method": tables.every_method,
    "aims": findings.aims,
    "equal-totals": findings.equal_totals,
    "accuracy-owners": tables.errors_by_owners,
    "paper-accuracy-owners": lambda results: tables.against_paper(results, "accuracy-owners"),
    "noisy-vs-clear": tables.noisy_and_clear,
    "paper-noisy-vs-clear": findings.clear_claims,
    "misplaced": findings.misplaced_curves,
    "time": speed_tables.times,
    "protocols": speed_tables.protocols,
    "paper-time": speed_tables.time_claims,
    "scalability": speed_tables.cities,
    "paper-scalability": speed_tables.city_claims,
    "trust": findings.trust,
    "trust-in-short": findings.trust_in_short,
    "advice": lambda _: paragraphs(),
}
"""Every table that documents can ask for by name."""

_SECTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "accuracy-epsilon": (
        "Accuracy against epsilon",
        ("accuracy-epsilon", "relative-errors", "paper-accuracy-epsilon", "every-method", "aims", "equal-totals"),
    ),
    "accuracy-owners": ("Accuracy against owners", ("accuracy-owners", "paper-accuracy-owners")),
    "noisy-vs-clear": ("Noisy against exact graphs", ("noisy-vs-clear", "paper-noisy-vs-clear")),
    "misplaced": ("Groups against misplaced owners", ("misplaced",)),
    "time": ("Time", ("time", "protocols", "paper-time")),
    "scalability": ("A million owners", ("scalability", "paper-scalability")),
    "trust": ("Whom to trust", ("trust", "advice")),
}
_TIMES = (
    "All owners' work is done by one process. Set-ups of groups hold their comparisons at the measured time of each, "
    "one after the other."
)
_CITIES = (
    "Set-ups of masked groups are without key agreements, which live owners do each with its own neighbours, all at "
    "the same time: `fedgroup bench secure-sum` measures one."
)
CAPTIONS = {
    "relative-errors": "Relative error of one fixed question, which is what the paper's numbers fit:",
    "every-method": "Every method at the paper's default:",
    "aims": "What was aimed at, and what was reached:",
    "equal-totals": "When all methods may spend the same in total (grouping costs as much as a question, once):",
    "paper-accuracy-epsilon": "Beside the paper:",
    "paper-accuracy-owners": "Beside the paper:",
    "paper-noisy-vs-clear": "Beside the paper:",
    "time": _TIMES,
    "scalability": _CITIES,
    "paper-time": "Beside the paper:",
    "paper-scalability": "Beside the paper:",
    "protocols": "Protocols run step by step; *as computed*: groups equal those of the sweeps' computed outcomes:",
}


def setting(results: Results) -> str:
    """Return what was measured on what."""
    facts = results.facts
    head = ["data", "owners with enough records", "records", "domain", "questions", "radius", "mean true count"]
    return tables.markdown(head, [_scene(scene, results) for scene in facts["scenes"]])


def _scene(scene: dict[str, Any], results: Results) -> list[str]:
    truths = [row["truth"] for row in results.of("accuracy-epsilon") if row["data"] == scene["data"]]
    return [
        str(scene["data"]),
        f"{scene['owners']:,}",
        f"{scene['records']:,}",
        ", ".join(f"{side:g}" for side in scene["domain"]),
        str(scene["questions"]),
        f"{scene['radius_m']:g} m",
        f"{truths[0]:.0f} at {results.facts['owners']} owners" if truths else "",
    ]


def methods() -> str:
    """Return the methods in words."""
    rows = [[name, method.what, method.trust] for name, method in METHODS.items()]
    return tables.markdown(["method", "what", "who is trusted"], rows)


def write_report(folder: Path, *, new: Sequence[str]) -> list[Path]:
    """Draw the figures of `new` results, write the report of all that a folder holds, and return its files."""
    results = load_results(folder)
    ran = [name for name in EXPERIMENTS if results.of(name)]
    for name in ran:
        if name in new or not (folder / f"{name}.svg").exists():
            DRAWERS[name](results, folder)
    text = "\n\n".join([*_opening(results), *(part for name in ran for part in _section(name, results))]) + "\n"
    with replacing(folder / "report.md") as draft:
        draft.write_text(text, encoding="utf-8")
    pictures = [folder / f"{name}.{kind}" for name in ran for kind in ("png", "svg")]
    sheets = sorted(path for path in folder.glob("*.csv"))
    return [folder / "report.md", *pictures, *sheets]


DRAWERS: dict[str, Callable[[Results, Path], None]] = {
    "accuracy-epsilon": lambda results, folder: figures.draw_accuracy(results, folder, "accuracy-epsilon"),
    "accuracy-owners": lambda results, folder: figures.draw_accuracy(results, folder, "accuracy-owners"),
    "noisy-vs-clear": figures.draw_noisy_vs_clear,
    "misplaced": figures.draw_misplaced,
    "time": figures.draw_time,
    "scalability": figures.draw_scalability,
    "trust": figures.draw_trust,
}


def _opening(results: Results) -> Iterator[str]:
    facts = results.facts
    yield "# The paper's experiments"
    yield "Evaluation only, not private: every error is measured against the exact records."
    if any(scene["data"] == SYNTHETIC for scene in facts["scenes"]):
        yield "No data was given, so this is a **synthetic city**: compare shapes with the paper, not numbers."
    if facts["quick"]:
        yield "A **quick** run: small, to see that everything works; it judges nothing."
    columns, rows = facts["grid"]
    yield (
        f"{facts['owners']:,} owners with at least {facts['min_records']} records unless varied, {columns}x{rows} "
        f"cells, threshold {facts['threshold']:g}, epsilon {facts['epsilon']:g} for the set-up and as much for each "
        f"question unless varied. Means over {facts['selections']} selections of owners, ± 95 %; every question "
        f"answered {facts['repeats']} times. Relative errors of counts below {LEAST_TRUTH} are relative to "
        f"{LEAST_TRUTH}. Hybrid graphs use computed outcomes of the comparisons, the same as the protocol's; the paper "
        f"prints no r_l and r_u, and FG here has {PAPER_BAND[0]} and {PAPER_BAND[1]}. Circles have the radius at which "
        f"{PAPER_OWNERS} owners have {PAPER_TRUTH:g} records in one on average, as the paper's question seems to."
    )
    yield setting(results)
    yield methods()


def _section(name: str, results: Results) -> Iterator[str]:
    title, wanted = _SECTIONS[name]
    yield f"## {title}"
    yield f"![{title}]({name}.png)"
    for table in wanted:
        if table in CAPTIONS:
            yield CAPTIONS[table]
        yield TABLES[table](results)
