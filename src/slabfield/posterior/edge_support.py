"""Which edges are supported by the data, undecided or likely absent, by inclusion probability."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

# Largest inclusion probability of an edge that is likely absent
LIKELY_ABSENT = 0.1
# Smallest inclusion probability of an edge of the median probability model
LIKELY = 0.5
# Smallest inclusion probability of a supported edge; undecided edges are between this and the first
SUPPORTED = 0.9


class EdgeCounts(NamedTuple):
    """Numbers of supported, undecided and likely absent edges, and of those that are likely."""

    supported: int
    undecided: int
    absent: int
    likely: int


def count_edges(inclusion_probability: ArrayLike) -> EdgeCounts:
    """Count edges by inclusion probability, one number per edge."""
    probability = np.asarray(inclusion_probability)
    supported = int(np.sum(probability >= SUPPORTED))
    absent = int(np.sum(probability <= LIKELY_ABSENT))
    undecided = probability.size - supported - absent
    return EdgeCounts(supported, undecided, absent, int(np.sum(probability >= LIKELY)))


def summary_sentence(inclusion_probability: ArrayLike) -> str:
    """State how many edges are supported, undecided and likely absent."""
    counts = count_edges(inclusion_probability)
    n_edges = counts.supported + counts.undecided + counts.absent
    return (
        f"Of {n_edges:,} possible {'edge' if n_edges == 1 else 'edges'}, {counts.supported:,} "
        f"{_are(counts.supported)} supported (inclusion probability {SUPPORTED:g} or more), "
        f"{counts.undecided:,} undecided (between {LIKELY_ABSENT:g} and {SUPPORTED:g}) and "
        f"{counts.absent:,} likely absent ({LIKELY_ABSENT:g} or less); {counts.likely:,} "
        f"{_are(counts.likely)} more likely present than not."
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
