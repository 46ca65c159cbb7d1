"""What does not change the answer: how two levels are called, names of levels, their direction.

Each comparison has a twin that must fail: a change that matters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from level_tables import chain_codes
from slabfield import SpikeSlabMRF
from slabfield.encoding import CodedTable, Variable
from slabfield.encoding.scores import standard_scores

# Draws of each of two chains, and the largest root mean square difference of inclusion
# probabilities; at 2,000 draws that of two runs of one table is 0.001 to 0.005
LENGTHS = [(2_000, 0.012), pytest.param(40_000, 0.003, marks=pytest.mark.slow)]

TWO_VALUED = chain_codes([2] * 6, 100, seed=3, share=0.3)
LEVELS = chain_codes([3, 3, 4, 3], 120, seed=5, share=0.25)
ORDINAL, MIXED = ["ordinal"] * 4, ["nominal", "ordinal", "nominal", "ordinal"]


def variable(name: str, kind: str, n_levels: int) -> Variable:
    """Return a variable of a kind that the encoder may not choose, such as nominal with 2 levels.

    "ordinal, wide" has scores twice as far apart.
    """
    stated, labels = kind.removesuffix(", wide"), tuple(range(n_levels))
    scores = standard_scores(n_levels) * (1 if stated == kind else 2)
    return Variable(name, stated, labels, () if kind == "nominal" else tuple(scores))


def fitted(rows: np.ndarray, kinds: list[str], n_draws: int, **parameters: Any) -> SpikeSlabMRF:
    variables = tuple(
        variable(f"x{i}", kind, int(rows[:, i].max()) + 1) for i, kind in enumerate(kinds)
    )
    table = CodedTable(rows.astype(np.uint8), variables, [], True, np.zeros(rows.shape, np.bool_))
    given = {"likelihood": "exact", "n_chains": 2, "n_warmup": 200, "random_state": 1}
    return SpikeSlabMRF(n_draws=n_draws, **given | parameters).fit(table)


def upper(matrix: np.ndarray) -> np.ndarray:
    return matrix[np.triu_indices(len(matrix), 1)]


def difference(one: SpikeSlabMRF, other: SpikeSlabMRF) -> float:
    """Root mean square difference of inclusion probabilities."""
    apart = upper(one.inclusion_probability_ - other.inclusion_probability_)
    return float(np.sqrt(np.mean(apart**2)))


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.parametrize(("n_draws", "tolerance"), LENGTHS)
def test_two_levels_of_any_kind_are_binary(likelihood: str, n_draws: int, tolerance: float) -> None:
    binary, ordinal, nominal, wide = (
        fitted(TWO_VALUED, [kind] * 6, n_draws, likelihood=likelihood)
        for kind in ("binary", "ordinal", "nominal", "ordinal, wide")
    )
    assert np.ptp(upper(binary.inclusion_probability_)) > 0.3
    assert difference(binary, ordinal) < tolerance
    assert difference(binary, nominal) < tolerance
    np.testing.assert_allclose(
        upper(ordinal.posterior_.coupling_averaged),
        upper(binary.posterior_.coupling_averaged),
        atol=4 * tolerance,
    )
    assert difference(binary, wide) > 2 * tolerance


def relabeled(rows: np.ndarray) -> np.ndarray:
    """Rows with other codes for the levels of the first and the third column."""
    other = rows.copy()
    other[:, 0] = np.array([2, 0, 1])[rows[:, 0]]
    other[:, 2] = np.array([3, 1, 0, 2])[rows[:, 2]]
    return other


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.parametrize(("n_draws", "tolerance"), LENGTHS)
def test_names_of_nominal_levels_do_not_matter_and_those_of_ordinal_levels_do(
    likelihood: str, n_draws: int, tolerance: float
) -> None:
    one, other = (
        fitted(rows, MIXED, n_draws, likelihood=likelihood) for rows in (LEVELS, relabeled(LEVELS))
    )
    assert difference(one, other) < tolerance
    one, other = (
        fitted(rows, ORDINAL, n_draws, likelihood=likelihood)
        for rows in (LEVELS, relabeled(LEVELS))
    )
    assert difference(one, other) > 2 * tolerance


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.parametrize(("n_draws", "tolerance"), LENGTHS)
def test_reversing_an_ordinal_column_turns_the_signs_of_its_couplings(
    likelihood: str, n_draws: int, tolerance: float
) -> None:
    backwards, swapped = LEVELS.copy(), LEVELS.copy()
    backwards[:, 1] = 2 - LEVELS[:, 1]
    swapped[:, 1] = np.array([1, 0, 2])[LEVELS[:, 1]]
    whole, reverse, other = (
        fitted(rows, ORDINAL, n_draws, likelihood=likelihood)
        for rows in (LEVELS, backwards, swapped)
    )
    assert difference(whole, reverse) < tolerance
    turned = whole.posterior_.coupling_averaged.copy()
    turned[1], turned[:, 1] = -turned[1], -turned[:, 1]
    assert np.abs(turned[1]).max() > 0.5
    np.testing.assert_allclose(
        upper(reverse.posterior_.coupling_averaged), upper(turned), atol=4 * tolerance
    )
    assert difference(whole, other) > 2 * tolerance


# Rows of the paper's exact sampler cost more; its inclusion probabilities are shares of draws


@pytest.mark.parametrize(
    ("n_draws", "tolerance"), [(1_500, 0.03), pytest.param(30_000, 0.006, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("kinds", [ORDINAL, MIXED], ids=["ordinal", "mixed"])
def test_the_papers_exact_sampler_agrees_with_the_default(
    kinds: list[str], n_draws: int, tolerance: float
) -> None:
    # every level is common, so that the prior of the biases, in which the two differ, has no say;
    # one slab for all pairs, since the paper learns a common one
    slab: dict[str, Any] = {} if kinds == ORDINAL else {"slab_prior": 1.0}
    default = fitted(LEVELS, kinds, n_draws, **slab)
    paper = fitted(LEVELS, kinds, n_draws, preset="paper", **slab)
    assert difference(default, paper) < tolerance
    np.testing.assert_allclose(
        upper(paper.posterior_.coupling_averaged),
        upper(default.posterior_.coupling_averaged),
        atol=4 * tolerance,
    )
    np.testing.assert_allclose(
        paper.posterior_.bias_mean, default.posterior_.bias_mean, atol=4 * tolerance
    )
    other = fitted(LEVELS, kinds, n_draws, inclusion_prior=(6.5, 5), **slab)
    assert difference(other, paper) > tolerance
