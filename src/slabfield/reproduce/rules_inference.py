"""Rules for claims about the sampler: from tables to text and whether the rule is met."""

from __future__ import annotations

import numpy as np

from slabfield.reproduce.rules import ALMOST_ALL, Found, Table, bar, rms

# Limit of the rms error of inclusion probabilities
MAX_RMS = 0.05
# Limit of the rms errors of means and sds, in posterior sds
MAX_MOMENT_ERROR = 0.15
# Means and sds are compared for edges above this inclusion probability
MIN_PROBABILITY = 0.3
# Limit of the difference of mean conditional log-likelihoods
MAX_CLL_DIFFERENCE = 0.05


def inclusion_matches(edges: Table) -> Found:
    """Compare inclusion probabilities."""
    error = edges["probability"] - edges["probability_exact"]
    by_p0 = error.groupby(edges["p0"]).apply(rms)
    each = ", ".join(f"{value:.3f} at p0 = {p0:g}" for p0, value in by_p0.items())
    words = f"rms {rms(error):.3f}; {bar(error)} over edges and p0; rms {each}"
    return words, rms(error) <= MAX_RMS


def moments_match(edges: Table) -> Found:
    """Compare means and sds given presence."""
    probable = edges[(edges["probability_exact"] > MIN_PROBABILITY) & (edges["visit_share"] > 0)]
    mean = (probable["mean"] - probable["mean_exact"]) / probable["sd_exact"]
    sd = (probable["sd"] - probable["sd_exact"]) / probable["sd_exact"]
    words = (
        f"means: rms {rms(mean):.3f} sd, {bar(mean)} over {len(probable)} edges; sds: rms "
        f"{rms(sd):.3f} sd, {bar(sd)}"
    )
    return words, rms(mean) <= MAX_MOMENT_ERROR and rms(sd) <= MAX_MOMENT_ERROR


def predictions_match(scores: Table) -> Found:
    """Compare likelihoods of exact and approximate models."""
    keys = ["method", "setting", "seed"]
    found = scores.fillna({"setting": -1.0}).set_index(keys)["cll"]
    words, gaps = [], []
    for method in ("Bayes", "Bayes PM", "Bayes p0", "Bayes PM p0"):
        gap = found[method] - found[method.replace("Bayes", "Bayes Exact")]
        means = gap.groupby("setting").mean()
        words.append(f"{method} {bar(gap[means.abs().idxmax()])}")
        gaps.append(float(means.abs().max()))
    return f"largest differences: {', '.join(words)}", max(gaps) <= MAX_CLL_DIFFERENCE


def momentum_shortens(moments: Table) -> Found:
    """Compare autocorrelation times."""
    ratio = moments["time_0"] / moments["time_0.9"]
    words = (
        f"times {moments['time_0'].median():.0f} (alpha 0) and {moments['time_0.9'].median():.0f} "
        f"(0.9) iterations in the median; ratio {bar(ratio, 1)} over parameters"
    )
    return words, bool(ratio.median() >= 2 and (ratio > 1).mean() >= ALMOST_ALL)


def momentum_keeps_moments(moments: Table) -> Found:
    """Compare differences of means and sds with the Monte Carlo error of the chains."""
    error = np.sqrt((moments["time_0"] + moments["time_0.9"]).mean() / moments["iterations"][0])
    mean = rms((moments["mean_0"] - moments["mean_0.9"]) / moments["sd_exact"])
    sd = rms((moments["sd_0"] - moments["sd_0.9"]) / moments["sd_exact"])
    words = (
        f"means differ by {mean:.3f} sd (Monte Carlo error {error:.3f}), sds by {sd:.3f} of "
        f"themselves (Monte Carlo error {error / np.sqrt(2):.3f})"
    )
    return words, bool(mean <= 2 * error and sd <= np.sqrt(2) * error)


def large_steps_bias(steps: Table) -> Found:
    """Compare sds with exact ones, by persistence and step size."""
    found = steps.assign(error=(steps["sd_ratio"] - 1).abs()).sort_values("persistence")
    largest = found[found["step_size"] == found["step_size"].max()]
    small = found[found["step_size"] == found["step_size"].min()]
    words = "; ".join(
        f"step {step:g}: sds "
        + ", ".join(
            f"{r.sd_ratio:.2f} +- {r.sd_ratio_sd:.2f} (alpha {r.persistence:g})"
            for r in part.itertuples()
        )
        for step, part in found.groupby("step_size")
    )
    grows = largest["error"].is_monotonic_increasing
    met = grows and largest["error"].max() > small["error"].max()
    return f"{words}, in units of the exact sd, over parameters", bool(met)
