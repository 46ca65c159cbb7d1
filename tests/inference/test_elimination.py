"""Variable elimination against enumeration, and against another implementation."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from slabfield.inference import elimination, enumeration
from slabfield.inference.elimination_order import follow
from slabfield.models.field import BinaryField


def random_field(n_nodes: int, seed: int, scale: float = 1.0, density: float = 0.5) -> BinaryField:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(0, scale, (n_nodes, n_nodes)), 1)
    upper *= rng.random((n_nodes, n_nodes)) < density
    return BinaryField(rng.normal(0, scale, n_nodes), upper + upper.T)


def lattice_field(height: int, width: int, scale: float = 0.5, seed: int = 0) -> BinaryField:
    rng = np.random.default_rng(seed)
    index = np.arange(height * width).reshape(height, width)
    coupling = np.zeros((index.size, index.size))
    for one, other in ((index[:, :-1], index[:, 1:]), (index[:-1], index[1:])):
        coupling[one, other] = rng.normal(0, scale, one.shape)
    return BinaryField.from_ising(rng.normal(0, 0.1, index.size), coupling + coupling.T)


def all_pairs(n_nodes: int) -> np.ndarray:
    return np.argwhere(np.triu(np.ones((n_nodes, n_nodes)), 1))


def with_scaled_coupling(field: BinaryField, i: int, j: int, factor: float) -> BinaryField:
    coupling = field.coupling.copy()
    coupling[i, j] = coupling[j, i] = factor * coupling[i, j]
    return BinaryField(field.bias, coupling)


small_fields = st.builds(
    random_field,
    n_nodes=st.integers(1, 9),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.1, 1.0, 30.0]),
    density=st.sampled_from([0.0, 0.2, 0.5, 1.0]),
)


@given(small_fields)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_equals_enumeration_on_any_graph(field):
    result = elimination.marginals(field, pairs=all_pairs(field.n_nodes))
    mean, pair_mean = enumeration.moments(field)
    log_z = enumeration.log_partition(field)
    assert elimination.log_partition(field) == pytest.approx(log_z, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(result.mean, mean, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(result.pair_mean, pair_mean[tuple(result.pairs.T)], rtol=1e-9)
    np.testing.assert_array_equal(result.edges, np.argwhere(np.triu(field.edges)))
    np.testing.assert_allclose(result.edge_mean, pair_mean[tuple(result.edges.T)], rtol=1e-9)


@given(small_fields, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_every_separator_lies_within_its_parents_clique(field, random):
    order = list(range(field.n_nodes))
    random.shuffle(order)
    chosen = follow(field, order)
    separator_of = dict(zip(chosen.order, chosen.separators, strict=True))
    assert chosen.order == tuple(order)
    for node, separator in separator_of.items():
        later = set(order[order.index(node) + 1 :])
        assert set(separator) <= later
        assert {int(i) for i in np.flatnonzero(field.edges[node])} & later <= set(separator)
        if separator:
            assert separator[-1] == min(separator, key=order.index)
            assert set(separator[:-1]) <= set(separator_of[separator[-1]])


@pytest.mark.parametrize("scale", [0.5, 5.0])
def test_lattice_equals_dwave(scale):
    import dimod
    from dwave.samplers import TreeDecompositionSampler

    field = lattice_field(10, 10, scale)
    result = elimination.marginals(field)
    # Their energy is minus our log potential, and beta 1 makes weights exp(-energy).
    energy = dimod.BinaryQuadraticModel(
        dict(enumerate(-field.bias)),
        {(i, j): -field.coupling[i, j] for i, j in result.edges.tolist()},
        0.0,
        "BINARY",
    )
    theirs = TreeDecompositionSampler().sample(energy, beta=1.0, marginals=True, seed=1).info
    log_z = elimination.log_partition(field)
    assert log_z == pytest.approx(theirs["log_partition_function"], rel=1e-9)
    pairs = {frozenset(edge): p[1, 1] for edge, p in theirs["interaction_marginals"].items()}
    assert len(result.edges) == len(pairs) == 180
    np.testing.assert_allclose(result.mean, [theirs["variable_marginals"][i] for i in range(100)])
    np.testing.assert_allclose(
        result.edge_mean, [pairs[frozenset(edge)] for edge in result.edges.tolist()], rtol=1e-7
    )


def test_couplings_beyond_the_range_of_exp():
    chain = 4000.0 * (np.eye(30, k=1) + np.eye(30, k=-1))
    field = BinaryField(np.full(30, -1000.0), chain)
    assert elimination.log_partition(field) == 29 * 4000.0 - 30 * 1000.0
    np.testing.assert_array_equal(elimination.marginals(field, [[0, 29]]).pair_mean, [1.0])
    assert elimination.sample(field, 5, np.random.default_rng(0)).all()


def test_rare_states_keep_their_relative_accuracy():
    field = BinaryField([-100.0, -200.0], [[0.0, 5.0], [5.0, 0.0]])
    result = elimination.marginals(field)
    np.testing.assert_allclose(result.mean, np.exp([-100.0, -200.0]), rtol=1e-12)
    np.testing.assert_allclose(result.edge_mean, np.exp(-295.0), rtol=1e-12)


def test_pairs_far_apart_on_a_lattice():
    field = lattice_field(4, 5)
    requested = [[0, 19], [19, 0], [3, 3], [0, 1], [15, 4]]
    result = elimination.marginals(field, pairs=requested)
    expected = enumeration.moments(field)[1][tuple(np.array(requested).T)]
    np.testing.assert_allclose(result.pair_mean, expected, rtol=1e-10)
    assert result.pairs.tolist() == requested


def test_no_nodes_and_no_draws():
    empty = BinaryField(np.zeros(0), np.zeros((0, 0)))
    assert elimination.log_partition(empty) == 0.0
    assert elimination.marginals(empty).mean.shape == (0,)
    assert elimination.sample(empty, 3, np.random.default_rng(0)).shape == (3, 0)
    assert elimination.sample(random_field(4, 0), 0, np.random.default_rng(0)).shape == (0, 4)


# Plans and refusals


@pytest.mark.parametrize(
    ("edges", "width"),
    [
        (np.zeros((6, 6)), 0),
        (np.eye(6, k=1), 1),
        (np.eye(6, k=1) + np.eye(6, k=5), 2),
        (np.triu(np.ones((6, 6)), 1), 5),
    ],
    ids=["no edges", "chain", "ring", "complete"],
)
def test_width_of_known_graphs(edges, width):
    chosen = elimination.plan(BinaryField(np.zeros(6), edges + edges.T))
    assert chosen.width == width
    assert chosen.largest_table == 2**width


def test_lattices_need_no_more_than_their_shorter_side_or_min_fill():
    assert elimination.plan(lattice_field(16, 16)).width == 16
    assert elimination.plan(lattice_field(5, 40)).width <= 7


def test_plan_depends_on_the_graph_alone():
    field = lattice_field(6, 6)
    doubled = BinaryField(np.zeros(36), 2 * field.coupling)
    assert elimination.plan(field) == elimination.plan(doubled)


@pytest.mark.parametrize("use", ["log_partition", "marginals", "sample"])
def test_peak_memory_is_that_of_the_plan(use):
    field = lattice_field(14, 14)
    needed = getattr(elimination.plan(field), f"{use}_bytes")
    arguments = (1, np.random.default_rng(0)) if use == "sample" else ()
    tracemalloc.start()
    try:
        getattr(elimination, use)(field, *arguments, memory_limit=needed)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The plan, the field and the result take memory in addition to the tables.
    assert 0.7 * needed < peak < needed + 800_000
    with pytest.raises(elimination.TableTooLargeError, match=f"at least {needed:,} bytes"):
        getattr(elimination, use)(field, *arguments, memory_limit=needed - 1)


@pytest.mark.parametrize("use", ["log_partition", "marginals", "sample"])
def test_refuses_before_allocating(use):
    field = random_field(300, seed=0, density=0.5)
    arguments = (1, np.random.default_rng(0)) if use == "sample" else ()
    tracemalloc.start()
    try:
        with pytest.raises(elimination.TableTooLargeError) as caught:
            getattr(elimination, use)(field, *arguments)
        assert tracemalloc.get_traced_memory()[1] < 2 * 10**6
    finally:
        tracemalloc.stop()
    assert isinstance(caught.value, ValueError)
    message = str(caught.value)
    assert "does not fit the memory limit" in message
    assert "the limit is 1,073,741,824 bytes" in message
    assert "Raise memory_limit" in message
    assert caught.value.needed_bytes > caught.value.memory_limit == 2**30


def test_a_plan_without_a_limit_gives_the_memory_of_an_infeasible_field():
    complete = BinaryField(np.zeros(80), 1 - np.eye(80))
    chosen = elimination.plan(complete)
    assert chosen.width == 79
    assert chosen.log_partition_bytes == 2 * 8 * 2**79


def test_refuses_bad_arguments():
    field = random_field(4, seed=0)
    with pytest.raises(ValueError, match=r"from 0 to 3; found indices from 0 to 4\. Pass"):
        elimination.marginals(field, pairs=[[0, 4]])
    with pytest.raises(ValueError, match=r"shape \(3,\) and type"):
        elimination.marginals(field, pairs=[0, 1, 2])
    with pytest.raises(ValueError, match="memory_limit must be a whole number"):
        elimination.log_partition(field, memory_limit=0)
    with pytest.raises(ValueError, match="n must be a whole number"):
        elimination.sample(field, -1, np.random.default_rng(0))


# Draws


def goodness_of_fit(field: BinaryField, rows: np.ndarray) -> float:
    """P-value of the rows under the field; rare states are counted together."""
    expected = len(rows) * enumeration.probabilities(field)
    index = rows.astype(int) @ (1 << np.arange(field.n_nodes))
    counts = np.bincount(index, minlength=expected.size)
    rare = expected < 10
    return float(
        chisquare(
            np.append(counts[~rare], counts[rare].sum()),
            np.append(expected[~rare], expected[rare].sum()),
        ).pvalue
    )


def test_draws_have_the_right_distribution():
    field = lattice_field(2, 4, seed=3)
    rows = elimination.sample(field, 100_000, np.random.default_rng(5))
    assert rows.dtype == np.uint8
    assert goodness_of_fit(field, rows) > 1e-3


def test_draws_of_a_slightly_wrong_field_are_rejected():
    field = lattice_field(2, 4, seed=3)
    i, j = np.unravel_index(np.argmax(np.abs(field.coupling)), field.coupling.shape)
    wrong = with_scaled_coupling(field, i, j, 1.1)
    rows = elimination.sample(wrong, 100_000, np.random.default_rng(5))
    assert goodness_of_fit(field, rows) < 1e-6


def largest_deviation(field: BinaryField, rows: np.ndarray) -> float:
    """Largest distance of an edge's pair count from its mean, in standard deviations."""
    result = elimination.marginals(field)
    first, second = result.edges.T
    deviation = (rows[:, first] & rows[:, second]).mean(axis=0) - result.edge_mean
    standard_deviation = np.sqrt(result.edge_mean * (1 - result.edge_mean) / len(rows))
    return float(np.abs(deviation / standard_deviation).max())


@pytest.mark.parametrize(("factor", "passes"), [(1.0, True), (1.1, False)])
def test_draws_of_a_large_lattice(factor, passes):
    field = lattice_field(10, 10, seed=2)
    i, j = np.unravel_index(np.argmax(np.abs(field.coupling)), field.coupling.shape)
    drawn_from = with_scaled_coupling(field, i, j, factor)
    rows = elimination.sample(drawn_from, 40_000, np.random.default_rng(8))
    # 180 edges: a correct sampler exceeds 4.5 once in about 800 seeds.
    assert (largest_deviation(field, rows) < 4.5) == passes


def test_draws_are_a_function_of_the_generator():
    field = lattice_field(3, 3)
    first, second = (elimination.sample(field, 50, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
