"""Answers and expectations, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from fedgroup.cli.output import notice, number, print_json, result, several
from fedgroup.epsilon import Epsilon, weak_notes

if TYPE_CHECKING:
    from fedgroup.cli.options import TrialOptions
    from fedgroup.maps.private_map import PrivateMap
    from fedgroup.questions.answers import Answer, Expectation, Told

USUAL_NOTE = "records outside the domain are not counted"
"""It is true of every answer, and hides other notes where every answer is printed with it."""


def say_answer(answer: Answer, trial: TrialOptions, *, as_json: bool, without: str | None = None) -> None:
    """Print an answer, with what was asked for its evaluation; `without` is a note to keep to the JSON object."""
    for note in answer.notes:
        if note != without:
            notice(note)
    private = answer.private and trial.repeat is None
    values = () if trial.repeat is None else answer.values or (answer.value,)
    if as_json:
        from fedgroup.questions.answers import answer_facts

        shown = answer_facts(answer) | {"private": private}
        shown |= {"values": values} if values else {}
        shown |= _evaluated(answer, trial)
        print_json(shown)
        return
    _print_value(answer)
    if len(values) > 1:
        result.print(f"all {len(values)} answers: {'  '.join(number(value) for value in values)}")
    if trial.evaluate:
        _print_truth(answer, trial)
    _print_price(answer)
    _print_missing(answer)
    result.print(answer.trust if private else f"{answer.trust}; this answer is not private")


def say_map(made: PrivateMap, *, as_json: bool, **files: str | None) -> None:
    """Print what was found in the bins of a map: all of them as JSON, else the largest, and the `files` it is in."""
    for note in made.notes:
        notice(note)
    if as_json:
        from fedgroup.maps.private_map import bins_of, map_facts, truths_of

        told = {"id": made.id} if made.id is not None else {}
        print_json(told | map_facts(made) | {"kind": made.kind} | bins_of(made) | truths_of(made) | files)
        return
    _print_bins(made)
    for name in files.values():
        if name is not None:
            result.print(f"written to {name}")
    _print_price(made)
    _print_missing(made)
    result.print(f"protected is {made.protection}")
    result.print(made.trust if made.private else f"{made.trust}; this map is not private")


def say_expectation(expected: Expectation, *, as_json: bool) -> None:
    """Print what an answer would be like."""
    for note in expected.notes:
        if note != USUAL_NOTE:
            notice(note)
    for note in weak_notes(Epsilon.of(expected.epsilon)):
        notice(note)
    if as_json:
        only = expected.errors.get(expected.kind)
        errors = {"expected_error": only and only.mean_absolute, "half_width": only and only.half_width}
        facts = {name: fact for name, fact in asdict(expected).items() if (name, fact) != ("owners_left", None)}
        print_json(facts | errors | {"dry_run": True})
        return
    each = "" if expected.bins == 1 else f" in each of {several(expected.bins, 'bin')}"
    for part, error in expected.errors.items():
        average, most = number(error.mean_absolute), number(error.half_width)
        result.print(f"{part}{each}: off by {average} on average, by at most {most} in 95 %")
    of_what = "" if expected.owners_left is None else " of your allowance"
    left = "nothing is capped" if expected.left is None else f"{expected.left:g} is left{of_what}"
    if expected.left_in_windows is not None:
        left += f", {expected.left_in_windows:g} in the windows of time that it meets"
    rho = "" if expected.rho is None else f" (rho {expected.rho:g})"
    verdict = "" if expected.affordable else ": it would be refused"
    result.print(f"{expected.method}: {_noises(expected)}; cost {expected.charge:g}{rho}, {left}{verdict}")
    if expected.owners_left is not None:
        from fedgroup.live.balances import left_in_words

        result.print(left_in_words(expected.owners_left))
    result.print("nothing was spent")


def _evaluated(answer: Answer, trial: TrialOptions) -> dict[str, float | None]:
    if not trial.evaluate:
        return {}
    truth = {"true_value": answer.true_value, "true_value_clipped": answer.true_value_clipped}
    return truth | ({} if trial.repeat is None else {"mean_absolute_error": answer.mean_absolute_error})


def _print_truth(answer: Answer, trial: TrialOptions) -> None:
    cut = answer.kind != "count" or answer.true_value != answer.true_value_clipped
    clipped = f"; after clipping, which noise is added to: {number(answer.true_value_clipped)}" if cut else ""
    result.print(f"true value: {number(answer.true_value)}{clipped}")
    if trial.repeat is not None:
        error = number(answer.mean_absolute_error)
        result.print(f"mean absolute error of {several(trial.repeat, 'answer')}: {error}")


def _print_value(answer: Answer) -> None:
    low, high = answer.interval
    exact = "exactly" if answer.method == "exact" else f"95 %: {number(low)} to {number(high)}"
    result.print(f"{number(answer.value)}   {exact}", style="bold")


def _print_price(answer: Told) -> None:
    cost = _cost(answer)
    took = f"{answer.seconds * 1000:.0f} ms"
    if answer.method == "exact":
        result.print(f"exact: no noise for {several(answer.owners, 'owner')}, {cost}, {took}")
    else:
        result.print(f"{answer.method}: {_noises(answer)}, {cost}, {took}")


def _print_missing(answer: Told) -> None:
    """Say how many owners are in the answer, if not all; notes tell why others refused."""
    if answer.missing:
        result.print(f"{answer.heard:,} of {several(answer.owners, 'owner')} were heard")


def _cost(answer: Told) -> str:
    if answer.stored:
        return f"the answer of {answer.asked_at}, free"
    if answer.rho is not None:
        delta = f", delta {answer.delta:g}" if answer.delta else ""
        return f"rho {answer.rho:g} (epsilon {answer.epsilon:g}{delta})"
    besides = round(answer.charged - answer.epsilon, 9)
    return f"epsilon {answer.epsilon:g}" + (f" and {besides:g} once for the plan" if besides > 0 else "")


def _noises(told: Told | Expectation) -> str:
    groups = several(told.groups, "group")
    noises = round(told.noises, 2)
    return f"{groups} with {number(noises)} noise term{'' if noises == 1 else 's'} for {several(told.owners, 'owner')}"


_SHOWN = 10


def _print_bins(made: PrivateMap) -> None:
    """Print the largest values of a map, in words the places, steps and categories of their bins."""
    import numpy as np

    places, steps, categories = made.shape
    from fedgroup.space import Grid

    named = " (row-column, from the south-west)" if isinstance(made.places, Grid) else ""
    cut = [f"{several(places, 'place')}{named}"] + ([] if steps == 1 else [several(steps, "step")])
    cut += [] if made.query.by is None else [f"{categories} categories"]
    result.print(f"{several(made.bins, 'bin')}: {' x '.join(cut)}", style="bold")
    if made.half_width_all is not None and made.method != "exact":
        half = number(float(made.high[0] - made.low[0]) / 2)
        result.print(f"95 %: each bin by at most {half}, all of them by at most {number(made.half_width_all)}")
    names, starts, kinds = made.names(), made.starts(), made.categories()
    for at in np.argsort(-np.nan_to_num(made.values.astype(float)), kind="stable")[:_SHOWN].tolist():
        place, step, category = np.unravel_index(at, made.shape)
        told = [names[place], *([] if steps == 1 else [f"{starts[step]:%Y-%m-%d %H:%M}"])]
        told += [] if made.query.by is None else [str(kinds[category])]
        interval = f"{number(made.low[at].item())} to {number(made.high[at].item())}"
        result.print(f"{' '.join(told)}: {number(made.values[at].item())}   {interval}{_truth_of_bin(made, at)}")
    if made.true_values is not None and made.method != "exact":
        error = float(np.nanmean(np.abs(made.values - made.true_values)))
        result.print(f"mean absolute error of the bins: {number(error)}")


def _truth_of_bin(made: PrivateMap, at: int) -> str:
    """Return what is true of a bin, for evaluation, and what noise was added to where that is another value."""
    if made.true_values is None or made.true_values_clipped is None:
        return ""
    true, cut = made.true_values[at].item(), made.true_values_clipped[at].item()
    after = "" if true == cut or true != true else f", after clipping {number(cut)}"
    return f"   true: {number(true)}{after}"
