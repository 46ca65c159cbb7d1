"""Edge swaps: sets of edges that change only together, and their log odds."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import minimize

from level_runs import problem_of
from slabfield.adaptation.edge_swaps import (
    LEAST_BARRIER,
    SwapCandidate,
    SwapContext,
    exclusive_groups,
    field_covariance,
    find_swaps,
    found_repeatedly,
    subset_log_odds,
    swap_context,
)
from slabfield.likelihood.blocks import particle_blocks
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.chain_state import new_state

P0, SIGMA0 = 0.05, 1.5
N_ROWS = 1_000


def all_states(n_nodes: int) -> np.ndarray:
    return np.array(list(itertools.product([0, 1], repeat=n_nodes)), dtype=float)


def distribution(bias: np.ndarray, coupling: np.ndarray) -> np.ndarray:
    states = all_states(len(bias))
    potential = states @ bias + 0.5 * np.einsum("si,ij,sj->s", states, coupling, states)
    weights = np.exp(potential - potential.max())
    return weights / weights.sum()


class PosteriorMode:
    """The posterior mode with some edges, by enumeration: its covariances, Laplace evidence."""

    def __init__(self, rows: np.ndarray, edges: list[tuple[int, int]]) -> None:
        n, self.d = rows.shape
        states = all_states(self.d)
        features = np.hstack([states, *(states[:, [i]] * states[:, [j]] for i, j in edges)])
        moments = np.concatenate(
            [rows.mean(0), [np.mean(rows[:, i] * rows[:, j]) for i, j in edges]]
        )
        precision = np.r_[np.full(self.d, 0.01), np.full(len(edges), SIGMA0**-2)]

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            potential = features @ theta
            largest = potential.max()
            weights = np.exp(potential - largest)
            total = weights.sum()
            value = n * (np.log(total) + largest - moments @ theta) + 0.5 * precision @ theta**2
            return value, n * (weights @ features / total - moments) + precision * theta

        found = minimize(loss, np.zeros(len(precision)), jac=True, method="BFGS")
        theta = found.x
        self.coupling = np.zeros((self.d, self.d))
        for (i, j), value in zip(edges, theta[self.d :], strict=True):
            self.coupling[i, j] = self.coupling[j, i] = value
        weights = distribution(theta[: self.d], self.coupling)
        self.covariance = np.cov(states.T, aweights=weights, ddof=0)
        hessian = n * np.cov(features.T, aweights=weights, ddof=0) + np.diag(precision)
        self.evidence = -found.fun + 0.5 * np.sum(np.log(precision))
        self.evidence -= 0.5 * np.linalg.slogdet(hessian)[1]
        self.evidence += len(edges) * np.log(P0 / (1 - P0))


def draw(bias: list[float], couplings: dict[tuple[int, int], float], seed: int = 0) -> np.ndarray:
    coupling = np.zeros((len(bias), len(bias)))
    for (i, j), value in couplings.items():
        coupling[i, j] = coupling[j, i] = value
    rng = np.random.default_rng(seed)
    probability = distribution(np.array(bias), coupling)
    return all_states(len(bias))[rng.choice(len(probability), N_ROWS, p=probability)].astype(int)


def search_arguments(rows: np.ndarray, edges: list[tuple[int, int]]) -> tuple:
    """Arguments of the search for a chain at the mode with these edges."""
    model = BinaryPairwise(rows.shape[1])
    mode = PosteriorMode(rows, edges)
    state = new_state(model.n_nodes, model.n_interactions, model.n_interactions)
    state.coupling[:] = mode.coupling[model.ends]
    state.hyper[:] = P0, SIGMA0
    return problem_of(model, rows), mode.covariance, state


def as_sets(swaps: list[SwapCandidate]) -> list[set[frozenset[int]]]:
    return [{frozenset(edge) for edge in edges} for edges, _ in swaps]


def odds_at(context: SwapContext, edges: list[tuple[int, int]]) -> dict[int, float]:
    given = [(np.array([i]), np.array([j])) for i, j in edges]
    return {key: float(value[0]) for key, value in subset_log_odds(context, given).items()}


def test_log_odds_are_those_of_the_evidence_by_enumeration():
    # 0 and 1 are opposites; 2 depends a little on both
    rows = draw([0.5, 0.5, -0.6, 0.3], {(0, 1): -2.5, (0, 2): 0.5, (1, 2): 0.5}, seed=3)
    kept, edges = [(0, 1)], [(0, 2), (1, 2)]
    for start in (kept, kept + edges[:1], kept + edges):  # whatever the state of the chain
        found = odds_at(swap_context(*search_arguments(rows, start)), edges)
        none = PosteriorMode(rows, kept).evidence
        for key, value in found.items():
            chosen = [edge for bit, edge in enumerate(edges) if key >> bit & 1]
            assert abs(value - (PosteriorMode(rows, kept + chosen).evidence - none)) < 1.0


def test_an_edge_that_another_can_replace():
    # 2 is tied to 0, and 1 is nearly equal to 0; 3 is independent
    rows = draw([-2.2, -2.2, -0.4, 0.0], {(0, 1): 4.5, (0, 2): 0.9}, seed=1)
    swaps = as_sets(find_swaps(*search_arguments(rows, [(0, 1), (0, 2)])))
    assert {frozenset((0, 2)), frozenset((1, 2))} in swaps
    assert not any(frozenset((i, 3)) in edges for edges in swaps for i in range(3))


def test_edges_that_matter_only_together():
    rows = draw([2.0, 2.0, -0.7, 0.0], {(0, 1): -4.0, (0, 2): 0.85, (1, 2): 0.85}, seed=2)
    pair = {frozenset((0, 2)), frozenset((1, 2))}
    odds = odds_at(swap_context(*search_arguments(rows, [(0, 1)])), [(0, 2), (1, 2)])
    assert max(odds[1], odds[2]) < -2
    assert odds[3] > max(odds[1], odds[2]) + 2
    assert pair in as_sets(find_swaps(*search_arguments(rows, [(0, 1)])))
    # and from the other end of the swap
    assert pair in as_sets(find_swaps(*search_arguments(rows, [(0, 1), (0, 2), (1, 2)])))


def test_an_edge_that_changes_only_if_the_coupling_of_another_follows():
    # 2 depends on 0 and on 1, which are tied; 3 is independent
    rows = draw([-2.2, -2.2, -0.4, 0.0], {(0, 1): 4.0, (0, 2): 0.45, (1, 2): 0.8}, seed=4)
    one = SwapCandidate(((2, 0),), (2, 0, 1))
    kept, edges = [(0, 1), (1, 2)], [(0, 2), (1, 2)]
    for start, sign in ((kept, -1), ([*kept, (0, 2)], 1)):
        context = swap_context(*search_arguments(rows, start))
        odds, alone = odds_at(context, edges), odds_at(context, [(0, 2)])[1]
        # about as likely as not, but far from it while the coupling of 1 - 2 is fixed
        with_it, without = (PosteriorMode(rows, [*kept, *more]).evidence for more in ([(0, 2)], []))
        assert abs(odds[3] - odds[2] - (with_it - without)) < 1.0
        assert sign * alone - max(sign * (odds[3] - odds[2]), 0.0) >= LEAST_BARRIER
        assert one in find_swaps(*search_arguments(rows, start))


def test_two_edges_that_two_others_can_replace():
    ties = {(0, 1): 3.5, (2, 3): 3.5}
    rows = draw([-2.2, -2.2, -2.2, -2.2], {**ties, (0, 2): 0.7, (1, 3): 0.7}, seed=5)
    present = [(0, 1), (2, 3), (0, 2), (1, 3)]
    swaps = as_sets(find_swaps(*search_arguments(rows, present)))
    assert {frozenset(e) for e in [(0, 2), (1, 3), (0, 3), (1, 2)]} in swaps
    assert len({frozenset(edges) for edges in swaps}) == len(swaps)


def test_no_swaps_where_nodes_are_independent():
    rows = draw([0.0, 0.3, -0.5, 0.2], {}, seed=6)
    assert find_swaps(*search_arguments(rows, [])) == []


def test_swaps_found_in_two_states_are_kept():
    pair, other = (SwapCandidate(((k, 0), (k, 1)), (k, 0, 1)) for k in (2, 3))
    four = SwapCandidate(((0, 2), (1, 3), (0, 3), (1, 2)), (0, 2, 1, 3))
    # the same swap from its other end
    reverse = SwapCandidate(((0, 3), (1, 2), (0, 2), (1, 3)), (0, 3, 1, 2))
    assert found_repeatedly([[pair, four], [other], [reverse, pair]]) == [pair, four]
    assert found_repeatedly([[pair], [other]]) == []
    # one edge with different edges that follow
    one, with_another = (SwapCandidate(((2, 0),), (2, 0, j)) for j in (1, 3))
    assert found_repeatedly([[one], [with_another], [one]]) == [one]


def test_covariances_are_those_of_the_field():
    model = BinaryPairwise(3)
    state = new_state(3, 3, 3)
    state.bias[:] = [-0.5, 0.2, 0.0]
    state.coupling[:] = [1.5, 0.0, -1.0]
    state.present[:] = [1, 0, 1]
    state.members[:2], state.n_members[0] = [0, 2], 2
    rng = np.random.default_rng(0)
    engine = particle_blocks(model, 4_096, 1, 3, False, rng)
    found = field_covariance(engine, state, rng)
    coupling = np.array([[0, 1.5, 0], [1.5, 0, -1.0], [0, -1.0, 0]])
    exact = np.cov(all_states(3).T, aweights=distribution(state.bias, coupling), ddof=0)
    np.testing.assert_allclose(found, exact, atol=0.012)


def one_hot_rows(seed: int) -> np.ndarray:
    """Rows of a one-hot code of three levels, and a fourth column that depends on the level."""
    rng = np.random.default_rng(seed)
    level = rng.choice(3, N_ROWS, p=[0.5, 0.3, 0.2])
    tied = rng.random(N_ROWS) < np.array([0.2, 0.2, 0.7])[level]
    return np.column_stack([np.eye(3, dtype=int)[level], tied, rng.integers(0, 2, N_ROWS)])


def test_groups_of_which_one_is_present_in_every_row():
    rows = one_hot_rows(1)
    model = BinaryPairwise(5)
    assert exclusive_groups(problem_of(model, rows)) == [(0, 1, 2)]
    # two columns that exclude each other, but are both 0 in a fifth of the rows
    assert exclusive_groups(problem_of(model, rows[:, [0, 1, 3, 4, 4]])) == []
    rows[0, :2] = 1
    assert exclusive_groups(problem_of(model, rows)) == []


def test_edges_with_a_group_give_way_to_the_others():
    rows = one_hot_rows(1)
    kept = [(0, 1), (0, 2), (1, 2)]
    for now in ([(2, 3)], [(0, 3), (1, 3)]):
        problem, fitted, state = search_arguments(rows, kept + now)
        found = find_swaps(problem, fitted, state)
        whole = {frozenset((i, 3)) for i in range(3)}
        assert whole in as_sets(found)
        nodes = [swap.nodes for swap in found if as_sets([swap])[0] == whole]
        assert nodes == [(3, 0, 1, 2)]
    # without an edge there is nothing to give way
    problem, fitted, state = search_arguments(rows, kept)
    assert not any(len(swap.edges) == 3 for swap in find_swaps(problem, fitted, state))
