"""Rivals: edges that change only together, and the log odds that tell."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import minimize

from slabfield.likelihood.cubes import particle_cubes
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.state import new_state
from slabfield.sampler.rivals import (
    LEAST_DEEP,
    Rivals,
    Surroundings,
    field_covariance,
    find_rivals,
    found_again,
    look_about,
    set_odds,
)

P0, SIGMA0 = 0.05, 1.5
N_ROWS = 1_000


def all_states(n_nodes: int) -> np.ndarray:
    return np.array(list(itertools.product([0, 1], repeat=n_nodes)), dtype=float)


def distribution(bias: np.ndarray, coupling: np.ndarray) -> np.ndarray:
    states = all_states(len(bias))
    height = states @ bias + 0.5 * np.einsum("si,ij,sj->s", states, coupling, states)
    weights = np.exp(height - height.max())
    return weights / weights.sum()


class Best:
    """The likeliest field with some edges, by all its states: its covariances, its evidence."""

    def __init__(self, rows: np.ndarray, edges: list[tuple[int, int]]) -> None:
        n, self.d = rows.shape
        states = all_states(self.d)
        features = np.hstack([states, *(states[:, [i]] * states[:, [j]] for i, j in edges)])
        moments = np.concatenate(
            [rows.mean(0), [np.mean(rows[:, i] * rows[:, j]) for i, j in edges]]
        )
        precision = np.r_[np.full(self.d, 0.01), np.full(len(edges), SIGMA0**-2)]

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            heights = features @ theta
            top = heights.max()
            weights = np.exp(heights - top)
            total = weights.sum()
            value = n * (np.log(total) + top - moments @ theta) + 0.5 * precision @ theta**2
            return value, n * (weights @ features / total - moments) + precision * theta

        found = minimize(loss, np.zeros(len(precision)), jac=True, method="BFGS")
        theta = found.x
        self.coupling = np.zeros((self.d, self.d))
        for (i, j), value in zip(edges, theta[self.d :], strict=True):
            self.coupling[i, j] = self.coupling[j, i] = value
        weights = distribution(theta[: self.d], self.coupling)
        self.covariance = np.cov(states.T, aweights=weights, ddof=0)
        steepness = n * np.cov(features.T, aweights=weights, ddof=0) + np.diag(precision)
        self.evidence = -found.fun + 0.5 * np.sum(np.log(precision))
        self.evidence -= 0.5 * np.linalg.slogdet(steepness)[1]
        self.evidence += len(edges) * np.log(P0 / (1 - P0))


def draw(bias: list[float], couplings: dict[tuple[int, int], float], seed: int = 0) -> np.ndarray:
    coupling = np.zeros((len(bias), len(bias)))
    for (i, j), value in couplings.items():
        coupling[i, j] = coupling[j, i] = value
    rng = np.random.default_rng(seed)
    chance = distribution(np.array(bias), coupling)
    return all_states(len(bias))[rng.choice(len(chance), N_ROWS, p=chance)].astype(int)


def surroundings(rows: np.ndarray, edges: list[tuple[int, int]]) -> tuple:
    """What the search is given where a chain has these edges, at their best."""
    model = BinaryPairwise(rows.shape[1])
    best = Best(rows, edges)
    state = new_state(model.n_nodes, model.n_interactions, model.n_interactions)
    state.coupling[:] = best.coupling[model.ends]
    state.hyper[:] = P0, SIGMA0
    return model.sums(rows), best.covariance, state, model.ends


def as_sets(rivals: list[Rivals]) -> list[set[frozenset[int]]]:
    return [{frozenset(edge) for edge in edges} for edges, _ in rivals]


def odds_at(around: Surroundings, edges: list[tuple[int, int]]) -> dict[int, float]:
    given = [(np.array([i]), np.array([j])) for i, j in edges]
    return {key: float(value[0]) for key, value in set_odds(around, given).items()}


def test_odds_are_those_of_evidence_worked_out_with_all_states():
    # 0 and 1 are opposites; 2 depends a little on both
    rows = draw([0.5, 0.5, -0.6, 0.3], {(0, 1): -2.5, (0, 2): 0.5, (1, 2): 0.5}, seed=3)
    kept, asked = [(0, 1)], [(0, 2), (1, 2)]
    for start in (kept, kept + asked[:1], kept + asked):  # wherever the chain is
        found = odds_at(look_about(*surroundings(rows, start)), asked)
        none = Best(rows, kept).evidence
        for key, value in found.items():
            chosen = [edge for bit, edge in enumerate(asked) if key >> bit & 1]
            assert abs(value - (Best(rows, kept + chosen).evidence - none)) < 1.0


def test_an_edge_that_another_may_stand_for():
    # 2 is tied to 0, and 1 is nearly the same as 0; 3 is by itself
    rows = draw([-2.2, -2.2, -0.4, 0.0], {(0, 1): 4.5, (0, 2): 0.9}, seed=1)
    rivals = as_sets(find_rivals(*surroundings(rows, [(0, 1), (0, 2)])))
    assert {frozenset((0, 2)), frozenset((1, 2))} in rivals
    assert not any(frozenset((i, 3)) in edges for edges in rivals for i in range(3))


def test_edges_that_say_little_alone_and_much_together():
    rows = draw([2.0, 2.0, -0.7, 0.0], {(0, 1): -4.0, (0, 2): 0.85, (1, 2): 0.85}, seed=2)
    pair = {frozenset((0, 2)), frozenset((1, 2))}
    odds = odds_at(look_about(*surroundings(rows, [(0, 1)])), [(0, 2), (1, 2)])
    assert max(odds[1], odds[2]) < -2
    assert odds[3] > max(odds[1], odds[2]) + 2
    assert pair in as_sets(find_rivals(*surroundings(rows, [(0, 1)])))
    # seen from the other side, too
    assert pair in as_sets(find_rivals(*surroundings(rows, [(0, 1), (0, 2), (1, 2)])))


def test_an_edge_that_comes_and_goes_only_if_another_follows():
    # 2 depends on 0 and on 1, which go together; 3 is by itself
    rows = draw([-2.2, -2.2, -0.4, 0.0], {(0, 1): 4.0, (0, 2): 0.45, (1, 2): 0.8}, seed=4)
    one = Rivals(((2, 0),), (2, 0, 1))
    kept, asked = [(0, 1), (1, 2)], [(0, 2), (1, 2)]
    for start, sign in ((kept, -1), ([*kept, (0, 2)], 1)):
        around = look_about(*surroundings(rows, start))
        odds, alone = odds_at(around, asked), odds_at(around, [(0, 2)])[1]
        # nearly as likely as not, but far from it while the coupling of 1 - 2 is what it is
        with_it, without = (Best(rows, [*kept, *more]).evidence for more in ([(0, 2)], []))
        assert abs(odds[3] - odds[2] - (with_it - without)) < 1.0
        assert sign * alone - max(sign * (odds[3] - odds[2]), 0.0) >= LEAST_DEEP
        assert one in find_rivals(*surroundings(rows, start))


def test_two_edges_that_two_others_may_stand_for():
    ties = {(0, 1): 3.5, (2, 3): 3.5}
    rows = draw([-2.2, -2.2, -2.2, -2.2], {**ties, (0, 2): 0.7, (1, 3): 0.7}, seed=5)
    there = [(0, 1), (2, 3), (0, 2), (1, 3)]
    rivals = as_sets(find_rivals(*surroundings(rows, there)))
    assert {frozenset(e) for e in [(0, 2), (1, 3), (0, 3), (1, 2)]} in rivals
    assert len({frozenset(edges) for edges in rivals}) == len(rivals)


def test_nothing_where_nodes_are_independent():
    rows = draw([0.0, 0.3, -0.5, 0.2], {}, seed=6)
    assert find_rivals(*surroundings(rows, [])) == []


def test_what_is_found_in_two_states_counts():
    pair, other = (Rivals(((k, 0), (k, 1)), (k, 0, 1)) for k in (2, 3))
    four = Rivals(((0, 2), (1, 3), (0, 3), (1, 2)), (0, 2, 1, 3))
    turned = Rivals(((0, 3), (1, 2), (0, 2), (1, 3)), (0, 3, 1, 2))  # where the others are there
    assert found_again([[pair, four], [other], [turned, pair]]) == [pair, four]
    assert found_again([[pair], [other]]) == []
    # one edge with different edges that follow
    one, with_another = (Rivals(((2, 0),), (2, 0, j)) for j in (1, 3))
    assert found_again([[one], [with_another], [one]]) == [one]


def test_covariances_are_the_fields():
    model = BinaryPairwise(3)
    state = new_state(3, 3, 3)
    state.bias[:] = [-0.5, 0.2, 0.0]
    state.coupling[:] = [1.5, 0.0, -1.0]
    state.present[:] = [1, 0, 1]
    state.members[:2], state.n_members[0] = [0, 2], 2
    rng = np.random.default_rng(0)
    engine = particle_cubes(model, 4_096, 1, 3, False, rng)
    found = field_covariance(engine, state, rng)
    coupling = np.array([[0, 1.5, 0], [1.5, 0, -1.0], [0, -1.0, 0]])
    exact = np.cov(all_states(3).T, aweights=distribution(state.bias, coupling), ddof=0)
    np.testing.assert_allclose(found, exact, atol=0.012)
