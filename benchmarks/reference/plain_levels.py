r"""A plain sampler for nodes with levels: the reference for the exactness of the level samplers.

.. math:: \log P(x) = \sum_i G_i[x_i] \cdot \mu_i + \sum_{i<j} V_i[x_i]' B_{ij} V_j[x_j] - \log Z

Written from this definition alone, it shares no code with the sampler: the partition function is a
sum over all joint states, biases and present groups of parameters move by random walks, a whole
group is born or dies by reversible jump with a fixed Gaussian proposal, and p0 and the scales of
the slab have their conjugate draws. When a group of parameters moves, the biases of its two nodes
move along (a map of unit Jacobian); without that, births of ordinal couplings are hardly accepted.
"""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import helmert
from scipy.special import gammaincinv, logsumexp

from slabfield._jit import inner, jit

BETA = (5.0, 5.0)
GAMMA = (5.0, 5.0)
BIAS_SCALE = 10.0
# sigma0 exceeds its bound with this probability under the prior without the bound
TAIL = 1e-6
# Attempted births or deaths, each followed by a random walk, per visit of a pair
N_JUMPS = 4
# Proposals of births are wider than the group given presence, in variance
WIDENING = 1.3
# Sweeps between two sums from the definition, which end the growth of rounding errors
N_FRESH = 50


class Node(NamedTuple):
    """Bias features (K, r), embedding (K, e) and prior precision of the biases of one node.

    ``along`` (r, e) writes the embedding in bias features, up to a constant.
    """

    bias: np.ndarray
    embedding: np.ndarray
    precision: np.ndarray
    along: np.ndarray


def node(kind: str, n_levels: int) -> Node:
    """Return a node of kind ordinal, nominal or blume-capel with equally spaced scores."""
    step = math.sqrt(3.0 / (n_levels**2 - 1))
    levels = np.arange(n_levels)
    if kind == "blume-capel":
        distance = levels - (n_levels - 1) // 2
        bias = np.column_stack([distance, distance**2]).astype(float)
        precision, along = np.eye(2) / BIAS_SCALE**2, np.array([[step], [0.0]])
        return Node(bias, step * levels[:, None], precision, along)
    embedding = step * levels[:, None]
    if kind == "nominal":
        embedding = -helmert(n_levels).T / math.sqrt(2)  # the last level is positive
    r = n_levels - 1
    covariance = BIAS_SCALE**2 / 2 * (np.eye(r) + np.ones((r, r)))
    bias = np.eye(n_levels)[:, 1:]
    return Node(bias, embedding, np.linalg.inv(covariance), embedding[1:] - embedding[0])


def all_states(nodes: list[Node]) -> np.ndarray:
    """All joint states, one per row."""
    return np.array(list(product(*(range(len(node.bias)) for node in nodes))))


def log_weights(nodes: list[Node], rows: np.ndarray, mu: list, groups: dict) -> np.ndarray:
    """Unnormalized log probability of each row; ``groups`` maps a pair (i, j) to its matrix B."""
    total = sum(node.bias[rows[:, i]] @ mu[i] for i, node in enumerate(nodes))
    for (i, j), b in groups.items():
        left, right = nodes[i].embedding[rows[:, i]], nodes[j].embedding[rows[:, j]]
        total = total + np.einsum("nu,uv,nv->n", left, b, right)
    return total


def draw_field(
    nodes: list[Node], rng: np.random.Generator, density: float = 0.5, scale: float = 1.0
) -> tuple[list, dict]:
    """Draw biases, and the groups of about half of the pairs."""
    mu = [rng.normal(0.0, 0.5, node.bias.shape[1]) for node in nodes]
    sizes = [node.embedding.shape[1] for node in nodes]
    groups = {
        (i, j): rng.normal(0.0, scale, (sizes[i], sizes[j]))
        for i, j in combinations(range(len(nodes)), 2)
        if rng.random() < density
    }
    return mu, groups


def draw_rows(
    nodes: list[Node], mu: list, groups: dict, n_rows: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw rows from a field."""
    states = all_states(nodes)
    logs = log_weights(nodes, states, mu, groups)
    return states[rng.choice(len(states), n_rows, p=np.exp(logs - logsumexp(logs)))]


class Field(NamedTuple):
    """Nodes and data as padded arrays for compiled loops."""

    states: np.ndarray
    n_levels: np.ndarray
    n_biases: np.ndarray
    sizes: np.ndarray
    first: np.ndarray
    second: np.ndarray
    bias: np.ndarray
    embedding: np.ndarray
    mean: np.ndarray
    precision: np.ndarray
    along: np.ndarray
    node_counts: np.ndarray
    pair_counts: np.ndarray
    step: np.ndarray
    scale: np.ndarray


def padded(parts: list[np.ndarray]) -> np.ndarray:
    """Stack arrays of different shapes, with zeros behind their ends."""
    shape = np.max([part.shape for part in parts], axis=0)
    result = np.zeros((len(parts), *shape))
    for place, part in zip(result, parts, strict=True):
        place[tuple(slice(0, n) for n in part.shape)] = part
    return result


def field_of(nodes: list[Node], rows: np.ndarray) -> Field:
    """Return the arrays of a field and its data.

    ``step`` is a root of the covariance of a node's biases given all else at independence, and
    ``scale`` the number of the slab of each pair: the second is that of groups of several
    parameters where there are also groups of one.
    """
    pairs = np.array(list(combinations(range(len(nodes)), 2)))
    sizes = np.array([node.embedding.shape[1] for node in nodes])
    several = sizes[pairs[:, 0]] * sizes[pairs[:, 1]] > 1
    counts = [np.bincount(rows[:, i], minlength=len(n.bias)) for i, n in enumerate(nodes)]
    pair_counts = []
    for i, j in pairs:
        found = np.zeros((len(nodes[i].bias), len(nodes[j].bias)))
        np.add.at(found, (rows[:, i], rows[:, j]), 1.0)
        pair_counts.append(found)
    steps = []
    for i, n in enumerate(nodes):
        information = len(rows) * np.atleast_2d(np.cov(n.bias[rows[:, i]].T)) + n.precision
        steps.append(np.linalg.cholesky(np.linalg.inv(information)))
    return Field(
        all_states(nodes), np.array([len(n.bias) for n in nodes]),
        np.array([n.bias.shape[1] for n in nodes]), sizes, pairs[:, 0].copy(), pairs[:, 1].copy(),
        padded([n.bias for n in nodes]), padded([n.embedding for n in nodes]),
        padded([n.embedding[rows[:, i]].mean(axis=0) for i, n in enumerate(nodes)]),
        padded([n.precision for n in nodes]), padded([n.along for n in nodes]),
        padded(counts), padded(pair_counts), padded(steps),
        (several & ~several.all()).astype(np.int64),
    )  # fmt: skip


class Proposal(NamedTuple):
    """Mean and Cholesky factor of the proposed birth of each group."""

    mean: np.ndarray
    root: np.ndarray


def first_proposal(field: Field, rows: np.ndarray, nodes: list[Node]) -> Proposal:
    """One Newton step from independence, with a slab of scale 1."""
    means, roots = [], []
    for i, j in zip(field.first, field.second, strict=True):
        left, right = nodes[i].embedding[rows[:, i]], nodes[j].embedding[rows[:, j]]
        left, right = left - left.mean(axis=0), right - right.mean(axis=0)
        n = len(rows)
        information = n * np.kron(left.T @ left / n, right.T @ right / n)
        covariance = np.linalg.inv(information + np.eye(len(information)))
        means.append(covariance @ (left.T @ right).ravel())
        roots.append(np.linalg.cholesky(WIDENING * covariance))
    return Proposal(padded(means), padded(roots))


def learned_proposal(old: Proposal, sizes: np.ndarray, tally: Tally) -> Proposal:
    """Mean and covariance of each group given presence, as found in warm-up."""
    mean, root = old.mean.copy(), old.root.copy()
    for alpha, p in enumerate(sizes):
        n, prior = tally.present[alpha], 50.0
        weight = 1.0 / (n + prior)
        was, at = old.root[alpha, :p, :p], old.mean[alpha, :p]
        second = tally.square[alpha, :p, :p] + prior * (was @ was.T / WIDENING + np.outer(at, at))
        mean[alpha, :p] = weight * (tally.value[alpha, :p] + prior * at)
        covariance = weight * second - np.outer(mean[alpha, :p], mean[alpha, :p])
        root[alpha, :p, :p] = np.linalg.cholesky(WIDENING * covariance)
    return Proposal(mean, root)


class State(NamedTuple):
    """Biases, groups, presence, p0 and scales, and the weights of all joint states."""

    mu: np.ndarray
    group: np.ndarray
    present: np.ndarray
    hyper: np.ndarray
    weight: np.ndarray


class Tally(NamedTuple):
    """Sums over sweeps: presence, groups and their products, biases, p0 and scales, acceptance."""

    present: np.ndarray
    value: np.ndarray
    square: np.ndarray
    mu: np.ndarray
    hyper: np.ndarray
    accepted: np.ndarray


def new_tally(field: Field) -> Tally:
    m, p, d = field.first.size, int(field.sizes.max()) ** 2, field.n_levels.size
    return Tally(
        np.zeros(m), np.zeros((m, p)), np.zeros((m, p, p)), np.zeros((d, field.bias.shape[2])),
        np.zeros(3), np.zeros((3, 2)),
    )  # fmt: skip


@jit
def fill_weights(field, state):
    """Fill in the weights of all joint states from the definition."""
    d, m = field.n_levels.size, field.first.size
    for s in range(field.states.shape[0]):
        x, energy = field.states[s], 0.0
        for i in range(d):
            for r in range(field.n_biases[i]):
                energy += field.bias[i, x[i], r] * state.mu[i, r]
        for alpha in range(m):
            if state.present[alpha]:
                i, j = field.first[alpha], field.second[alpha]
                for u in range(field.sizes[i]):
                    for v in range(field.sizes[j]):
                        feature = field.embedding[i, x[i], u] * field.embedding[j, x[j], v]
                        energy += feature * state.group[alpha, u * field.sizes[j] + v]
        state.weight[s] = energy
    state.weight[:] = np.exp(state.weight - state.weight.max())


@inner
def cell_change(field, alpha, change, cells):
    """Fill in the change of log weight of each pair of levels, with its biases moving along."""
    i, j = field.first[alpha], field.second[alpha]
    for a in range(field.n_levels[i]):
        for b in range(field.n_levels[j]):
            total = 0.0
            for u in range(field.sizes[i]):
                left = field.embedding[i, a, u] - field.mean[i, u]
                for v in range(field.sizes[j]):
                    right = field.embedding[j, b, v] - field.mean[j, v]
                    total += left * right * change[u * field.sizes[j] + v]
            cells[a, b] = total


@inner
def moved_biases(field, alpha, change, mu_i, mu_j):
    """Move copies of the biases of both nodes along with the change of their group."""
    i, j = field.first[alpha], field.second[alpha]
    for u in range(field.sizes[i]):
        for v in range(field.sizes[j]):
            d = change[u * field.sizes[j] + v]
            for r in range(field.n_biases[i]):
                mu_i[r] -= field.along[i, r, u] * d * field.mean[j, v]
            for r in range(field.n_biases[j]):
                mu_j[r] -= field.along[j, r, v] * d * field.mean[i, u]


@inner
def log_bias_prior(field, i, mu):
    total = 0.0
    for r in range(field.n_biases[i]):
        for q in range(field.n_biases[i]):
            total -= 0.5 * mu[r] * field.precision[i, r, q] * mu[q]
    return total


@inner
def log_normal(value, mean, root, p, z):
    """Log density of a multivariate normal distribution given its Cholesky factor."""
    total = -0.5 * p * math.log(2 * math.pi)
    for q in range(p):
        z[q] = value[q] - mean[q]
        for r in range(q):
            z[q] -= root[q, r] * z[r]
        z[q] /= root[q, q]
        total -= 0.5 * z[q] * z[q] + math.log(root[q, q])
    return total


@inner
def pair_gain(field, alpha, pair, cells, n_rows):
    """Change of the log-likelihood when the log weights of pairs of levels change by ``cells``."""
    before, after, data = 0.0, 0.0, 0.0
    for a in range(field.n_levels[field.first[alpha]]):
        for b in range(field.n_levels[field.second[alpha]]):
            before += pair[a, b]
            after += pair[a, b] * math.exp(cells[a, b])
            data += field.pair_counts[alpha, a, b] * cells[a, b]
    return data - n_rows * (math.log(after) - math.log(before))


@inner
def visit_pair(field, state, proposal, alpha, n_rows, tally, rng):
    """Try births or deaths of a group, and random walks of its parameters."""
    i, j = field.first[alpha], field.second[alpha]
    p, k_i, k_j = field.sizes[i] * field.sizes[j], field.n_levels[i], field.n_levels[j]
    mean, root, group = proposal.mean[alpha], proposal.root[alpha], state.group[alpha]
    pair, cells, total = np.zeros((k_i, k_j)), np.zeros((k_i, k_j)), np.ones((k_i, k_j))
    value, change, z, zero = np.zeros(p), np.zeros(p), np.zeros(p), np.zeros(p)
    for s in range(state.weight.size):
        pair[field.states[s, i], field.states[s, j]] += state.weight[s]
    changed = False
    for step in range(2 * N_JUMPS):
        jump = step % 2 == 0
        if not jump and not state.present[alpha]:
            continue
        sd = state.hyper[1 + field.scale[alpha]]
        log_ratio = 0.0
        for q in range(p):
            z[q] = rng.standard_normal()
        for q in range(p):
            value[q] = 0.0 if jump else group[q]
            if not (jump and state.present[alpha]):
                value[q] += mean[q] if jump else 0.0
                for r in range(q + 1):
                    value[q] += root[q, r] * z[r] * (1.0 if jump else 2.0 / math.sqrt(p))
        for q in range(p):
            change[q] = value[q] - group[q]
            log_ratio -= 0.5 * (value[q] * value[q] - group[q] * group[q]) / (sd * sd)
        if jump:
            birth = state.hyper[0] / (1.0 - state.hyper[0])
            log_birth = math.log(birth) - p * math.log(math.sqrt(2 * math.pi) * sd)
            if state.present[alpha]:
                log_ratio += log_normal(group, mean, root, p, z) - log_birth
            else:
                log_ratio += log_birth - log_normal(value, mean, root, p, z)
        cell_change(field, alpha, change, cells)
        log_ratio += pair_gain(field, alpha, pair, cells, n_rows)
        mu_i, mu_j = state.mu[i].copy(), state.mu[j].copy()
        moved_biases(field, alpha, change, mu_i, mu_j)
        log_ratio += log_bias_prior(field, i, mu_i) - log_bias_prior(field, i, state.mu[i])
        log_ratio += log_bias_prior(field, j, mu_j) - log_bias_prior(field, j, state.mu[j])
        accepted = rng.random() < math.exp(min(log_ratio, 0.0))
        tally.accepted[0 if jump else 1, 0] += accepted
        tally.accepted[0 if jump else 1, 1] += 1
        if accepted:
            changed = True
            state.mu[i, :], state.mu[j, :] = mu_i, mu_j
            if jump:
                state.present[alpha] = not state.present[alpha]
            group[:p] = value if state.present[alpha] else zero
            pair *= np.exp(cells)
            total *= np.exp(cells)
    if changed:
        for s in range(state.weight.size):
            state.weight[s] *= total[field.states[s, i], field.states[s, j]]


@inner
def visit_node(field, state, i, n_rows, tally, rng):
    """Random walk of the biases of a node."""
    k, r_i = field.n_levels[i], field.n_biases[i]
    cells, factor, mu = np.zeros(k), np.zeros(k), state.mu[i].copy()
    for s in range(state.weight.size):
        cells[field.states[s, i]] += state.weight[s]
    z = np.zeros(r_i)
    for r in range(r_i):
        z[r] = rng.standard_normal()
        for q in range(r + 1):
            mu[r] += 2.0 / math.sqrt(r_i) * field.step[i, r, q] * z[q]
    log_ratio = log_bias_prior(field, i, mu) - log_bias_prior(field, i, state.mu[i])
    before, after = 0.0, 0.0
    for a in range(k):
        change = 0.0
        for r in range(r_i):
            change += field.bias[i, a, r] * (mu[r] - state.mu[i, r])
        factor[a] = math.exp(change)
        log_ratio += field.node_counts[i, a] * change
        before += cells[a]
        after += cells[a] * factor[a]
    log_ratio -= n_rows * (math.log(after) - math.log(before))
    accepted = rng.random() < math.exp(min(log_ratio, 0.0))
    tally.accepted[2, 0] += accepted
    tally.accepted[2, 1] += 1
    if accepted:
        state.mu[i, :] = mu
        for s in range(state.weight.size):
            state.weight[s] *= factor[field.states[s, i]]


@inner
def draw_hyper(field, state, largest_scale, rng):
    """Draw p0 and the scales of the slab given structure and groups."""
    m, n_present = field.first.size, state.present.sum()
    state.hyper[0] = rng.beta(BETA[0] + n_present, BETA[1] + m - n_present)
    for scale in range(2):
        shape, rate = GAMMA
        for alpha in range(m):
            if state.present[alpha] and field.scale[alpha] == scale:
                p = field.sizes[field.first[alpha]] * field.sizes[field.second[alpha]]
                shape += 0.5 * p
                rate += 0.5 * (state.group[alpha] ** 2).sum()
        state.hyper[1 + scale] = math.inf
        while state.hyper[1 + scale] > largest_scale:
            state.hyper[1 + scale] = math.sqrt(rate / rng.standard_gamma(shape))


@jit
def sweeps(field, state, proposal, n_rows, largest_scale, n_sweeps, tally, rng):
    """Visit every pair, every node and the hyperparameters in each sweep, and tally the states."""
    for sweep in range(n_sweeps):
        if sweep % N_FRESH == 0:
            fill_weights(field, state)
        for alpha in range(field.first.size):
            visit_pair(field, state, proposal, alpha, n_rows, tally, rng)
        for i in range(field.n_levels.size):
            visit_node(field, state, i, n_rows, tally, rng)
        draw_hyper(field, state, largest_scale, rng)
        for alpha in range(field.first.size):
            if state.present[alpha]:
                group = state.group[alpha]
                tally.present[alpha] += 1
                tally.value[alpha] += group
                for q in range(group.size):
                    tally.square[alpha, q] += group[q] * group
        tally.mu[:] += state.mu
        tally.hyper[:] += state.hyper


def run_chain(
    nodes: list[Node], rows: np.ndarray, n_sweeps: int, seed: int, n_warmup: int = 1500
) -> dict[str, Any]:
    """Run a chain; return inclusion probabilities, means of groups, biases, p0 and scales.

    Also returns the acceptance rates of jumps, of random walks of groups, and of those of biases.
    """
    field, rng = field_of(nodes, rows), np.random.default_rng(seed)
    m, p = field.first.size, int(field.sizes.max()) ** 2
    state = State(
        np.zeros((len(nodes), field.bias.shape[2])), np.zeros((m, p)), np.zeros(m, np.bool_),
        np.array([0.5, 1.0, 1.0]), np.zeros(len(field.states)),
    )  # fmt: skip
    largest_scale = math.sqrt(GAMMA[1] / gammaincinv(GAMMA[0], TAIL))
    group_sizes = field.sizes[field.first] * field.sizes[field.second]
    proposal = first_proposal(field, rows, nodes)
    for _ in range(2):
        tally = new_tally(field)
        sweeps(field, state, proposal, len(rows), largest_scale, n_warmup // 2, tally, rng)
        proposal = learned_proposal(proposal, group_sizes, tally)
    tally = new_tally(field)
    sweeps(field, state, proposal, len(rows), largest_scale, n_sweeps, tally, rng)
    return {
        "inclusion": tally.present / n_sweeps,
        "coupling": np.concatenate(
            [v[:k] / n_sweeps for v, k in zip(tally.value, group_sizes, strict=True)]
        ),
        "bias": np.concatenate(
            [v[:k] / n_sweeps for v, k in zip(tally.mu, field.n_biases, strict=True)]
        ),
        "hyper": tally.hyper[: 2 + field.scale.max()] / n_sweeps,
        "accepted": tally.accepted[:, 0] / tally.accepted[:, 1],
    }
