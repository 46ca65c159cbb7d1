"""A small problem, and its posterior by integration over every structure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from importance_sampling import evidence_and_mean
from slabfield.chains.chain_run import ChainResult
from slabfield.draws import Draws
from slabfield.inference import enumeration
from slabfield.models.binary import BinaryPairwise
from slabfield.priors import Prior
from slabfield.problem import Problem


def silent(_):
    pass


def pairwise_problem() -> Problem:
    model = BinaryPairwise(3)
    rng = np.random.default_rng(8)
    field = model.field(np.array([0.3, -0.6, 0.2]), np.array([0.8, 0.0, -0.5]))
    rows = enumeration.sample(field, 70, rng)
    prior = Prior.standard(3, inclusion=0.3, slab=0.9, bias_scale=2.0)
    return Problem(model, rows, model.sums(rows), prior)


def integrated(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Inclusion probabilities and means given presence, by integrating over every structure."""
    model, prior = problem.model, problem.prior
    states = np.array(list(product(*(range(k) for k in model.n_states))))
    m = model.group_start.size - 1
    logs, means, structures = [], [], list(product((0, 1), repeat=m))
    for present in structures:
        log_evidence, mean = evidence_and_mean(problem, states, np.array(present))
        odds = np.where(present, prior.inclusion, 1 - prior.inclusion)
        logs.append(log_evidence + np.log(odds).sum())
        means.append(mean)
    weight = np.exp(np.array(logs) - max(logs))
    weight /= weight.sum()
    inside = np.array(structures, dtype=bool)
    owner = np.repeat(np.arange(m), np.diff(model.group_start))
    mean = [
        weight[inside[:, owner[k]]] @ np.array(means)[inside[:, owner[k]], k]
        / weight[inside[:, owner[k]]].sum()
        for k in range(owner.size)
    ]  # fmt: skip
    return weight @ inside, np.array(mean)


def draws_of(results: Sequence[ChainResult]) -> Draws:
    """Combine the draws and statistics of chains."""
    return Draws.from_chains(
        [r.record for r in results],
        [r.conditional_probability for r in results],
        [r.evidence_means for r in results],
    )
