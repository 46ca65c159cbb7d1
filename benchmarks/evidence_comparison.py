"""Evidence for edges under two likelihoods compared: what changes, with error bars.

A *run* is what one sampler found about all pairs of some tables: a data frame with one row per
pair, the same rows for every sampler, and the columns of :data:`COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binomtest, rankdata, spearmanr

from slabfield.posterior.couplings import sd_and_interval_given_presence
from slabfield.posterior.posterior import Posterior

# Samplers: exact sums, particles, and the pseudo-likelihood in two weights
LIKELIHOOD, PARTICLES, FULL, HALF = "likelihood", "particles", "weight 1", "weight 1/2"
# Seeds of chains, in turn until these converge
SEEDS = (1, 2, 3, 4)
# log10 of the Bayes factor and its Monte Carlo error, inclusion probability, and coupling given
# presence: standard deviation and 95% interval
COLUMNS = ("log10_factor", "log10_error", "inclusion", "sd", "lower", "upper")
# Bootstrap samples of tables behind each standard error
N_BOOTSTRAP = 1_000
# log10 of the Bayes factors that separate classes of evidence: strong, moderate
STRONG, MODERATE = 1.0, float(np.log10(3))

# A number computed from some pairs, which are given by their index
Statistic = Callable[[Any], float]


def summarize(posterior: Posterior) -> dict[str, list[float]]:
    """What is compared, of every pair (i, j) with i < j in the order of ``np.triu_indices``."""
    as_matrix = posterior.interactions.as_matrix
    spread = (as_matrix(values) for values in sd_and_interval_given_presence(posterior.draws))
    matrices = (
        np.log10(posterior.bayes_factor), posterior.log_bayes_factor_mcse / np.log(10),
        posterior.inclusion_probability, *spread,
    )  # fmt: skip
    pairs = np.triu_indices(posterior.n_nodes, 1)
    return {name: matrix[pairs].tolist() for name, matrix in zip(COLUMNS, matrices, strict=True)}


class Tables(NamedTuple):
    """All pairs of some tables: number of the table, its rows, and the true coupling or 0."""

    table: np.ndarray
    n_rows: np.ndarray
    coupling: np.ndarray

    @property
    def present(self) -> np.ndarray:
        return self.coupling != 0


# What makes a statistic of a run and the truth
Score = Callable[[pd.DataFrame, Tables], Statistic]


class Quality(NamedTuple):
    """Draws per chain; over all tables: runs not converged, those run again, fewest visits.

    ``visits`` are draws in which a pair is present, from which its interval is computed.
    """

    n_draws: int
    n_unconverged: int
    n_repeated: int
    visits: int
    cpu_seconds: float


class Findings(NamedTuple):
    """Runs of several samplers on the same tables."""

    runs: dict[str, pd.DataFrame]
    quality: dict[str, Quality]
    tables: Tables


def whole(statistic: Statistic) -> float:
    """A statistic of all pairs."""
    return statistic(slice(None))


def standard_error(statistic: Statistic, tables: Tables) -> float:
    """Standard error of a statistic of some pairs, by resampling whole tables."""
    parts = [np.flatnonzero(tables.table == number) for number in np.unique(tables.table)]
    rng = np.random.default_rng(0)
    samples = rng.integers(len(parts), size=(N_BOOTSTRAP, len(parts)))
    values = [statistic(np.concatenate([parts[k] for k in sample])) for sample in samples]
    return float(np.std(values, ddof=1))


def with_error(statistic: Statistic, tables: Tables, digits: int = 3, sign: str = "") -> str:
    """A statistic of all pairs, and its standard error over tables."""
    error = standard_error(statistic, tables)
    return f"{whole(statistic):{sign}.{digits}f} ± {error:.{digits}f}"


def share_text(count: int, total: int) -> str:
    """A count, with the 95% interval of the share (Wilson), as if pairs were independent."""
    found = binomtest(count, total).proportion_ci(method="wilson")
    return f"{count} ({found.low:.0%} to {found.high:.0%})"


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def rms_inclusion(run: pd.DataFrame, reference: pd.DataFrame) -> Statistic:
    gap = (run["inclusion"] - reference["inclusion"]).to_numpy()
    return lambda which: rms(gap[which])


def mean_inclusion_gap(run: pd.DataFrame, reference: pd.DataFrame) -> Statistic:
    gap = (run["inclusion"] - reference["inclusion"]).to_numpy()
    return lambda which: float(gap[which].mean())


def monte_carlo_rms(*runs: pd.DataFrame) -> float:
    """Difference of inclusion probabilities that Monte Carlo errors of the runs alone explain."""
    variances = [
        (run["inclusion"] * (1 - run["inclusion"]) * np.log(10) * run["log10_error"]) ** 2
        for run in runs
    ]
    return float(np.sqrt(np.mean(sum(variances))))


def brier(run: pd.DataFrame, tables: Tables) -> Statistic:
    loss = np.square(run["inclusion"].to_numpy() - tables.present)
    return lambda which: float(loss[which].mean())


def auc(run: pd.DataFrame, tables: Tables) -> Statistic:
    """Probability that a true edge has a larger Bayes factor than a pair without one."""
    factor, present = run["log10_factor"].to_numpy(), tables.present

    def area(which: Any) -> float:
        true, ranks = present[which], rankdata(factor[which])
        n_true = true.sum()
        above = ranks[true].sum() - n_true * (n_true + 1) / 2
        return float(above / (n_true * (true.size - n_true)))

    return area


def difference(first: Statistic, second: Statistic) -> Statistic:
    return lambda which: first(which) - second(which)


def coverage(run: pd.DataFrame, tables: Tables) -> Statistic:
    """Share of true edges whose coupling is within its 95% interval given presence."""
    truth, present = tables.coupling, tables.present
    inside = (run["lower"].to_numpy() <= truth) & (truth <= run["upper"].to_numpy())
    return lambda which: float(inside[which][present[which]].mean())


def sd_ratio(run: pd.DataFrame, reference: pd.DataFrame) -> Statistic:
    """Mean ratio of standard deviations of couplings given presence."""
    ratio = (run["sd"] / reference["sd"]).to_numpy()
    return lambda which: float(ratio[which].mean())


def rank_correlation(run: pd.DataFrame, reference: pd.DataFrame, tables: Tables) -> Statistic:
    """Mean over tables of the rank correlation of Bayes factors, weighted by pairs."""
    own, other = (frame["log10_factor"].to_numpy() for frame in (run, reference))
    found = np.zeros(tables.table.size)
    for number in np.unique(tables.table):
        part = tables.table == number
        found[part] = spearmanr(own[part], other[part]).statistic
    return lambda which: float(found[which].mean())


def of_rows(findings: Findings, n_rows: int) -> Findings:
    """The pairs of tables with so many rows."""
    part = findings.tables.n_rows == n_rows
    runs = {name: run[part] for name, run in findings.runs.items()}
    return findings._replace(runs=runs, tables=Tables(*(array[part] for array in findings.tables)))


class Claims(NamedTuple):
    """Pairs with strong evidence under one likelihood, and how many of them have less by another.

    ``weaker`` counts those whose evidence is not strong, and ``inconclusive`` those of them whose
    evidence is not even moderate.
    """

    total: int
    weaker: int
    inconclusive: int


def claims(by: pd.DataFrame, other: pd.DataFrame, sign: int = 1) -> Claims:
    """Strong evidence for edges, or with ``sign`` -1 against them, and what is left of it."""
    strong = sign * by["log10_factor"] > STRONG
    left = sign * other["log10_factor"][strong]
    return Claims(int(strong.sum()), int((left <= STRONG).sum()), int((left < MODERATE).sum()))


CLAIM_HEAD = ("strong evidence", "according to", "pairs", "compared with", "not strong there",
              "inconclusive or opposite there")  # fmt: skip


def claim_rows(runs: Mapping[str, pd.DataFrame], reference: str) -> list[tuple[str, ...]]:
    """Rows of a table: claims of every run that the reference does not share, and the reverse."""
    rows = []
    for sign, words in ((1, "for (BF above 10)"), (-1, "against (BF below 1/10)")):
        for name in (name for name in runs if name != reference):
            for by, other in ((name, reference), (reference, name)):
                found = claims(runs[by], runs[other], sign)
                if found.total:
                    rows.append((
                        words, by, str(found.total), other, share_text(found.weaker, found.total),
                        share_text(found.inconclusive, found.total),
                    ))  # fmt: skip
    return rows


def near_threshold(run: pd.DataFrame) -> int:
    """Pairs whose Bayes factor is within two Monte Carlo errors of 10 or of 1/10."""
    distance = np.abs(np.abs(run["log10_factor"]) - STRONG)
    return int((distance < 2 * run["log10_error"]).sum())


def quantile_text(values: pd.Series) -> tuple[str, ...]:
    """Quantiles 5, 25, 50, 75 and 95%."""
    return tuple(f"{q:+.2f}" for q in values.quantile([0.05, 0.25, 0.5, 0.75, 0.95]))
