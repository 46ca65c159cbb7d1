"""Rules for claims about prediction: from tables to text and whether the rule is met."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from slabfield.reproduce.rules import ALMOST_ALL, L1, Found, Table, at_density, bar

# Density of the models of images
MEDIUM = 0.2
# Limit of the difference of shares of p0 between numbers of rows
MAX_SHARE_DIFFERENCE = 0.15
# Limit of the relative change of the likelihood over hyperparameters
MAX_CLL_CHANGE = 0.02
# Limit of the change of F1 over hyperparameters
MAX_F1_CHANGE = 0.05


def _margins(scores: Table) -> Table:
    """For each data set and p0, the margin of Bayes p0 over the best L1 method at its density."""
    rows = []
    for seed, part in scores.groupby("seed"):
        for _, one in part[part["method"] == "Bayes p0"].iterrows():
            l1_cll = {
                m: float(at_density(part[part["method"] == m], one["density"]))
                for m in L1 if (part["method"] == m).any()
            }  # fmt: skip
            margin = {m: one["cll"] - cll for m, cll in l1_cll.items()}
            row = {"seed": seed, "setting": one["setting"], "density": one["density"]}
            rows.append({**row, **margin})
    found = pd.DataFrame(rows)
    found["margin"] = found[[m for m in L1 if m in found]].min(axis=1)
    return found


def _win_shares(margins: Table) -> Table:
    """Share of settings of p0 at which Bayes p0 wins, on each data set."""
    return (margins["margin"] > 0).groupby(margins["seed"]).mean()


def beats_l1(scores: Table) -> Found:
    """Share of settings at which Bayes p0 is above all L1 methods at its density."""
    words, met = [], []
    for kind, part in scores.groupby("world"):
        margins = _margins(part)
        shares = _win_shares(margins)
        by_p0 = margins.groupby("setting")["margin"]
        least = by_p0.mean().idxmin()
        words.append(
            f"{kind}: at {bar(shares, 2)} of p0, least margin {bar(by_p0.get_group(least), 2)} "
            f"(p0 = {least:g})"
        )
        met.append(shares.mean() >= ALMOST_ALL)
    return "; ".join(words), all(met)


def l1_misfits(scores: Table) -> Found:
    """Compare how far methods fall below their best at the sparse and the dense end."""
    words, met = [], []
    for kind, part in scores.groupby("world"):
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
            bars = [bar(values, 2) for values in np.transpose(losses)]
            words.append(
                f"{kind}, {end}: Bayes p0 {bars[0]}, Wain Max {bars[1]}, MLE {bars[2]} below its "
                "best"
            )
            met.append(min(others) > bayes_loss)
    return "; ".join(words), all(met)


def upper_right(scores: Table) -> Found:
    """Check whether an L1 method at one strength is better in both likelihood and F1."""
    words, met = [], []
    rounded = scores.assign(setting=scores["setting"].round(9).fillna(-1.0))
    for kind, part in rounded.groupby("world"):
        means = part.groupby(["method", "setting"])[["f1", "cll"]].mean()
        l1_means = means[means.index.get_level_values("method").isin(L1)]
        for method in ("Bayes", "Bayes PM"):
            mine = part[part["method"] == method]
            f1, cll = mine["f1"].mean(), mine["cll"].mean()
            better = l1_means[(l1_means["f1"] > f1) & (l1_means["cll"] > cll)]
            names = sorted(set(better.index.get_level_values("method")))
            words.append(
                f"{kind}, {method}: F1 {bar(mine['f1'], 2)}, likelihood {bar(mine['cll'], 2)}"
                + (f", both exceeded by {', '.join(names)}" if names else "")
            )
            met.append(not names)
        words.append(f"best of L1: F1 {l1_means['f1'].max():.2f}, {l1_means['cll'].max():.2f}")
    return "; ".join(words), all(met)


def _best(scores: Table, method: str) -> Table:
    """Likelihood of each data set at the best strength."""
    mine = scores[scores["method"] == method]
    return mine.groupby("seed")["cll"].max()


def mle_above_wain(scores: Table) -> Found:
    """Compare L1 methods at their best strengths."""
    words, met = [], []
    for kind, part in scores.groupby("world"):
        best = {method: _best(part, method) for method in L1}
        words.append(f"{kind}: " + ", ".join(f"{m} {bar(v, 2)}" for m, v in best.items()))
        met.append(best["MLE"].mean() > max(best["Wain Max"].mean(), best["Wain Min"].mean()))
    return "; ".join(words), all(met)


def wain_min_below(scores: Table) -> Found:
    """Compare Wain Min with Wain Max at the same densities, and at their best."""
    words, met = [], []
    for kind, part in scores.groupby("world"):
        shares, gaps = [], []
        for _, one in part.groupby("seed"):
            low, high = (one[one["method"] == m] for m in ("Wain Min", "Wain Max"))
            densities = np.linspace(0.01, min(low["density"].max(), high["density"].max()), 50)
            shares.append(np.mean(at_density(low, densities) < at_density(high, densities)))
            gaps.append(high["cll"].max() - low["cll"].max())
        words.append(
            f"{kind}: below at {np.mean(shares):.0%} of densities, by {bar(gaps, 2)} at its best"
        )
        met.append(np.mean(shares) >= ALMOST_ALL and np.mean(gaps) > 0)
    return "; ".join(words), all(met)


def images_at_the_ends(scores: Table) -> Found:
    """Compare with L1 methods at the sparsest and the densest setting of p0."""
    words, met = [], []
    for n_rows, part in scores.groupby("n_rows"):
        margins = _margins(part)
        for end, extreme in (("sparse", "min"), ("dense", "max")):
            at = margins.groupby("seed")["density"].transform(extreme)
            mine = margins[margins["density"] == at]
            words.append(
                f"{n_rows} images, density {mine['density'].mean():.2f} ({end}): "
                f"{bar(mine['margin'], 2)} above the best L1"
            )
            met.append(mine["margin"].mean() > 0)
    return "; ".join(words), all(met)


def images_in_the_middle(models: Table) -> Found:
    """Compare Bayes PM p0 with MLE, both at a density near 0.2."""
    words = ", ".join(
        f"{method} {bar(one['cll'], 2)} at density {one['density'].mean():.2f}"
        for method, one in models.groupby("method", sort=False)
    )
    found = models.groupby("method")[["density", "cll"]].mean().loc[["Bayes PM p0", "MLE"]]
    near = (found["density"] - MEDIUM).abs().max() <= MEDIUM / 4
    met = bool(found.loc["Bayes PM p0", "cll"] <= found.loc["MLE", "cll"])
    return f"{models['n_rows'].iloc[0]} images: {words}", met if near else None


def samples_look_better(samples: Table) -> Found:
    """Compare pairwise means of samples with those of test images."""
    each = samples.groupby("method", sort=False)["moment_error"]
    words = ", ".join(f"{method} {bar(values)}" for method, values in each)
    error = each.mean()
    bayes = error[["Bayes p0", "Bayes PM p0"]].max()
    return f"rms over pairs: {words}", bool(bayes < error[list(L1)].min())


def same_at_other_sizes(scores: Table) -> Found:
    """Compare how often Bayes p0 wins at different numbers of rows."""
    blocks = scores[scores["world"] == "block"]
    shares = {n: _win_shares(_margins(part)) for n, part in blocks.groupby("n_rows")}
    if 100 not in shares or len(shares) < 2:
        return "only one number of rows", None
    words = ", ".join(f"{bar(share, 2)} at {n} rows" for n, share in shares.items())
    gaps = [abs(share.mean() - shares[100].mean()) for share in shares.values()]
    return f"ahead at {words}", max(gaps) <= MAX_SHARE_DIFFERENCE


def insensitive(scores: Table) -> Found:
    """Find the largest change of mean likelihood over the values of each hyperparameter."""
    words, met = [], []
    for kind, changes, level in _changes(scores, "cll"):
        each = ", ".join(f"{name} {bar(change)}" for name, change in changes.items())
        words.append(f"{kind}: likelihood {bar(level, 2)} changes by {each}")
        met.append(_largest(changes) <= MAX_CLL_CHANGE * abs(level.mean()))
    return "; ".join(words), all(met)


def insensitive_structure(scores: Table) -> Found:
    """Find the largest changes of mean F1 and density over the values of each hyperparameter."""
    words, met = [], []
    for (kind, changes, level), (_, densities, density) in zip(
        _changes(scores, "f1"), _changes(scores, "density"), strict=True
    ):
        each = ", ".join(f"{name} {bar(change)}" for name, change in changes.items())
        largest = max(densities, key=lambda name: densities[name].mean())
        words.append(
            f"{kind}: F1 {bar(level, 2)} changes by {each}; density {bar(density)} by up to "
            f"{bar(densities[largest])} ({largest})"
        )
        met.append(_largest(changes) <= MAX_F1_CHANGE)
    return "; ".join(words), all(met)


def _changes(scores: Table, column: str) -> list[tuple[str, dict[str, Table], Table]]:
    """For each kind of data, the change with each hyperparameter, and the level, by data set.

    A change is between the values of the hyperparameter at which the mean over data sets is
    largest and smallest; a level is the mean over all settings.
    """
    found = []
    for kind, part in scores[scores["method"] == "Bayes"].groupby("world"):
        changes = {}
        for name, mine in part.groupby("parameter"):
            table = mine.pivot_table(column, "value", "seed")
            means = table.mean(axis=1)
            changes[name] = table.loc[means.idxmax()] - table.loc[means.idxmin()]
        found.append((kind, changes, part.groupby("seed")[column].mean()))
    return found


def _largest(changes: dict[str, Table]) -> float:
    """Return the largest of the mean changes."""
    return max(float(change.mean()) for change in changes.values())
