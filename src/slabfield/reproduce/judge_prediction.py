"""Rules for claims about prediction: tables in, words and whether the rule is met out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from slabfield.reproduce.judging import ALMOST_ALL, L1, Found, Table, at_density, bar

MEDIUM, SAME_SHARE, MOST_CHANGE, MOST_F1 = 0.2, 0.15, 0.02, 0.05


def _wins(scores: Table) -> Table:
    """For every data set and p0, how far Bayes p0 is above the best L1 method of its density."""
    rows = []
    for seed, part in scores.groupby("seed"):
        for _, one in part[part["method"] == "Bayes p0"].iterrows():
            rivals = {
                m: float(at_density(part[part["method"] == m], one["density"]))
                for m in L1 if (part["method"] == m).any()
            }  # fmt: skip
            ahead = {m: one["cll"] - cll for m, cll in rivals.items()}
            rows.append({"seed": seed, "density": one["density"], **ahead})
    found = pd.DataFrame(rows)
    found["margin"] = found[[m for m in L1 if m in found]].min(axis=1)
    return found


def beats_l1(scores: Table) -> Found:
    """Share of settings at which Bayes p0 is above all L1 methods of its density."""
    words, met = [], []
    for world, part in scores.groupby("world"):
        wins = _wins(part)
        share = float((wins["margin"] > 0).mean())
        worst = wins.loc[wins["margin"].idxmin()]
        words.append(
            f"{world}: {share:.0%} of {len(wins)}, least margin {worst['margin']:+.2f} at density "
            f"{worst['density']:.2f}"
        )
        met.append(share >= ALMOST_ALL)
    return "; ".join(words), all(met)


def l1_misfits(scores: Table) -> Found:
    """Compare how far methods fall below their best at both ends."""
    words, met = [], []
    for world, part in scores.groupby("world"):
        ends: dict[str, list[Any]] = {"sparse": [], "dense": []}
        for _, one in part.groupby("seed"):
            bayes = one[one["method"] == "Bayes p0"]
            for end, density in zip(ends, (bayes["density"].min(), bayes["density"].max())):  # noqa: B905
                ends[end].append([
                    mine["cll"].max() - float(at_density(mine, density))
                    for m in ("Bayes p0", "Wain Max", "MLE")
                    for mine in (one[one["method"] == m],)
                ])  # fmt: skip
        for end, losses in ends.items():
            bayes_loss, *others = np.mean(losses, axis=0)
            told = [bar(values, 2) for values in np.transpose(losses)]
            words.append(
                f"{world}, {end}: Bayes p0 {told[0]}, Wain Max {told[1]}, MLE {told[2]} below its "
                "best"
            )
            met.append(min(others) > bayes_loss)
    return "; ".join(words), all(met)


def upper_right(scores: Table) -> Found:
    """See whether an L1 method is better in both likelihood and F1, strength by strength."""
    words, met = [], []
    rounded = scores.assign(setting=scores["setting"].round(9).fillna(-1.0))
    for world, part in rounded.groupby("world"):
        means = part.groupby(["method", "setting"])[["f1", "cll"]].mean()
        rivals = means[means.index.get_level_values("method").isin(L1)]
        for method in ("Bayes", "Bayes PM"):
            mine = part[part["method"] == method]
            f1, cll = mine["f1"].mean(), mine["cll"].mean()
            better = rivals[(rivals["f1"] > f1) & (rivals["cll"] > cll)]
            names = sorted(set(better.index.get_level_values("method")))
            words.append(
                f"{world}, {method}: F1 {bar(mine['f1'], 2)}, likelihood {bar(mine['cll'], 2)}"
                + (f", both bettered by {', '.join(names)}" if names else "")
            )
            met.append(not names)
        words.append(f"best of L1: F1 {rivals['f1'].max():.2f}, {rivals['cll'].max():.2f}")
    return "; ".join(words), all(met)


def _best(scores: Table, method: str) -> Table:
    """Likelihood of each data set at the best strength."""
    mine = scores[scores["method"] == method]
    return mine.groupby("seed")["cll"].max()


def mle_above_wain(scores: Table) -> Found:
    """Compare L1 methods at their best strengths."""
    words, met = [], []
    for world, part in scores.groupby("world"):
        best = {method: _best(part, method) for method in L1}
        words.append(f"{world}: " + ", ".join(f"{m} {bar(v, 2)}" for m, v in best.items()))
        met.append(best["MLE"].mean() > max(best["Wain Max"].mean(), best["Wain Min"].mean()))
    return "; ".join(words), all(met)


def wain_min_below(scores: Table) -> Found:
    """Compare Wain Min with Wain Max at the same densities, and at their best."""
    words, met = [], []
    for world, part in scores.groupby("world"):
        shares, gaps = [], []
        for _, one in part.groupby("seed"):
            low, high = (one[one["method"] == m] for m in ("Wain Min", "Wain Max"))
            densities = np.linspace(0.01, min(low["density"].max(), high["density"].max()), 50)
            shares.append(np.mean(at_density(low, densities) < at_density(high, densities)))
            gaps.append(high["cll"].max() - low["cll"].max())
        words.append(
            f"{world}: below at {np.mean(shares):.0%} of densities, by {bar(gaps, 2)} at its best"
        )
        met.append(np.mean(shares) >= ALMOST_ALL and np.mean(gaps) > 0)
    return "; ".join(words), all(met)


def images_at_the_ends(scores: Table) -> Found:
    """Compare with L1 methods at the sparsest and the densest setting of p0."""
    words, met = [], []
    for n_rows, part in scores.groupby("n_rows"):
        wins = _wins(part)
        for end, extreme in (("sparse", "min"), ("dense", "max")):
            at = wins.groupby("seed")["density"].transform(extreme)
            mine = wins[wins["density"] == at]
            words.append(
                f"{n_rows} images, density {mine['density'].mean():.2f} ({end}): "
                f"{bar(mine['margin'], 2)} above the best L1"
            )
            met.append(mine["margin"].mean() > 0)
    return "; ".join(words), all(met)


def images_in_the_middle(models: Table) -> Found:
    """Compare Bayes PM p0 with MLE, both of density 0.2 or near it."""
    found = models.set_index("method")
    words = ", ".join(
        f"{method} {one['cll']:.2f} at density {one['density']:.2f}"
        for method, one in found.iterrows()
    )
    near = (found.loc[["Bayes PM p0", "MLE"], "density"] - MEDIUM).abs().max() <= MEDIUM / 4
    met = bool(found.loc["Bayes PM p0", "cll"] <= found.loc["MLE", "cll"])
    return f"{models['n_rows'].iloc[0]} images: {words}", met if near else None


def samples_look_better(samples: Table) -> Found:
    """Compare pairwise means of samples with those of test images."""
    error = samples.set_index("method")["moment_error"]
    words = ", ".join(f"{method} {value:.3f}" for method, value in error.items())
    bayes = error[["Bayes p0", "Bayes PM p0"]].max()
    return f"rms over pairs: {words}", bool(bayes < error[list(L1)].min())


def same_at_other_sizes(scores: Table) -> Found:
    """Compare how often Bayes p0 is ahead over numbers of rows."""
    blocks = scores[scores["world"] == "block"]
    shares = {n: float((_wins(part)["margin"] > 0).mean()) for n, part in blocks.groupby("n_rows")}
    if 100 not in shares or len(shares) < 2:
        return "only one number of rows", None
    words = ", ".join(f"{share:.0%} at {n} rows" for n, share in shares.items())
    return f"ahead: {words}", max(abs(s - shares[100]) for s in shares.values()) <= SAME_SHARE


def insensitive(scores: Table) -> Found:
    """Find the largest change of mean likelihood over the values of each hyper-parameter."""
    words, met = [], []
    for world, spans, level in _spans(scores, "cll"):
        each = ", ".join(f"{name} {span:.3f}" for name, span in spans.items())
        words.append(f"{world}: likelihood {bar(level, 2)} changes by {each}")
        met.append(spans.max() <= MOST_CHANGE * abs(level.mean()))
    return "; ".join(words), all(met)


def insensitive_structure(scores: Table) -> Found:
    """Find the largest changes of mean F1 and density over the values of each hyper-parameter."""
    words, met = [], []
    for (world, spans, level), (_, densities, density) in zip(
        _spans(scores, "f1"), _spans(scores, "density"), strict=True
    ):
        each = ", ".join(f"{name} {span:.3f}" for name, span in spans.items())
        words.append(
            f"{world}: F1 {bar(level, 2)} changes by {each}; density {bar(density)} by up to "
            f"{densities.max():.3f} ({densities.idxmax()})"
        )
        met.append(spans.max() <= MOST_F1)
    return "; ".join(words), all(met)


def _spans(scores: Table, column: str) -> list[tuple[str, Table, Table]]:
    """For each world, how far means over data sets range for each hyper-parameter; their levels.

    A level is the mean over all settings on one data set.
    """
    found = []
    for world, part in scores[scores["method"] == "Bayes"].groupby("world"):
        means = part.groupby(["parameter", "value"])[column].mean()
        by_name = means.groupby("parameter")
        levels = part.groupby("seed")[column].mean()
        found.append((world, by_name.max() - by_name.min(), levels))
    return found
