"""The tables about time: set-up and questions against owners, protocols that were run, a million owners."""

from __future__ import annotations

from fedgroup.lab.experiments.means import distinct, maybe, number, pick
from fedgroup.lab.experiments.paper import FG_SECONDS_AT_1K, HOURS, MPC_HOURS_AT_1M, SECONDS_AT_1M
from fedgroup.lab.experiments.protocols import COMPARING, SEQUENTIAL
from fedgroup.lab.experiments.sheets import Row
from fedgroup.lab.experiments.tables import Results, along, markdown, seconds, size


def with_comparisons(results: Results, row: Row) -> float:
    """Return the time of a set-up whose comparisons are run one after the other, at the measured time of each."""
    return number(row, "setup_s") + (maybe(row, "comparisons") or 0.0) * seconds_each(results, COMPARING)


def is_grouped(row: Row) -> bool:
    """Tell whether a method's set-up looks for similar owners."""
    return str(row["method"]).startswith("FG")


def seconds_each(results: Results, what: str) -> float:
    """Return what one step of a protocol took, 0 where it was not run."""
    rows = pick(results.of("protocols"), what=what)
    return number(rows[0], "seconds_each") if rows else 0.0


def times(results: Results) -> str:
    """Return set-up and question times along owners and along epsilon."""
    rows = results.of("time")
    by_owners = pick(rows, epsilon=results.facts["epsilon"])
    by_epsilon = pick(rows, owners=distinct(by_owners, "owners")[0]) if by_owners else []
    names = [str(name) for name in distinct(rows, "method")]
    grouped = [str(name) for name in distinct((row for row in rows if is_grouped(row)), "method")]
    question = lambda row: seconds(maybe(row, "query_s"))
    setup = lambda row: seconds(with_comparisons(results, row))
    parts = [
        along(by_owners, "owners", names, question, "a question, at owners"),
        along(by_owners, "owners", grouped, setup, "set-up, at owners"),
        along(by_epsilon, "epsilon", names, question, f"a question, {_first(by_owners)} owners, at epsilon"),
        along(by_epsilon, "epsilon", grouped, setup, f"set-up, {_first(by_owners)} owners, at epsilon"),
    ]
    return "\n\n".join(parts)


def _first(rows: list[Row]) -> str:
    return f"{number(rows[0], 'owners'):,.0f}" if rows else ""


def protocols(results: Results) -> str:
    """Return what was run step by step."""
    head = ["protocol", "owners", "steps", "in all", "a step", "bytes a step", "bytes of a session", "as computed"]
    return markdown(
        head,
        [
            [
                str(row["what"]),
                f"{number(row, 'owners'):,.0f}",
                f"{number(row, 'steps'):,.0f}",
                seconds(maybe(row, "seconds")),
                seconds(maybe(row, "seconds_each")),
                size(maybe(row, "bytes_each")),
                size(maybe(row, "session_bytes")),
                "yes" if row["agrees"] else "**no**",
            ]
            for row in results.of("protocols")
        ],
    )


def cities(results: Results) -> str:
    """Return time and error in cities of up to a million owners."""
    rows = pick(results.of("scalability"), epsilon=results.facts["epsilon"])
    names = [str(name) for name in distinct(rows, "method")]
    parts = [
        along(rows, "owners", names, lambda row: seconds(maybe(row, "query_s")), "a question, at owners"),
        along(rows, "owners", names, lambda row: seconds(maybe(row, "setup_s")), "set-up, at owners"),
        along(rows, "owners", names, lambda row: f"{number(row, 'mae'):,.0f}", "MAE at owners"),
        along(rows, "owners", names, lambda row: f"{number(row, 'groups'):,.0f}", "groups at owners"),
    ]
    return "\n\n".join(parts)


def time_claims(results: Results) -> str:
    """Return what the paper says about time beside ours."""
    rows = pick(results.of("time"), owners=1_000, epsilon=results.facts["epsilon"])
    lines = [_grouped_within(results, rows)] if rows else []
    lines += [["MPC's time grows in proportion to the owners", "figure 5", *_linear(results)]]
    lines += [["noisy or exact graph: about the same time", "figure 5", *_noisy_or_clear(rows)]] if rows else []
    return markdown(["what", "paper", "ours", "how they differ"], lines)


def _grouped_within(results: Results, rows: list[Row]) -> list[str]:
    ours = {str(row["method"]): seconds(with_comparisons(results, row)) for row in rows}
    return [
        "FG variants, 1,000 owners",
        f"under {FG_SECONDS_AT_1K:g} s",
        f"FG {ours['FG']}, FG-Ex {ours['FG-Ex']}, FG-C {ours['FG-C']}; FG hybrid {ours['FG hybrid']}, "
        f"FG likely {ours['FG likely']}",
        "set-ups with their comparisons: FG compares where placing an owner asks for it, FG-Ex every pair in doubt, as "
        "Algorithm 1 is printed; a question takes less than a millisecond",
    ]


def _linear(results: Results) -> list[str]:
    each = seconds_each(results, SEQUENTIAL)
    return [
        f"sequential {seconds(each)} an owner; masked: see the table",
        "the baseline makes owners wait for one another; masked sums do not, and give the same answer",
    ]


def _noisy_or_clear(rows: list[Row]) -> list[str]:
    noisy, clear = (pick(rows, method=name) for name in ("FG", "FG-C"))
    ours = (
        f"FG {seconds(number(noisy[0], 'setup_s'))}, FG-C {seconds(number(clear[0], 'setup_s'))}, without comparisons"
    )
    return [ours, "true of the graphs themselves; with comparisons the noisy graph takes longer"]


def city_claims(results: Results) -> str:
    """Return what the paper says about a million owners beside ours."""
    rows = pick(results.of("scalability"), epsilon=results.facts["epsilon"])
    largest = max((number(row, "owners") for row in rows), default=0.0)
    found = {str(row["method"]): row for row in rows if number(row, "owners") == largest}
    both = ", ".join(f"{name} {seconds(number(found[name], 'query_s'))}" for name in ("DP", "FG topcell"))
    slow = seconds_each(results, SEQUENTIAL) * largest
    masked = number(found["MPC"], "query_s")
    faster = f"{MPC_HOURS_AT_1M * HOURS / masked:,.0f} times faster than the paper's, " if largest == 1_000_000 else ""
    lines = [
        [
            f"DP and FG, a question, {largest:,.0f} owners",
            f"within {SECONDS_AT_1M:g} s at 1,000,000",
            both,
            "an index, and noise drawn as one sum; FG's set-up, once, is in the table",
        ],
        [
            f"MPC, a question, {largest:,.0f} owners",
            f"more than {MPC_HOURS_AT_1M:g} h at 1,000,000",
            f"sequential {seconds(slow)} (extrapolated); masked {seconds(masked)}",
            f"{faster}at the same error: owners need not wait for one another",
        ],
    ]
    return markdown(["what", "paper", "ours", "how they differ"], lines)
