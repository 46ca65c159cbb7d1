"""The page on the pseudo-likelihood and Bayes factors: its sections, tables and pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from evidence_comparison import (
    CLAIM_HEAD,
    FULL,
    HALF,
    LIKELIHOOD,
    PARTICLES,
    SEEDS,
    STRONG,
    Findings,
    Score,
    auc,
    brier,
    claim_rows,
    claims,
    coverage,
    difference,
    mean_inclusion_gap,
    monte_carlo_rms,
    near_threshold,
    of_rows,
    quantile_text,
    rank_correlation,
    rms,
    rms_inclusion,
    sd_ratio,
    whole,
    with_error,
)
from evidence_pictures import legend, scatter
from timing import section, setting, table

# Monte Carlo errors are stated for Bayes factors between the inverse of this and this, as log10
STATED_UP_TO = 2.0
PICTURES = {"simulated": "pseudo-evidence.png", "symptoms": "pseudo-evidence-symptoms.png"}


def weights_of(findings: Findings, reference: str) -> dict[str, pd.DataFrame]:
    """The runs whose claims are compared."""
    return {name: findings.runs[name] for name in (reference, FULL, HALF)}


def picture_text(what: str) -> str:
    return (
        "![log10 Bayes factors under the pseudo-likelihood against those under the likelihood, "
        f"weight 1 and weight 1/2](images/{PICTURES[what]})"
    )


def quality_table(findings: Findings) -> str:
    """Draws of every sampler, runs that failed, and Monte Carlo errors of log10 Bayes factors."""
    rows = []
    for name, run in findings.runs.items():
        error = run["log10_error"][run["log10_factor"].abs() <= STATED_UP_TO].to_numpy()
        one = findings.quality[name]
        rows.append((
            name, f"{one.n_draws:,}", one.n_repeated, one.n_unconverged, f"{rms(error):.3f}",
            f"{error.max():.3f}", near_threshold(run), f"{one.cpu_seconds:.0f}",
        ))  # fmt: skip
    head = ("sampler", "draws per chain", "runs repeated", "not converged",
            "Monte Carlo error, rms", "largest", "pairs near 10 or 1/10", "CPU s")  # fmt: skip
    return table(head, rows)


QUALITY_TEXT = (
    "Four chains each; runs whose chains had not converged were repeated with other seeds, up to "
    f"{len(SEEDS) - 1} times. Monte Carlo errors are of log10 Bayes factors between "
    f"-{STATED_UP_TO:g} and {STATED_UP_TO:g}; *near* is within two of them. "
    "CPU seconds are of the runs that were kept."
)


def gap_rows(findings: Findings, reference: str) -> list[tuple[str, ...]]:
    """Quantiles of the differences of log10 Bayes factors, of all pairs and of open ones."""
    other = findings.runs[reference]["log10_factor"]
    rows = []
    for name in (FULL, HALF):
        gap = findings.runs[name]["log10_factor"] - other
        undecided = other.abs() <= STRONG
        rows.append((name, "all", str(gap.size), *quantile_text(gap)))
        rows.append((name, "1/10 to 10", str(int(undecided.sum())), *quantile_text(gap[undecided])))
    return rows


GAP_HEAD = ("pseudo-likelihood", "Bayes factor under the likelihood", "pairs", "5%", "25%",
            "median", "75%", "95%")  # fmt: skip


def typical_factor(findings: Findings) -> tuple[int, float]:
    """Edges with a Bayes factor of 5 to 20 under the likelihood, and their median with weight 1."""
    full, exact = (findings.runs[name]["log10_factor"] for name in (FULL, LIKELIHOOD))
    about_ten = (exact - STRONG).abs() <= np.log10(2)
    return int(about_ten.sum()), round(float(10 ** full[about_ten].median()), -1)


def accuracy_row(findings: Findings, name: str) -> tuple[str, ...]:
    """One sampler against exact sums, and against the truth."""
    tables, exact, run = findings.tables, findings.runs[LIKELIHOOD], findings.runs[name]
    scores = [score(run, tables) for score in (brier, auc)]
    if name == LIKELIHOOD:
        return (
            name,
            *[""] * 4,
            with_error(scores[0], tables),
            "",
            with_error(scores[1], tables),
            "",
        )
    less = [
        with_error(difference(score, best(exact, tables)), tables, sign="+")
        for score, best in zip(scores, (brier, auc), strict=True)
    ]
    return (
        name, with_error(rms_inclusion(run, exact), tables),
        f"{np.abs(run['inclusion'] - exact['inclusion']).max():.3f}",
        with_error(mean_inclusion_gap(run, exact), tables, sign="+"),
        f"{monte_carlo_rms(run, exact):.3f}", with_error(scores[0], tables), less[0],
        with_error(scores[1], tables), less[1],
    )  # fmt: skip


ACCURACY_HEAD = ("sampler", "rms", "largest", "mean", "Monte Carlo", "Brier score",
                 "less likelihood's", "AUC", "less likelihood's")  # fmt: skip


def width_row(findings: Findings, label: str) -> tuple[str, ...]:
    """Errors, widths and coverage of some tables."""
    tables, exact = findings.tables, findings.runs[LIKELIHOOD]
    weights = (findings.runs[FULL], findings.runs[HALF])
    return (
        label,
        *(with_error(rms_inclusion(run, exact), tables) for run in weights),
        *(with_error(sd_ratio(run, exact), tables) for run in weights),
        *(with_error(coverage(run, tables), tables, 2) for run in (exact, *weights)),
    )


def width_table(findings: Findings) -> str:
    """Errors, widths and coverage by number of rows."""
    rows = [width_row(of_rows(findings, n), f"{n:,}") for n in np.unique(findings.tables.n_rows)]
    head = ("rows", f"rms: {FULL}", HALF, f"sd ratio: {FULL}", HALF, f"coverage: {LIKELIHOOD}",
            FULL, HALF)  # fmt: skip
    return table(head, [*rows, width_row(findings, "all")])


def overstated_text(findings: Findings) -> str:
    """Are the edges there for which only the pseudo-likelihood has strong evidence?"""
    full, exact = findings.runs[FULL], findings.runs[LIKELIHOOD]
    only = (full["log10_factor"] > STRONG) & (exact["log10_factor"] <= STRONG)
    true = int(findings.tables.present[only].sum())
    return (
        f"Of the {only.sum()} pairs with a Bayes factor above 10 by {FULL} but not by the "
        f"likelihood, {true} are edges. The inclusion probabilities of {FULL} add up to "
        f"{full['inclusion'][only].sum():.1f}, those of the likelihood to "
        f"{exact['inclusion'][only].sum():.1f}."
    )


def simulated_section(findings: Findings) -> str:
    tables, exact = findings.tables, findings.runs[LIKELIHOOD]
    ranks = [
        with_error(rank_correlation(findings.runs[name], exact, tables), tables)
        for name in (FULL, HALF)
    ]
    visits = min(findings.quality[name].visits for name in (LIKELIHOOD, FULL, HALF))
    return section(
        "Where the likelihood can be summed",
        f"{np.unique(tables.table).size} tables of 5 or 6 ordinal items of 3 or 4 levels, with "
        f"{', '.join(f'{n:,}' for n in np.unique(tables.n_rows))} rows: {tables.table.size} pairs, "
        f"{int(tables.present.sum())} of them edges. Rows are exact draws of fields whose edges "
        "and couplings are drawn from the prior of the fit: p0 = 1/2 and a normal slab with "
        "sigma0 = 1, both fixed; standard scores. All samplers have this prior; *likelihood* sums "
        "over all joint states, *weight 1* and *weight 1/2* are the pseudo-likelihood.",
        QUALITY_TEXT,
        quality_table(findings),
        "How much of the strong evidence is left under the other likelihood; in brackets 95% "
        "intervals of the shares, as if pairs of a table were independent:",
        table(CLAIM_HEAD, claim_rows(weights_of(findings, LIKELIHOOD), LIKELIHOOD)),
        overstated_text(findings),
        picture_text("simulated"),
        legend("exact sums"),
        "Differences of log10 Bayes factors, pseudo-likelihood less likelihood:",
        table(GAP_HEAD, gap_rows(findings, LIKELIHOOD)),
        "Inclusion probabilities against exact sums (differences: root mean squared, largest, "
        "mean, and the root mean square that Monte Carlo errors alone would give), and against the "
        "truth. ± is a standard error, by resampling tables.",
        table(ACCURACY_HEAD, [accuracy_row(findings, name) for name in findings.runs]),
        "The rank correlation of Bayes factors with those of the likelihood, within tables, is "
        f"{ranks[0]} ({FULL}) and {ranks[1]} ({HALF}).",
        "By number of rows: errors of inclusion probabilities; the mean ratio of posterior "
        "standard deviations of couplings given presence to those of the likelihood; and the share "
        "of true edges whose coupling is in its 95% interval given presence (each from at least "
        f"{visits:,} draws with the edge):",
        width_table(findings),
    )


def symptoms_row(findings: Findings, name: str) -> tuple[str, ...]:
    """One pseudo-likelihood against particles."""
    run, reference = findings.runs[name], findings.runs[PARTICLES]
    return (
        name, f"{whole(rms_inclusion(run, reference)):.3f}",
        f"{np.abs(run['inclusion'] - reference['inclusion']).max():.3f}",
        f"{whole(mean_inclusion_gap(run, reference)):+.3f}",
        f"{monte_carlo_rms(run, reference):.3f}", f"{whole(sd_ratio(run, reference)):.2f}",
        f"{whole(rank_correlation(run, reference, findings.tables)):.3f}",
    )  # fmt: skip


SYMPTOMS_HEAD = ("pseudo-likelihood", "inclusion probabilities, rms difference", "largest", "mean",
                 "Monte Carlo", "sd ratio", "rank correlation")  # fmt: skip


def symptoms_section(findings: Findings | None, simulated: Findings) -> str:
    title = "Seventeen symptoms"
    if findings is None:
        return section(title, "Left out: SLABFIELD_DATA does not name a folder with the answers.")
    error = whole(rms_inclusion(simulated.runs[PARTICLES], simulated.runs[LIKELIHOOD]))
    return section(
        title,
        f"Answers of {findings.tables.n_rows[0]} survivors of the Wenchuan earthquake about 17 "
        f'symptoms, in 5 levels (complete cases, `na="drop"`): {findings.tables.table.size} pairs, '
        "the same prior. The likelihood is by particles here. On the simulated tables these differ "
        f"from exact sums by {error:.3f} rms; for 17 items there are no exact sums to compare "
        "with.",
        QUALITY_TEXT,
        quality_table(findings),
        table(CLAIM_HEAD, claim_rows(weights_of(findings, PARTICLES), PARTICLES)),
        picture_text("symptoms"),
        legend("particles"),
        table(SYMPTOMS_HEAD, [symptoms_row(findings, name) for name in (FULL, HALF)]),
        "Differences of log10 Bayes factors, pseudo-likelihood less particles:",
        table(GAP_HEAD, gap_rows(findings, PARTICLES)),
    )


def both(score: Score, findings: Findings, digits: int) -> str:
    """A score of weight 1, and that of the likelihood in brackets."""
    values = [whole(score(findings.runs[name], findings.tables)) for name in (FULL, LIKELIHOOD)]
    return f"{values[0]:.{digits}f} ({values[1]:.{digits}f})"


def bgms_section(findings: Findings) -> str:
    """Figures of bgms beside those of this run; the former were measured once, elsewhere."""
    full, exact = findings.runs[FULL], findings.runs[LIKELIHOOD]
    found, most = claims(full, exact), findings.tables.n_rows.max()
    large = of_rows(findings, most).runs
    rows = [
        ("rms error of inclusion probabilities", f"{whole(rms_inclusion(full, exact)):.3f}",
         "0.126"),
        ("pairs with a Bayes factor above 10", found.total, 111),
        ("of these below 10 under the likelihood", found.weaker, 40),
        ("of these below 3", found.inconclusive, 17),
        ("coverage of 95% intervals (likelihood)", both(coverage, findings, 2), "0.82 (0.95)"),
        ("sd ratio (rows)",
         f"{whole(sd_ratio(large[FULL], large[LIKELIHOOD])):.2f} ({most:,})", "0.72 (1,000)"),
        ("Brier score (likelihood)", both(brier, findings, 3), "0.185 (0.179)"),
        ("AUC (likelihood)", both(auc, findings, 3), "0.791 (0.806)"),
    ]  # fmt: skip
    return section(
        "Beside it: bgms",
        "The R package bgms has the pseudo-likelihood with weight 1. Its figures are of version "
        "0.2.0, measured once on other simulated tables of the same design, against the likelihood "
        "under the same prior. `make pseudo-evidence` does not measure them; what it measures is "
        "in the middle.",
        table(("", f"slabfield, {FULL}", "bgms 0.2.0"), rows),
    )


def symptoms_text(findings: Findings) -> str:
    """The claims on real answers, in a sentence."""
    full, half, reference = (findings.runs[name] for name in (FULL, HALF, PARTICLES))
    over, under = claims(full, reference), claims(reference, half)
    errors = [whole(rms_inclusion(run, reference)) for run in (full, half)]
    return (
        f"On real answers, {over.weaker} of {over.total} pairs above 10 with weight 1 are below 10 "
        f"under the likelihood. With weight 1/2 the error falls from {errors[0]:.3f} to "
        f"{errors[1]:.3f} rms, and it is rather too careful: {under.weaker} of {under.total} pairs "
        f"above 10 under the likelihood are below it (Monte Carlo errors leave open on which side "
        f"of a limit {near_threshold(reference)} pairs are)."
    )


def ranking_text(findings: Findings, symptoms: Findings | None) -> str:
    """Rank correlations with the likelihood, and areas under the curve."""
    run, exact = findings.runs[FULL], findings.runs[LIKELIHOOD]
    areas = [whole(auc(findings.runs[name], findings.tables)) for name in (FULL, HALF, LIKELIHOOD)]
    ranks = f"{whole(rank_correlation(run, exact, findings.tables)):.2f} on simulated tables"
    if symptoms is not None:
        run, exact = symptoms.runs[FULL], symptoms.runs[PARTICLES]
        ranks += f", {whole(rank_correlation(run, exact, symptoms.tables)):.2f} on real answers"
    return (
        f"**The ranking of edges changes little** (rank correlation of weight 1 with the "
        f"likelihood: {ranks}), and the loss against the truth is small: AUC {areas[0]:.3f} with "
        f"weight 1, {areas[1]:.3f} with weight 1/2, {areas[2]:.3f} with the likelihood. Which "
        "edges come first is nearly the same; how sure one may be of them is not. Do not read "
        "Bayes factors of a pseudo-likelihood with weight 1 by the usual limits of 3 and 10. "
        '`likelihood="auto"` takes the likelihood.'
    )


def short_section(findings: Findings, symptoms: Findings | None) -> str:
    """What a reader should conclude, with the numbers of this run."""
    full, half, exact = (findings.runs[name] for name in (FULL, HALF, LIKELIHOOD))
    found, repaired, typical = claims(full, exact), claims(half, exact), typical_factor(findings)
    errors = [whole(rms_inclusion(run, exact)) for run in (full, half)]
    covered = [whole(coverage(run, findings.tables)) for run in (full, half, exact)]
    real = [] if symptoms is None else [symptoms_text(symptoms)]
    return section(
        "In short",
        "The pseudo-likelihood puts a product of conditional probabilities, one for each column, "
        "in the place of the probability of a row. Every pair of columns then counts twice, in the "
        "conditionals of both. With weight 1, as in the R package bgms, so does the evidence; "
        '`likelihood="pseudo"` of slabfield has weight 1/2.',
        "**With weight 1, Bayes factors overstate the evidence.** Of "
        f"{found.total} pairs with a Bayes factor above 10, {found.weaker} are below 10 under the "
        f"likelihood, {found.inconclusive} of them below 3. Pairs with about 10 under the "
        f"likelihood (5 to 20; {typical[0]} pairs) have {typical[1]:,.0f} in the median. Intervals "
        f"are too narrow: of 95% intervals, {covered[0]:.0%} hold the coupling of a true edge; "
        f"under the likelihood, {covered[2]:.0%}.",
        "**Weight 1/2 repairs most of it.** The error of inclusion probabilities falls from "
        f"{errors[0]:.3f} to {errors[1]:.3f} rms, {repaired.weaker} of {repaired.total} pairs "
        f"above 10 are below it under the likelihood, and {covered[1]:.0%} of the intervals hold "
        "the coupling.",
        *real,
        ranking_text(findings, symptoms),
    )


def page(simulated: Findings, symptoms: Findings | None, images: Path) -> str:
    """Draw the pictures, and return the text."""
    scatter(simulated, LIKELIHOOD, images / PICTURES["simulated"])
    if symptoms is not None:
        scatter(symptoms, PARTICLES, images / PICTURES["symptoms"])
    return f"""# What the pseudo-likelihood does to Bayes factors

Made by `make pseudo-evidence` (`benchmarks/pseudo_bayes_factors.py`).
{setting()}

{short_section(simulated, symptoms)}
{simulated_section(simulated)}
{symptoms_section(symptoms, simulated)}
{bgms_section(simulated)}"""
