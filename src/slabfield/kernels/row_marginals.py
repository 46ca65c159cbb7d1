"""Marginal probabilities of single nodes given the known entries of each row."""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import inner, jit
from slabfield.kernels.gibbs import accumulate, resample
from slabfield.kernels.row_conditionals import log_sum_of_states


@inner
def logistic(x):
    """1 / (1 + exp(-x)), without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    small = math.exp(x)
    return small / (1.0 + small)


@inner
def find_components(hidden, n_hidden, coupling, order, start):
    """List hidden nodes, one connected component after the other; return their number.

    Component c is ``order[start[c]:start[c + 1]]``. Two hidden nodes are connected where their
    coupling is not zero.
    """
    listed = np.zeros(n_hidden, np.bool_)
    n_components, end = 0, 0
    for first in range(n_hidden):
        if listed[first]:
            continue
        start[n_components] = end
        listed[first] = True
        order[end] = hidden[first]
        place = end
        end += 1
        while place < end:
            row = coupling[order[place]]
            for k in range(n_hidden):
                if not listed[k] and row[hidden[k]] != 0.0:
                    listed[k] = True
                    order[end] = hidden[k]
                    end += 1
            place += 1
        n_components += 1
    start[n_components] = end
    return n_components


@inner
def fill_block(nodes, logit, coupling, bias, matrix):
    """Fill the biases of a component given the known nodes, and its couplings."""
    for a in range(nodes.size):
        bias[a] = logit[nodes[a]]
        for b in range(nodes.size):
            matrix[a, b] = coupling[nodes[a], nodes[b]]


@inner
def fill_means(nodes, weights, wanted, probability):
    """Fill the probability of 1 for the nodes of a component; fold its table on the way."""
    for a in range(nodes.size - 1, -1, -1):
        half = 1 << a
        ones, total = 0.0, 0.0
        for s in range(half):
            ones += weights[half + s]
            weights[s] += weights[half + s]
            total += weights[s]
        if wanted[nodes[a]]:
            probability[nodes[a]] = ones / total


@inner
def touches(node, nodes, coupling):
    """Whether a node has an edge to one of several nodes."""
    row, found = coupling[node], False
    for a in range(nodes.size):
        found |= row[nodes[a]] != 0.0
    return found


@inner
def is_needed(nodes, hidden, coupling, wanted):
    """Whether a wanted node is in a component, or known and with an edge to it."""
    for a in range(nodes.size):
        if wanted[nodes[a]]:
            return True
    for t in range(hidden.size):
        if wanted[t] and not hidden[t] and touches(t, nodes, coupling):
            return True
    return False


@inner
def sum_component(nodes, x, hidden, logit, coupling, wanted, probability, change):
    r"""Fill the means of a component by enumeration, and add to the log odds of known nodes.

    With the component summed out, the log odds of a known node t change by
    :math:`\log Z_c(x_t = 1) - \log Z_c(x_t = 0)`, of which the component's table has one.
    """
    size = nodes.size
    bias, matrix = np.empty(size), np.empty((size, size))
    weights, scratch = np.empty(1 << size), np.empty(1 << size)
    fill_block(nodes, logit, coupling, bias, matrix)
    log_total = log_sum_of_states(bias, matrix, weights, scratch)
    fill_means(nodes, weights, wanted, probability)
    flipped = np.empty(size)
    for t in range(x.size):
        if not wanted[t] or hidden[t] or not touches(t, nodes, coupling):
            continue
        sign = 1.0 - 2.0 * x[t]
        for a in range(size):
            flipped[a] = bias[a] + sign * coupling[t, nodes[a]]
        change[t] += sign * (log_sum_of_states(flipped, matrix, weights, scratch) - log_total)


@inner
def sample_means(nodes, bias, matrix, streams, n_burn_in, n_sweeps, means):
    """Fill the means of the conditional probabilities of 1 along Gibbs runs."""
    size, n_runs = nodes.size, streams.shape[1]
    neighbors, weights = np.empty((size, size), np.int32), np.empty((size, size), np.float32)
    degree = np.zeros(size, np.int64)
    for a in range(size):
        for b in range(size):
            if matrix[a, b] != 0.0:
                neighbors[a, degree[a]] = b
                weights[a, degree[a]] = np.float32(matrix[a, b])
                degree[a] += 1
    states, field = np.empty((size, n_runs), np.float32), np.zeros(n_runs, np.float32)
    for a in range(size):
        resample(states[a], field, streams)
    means[:] = 0.0
    for step in range(n_burn_in + n_sweeps):
        for a in range(size):
            accumulate(field, np.float32(bias[a]), neighbors[a], weights[a], degree[a], states)
            resample(states[a], field, streams)
            if step >= n_burn_in:
                for t in range(n_runs):
                    means[a] += logistic(np.float64(field[t]))
    means /= n_runs * n_sweeps


@inner
def sample_with(node, x, order, start, large, logit, coupling, runs, n_burn_in, n_sweeps):
    """Estimate the probability that a known node is 1, large components being unknown too."""
    size = 1
    for c in range(large.size):
        nodes = order[start[c] : start[c + 1]]
        if large[c] and touches(node, nodes, coupling):
            size += nodes.size
    inside = np.empty(size, np.int64)
    inside[0], size = node, 1
    for c in range(large.size):
        nodes = order[start[c] : start[c + 1]]
        if large[c] and touches(node, nodes, coupling):
            inside[size : size + nodes.size] = nodes
            size += nodes.size
    bias, matrix, means = np.empty(size), np.empty((size, size)), np.empty(size)
    fill_block(inside, logit, coupling, bias, matrix)
    for a in range(1, size):
        bias[a] -= x[node] * coupling[node, inside[a]]
    sample_means(inside, bias, matrix, runs.copy(), n_burn_in, n_sweeps, means)
    return means[0]


@jit
def sum_out_hidden(
    rows, hidden, logit, coupling, wanted, max_enumerated, streams, n_burn_in, n_sweeps, probability
):
    r"""Fill probabilities of 1 given the known entries of the row, hidden entries summed out.

    Given the known nodes, connected components of hidden nodes are independent. A component of at
    most ``max_enumerated`` nodes is enumerated. A larger one is sampled, by as many Gibbs runs as
    there are streams, the same streams for every row; for the sake of known nodes that touch it,
    it is sampled once more with each of them.

    Parameters
    ----------
    rows : float64 (N, D), zeros and ones; zero where hidden
    hidden : bool (N, D)
    logit : float64 (N, D), :math:`b_i + \sum_j \theta_{ij} x_j` with hidden entries at 0; changed
    coupling : float64 (D, D)
    wanted : bool (D,), the nodes to predict
    max_enumerated : int
    streams : uint32 (4, n), initial state of the random streams
    n_burn_in, n_sweeps : int, sweeps of a Gibbs run that are discarded, and averaged
    probability : float64 (N, D), filled for the wanted nodes
    """
    n_rows, n_nodes = rows.shape
    nodes, order = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    start = np.empty(n_nodes + 1, np.int64)
    change, sampled = np.empty(n_nodes), np.empty(n_nodes, np.bool_)
    for r in range(n_rows):
        x, unknown = rows[r], hidden[r]
        n_hidden = 0
        for i in range(n_nodes):
            if unknown[i]:
                nodes[n_hidden] = i
                n_hidden += 1
        n_components = find_components(nodes, n_hidden, coupling, order, start)
        large = np.zeros(n_components, np.bool_)
        change[:] = 0.0
        sampled[:] = False
        for c in range(n_components):
            part = order[start[c] : start[c + 1]]
            if not is_needed(part, unknown, coupling, wanted):
                continue
            if part.size <= max_enumerated:
                sum_component(
                    part, x, unknown, logit[r], coupling, wanted, probability[r], change
                )  # fmt: skip
                continue
            large[c] = True
            bias, matrix = np.empty(part.size), np.empty((part.size, part.size))
            means = np.empty(part.size)
            fill_block(part, logit[r], coupling, bias, matrix)
            sample_means(part, bias, matrix, streams.copy(), n_burn_in, n_sweeps, means)
            for a in range(part.size):
                probability[r, part[a]] = means[a]
            for t in range(n_nodes):
                if wanted[t] and not unknown[t] and touches(t, part, coupling):
                    sampled[t] = True
        for t in range(n_nodes):
            if wanted[t] and not unknown[t]:
                logit[r, t] += change[t]
                probability[r, t] = logistic(logit[r, t])
        for t in range(n_nodes):
            if sampled[t]:
                probability[r, t] = sample_with(
                    t, x, order, start, large, logit[r], coupling, streams, n_burn_in, n_sweeps
                )  # fmt: skip
