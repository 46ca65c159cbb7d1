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
            told = {"seed": seed, "setting": one["setting"], "density": one["density"]}
            rows.append({**told, **ahead})
    found = pd.DataFrame(rows)
    found["margin"] = found[[m for m in L1 if m in found]].min(axis=1)
    return found


def _shares(wins: Table) -> Table:
    """Share of settings of p0 at which Bayes p0 is ahead, on each data set."""
    return (wins["margin"] > 0).groupby(wins["seed"]).mean()


def beats_l1(scores: Table) -> Found:
    """Share of settings at which Bayes p0 is above all L1 methods of its density."""
    words, met = [], []
    for world, part in scores.groupby("world"):
        wins = _wins(part)
        shares = _shares(wins)
        by_p0 = wins.groupby("setting")["margin"]
        least = by_p0.mean().idxmin()
        words.append(
            f"{world}: at {bar(shares, 2)} of p0, least margin {bar(by_p0.get_group(least), 2)} "
            f"(p0 = {least:g})"
        )
        met.append(shares.mean() >= ALMOST_ALL)
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
    """Compare how often Bayes p0 is ahead over numbers of rows."""
    blocks = scores[scores["world"] == "block"]
    shares = {n: _shares(_wins(part)) for n, part in blocks.groupby("n_rows")}
    if 100 not in shares or len(shares) < 2:
        return "only one number of rows", None
    words = ", ".join(f"{bar(share, 2)} at {n} rows" for n, share in shares.items())
    gaps = [abs(share.mean() - shares[100].mean()) for share in shares.values()]
    return f"ahead at {words}", max(gaps) <= SAME_SHARE


def insensitive(scores: Table) -> Found:
    """Find the largest change of mean likelihood over the values of each hyper-parameter."""
    words, met = [], []
    for world, changes, level in _changes(scores, "cll"):
        each = ", ".join(f"{name} {bar(change)}" for name, change in changes.items())
        words.append(f"{world}: likelihood {bar(level, 2)} changes by {each}")
        met.append(_largest(changes) <= MOST_CHANGE * abs(level.mean()))
    return "; ".join(words), all(met)


def insensitive_structure(scores: Table) -> Found:
    """Find the largest changes of mean F1 and density over the values of each hyper-parameter."""
    words, met = [], []
    for (world, changes, level), (_, densities, density) in zip(
        _changes(scores, "f1"), _changes(scores, "density"), strict=True
    ):
        each = ", ".join(f"{name} {bar(change)}" for name, change in changes.items())
        most = max(densities, key=lambda name: densities[name].mean())
        words.append(
            f"{world}: F1 {bar(level, 2)} changes by {each}; density {bar(density)} by up to "
            f"{bar(densities[most])} ({most})"
        )
        met.append(_largest(changes) <= MOST_F1)
    return "; ".join(words), all(met)


def _changes(scores: Table, column: str) -> list[tuple[str, dict[str, Table], Table]]:
    """For each world, changes with each hyper-parameter on every data set; their levels.

    A change is between the values of the hyper-parameter at which the mean over data sets is
    largest and smallest; a level is the mean over all settings on one data set.
    """
    found = []
    for world, part in scores[scores["method"] == "Bayes"].groupby("world"):
        changes = {}
        for name, mine in part.groupby("parameter"):
            table = mine.pivot_table(column, "value", "seed")
            means = table.mean(axis=1)
            changes[name] = table.loc[means.idxmax()] - table.loc[means.idxmin()]
        found.append((world, changes, part.groupby("seed")[column].mean()))
    return found


def _largest(changes: dict[str, Table]) -> float:
    """Return the largest of the mean changes."""
    return max(float(change.mean()) for change in changes.values())
