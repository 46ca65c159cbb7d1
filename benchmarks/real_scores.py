"""Scores of held-out rows on the page docs/real-data.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from real_pieces import NOT_RUN, PSEUDO, SLABFIELD, Found, Pieces, fits_of, rivals_of
from timing import section, table

MIXTURE, SINGLE = f"{SLABFIELD}, mixture of draws", f"{SLABFIELD}, one field"

Array = NDArray[np.float64]


class Scored(NamedTuple):
    """A method on a table: scores of the test rows (``cll`` is empty if it has no field)."""

    label: str
    pll: Array
    cll: Array
    density: float
    cpu_seconds: float
    converged: bool


class Gap(NamedTuple):
    """Mean difference of one method from another, with its paired standard error."""

    value: float
    error: float


def share(what: str, holds: Iterable[bool]) -> str:
    """Return a sentence that says of how many tables something holds."""
    flags = list(holds)
    return f"{what} on {sum(flags)} of {len(flags)} tables."


def runs_of(pieces: Pieces, name: str) -> dict[str, Found | None]:
    """Return the pieces of all methods of a table; None for those that were not run."""
    files = {method: pieces.fit(name, method) for method in fits_of(name)}
    files |= {method: pieces.rival(name, method) for method in rivals_of(name)}
    return {method: pieces.read(file) for method, file in files.items()}


def scored_of(method: str, run: Found | None) -> list[Scored]:
    """Return the scores in a piece; the pseudo-likelihood's run counts with its mixture only."""
    found = []
    for title, scores in run["models"].items() if run is not None else ():
        label = title if title == method else f"{method}, {title}"
        pll, cll = np.array(scores["pll"]), np.array(scores["cll"])
        converged = run.get("converged", True)
        if label != f"{PSEUDO}, one field":
            found.append(
                Scored(label, pll, cll, scores["density"], run["cpu_seconds"], converged)
            )  # fmt: skip
    return found


def all_scored(runs: dict[str, Found | None]) -> list[Scored]:
    """Return the scores of all methods that were run."""
    return [one for method, run in runs.items() for one in scored_of(method, run)]


def gap(scores: Array, other: Array) -> Gap:
    """Difference of two methods on the same rows."""
    difference = scores - other
    return Gap(float(difference.mean()), standard_error(difference))


def standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def is_near(scored: Sequence[Scored], label: str, measure: str) -> bool:
    """Whether a method is the best, or within one paired standard error of it."""
    scores = {one.label: getattr(one, measure) for one in scored if getattr(one, measure).size}
    best = max(scores.values(), key=np.mean)
    found = gap(scores[label], best)
    return -found.value <= found.error


def verdicts_section(pieces: Pieces, names: Sequence[str]) -> str:
    """On how many tables slabfield is best, or as good as the best."""
    runs = [runs_of(pieces, name) for name in names]
    every = [all_scored(some) for some in runs if None not in some.values()]
    singles = [[one for one in some if "mixture" not in one.label] for some in every]
    near = "best or within one paired standard error of the best in"
    return section(
        "Held-out rows",
        "Scores are means over test rows of log probabilities, higher is better. "
        "Pseudo-log-likelihood: of every column given all others, summed. Conditional "
        "log-likelihood: of a random group of columns given the others, nine columns of two "
        "values, or three of five or six. The paired standard error is that of the mean difference "
        "between two methods over the same test rows. Of the tables on which all methods were run:",
        share(f"- The mixture of draws is {near} pseudo-log-likelihood",
              (is_near(some, MIXTURE, "pll") for some in every)),
        share(f"- The mixture of draws is {near} conditional log-likelihood",
              (is_near(some, MIXTURE, "cll") for some in every)),
        share(f"- Among single models, the one field is {near} pseudo-log-likelihood",
              (is_near(some, SINGLE, "pll") for some in singles)),
    )  # fmt: skip


def scores_section(pieces: Pieces, name: str) -> str:
    """The methods on one table, the best pseudo-log-likelihood first."""
    runs = runs_of(pieces, name)
    missing = [method for method, run in runs.items() if run is None]
    absent = [f"{NOT_RUN.capitalize()}: {', '.join(missing)}."] if missing else []
    any_run = next((run for run in runs.values() if run is not None), None)
    if any_run is None:
        return section(name, *absent)
    title = (
        f"{name}: {any_run['n_columns']} columns, {any_run['n_train']:,} training rows, "
        f"{any_run['n_test']:,} test rows"
    )
    head = (
        "method", "pseudo-log-likelihood", "difference from the best",
        "conditional log-likelihood", "density", "CPU s",
    )  # fmt: skip
    ranked = sorted(all_scored(runs), key=lambda one: -one.pll.mean())
    return section(title, table(head, [score_row(one, ranked[0].pll) for one in ranked]), *absent)


def score_row(one: Scored, best: Array) -> list[object]:
    difference = gap(one.pll, best)
    label = one.label if one.converged else f"{one.label} (not converged)"
    conditional = f"{one.cll.mean():.3f} ± {standard_error(one.cll):.3f}" if one.cll.size else "-"
    return [
        label, f"{one.pll.mean():.3f}",
        "best" if one.pll is best else f"{difference.value:.3f} ± {difference.error:.3f}",
        conditional, f"{one.density:.3f}", f"{one.cpu_seconds:,.1f}",
    ]  # fmt: skip
