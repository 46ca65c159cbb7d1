"""Posterior summaries of structure, compared with counting and brute force."""

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from slabfield import Posterior, datasets
from slabfield.draws import Draws
from slabfield.models.field import BinaryField
from slabfield.priors import Prior
from slabfield.validation import InputError

NAMES = ["a", "b", "c", "d"]
PAIRS = list(itertools.combinations(range(4), 2))
BETA = {"a": 2.0, "b": 6.0, "edges": None}


def make_up(
    n_chains: int = 2,
    n_draws: int = 30,
    names: list[str] | None = None,
    seed: int = 0,
    prior: dict[str, Any] | None = None,
    probability: tuple[float, ...] | None = None,
) -> Posterior:
    """Make up a posterior; each edge has its own probability of presence."""
    rng = np.random.default_rng(seed)
    names = NAMES if names is None else names
    n_edges = math.comb(len(names), 2)
    each = (n_chains, n_draws)
    given = np.linspace(0.05, 0.95, n_edges) if probability is None else np.array(probability)
    present = rng.random((*each, n_edges)) < given
    coupling = np.where(present, rng.standard_normal(present.shape), 0.0)
    bias = rng.standard_normal((*each, len(names)))
    p0, sigma0, potential = (rng.random(each) for _ in range(3))
    draws = Draws.from_dense(coupling, present, bias, p0, sigma0, potential)
    return Posterior(draws, names, {"engine": "exact", "inclusion_prior": prior or BETA})


def with_probability(*probability: float, prior: dict[str, Any] | None = None) -> Posterior:
    """Make up a posterior with exactly these inclusion probabilities."""
    n_nodes = round((1 + math.sqrt(1 + 8 * len(probability))) / 2)
    posterior = make_up(1, 2, [f"x{k}" for k in range(n_nodes)], prior=prior)
    posterior.draws.conditional_probability = np.array(probability)
    return posterior


def upper(matrix: NDArray[Any]) -> list[Any]:
    """Return the entries above the diagonal of a matrix, which must be symmetric."""
    np.testing.assert_array_equal(matrix, matrix.T)
    return list(matrix[np.triu_indices(len(matrix), 1)].tolist())


# --- evidence ---------------------------------------------------------------------------------


def test_edges_with_given_priors() -> None:
    prior = {"a": 5.0, "b": 5.0, "edges": [None, 0.2, 1.0]}
    posterior = with_probability(0.8, 0.5, 1.0, prior=prior)
    np.testing.assert_allclose(upper(posterior.prior_inclusion), [0.5, 0.2, 1.0])
    for matrix in (posterior.bayes_factor, posterior.log_bayes_factor_mcse):
        np.testing.assert_array_equal(np.isnan(upper(matrix)), [False, False, True])
        assert np.isnan(np.diag(matrix)).all()


def test_recorded_bayes_factors_come_first() -> None:
    posterior = make_up()
    n_edges = posterior.draws.n_edges
    posterior.draws.log_bayes_factor = np.full(n_edges, np.log(4.0))
    posterior.draws.log_bayes_factor[0] = np.nan
    posterior.draws.log_bayes_factor_mcse = np.full(n_edges, 0.25)
    factor, error = upper(posterior.bayes_factor), upper(posterior.log_bayes_factor_mcse)
    np.testing.assert_allclose(factor[1:], 4.0)
    np.testing.assert_allclose(error[1:], 0.25)
    counted = upper(make_up().bayes_factor)
    assert factor[0] == counted[0] != 4.0
    assert (posterior.edge_evidence[1:] == "moderate for").all()


@pytest.mark.parametrize(
    "unknown", [{}, {"inclusion_prior": (5, 5)}, {"inclusion_prior": {"a": 5}}]
)
def test_no_bayes_factors_without_a_prior(unknown: dict[str, Any]) -> None:
    posterior = Posterior(make_up().draws, NAMES, unknown)
    with pytest.raises(InputError, match=r"prior of the edges must be known .* Fit again"):
        _ = posterior.bayes_factor


@pytest.mark.parametrize("inclusion", [(2.0, 6.0), 0.1])
def test_the_posterior_reads_the_recorded_prior(inclusion: Any) -> None:
    facts = Prior.standard(6, inclusion=inclusion).facts()["inclusion_prior"]
    expected = 0.25 if isinstance(inclusion, tuple) else 0.1
    assert upper(make_up(prior=facts).prior_inclusion) == [expected] * 6


def test_priors_of_single_edges_are_recorded() -> None:
    own = np.array([np.nan, 0.0, 1.0, 0.3, np.nan, np.nan])
    facts = Prior.standard(6)._replace(inclusion=own).facts()["inclusion_prior"]
    assert facts["edges"] == [None, 0.0, 1.0, 0.3, None, None]
    assert upper(make_up(prior=facts).prior_inclusion) == [0.5, 0.0, 1.0, 0.3, 0.5, 0.5]


def test_the_prior_inclusion_agrees_with_draws_from_the_prior() -> None:
    rng = np.random.default_rng(0)
    p0 = rng.beta(2.0, 6.0, size=200_000)
    share = np.mean(rng.random(p0.size) < p0)
    assert upper(make_up(prior=BETA).prior_inclusion)[0] == pytest.approx(share, abs=0.004)


# --- sets of edges ----------------------------------------------------------------------------


def test_the_median_graph() -> None:
    assert upper(with_probability(0.4999, 0.5, 0.9).median_graph()) == [False, True, True]


@settings(max_examples=60, deadline=None)
@given(
    probability=st.lists(st.integers(0, 20).map(lambda k: k / 20), min_size=6, max_size=6),
    rate=st.integers(0, 20).map(lambda k: k / 20),
)
def test_edges_at_a_false_discovery_rate(probability: list[float], rate: float) -> None:
    """No larger set of edges, among all sets, has a false discovery rate within the limit."""
    chosen = np.array(upper(with_probability(*probability).edges_at_fdr(rate)))
    wrong = 1 - np.array(probability)
    slack = 1e-9
    assert wrong[chosen].sum() <= rate * chosen.sum() + slack
    for size in range(int(chosen.sum()) + 1, 7):
        for others in itertools.combinations(range(6), size):
            assert wrong[list(others)].sum() > rate * size + slack


def test_the_limit_is_inclusive() -> None:
    assert upper(with_probability(0.95, 0.2, 0.1).edges_at_fdr(0.05)) == [True, False, False]
    with pytest.raises(InputError, match="rate must be a number"):
        make_up().edges_at_fdr(1.5)


@pytest.mark.parametrize("n", [1, 3, 1000])
def test_top_graphs_are_counted(n: int) -> None:
    posterior = make_up(2, 200, seed=3)
    graphs = posterior.draws.present.reshape(-1, 6)
    expected = {
        kind: np.mean(np.all(graphs == kind, axis=1))
        for kind in itertools.product([False, True], repeat=6)
    }
    shares = sorted((share for share in expected.values() if share > 0), reverse=True)
    found = posterior.top_graphs(n)
    np.testing.assert_allclose([graph.share for graph in found], shares[:n])
    for graph in found:
        assert expected[tuple(upper(graph.edges))] == pytest.approx(graph.share)
    assert len({graph.edges.tobytes() for graph in found}) == len(found)


def test_an_edge_of_coupling_zero_is_in_the_graph() -> None:
    present = np.ones((1, 4, 1), bool)
    one = np.ones((1, 4))
    draws = Draws.from_dense(np.zeros((1, 4, 1)), present, np.zeros((1, 4, 2)), one, one, one)
    posterior = Posterior(draws, ["a", "b"], {})
    assert upper(posterior.top_graphs()[0].edges) == [True]
    assert posterior.degree.min() == 1
    assert np.isfinite(posterior.betweenness()).all()
    assert posterior.shared_community().min() == 1


# --- nodes ------------------------------------------------------------------------------------


def test_degree_and_strength_draw_by_draw() -> None:
    posterior = make_up()
    degree, strength = np.zeros((2, 2, 30, 4))
    for edge, pair in enumerate(PAIRS):
        for node in pair:
            degree[:, :, node] += posterior.draws.present[:, :, edge]
            strength[:, :, node] += np.abs(posterior.draws.coupling[:, :, edge])
    np.testing.assert_array_equal(posterior.degree, degree)
    assert posterior.degree.dtype == np.int64
    np.testing.assert_allclose(posterior.strength, strength)


def test_nothing_present_at_all() -> None:
    posterior = make_up(probability=(0.0,) * 6)
    assert not posterior.degree.any()
    assert not posterior.strength.any()
    assert [graph.share for graph in posterior.top_graphs()] == [1.0]
    assert not posterior.betweenness(5).any()
    np.testing.assert_array_equal(posterior.communities(5), np.tile(np.arange(4), (5, 1)))
    np.testing.assert_array_equal(posterior.shared_community(5), np.eye(4))


# --- couplings --------------------------------------------------------------------------------


def test_means_over_graphs_and_given_presence() -> None:
    posterior = make_up()
    flat = posterior.draws.coupling.reshape(-1, 6)
    np.testing.assert_allclose(upper(posterior.coupling_averaged), flat.mean(axis=0))
    given = [flat[flat[:, edge] != 0, edge].mean() for edge in range(6)]
    np.testing.assert_allclose(upper(posterior.coupling_given_presence), given)


def test_the_average_over_graphs_is_the_mean_given_presence_times_the_probability() -> None:
    posterior = with_probability(0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
    given = np.nan_to_num(posterior.edge_mean)
    expected = given * [0.0, 0.25, 0.5, 0.75, 0.9, 1.0]
    np.testing.assert_array_equal(upper(posterior.coupling_averaged), expected)
    table = posterior.to_dataframe()
    product = table["coupling_given_presence"].fillna(0) * table["inclusion_probability"]
    np.testing.assert_allclose(table["coupling_averaged"], product)
    np.testing.assert_allclose(table["odds_ratio"], np.exp(table["coupling_given_presence"]))


def test_draws_of_edges_by_name() -> None:
    posterior = make_up()
    present, coupling = posterior.of_edges([("d", "b"), (0, 1)])
    np.testing.assert_array_equal(present, posterior.draws.present[..., [4, 0]])
    np.testing.assert_array_equal(coupling, posterior.draws.coupling[..., [4, 0]])


@pytest.mark.parametrize(
    ("edges", "code", "field", "value"),
    [
        ([("slep", "work")], "misspelled-node", "closest", "sleep"),
        ([("Work", "sleep")], "misspelled-node", "closest", "work"),
        ([("zzz", "work")], "unknown-node", "node", "'zzz'"),
        ([("work", "work")], "edge-to-itself", "node", "'work'"),
        (("sleep", "work"), "not-a-pair", "value", "'sleep'"),
        ("sleep", "not-a-list-of-pairs", "value", "'sleep'"),
    ],
)
def test_edges_that_do_not_exist(edges: Any, code: str, field: str, value: object) -> None:
    with pytest.raises(InputError) as caught:
        make_up(names=["sleep", "work", "joy"]).of_edges(edges)
    assert caught.value.code == code
    assert caught.value.fields[field] == value


def test_a_misspelled_name_gets_the_closest_one() -> None:
    with pytest.raises(InputError, match=r"no node 'slep'; did you mean 'sleep'\?"):
        make_up(names=["sleep", "work", "joy"]).of_edges([("slep", "joy")])


def shortest(values: NDArray[np.float64], mass: float) -> tuple[float, float]:
    """Find the shortest interval by exhaustive search."""
    ordered = np.sort(values)
    inside = math.floor(mass * ordered.size)
    widths = ordered[inside:] - ordered[: ordered.size - inside]
    first = int(np.argmin(widths))
    return float(ordered[first]), float(ordered[first + inside])


@pytest.mark.parametrize("mass", [0.5, 0.9])
@pytest.mark.parametrize("given_presence", [True, False])
def test_intervals(mass: float, given_presence: bool) -> None:
    posterior = make_up(2, 100)
    lower, high = map(upper, posterior.coupling_interval(mass, given_presence))
    flat = posterior.draws.coupling.reshape(-1, 6)
    for edge in range(6):
        values = flat[:, edge]
        values = values[values != 0] if given_presence else values
        assert (lower[edge], high[edge]) == pytest.approx(shortest(values, mass))


def test_intervals_of_edges_that_are_never_present() -> None:
    posterior = make_up(1, 10, probability=(0.0,) * 6)
    assert np.isnan(upper(posterior.coupling_interval()[0])).all()
    assert upper(posterior.coupling_interval(given_presence=False)[1]) == [0.0] * 6
    with pytest.raises(InputError, match="ci_prob"):
        posterior.coupling_interval(1.0)


def test_the_ising_scale_is_the_mean_over_draws() -> None:
    posterior = make_up()
    bias, coupling = posterior.to_ising()
    converted = []
    for edges, own in zip(
        posterior.draws.coupling.reshape(-1, 6), posterior.draws.bias.reshape(-1, 4), strict=True
    ):
        converted.append(BinaryField(own, posterior.interactions.as_matrix(edges)).to_ising())
    np.testing.assert_allclose(bias, np.mean([one for one, _ in converted], axis=0))
    np.testing.assert_allclose(coupling, np.mean([one for _, one in converted], axis=0))


def test_visits_are_cached_and_read_only() -> None:
    draws = make_up().draws
    assert draws.visits is draws.visits
    np.testing.assert_array_equal(draws.visits, draws.present.sum(axis=(0, 1)))
    for chain in range(draws.n_chains):
        np.testing.assert_array_equal(draws.visits_of(chain), draws.present[chain].sum(axis=0))
    with pytest.raises(ValueError, match="read-only"):
        draws.visits[0] = 7


@pytest.mark.parametrize(("n", "expected"), [(1, [0]), (3, [0, 4, 9]), (99, list(range(10)))])
def test_evenly_spaced_draws(n: int, expected: list[int]) -> None:
    assert make_up(2, 5).draws.evenly_spaced(n).tolist() == expected


# --- networks ---------------------------------------------------------------------------------


def test_the_graph_of_networkx() -> None:
    posterior = make_up(2, 100)
    graph = posterior.to_networkx(0.4)
    assert list(graph) == NAMES
    chosen = [PAIRS[k] for k in np.flatnonzero(posterior.edge_probability >= 0.4)]
    assert {frozenset(edge) for edge in graph.edges} == {
        frozenset((NAMES[i], NAMES[j])) for i, j in chosen
    }
    for i, j in chosen:
        attributes = graph.edges[NAMES[i], NAMES[j]]
        assert attributes["inclusion_probability"] == posterior.inclusion_probability[i, j]
        assert attributes["coupling_given_presence"] == posterior.coupling_given_presence[i, j]
        assert attributes["coupling_averaged"] == posterior.coupling_averaged[i, j]
        assert attributes["odds_ratio"] == posterior.odds_ratio[i, j]
        assert attributes["weight"] == abs(attributes["coupling_given_presence"])
    for k, name in enumerate(NAMES):
        assert graph.nodes[name]["bias"] == posterior.bias_mean[k]
        expected = posterior.degree[..., k].mean()
        assert graph.nodes[name]["expected_degree"] == pytest.approx(expected)
    assert posterior.to_networkx(0).number_of_edges() == 6
    with pytest.raises(InputError, match="threshold"):
        posterior.to_networkx(2)


def test_duplicate_names_are_rejected() -> None:
    with pytest.raises(InputError, match="there are 4 nodes and 3 names"):
        make_up(names=["a", "b", "a", "c"]).to_networkx()


def test_betweenness_of_a_star_and_by_strength() -> None:
    star = make_up(1, 3, probability=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    np.testing.assert_allclose(star.betweenness(), np.tile([1.0, 0, 0, 0], (3, 1)))
    present = np.ones((1, 2, 3), bool)
    coupling = np.broadcast_to([2.0, 0.1, -2.0], present.shape)
    one = np.ones((1, 2))
    draws = Draws.from_dense(coupling, present, np.zeros((1, 2, 3)), one, one, one)
    triangle = Posterior(draws, ["a", "b", "c"], {})
    # strong edges are short, so the shortest path from a to c goes through b
    assert triangle.betweenness()[0].tolist() == [0, 1, 0]
    assert triangle.betweenness(weighted=False)[0].tolist() == [0, 0, 0]


def test_measures_are_of_evenly_spaced_draws() -> None:
    posterior = make_up(2, 50)
    taken = posterior.draws.evenly_spaced(20)
    found = posterior.measure(lambda graph: graph.number_of_edges(), n_draws=20)
    np.testing.assert_array_equal(found, posterior.draws.n_present.ravel()[taken])
    degree = posterior.measure(lambda graph: dict(graph.degree), n_draws=20)
    np.testing.assert_array_equal(degree, posterior.degree.reshape(-1, 4)[taken])
    weighted = posterior.measure(lambda graph: dict(graph.degree(weight="weight")), n_draws=20)
    np.testing.assert_allclose(weighted, posterior.strength.reshape(-1, 4)[taken])


def test_communities_are_those_of_blocks() -> None:
    blocks = datasets.make_block(10, random_state=0, n_groups=2).field.edges
    within = blocks[np.triu_indices(len(blocks), 1)]
    names = [f"x{k}" for k in range(len(blocks))]
    posterior = make_up(1, 6, names, probability=tuple(within.astype(float)))
    shared = posterior.shared_community()
    parts = list(nx.connected_components(nx.from_numpy_array(blocks)))
    expected = np.zeros_like(shared)
    for part in parts:
        expected[np.ix_(list(part), list(part))] = 1
    assert np.all(shared[expected == 0] == 0)
    assert posterior.communities().shape == (6, len(blocks))
    assert np.all(posterior.communities()[:, 0] == 0)
    np.testing.assert_array_equal(posterior.communities(), posterior.communities())


# --- export -----------------------------------------------------------------------------------

READERS: dict[str, Callable[[Path], Any]] = {"graphml": nx.read_graphml, "gexf": nx.read_gexf}


@pytest.mark.parametrize("form", ["graphml", "gexf"])
def test_graphs_survive_a_round_trip(tmp_path: Path, form: str) -> None:
    posterior = make_up(names=["=1+1", "ü & <b>", "睡眠", "d"])
    path = tmp_path / f"network.{form}"
    getattr(posterior, f"write_{form}")(path, 0.3)
    expected, found = posterior.to_networkx(0.3), READERS[form](path)
    assert list(found) == list(expected)
    assert {frozenset(edge) for edge in found.edges} == {frozenset(edge) for edge in expected.edges}
    for edge in expected.edges:
        for attribute, value in expected.edges[edge].items():
            assert found.edges[edge][attribute] == pytest.approx(value), attribute
    for name in expected:
        assert found.nodes[name]["bias"] == pytest.approx(expected.nodes[name]["bias"])
        assert found.nodes[name]["name"] == found.nodes[name]["label"] == name
    assert list(tmp_path.iterdir()) == [path]


def test_every_value_in_a_graph_file_is_a_finite_number(tmp_path: Path) -> None:
    """Programs in other languages do not read nan or inf: an edge may never have been drawn."""
    posterior = make_up(1, 10, probability=(0.0,) * 6)
    posterior.write_graphml(tmp_path / "network.graphml", 0)
    edges = nx.read_graphml(tmp_path / "network.graphml").edges.values()
    assert len(edges) == 6
    assert all(math.isfinite(value) for edge in edges for value in edge.values())
    assert all(edge["odds_ratio"] == 1 for edge in edges)


@pytest.mark.parametrize("form", ["graphml", "gexf"])
def test_names_that_xml_cannot_hold_stay_distinct(tmp_path: Path, form: str) -> None:
    posterior = make_up(names=["\x1b", "\x00", "\ufffd", "\ud800"])
    path = tmp_path / "network"
    getattr(posterior, f"write_{form}")(path, 0)
    found = READERS[form](path)
    assert len(found) == 4
    assert "\ufffd" in found
    assert found.number_of_edges() == 6


def test_no_name_is_a_formula_in_a_spreadsheet(tmp_path: Path) -> None:
    names = ["=cmd()", "+1", "-c", "@b", "\tx", "＝A1", "plain", "a=b"]  # noqa: RUF001
    posterior = make_up(names=names)
    posterior.write_csv(tmp_path / "edges.csv")
    table = pd.read_csv(tmp_path / "edges.csv")
    written = {*table["node_1"], *table["node_2"]}
    assert written == {f"'{name}" for name in names[:6]} | {"plain", "a=b"}
    expected = posterior.to_dataframe()
    np.testing.assert_allclose(
        table["inclusion_probability"], expected["inclusion_probability"], rtol=1e-5
    )
    assert list(table.columns) == list(expected.columns)


@pytest.mark.parametrize("form", ["csv", "graphml", "gexf"])
def test_invalid_export_targets(tmp_path: Path, form: str) -> None:
    write = getattr(make_up(), f"write_{form}")
    with pytest.raises(InputError, match="is a folder"):
        write(tmp_path)
    with pytest.raises(InputError, match="must lie in a folder that exists"):
        write(tmp_path / "no" / "such")
