"""Probabilities of the levels of nodes given the known entries of a row, the others summed out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.inference.enumeration import log_weights, states_of
from slabfield.inference.level_gibbs_runs import LevelGibbsRuns
from slabfield.inference.row_tables import (
    connected_sets,
    log_total,
    node_marginals,
    row_slices,
    row_tables,
)
from slabfield.models.energy_field import EnergyField
from slabfield.models.protocol import Array, n_joint_states

Bools = NDArray[np.bool_]
Codes = NDArray[np.uint8]
Integers = NDArray[np.int64]


class GibbsLength(NamedTuple):
    """Number of Gibbs runs, and of their sweeps that are discarded and averaged."""

    n_runs: int
    n_burn_in: int
    n_sweeps: int


class _Sums(NamedTuple):
    """What is known of each row, and what summing out adds to it; (N, S) each.

    ``logits`` are log weights of levels given the known nodes. ``change`` is what the hidden nodes
    that were summed out add to those of known nodes. ``hidden`` has the probabilities of the levels
    of hidden nodes.
    """

    logits: Array
    change: Array
    hidden: Array


def level_probabilities(
    energies: EnergyField,
    rows: Codes,
    gaps: Bools,
    wanted: Bools,
    most_states: int,
    length: GibbsLength,
    rng: np.random.Generator,
) -> Array:
    r"""Probabilities of all levels of the wanted nodes given the known entries of each row.

    Given the known nodes, connected components of hidden nodes are independent. With a component c
    summed out, the log weight of level a of a known node t grows by :math:`\log Z_c(x_t = a)`.
    Components of at most ``most_states`` joint states are enumerated. A larger one is sampled by
    Gibbs runs, and once more with each known node that touches it.

    Returns
    -------
    array of shape (N, S)
        Columns of other nodes are not to be used.
    """
    logits = energies.logits(rows, gaps)
    sums = _Sums(logits, np.zeros(logits.shape), np.zeros(logits.shape))
    large: list[tuple[int, Integers]] = []
    for nodes, here in connected_sets(energies.edges, gaps):
        touched = np.flatnonzero(energies.edges[nodes].any(axis=0) & wanted)
        known = np.setdiff1d(touched, nodes)
        if not known.size and not wanted[nodes].any():
            continue
        block = energies.among(nodes)
        if n_joint_states(block) > most_states:
            large += [(row, nodes) for row in here.tolist()]
        else:
            _sum_out(energies, block, nodes, known, rows, here, sums)
    found = np.exp(energies.log_softmax(logits + sums.change))
    is_hidden = np.repeat(gaps, energies.n_states, axis=1)
    found[is_hidden] = sums.hidden[is_hidden]
    seed = int(rng.integers(2**63))  # the same for all rows: they do not depend on each other
    for row in sorted({row for row, _ in large}):
        parts = [nodes for other, nodes in large if other == row]
        _sample_row(energies, rows[row], parts, wanted, row, sums, found, length, seed)
    return found


def _sum_out(
    energies: EnergyField,
    block: EnergyField,
    nodes: Integers,
    known: Integers,
    rows: Codes,
    here: Integers,
    sums: _Sums,
) -> None:
    """Enumerate a component of hidden nodes in some rows; fill in what it adds."""
    inside, columns = log_weights(block), energies.columns(nodes)
    states = states_of(np.arange(inside.size), block.n_states)
    levels = energies.start[nodes] + states
    most_levels = int(energies.n_states[known].max(initial=1))
    for part in row_slices(here.size, inside.size * most_levels):
        chosen = here[part]
        table = row_tables(block, inside, sums.logits[np.ix_(chosen, columns)])
        sums.hidden[np.ix_(chosen, columns)] = node_marginals(block, table)
        for node in known:
            own = np.arange(energies.start[node], energies.start[node + 1])
            energy = energies.pair[levels[:, :, None], own].sum(axis=1).T  # (K, joint states)
            without = table - energy[rows[chosen, node]]
            sums.change[np.ix_(chosen, own)] += log_total(without[:, None, :] + energy)


def _sample_row(
    energies: EnergyField,
    row: Codes,
    parts: list[Integers],
    wanted: Bools,
    index: int,
    sums: _Sums,
    found: Array,
    length: GibbsLength,
    seed: int,
) -> None:
    """Sample the large components of one row, and known nodes that touch them with them."""
    logits = sums.logits[index]
    for nodes in parts:
        columns = energies.columns(nodes)
        found[index, columns] = _sampled_means(energies, nodes, logits[columns], length, seed)
    inside = np.concatenate(parts)
    touched = np.flatnonzero(energies.edges[inside].any(axis=0) & wanted)
    for node in np.setdiff1d(touched, inside):
        near = [nodes for nodes in parts if energies.edges[node, nodes].any()]
        together = np.concatenate([[node], *near])
        columns = energies.columns(together)
        own = logits[columns] - energies.pair[columns, energies.start[node] + row[node]]
        n_levels = energies.n_states[node]
        own[:n_levels] += sums.change[index, columns[:n_levels]]
        means = _sampled_means(energies, together, own, length, seed)
        found[index, columns[:n_levels]] = means[:n_levels]


def _sampled_means(
    energies: EnergyField, nodes: Integers, logits: Array, length: GibbsLength, seed: int
) -> Array:
    """Mean conditional probabilities of the levels of some nodes along Gibbs runs."""
    block = energies.among(nodes)._replace(node=logits)
    runs = LevelGibbsRuns(block.n_states, length.n_runs, np.random.default_rng(seed))
    runs.mean_conditionals(block, length.n_burn_in)
    return runs.mean_conditionals(block, length.n_sweeps)
