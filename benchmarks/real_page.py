"""The page docs/real-data.md, from the pieces that are there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from real_pieces import NOT_RUN, SLABFIELD, Found, Pieces
from real_scores import scores_section, share, verdicts_section
from real_tables import HELD_OUT, N_TRAIN, SOURCES
from timing import section, setting, table, verdict

# A run agrees with a longer one within these
TOLERANCE, MOST_ERRORS = 0.02, 4.0
# Inclusion probabilities of the edges whose differences are counted
OPEN = (0.02, 0.98)
# Effective draws from which the rate of a run before counts in the mean ratio
ENOUGH_DRAWS = 100
QUANTITIES = {
    "density": "density", "p0": "p0", "sigma0": "sigma0", "edges": "slowest undecided edge",
}  # fmt: skip


def page(
    pieces: Pieces, names: Sequence[str], seeds: Sequence[int], long_names: Sequence[str]
) -> str:
    """Return the page of these tables."""
    parts = [
        f"# Real data\n\n{section('How it was measured', *introduction(pieces))}",
        convergence_section(pieces, names),
        rates_section(pieces, names, seeds),
        long_section(pieces, long_names),
        verdicts_section(pieces, names),
        *(scores_section(pieces, name) for name in names),
    ]
    return "\n".join(parts)


def introduction(pieces: Pieces) -> list[str]:
    """Say what was measured and how."""
    return [
        f"Made by `make realdata` (`benchmarks/real_data.py`). All methods learn from {N_TRAIN:,} "
        "rows of each table, or from all training rows (tables named `_all`), and are scored on "
        f"others; where a table is smaller than that, {HELD_OUT:.0%} of its rows, chosen at "
        "random, are held out. Test rows with missing answers, or with answers that no training "
        "row has, are left out. Columns that are constant in the training rows are dropped.",
        "slabfield has its defaults: nothing is tuned, four chains run until they have converged, "
        f"or until {pieces.minutes:g} minutes of one core are over, compilation not counted. "
        "Missing answers of training rows are drawn along with the field; the other methods learn "
        "from complete rows. The strengths of the L1 methods are chosen by five-fold "
        "cross-validation, and their CPU time has that in it. CPU seconds are of the whole fit, "
        "all chains together, without compilation.",
        setting(),
    ]


def number(value: float, digits: int = 0) -> str:
    """Lay out a number; a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:,.{digits}f}"


def convergence_section(pieces: Pieces, names: Sequence[str]) -> str:
    """How far the runs with defaults came."""
    head = (
        "table", "columns", "rows", "engine", "CPU s", "draws a chain", "converged",
        "density, effective draws", "sigma0, effective draws", "slowest edge, effective draws",
        "largest R-hat of edges", "largest Monte Carlo error", "what it waited for",
    )  # fmt: skip
    runs = {name: pieces.read(pieces.fit(name, SLABFIELD)) for name in names}
    rows = [convergence_row(name, run, len(head)) for name, run in runs.items()]
    done = [run for run in runs.values() if run is not None]
    return section(
        "Convergence with defaults",
        '"engine" has the number of particles. Effective draws are those of the bulk, of all '
        "chains; edges are those with an inclusion probability of 0.05 to 0.95. The Monte Carlo "
        "error is the largest standard error of any inclusion probability.",
        table(head, rows),
        share("All chains converged within the time", (run["converged"] for run in done))
        + " "
        + share("Every number of every draw is finite", (run["finite"] for run in done)),
    )


def convergence_row(name: str, run: Found | None, width: int) -> list[object]:
    if run is None:
        return [name, NOT_RUN, *[""] * (width - 2)]
    particles = f", {run['n_particles']:,}" if run["n_particles"] else ""
    effective = [number(run[key]["ess"]) for key in ("density", "sigma0", "edges")]
    return [
        name, run["n_columns"], f"{run['n_train']:,}", f"{run['engine']}{particles}",
        f"{run['cpu_seconds']:,.1f}", f"{run['n_draws']:,}", "yes" if run["converged"] else "no",
        *effective, number(run["edges"]["rhat"], 3), f"{max(run['mcse']):.4f}",
        "; ".join(run["waits_for"]),
    ]  # fmt: skip


class Rates(NamedTuple):
    """Means over seeds of one table, before and after a commit."""

    cpu_seconds: tuple[float, float]
    effective: dict[str, tuple[float, float]]

    def ratio(self, quantity: str) -> float:
        """Effective draws per CPU second, after over before."""
        (slow, fast), (before, after) = self.cpu_seconds, self.effective[quantity]
        return (after / fast) / (before / slow)

    @property
    def counts(self) -> bool:
        """Whether the run before had enough effective draws to tell its rate."""
        return all(self.effective[key][0] >= ENOUGH_DRAWS for key in ("density", "sigma0"))


def rates_of(pieces: Pieces, name: str, seeds: Sequence[int]) -> Rates | None:
    """Return the rates of a table; None unless all runs are there."""
    runs = {
        tree: [pieces.read(pieces.rate(name, tree, seed)) for seed in seeds]
        for tree in ("before", "after")
    }
    if any(run is None for some in runs.values() for run in some):
        return None

    def means(of: Callable[[Any], float]) -> tuple[float, float]:
        before, after = (float(np.mean([of(run) for run in some])) for some in runs.values())
        return before, after

    effective = {key: means(lambda run, key=key: run[key]["ess"]) for key in QUANTITIES}
    return Rates(means(lambda run: run["cpu_seconds"]), effective)


def rates_section(pieces: Pieces, names: Sequence[str], seeds: Sequence[int]) -> str:
    """Effective draws per CPU second before and after a commit."""
    title = "Effective draws per CPU second"
    found = {name: rates_of(pieces, name, seeds) for name in names}
    rates = {name: one for name, one in found.items() if one is not None}
    if not rates:
        return section(title, f"{NOT_RUN.capitalize()}.")
    head = (
        "table", "draws a chain", "quantity", "CPU s, before", "after", "effective draws, before",
        "after", "per CPU s, before", "after", "ratio",
    )  # fmt: skip
    rows = [row for name, one in rates.items() for row in rate_rows(name, one)]
    missing = [name for name in names if name not in rates]
    return section(
        title,
        f"Defaults with a fixed number of draws, commit {pieces.before} (before) and the sampler "
        f"of this page (after) in turns, in processes of their own; means over seeds "
        f"{', '.join(map(str, seeds))}. Effective draws are those of the bulk.",
        table(head, rows),
        mean_ratios(rates),
        *([f"{NOT_RUN.capitalize()}: {', '.join(missing)}."] if missing else []),
    )


def rate_rows(name: str, rates: Rates) -> list[list[object]]:
    seconds = [f"{one:,.1f}" for one in rates.cpu_seconds]
    rows: list[list[object]] = []
    for key, title in QUANTITIES.items():
        effective = rates.effective[key]
        per_second = [n / s for n, s in zip(effective, rates.cpu_seconds, strict=True)]
        rows.append([
            name, SOURCES[name].rate_draws, title, *seconds, *(number(n) for n in effective),
            *(number(one, 2) for one in per_second), number(rates.ratio(key), 2),
        ])  # fmt: skip
    return rows


def mean_ratios(rates: dict[str, Rates]) -> str:
    """Return a sentence with the geometric means of ratios."""
    counted = {name: one for name, one in rates.items() if one.counts}
    if not counted:
        return f"No run before had {ENOUGH_DRAWS} effective draws of density and of sigma0."
    logs = {key: [math.log(one.ratio(key)) for one in counted.values()] for key in
            ("density", "sigma0")}  # fmt: skip
    both = [*logs["density"], *logs["sigma0"]]
    means = {key: math.exp(np.mean(some)) for key, some in (logs | {"both": both}).items()}
    return (
        f"Geometric mean of the ratios: density {means['density']:.2f}, sigma0 "
        f"{means['sigma0']:.2f}, both {means['both']:.2f}. It is over {len(counted)} of "
        f"{len(rates)} tables, those on which the runs before had {ENOUGH_DRAWS} or more effective "
        f"draws of both: {', '.join(counted)}."
    )


def long_section(pieces: Pieces, names: Sequence[str]) -> str:
    """Inclusion probabilities against those of runs four times as long."""
    title = "Four times as long"
    if not names:
        return section(title, f"{NOT_RUN.capitalize()}.")
    head = (
        "table", "draws a chain", "of the long run", "CPU s", "of the long run", "rms difference",
        "largest difference", "the same in standard errors", "edges beyond 2 standard errors",
        "beyond 4", "verdict",
    )  # fmt: skip
    return section(
        title,
        "Inclusion probabilities of the runs above, and of runs with four times as many draws and "
        "another seed. Standard errors are those of both, combined. The verdict is that the root "
        f"mean square is at most {TOLERANCE:g}, and the largest difference at most "
        f"{MOST_ERRORS:g} of its standard errors. Edges beyond 2 and 4 standard errors are shares "
        f"of those with a probability of {OPEN[0]:g} to {OPEN[1]:g}; they share the error of the "
        "density.",
        table(head, [long_row(pieces, name, len(head)) for name in names]),
    )


def long_row(pieces: Pieces, name: str, width: int) -> list[object]:
    short, long = pieces.read(pieces.fit(name, SLABFIELD)), pieces.read(pieces.long(name))
    if short is None or long is None:
        return [name, NOT_RUN, *[""] * (width - 2)]
    difference = np.abs(np.subtract(short["probability"], long["probability"]))
    error = np.hypot(short["mcse"], long["mcse"])
    probability = np.array(short["probability"])
    undecided = (probability > OPEN[0]) & (probability < OPEN[1])
    in_errors = difference[undecided] / error[undecided]
    worst = int(difference.argmax())
    largest = float(difference[worst] / error[worst])
    beyond = [f"{(in_errors > k).sum():,} of {in_errors.size:,}" for k in (2, 4)]
    rms = float(np.sqrt(np.mean(difference**2)))
    return [
        name, f"{short['n_draws']:,}", f"{long['n_draws']:,}", f"{short['cpu_seconds']:,.1f}",
        f"{long['cpu_seconds']:,.1f}", f"{rms:.4f}", f"{difference.max():.4f}",
        f"{largest:.2f}", *beyond, verdict(rms <= TOLERANCE and largest <= MOST_ERRORS),
    ]  # fmt: skip
