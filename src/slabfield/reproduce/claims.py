"""The claims of the paper, each with the rule that decides it from the stored numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slabfield.reproduce import rules_inference, rules_prediction, rules_structure

if TYPE_CHECKING:
    import pandas as pd

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "not measured at this scale"


class Claim(NamedTuple):
    """A claim of the paper: text, place in the paper, rule, and the tables that the rule needs.

    ``tables`` are the names of the CSV files that ``check`` takes, in order. ``cause`` says why the
    claim does not hold on these data, for the page to show where it does not.
    """

    words: str
    where: str
    rule: str
    tables: tuple[str, ...]
    check: Callable[..., tuple[str, bool | None]]
    cause: str = ""


class Verdict(NamedTuple):
    """A claim with its measured numbers and "holds", "does not hold" or "not measured ..."."""

    claim: Claim
    measured: str
    verdict: str


CLAIMS = (
    Claim(
        "The approximate sampler gives the exact inclusion probabilities.", "figures 3 and 4",
        "rms difference over edges and all p0 at most 0.05",
        ("figure04",), rules_inference.inclusion_matches,
        "Where p0 is small the paper's sampler proposes and accepts so few edges that a chain "
        "of this length sees few or none: at the smallest p0 every probability is 0. From p0 = "
        "0.3 on the rule is met.",
    ),
    Claim(
        "It gives the exact means and sds of couplings.", "figures 3 and 4",
        "rms differences at most 0.15 posterior sd, edges of probability above 0.3",
        ("figure04",), rules_inference.moments_match,
        "For the same reason: where p0 is small, an edge is present in a few draws in a row, "
        "which are far from independent. From p0 = 0.3 on the rule is met.",
    ),
    Claim(
        "Approximate and exact models predict about the same.", "figure 7",
        "largest difference of mean likelihoods at the same p0 at most 0.05",
        ("figure07",), rules_inference.predictions_match,
    ),
    Claim(
        "Partial momentum refreshment shortens autocorrelation.", "figure 2",
        "median time at least halved, and shorter for 9 in 10 parameters",
        ("figure02_moments",), rules_inference.momentum_shortens,
    ),
    Claim(
        "It leaves posterior means and sds as they are.", "figure 2",
        "rms differences at most twice the Monte Carlo error of chains of this length",
        ("figure02_moments",), rules_inference.momentum_keeps_moments,
    ),
    Claim(
        "A large alpha with a large step biases.", "section 3.3",
        "at the largest step the error of sds grows with alpha, and exceeds that at the smallest",
        ("figure02_steps",), rules_inference.large_steps_bias,
    ),
    Claim(
        "All methods with a tunable sparsity have similar precision-recall curves.", "figure 5",
        "mean precision over shared recalls differs by at most 0.1 between methods",
        ("figure05",), rules_structure.similar_recovery,
    ),
    Claim(
        "Bayes tends to find a structure with high precision.", "figure 5",
        "mean precision at least 0.8 on lattices of 100 rows",
        ("figure05",), rules_structure.high_precision,
    ),
    Claim(
        "Bayes p0 beats all L1 methods at almost all densities.", "figure 6",
        "at least 9 in 10 settings of p0, on blocks and on lattices",
        ("figure06",), rules_prediction.beats_l1,
    ),
    Claim(
        "The curve of Bayes p0 peaks at the true density.", "figure 6",
        "the best p0 on the grid is the one nearest to the true density, or next to it",
        ("figure06",), rules_structure.peaks_at_truth,
    ),
    Claim(
        "L1 methods under-fit when sparse and over-fit when dense; Bayesian models do less so.",
        "figure 6",
        "at the sparse and the dense end each L1 method is further below its best than Bayes p0",
        ("figure06",), rules_prediction.l1_misfits,
    ),
    Claim(
        "Wain Max shrinks couplings in sparse models and inflates them in dense ones.", "figure 8",
        "median |coupling| over true: below Bayes PM's and 1 when sparse; on absent edges above "
        "Bayes PM's when dense",
        ("figure08",), rules_structure.shrinkage,
    ),
    Claim(
        "Bayes and Bayes PM find a density close to the true one.", "figure 6",
        "mean densities within 30% of the true one, on blocks and on lattices",
        ("figure06",), rules_structure.finds_density,
        "Bayes does on lattices. On blocks 100 rows leave most of the 66 pairs undecided, and the "
        "density follows the prior of p0, Beta(5, 5), whose mean is 1/2 (it falls with b, in the "
        "last figure). The single field of the lattice has only the edges above 1/2: it leaves "
        "out the many that are less likely, but which draws have in turns.",
    ),
    Claim(
        "Both end at the upper right of likelihood against F1.", "figure 9",
        "no L1 strength has both a higher mean F1 and a higher mean likelihood",
        ("figure09",), rules_prediction.upper_right,
    ),
    Claim(
        "MLE predicts better than Wain.", "figure 6",
        "likelihood at the best strength, mean over data sets, above Wain Max and Wain Min",
        ("figure06",), rules_prediction.mle_above_wain,
    ),
    Claim(
        "Wain Min is always inferior to Wain Max.", "figure 6",
        "at 9 in 10 densities up to the largest shared one, and at the best strength",
        ("figure06",), rules_prediction.wain_min_below,
        "It is on lattices. On blocks of 12 nodes the two differ by less than their spread over "
        "data sets.",
    ),
    Claim(
        "The density varies little within a chain.", "section 6.4",
        "sd within a chain at most a quarter of the mean",
        ("figure06",), rules_structure.density_is_steady,
    ),
    Claim(
        "sigma0 shrinks when p0 is fixed too high.", "section 6.4",
        "sigma0 at the largest p0 below that with p0 learned, on every data set",
        ("figure06",), rules_structure.sigma0_shrinks,
    ),
    Claim(
        "MNIST: Bayes p0 is better than L1 methods at the sparse and the dense end.", "figure 10",
        "likelihood at its sparsest and densest setting above every L1 method of that density",
        ("figure10",), rules_prediction.images_at_the_ends,
    ),
    Claim(
        "MNIST: Bayes PM is weak at medium density, not above MLE at 0.2.", "figures 10 and 11",
        "likelihood of Bayes PM p0 at density 0.2 not above that of MLE",
        ("figure11",), rules_prediction.images_in_the_middle,
        "Better than claimed: the paper's single field has mean couplings given presence, and "
        "biases that are means over all structures, which do not fit together. The single field "
        "here is the one nearest to the mixture of draws, and predicts better than every L1 "
        "model of this density.",
    ),
    Claim(
        "MNIST: Bayesian samples look better at density 0.2.", "figure 11",
        "pairwise means of samples nearer to those of test images than with every L1 method",
        ("figure11",), rules_prediction.samples_look_better,
    ),
    Claim(
        "The tendencies are the same at other numbers of rows.", "section 6.4",
        "share of p0 at which Bayes p0 beats all L1 methods on blocks within 0.15 of that at 100",
        ("sizes",), rules_prediction.same_at_other_sizes,
    ),
    Claim(
        "Prediction is insensitive to a, b, c, d and sigma_b, each from 1 to 20.", "section 6.2",
        "mean likelihood changes by at most 2% of itself",
        ("sensitivity",), rules_prediction.insensitive,
    ),
    Claim(
        "So is the structure found.", "section 6.2",
        "mean F1 changes by at most 0.05",
        ("sensitivity",), rules_prediction.insensitive_structure,
        "It is on lattices. On blocks 100 rows leave most of the 66 pairs undecided, and a prior "
        "of p0 with a or b = 20 counts as much as 20 more pairs: the density follows it.",
    ),
    Claim(
        "A sparser model is cheaper to predict with than L1 models at their best.", "section 6.5",
        "mean width of exact inference smaller for Bayes PM than for each L1 method",
        ("figure06_width",), rules_structure.cheaper,
    ),
)  # fmt: skip


def judge(claim: Claim, tables: Mapping[str, pd.DataFrame]) -> Verdict:
    """Apply the rule of a claim to its tables.

    Parameters
    ----------
    claim : Claim
        One of ``CLAIMS``.
    tables : mapping from name to DataFrame
        Tables of the figures; without its tables a claim is "not measured at this scale".

    Returns
    -------
    Verdict
        With the numbers that it is based on.
    """
    missing = [name for name in claim.tables if name not in tables]
    if missing:
        return Verdict(claim, f"{', '.join(missing)} not made", UNKNOWN)
    measured, met = claim.check(*(tables[name] for name in claim.tables))
    if met is None:
        return Verdict(claim, measured, UNKNOWN)
    return Verdict(claim, measured, HOLDS if np.all(met) else FAILS)
