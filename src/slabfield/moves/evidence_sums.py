"""Sums of conditional probabilities for inclusion probabilities and Bayes factors of edges.

Every visit of an edge gives its conditional probability of presence, c, and its prior probability
given p0, q. Summed are c / q and (1 - c) / (1 - q), whose ratio estimates the Bayes
factor (equation 31), c, whose mean estimates the inclusion probability, 1, the number of visits,
and c (1 - c), which shows how much of the variance of presence is left given all other edges. The
sums are kept in batches of sweeps, so that Monte Carlo errors can be estimated (equations 32 and
39).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner

# Batches per chain, at most; an even number
N_BATCHES = 8
# Floor of a conditional probability: sums stay positive, and their ratios finite
LEAST_PROBABILITY = 1e-250


class EvidenceSums(NamedTuple):
    """Sums of c / q, (1 - c) / (1 - q), c, 1 and c (1 - c), of shape (batches, edges, 5).

    ``batch`` holds the number of the current batch, the sweeps in it so far, and the sweeps of a
    full batch. When all batches are full, pairs are merged, and later batches are twice as long.
    """

    sums: NDArray[np.float64]
    batch: NDArray[np.int64]

    @property
    def begun(self) -> NDArray[np.float64]:
        """The sums of all batches that have sweeps."""
        return self.sums[: int(self.batch[0]) + (self.batch[1] > 0)]


def new_evidence_sums(n_edges: int) -> EvidenceSums:
    """Return empty sums."""
    return EvidenceSums(np.zeros((N_BATCHES, n_edges, 5)), np.array([0, 0, 1]))


@inner
def add_evidence(sums, inclusion, p0, alpha, present, absent):
    """Add a visit of an edge to the sums of the current batch.

    ``present`` and ``absent`` are its conditional probabilities of presence and absence, each
    computed without subtraction from one where it is small.
    """
    sums[alpha, 2] += present
    sums[alpha, 3] += 1.0
    sums[alpha, 4] += present * absent
    present, absent = max(present, LEAST_PROBABILITY), max(absent, LEAST_PROBABILITY)
    probability = p0 if math.isnan(inclusion[alpha]) else inclusion[alpha]
    sums[alpha, 0] += present / probability
    sums[alpha, 1] += absent / (1.0 - probability)


@inner
def probability_of_absence(odds, probability):
    """Probability that an edge is absent, not lost to rounding where presence is nearly certain."""
    return 1.0 - probability if odds < 0.0 else probability * math.exp(-odds)


@inner
def record_visit(inclusion_stats, inclusion, p0, alpha, probability, absence):
    """Add a visit of an edge, with its conditional probabilities, to the current batch."""
    evidence = inclusion_stats.evidence
    add_evidence(evidence.sums[evidence.batch[0]], inclusion, p0, alpha, probability, absence)


@inner
def record_indicator(inclusion_stats, alpha, probability):
    """Add a visit without conditional probability; ``probability`` is unbiased for it."""
    evidence = inclusion_stats.evidence
    add_indicator(evidence.sums[evidence.batch[0]], alpha, probability)


@inner
def add_indicator(sums, alpha, probability):
    """Add a visit without conditional: indicators will be used for the Bayes factor of the edge."""
    sums[alpha, 0] = math.nan
    sums[alpha, 1] = math.nan
    sums[alpha, 2] += probability
    sums[alpha, 3] += 1.0


@inner
def end_sweep(sums, batch):
    """Count a sweep, and go to the next batch where this one is full."""
    batch[1] += 1
    if batch[1] < batch[2]:
        return
    batch[0] += 1
    batch[1] = 0
    if batch[0] == sums.shape[0]:
        half = sums.shape[0] // 2
        for b in range(half):
            sums[b] = sums[2 * b] + sums[2 * b + 1]
        sums[half:] = 0.0
        batch[0] = half
        batch[2] *= 2
