"""Random fields of nodes with levels, and their brute-force enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chisquare

from level_runs import model_of
from slabfield.models.field import BinaryField
from slabfield.models.level_field import LevelField

MIXED = [("ordinal", 3), ("nominal", 3), ("ordinal", 2), ("blume-capel", 4)]
"""Kinds and numbers of levels of a small field with one node of every kind."""


def random_field(
    kinds: Sequence[tuple[str, int]], seed: int, scale: float = 1.0, share: float = 1.0
) -> LevelField:
    """Field of nodes of these kinds with normal parameters; a share of the pairs are edges."""
    model, rng = model_of(list(kinds)), np.random.default_rng(seed)
    present = rng.random(len(model.interactions)) < share
    coupling = scale * rng.normal(size=model.interactions.n_parameters)
    coupling *= np.repeat(present, np.diff(model.interactions.group_start))
    return model.field(rng.normal(size=model.n_biases), coupling)


def scaled(field: LevelField, factor: float) -> LevelField:
    """The field with all parameters of pairs multiplied by a factor."""
    return LevelField(field.model, field.bias, factor * field.coupling)


def binary_twins(n_nodes: int, seed: int, scale: float = 1.0) -> tuple[BinaryField, LevelField]:
    """The same binary field, as such and as a field of nodes with two levels."""
    levels = random_field([("ordinal", 2)] * n_nodes, seed, scale, share=0.6)
    return BinaryField(levels.bias, levels.edge_strengths), levels


def all_rows(field: LevelField) -> NDArray[np.int64]:
    """All joint states, one a row, the first node changing fastest."""
    reverse = [range(k) for k in reversed(field.n_states.tolist())]
    return np.array(list(itertools.product(*reverse)), dtype=np.int64)[:, ::-1]


def probabilities(field: LevelField) -> NDArray[np.float64]:
    """Probability of every row of `all_rows`, from the definition."""
    weights = np.exp(field.log_potential(all_rows(field)))
    return np.asarray(weights / weights.sum())


def goodness_of_fit(field: LevelField, rows: NDArray[np.uint8]) -> float:
    """P-value of the rows under the field; rare states are counted together."""
    expected = len(rows) * probabilities(field)
    stride = np.cumprod(np.concatenate([[1], field.n_states[:-1]]))
    counts = np.bincount(rows.astype(np.int64) @ stride, minlength=expected.size)
    # rare states together, and at least one of them, so that the last sum is not empty
    rare = (expected < 10) | (expected == expected.min())
    return float(
        chisquare(
            np.append(counts[~rare], counts[rare].sum()),
            np.append(expected[~rare], expected[rare].sum()),
        ).pvalue
    )
