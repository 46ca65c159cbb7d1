"""Rules for claims about structure: from tables to text and whether the rule is met."""

from __future__ import annotations

from typing import Any

import numpy as np

from slabfield.reproduce.rules import L1, Found, Table, bar

# Limit of the range of mean precisions over methods
MAX_RANGE = 0.1
# Precision that counts as high
HIGH_PRECISION = 0.8
# Limit of the relative error of the density
MAX_DENSITY_ERROR = 0.3
# Limit of the sd of the density within a chain, as a share of its mean
MAX_DENSITY_SD = 0.25


def _precision_at(path: Table, recalls: Any) -> Any:
    """Best precision at each recall or above; NaN if no setting reaches the recall."""
    known = path[path["precision"].notna()]
    found = [known.loc[known["recall"] >= r - 1e-12, "precision"].max() for r in recalls]
    return np.array(found, dtype=np.float64)


def similar_recovery(points: Table) -> Found:
    """Compare mean precision over recalls that all tunable methods reach."""
    mine = points[points["n_rows"] == 100]
    methods = [m for m in (*L1, "Bayes p0") if (mine["method"] == m).any()]
    recalls = np.linspace(0.05, 1.0, 20)
    table = {
        method: np.array([
            _precision_at(part, recalls)
            for _, part in mine[mine["method"] == method].groupby("seed")
        ])
        for method in methods
    }  # fmt: skip
    shared = np.all([np.isfinite(values).all(axis=0) for values in table.values()], axis=0)
    if len(methods) < 2 or not shared.any():
        return "no recall that all methods reach", None
    found = {method: values[:, shared].mean(axis=1) for method, values in table.items()}
    words = ", ".join(f"{method} {bar(values, 2)}" for method, values in found.items())
    means = [values.mean() for values in found.values()]
    difference = max(means) - min(means)
    recall_range = f"recalls {recalls[shared].min():.2f} to {recalls[shared].max():.2f}"
    return f"{words} over {recall_range}", difference <= MAX_RANGE


def high_precision(points: Table) -> Found:
    """Precision of the structure that Bayes finds."""
    mine = points[points["method"] == "Bayes"]
    by_size = ", ".join(
        f"{bar(part['precision'], 2)} (recall {part['recall'].mean():.2f}) at {n} rows"
        for n, part in mine.groupby("n_rows")
    )
    at = mine.loc[mine["n_rows"] == 100, "precision"]
    return f"precision {by_size}", None if at.empty else bool(at.mean() >= HIGH_PRECISION)


def peaks_at_truth(scores: Table) -> Found:
    """Compare the peak of the mean curve with the true density."""
    words, met = [], []
    for kind, part in scores.groupby("world"):
        mine = part[part["method"] == "Bayes p0"]
        curve = mine.groupby("setting")[["density", "cll"]].mean()
        truth = part["true_density"].mean()
        best = int(np.argmax(curve["cll"]))
        nearest = int(np.argmin(np.abs(curve["density"] - truth)))
        peaks = mine.loc[mine.groupby("seed")["cll"].idxmax(), "density"]
        words.append(
            f"{kind}: peak at density {curve['density'].iloc[best]:.3f} (p0 = "
            f"{curve.index[best]:g}; {bar(peaks)} set by set), true {truth:.3f}"
        )
        met.append(abs(best - nearest) <= 1)
    return "; ".join(words), all(met)


def shrinkage(edges: Table) -> Found:
    """Compare absolute couplings with the true ones, in sparse and in dense models."""
    words, ratio, absent = [], {}, {}
    for model, part in edges.groupby("model", sort=False):
        true = part[part["true"] > 0]
        for method in ("Wain Max", "Bayes PM"):
            both = true[true[method] > 0]
            shares = both[method] / both["true"]
            ratio[model, method] = float(shares.median())
            wrong = part.loc[(part["true"] == 0) & (part[method] > 0), method]
            absent[model, method] = float(wrong.median()) if len(wrong) else 0.0
            words.append(f"{model}, {method}: {_quartiles(shares)} of true, {_quartiles(wrong)} on "
                         "absent edges")  # fmt: skip
    text = f"medians, and quartiles over edges: {'; '.join(words)}"
    if not np.all(np.isfinite(list(ratio.values()))):
        return text, None
    sparse = ratio["sparse", "Wain Max"] < min(1.0, ratio["sparse", "Bayes PM"])
    dense = absent["dense", "Wain Max"] > absent["dense", "Bayes PM"]
    return text, sparse and dense


def _quartiles(values: Table) -> str:
    """Format a median and quartiles."""
    if values.empty:
        return "none"
    low, median, high = values.quantile([0.25, 0.5, 0.75])
    return f"{median:.2f} ({low:.2f} to {high:.2f})"


def finds_density(scores: Table) -> Found:
    """Compare the densities found, with p0 learned, with the true ones."""
    words, met = [], []
    for kind, part in scores.groupby("world"):
        truth = part["true_density"].mean()
        for method in ("Bayes", "Bayes PM"):
            mine = part.loc[part["method"] == method, "density"]
            words.append(f"{kind}, {method}: {bar(mine)} (true {truth:.3f})")
            met.append(abs(mine.mean() - truth) <= MAX_DENSITY_ERROR * truth)
    return "; ".join(words), all(met)


def density_is_steady(scores: Table) -> Found:
    """Compare the sd of density within chains with its mean."""
    words, met = [], []
    for kind, part in scores[scores["method"] == "Bayes"].groupby("world"):
        share = part["density_sd"] / part["density"]
        words.append(f"{kind}: {bar(share, 2)} of the mean ({part['density'].mean():.3f})")
        met.append(share.mean() <= MAX_DENSITY_SD)
    return "; ".join(words), all(met)


def sigma0_shrinks(scores: Table) -> Found:
    """Compare sigma0 at the largest p0 with sigma0 when p0 is learned."""
    words, met = [], []
    for kind, part in scores.groupby("world"):
        learned = part[part["method"] == "Bayes"].set_index("seed")["sigma0"]
        fixed = part[part["method"] == "Bayes p0"]
        largest = fixed[fixed["setting"] == fixed["setting"].max()].set_index("seed")["sigma0"]
        highest = f"at p0 = {fixed['setting'].max():g}"
        words.append(f"{kind}: {bar(largest, 2)} {highest}, {bar(learned, 2)} learned")
        met.append(bool((largest < learned).all()))
    return "; ".join(words), all(met)


def cheaper(widths: Table) -> Found:
    """Compare widths of exact inference."""
    words, met = [], []
    for kind, part in widths.groupby("world"):
        each = {m: part.loc[part["method"] == m, "width"] for m in ("Bayes PM", *L1)}
        words.append(f"{kind}: " + ", ".join(f"{m} {bar(v, 1)}" for m, v in each.items()))
        met.append(each["Bayes PM"].mean() < min(each[m].mean() for m in L1))
    return "; ".join(words), all(met)
