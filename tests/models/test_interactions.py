"""The index of interactions, against NumPy's list of pairs and against plain loops."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slabfield.kernels.block_table import edge_number
from slabfield.models.binary import BinaryPairwise
from slabfield.models.interactions import Interactions
from slabfield.models.loglinear import FeatureTable, LogLinear

NODES = st.integers(0, 12)


@st.composite
def some_pairs(draw: st.DrawFn) -> Interactions:
    """Some pairs of nodes, in any order and either direction, with groups of any size."""
    n_nodes = draw(st.integers(2, 8))
    pairs = draw(st.permutations([(i, j) for j in range(n_nodes) for i in range(j)]))
    pairs = pairs[: draw(st.integers(1, len(pairs)))]
    turned = [pair[::-1] if draw(st.booleans()) else pair for pair in pairs]
    sizes = draw(st.lists(st.integers(1, 4), min_size=len(pairs), max_size=len(pairs)))
    return Interactions.of_cliques(n_nodes, turned, sizes)


PAIRWISE = NODES.map(Interactions.pairs) | some_pairs()


@given(NODES)
def test_all_pairs_are_in_the_order_of_numpy(n_nodes: int) -> None:
    pairs, (first, second) = Interactions.pairs(n_nodes), np.triu_indices(n_nodes, 1)
    assert len(pairs) == pairs.n_interactions == pairs.n_parameters == first.size
    np.testing.assert_array_equal(pairs.ends, (first, second))
    np.testing.assert_array_equal(pairs.ends_of(np.arange(first.size)), (first, second))
    np.testing.assert_array_equal(pairs.find(second, first), np.arange(first.size))
    np.testing.assert_array_equal(pairs.nodes.reshape(-1, 2), np.stack([first, second], axis=1))
    assert pairs.is_pairwise
    assert all(ends.dtype == np.int64 for ends in pairs.ends)


@given(st.integers(2, 20_000), st.data())
def test_formulas_of_large_fields(n_nodes: int, data: st.DataObject) -> None:
    pairs = Interactions.pairs(n_nodes)
    i = data.draw(st.integers(0, n_nodes - 2))
    j = data.draw(st.integers(i + 1, n_nodes - 1))
    edge = pairs.find(i, j)
    assert isinstance(edge, int)
    assert edge == pairs.find(j, i) == edge_number.py_func(n_nodes, i, j)
    assert tuple(ends.item() for ends in pairs.ends_of(edge)) == (i, j)
    assert list(pairs.cliques([edge])) == [(i, j)]
    assert len(pairs) - 1 == pairs.find(n_nodes - 1, n_nodes - 2)
    assert "ends" not in vars(pairs), "arrays of all pairs are made only when asked for"


@given(PAIRWISE)
def test_arrays_describe_the_interactions(interactions: Interactions) -> None:
    first, second = interactions.ends
    assert interactions.node_start[-1] == interactions.nodes.size == 2 * len(interactions)
    assert interactions.group_start[-1] == interactions.n_parameters
    for a, clique in enumerate(interactions.cliques()):
        members = interactions.nodes[interactions.node_start[a] : interactions.node_start[a + 1]]
        assert clique == tuple(members) == (first[a], second[a])
        start, stop = interactions.group_start[a : a + 2]
        assert interactions.group(a) == slice(start, stop)


@given(PAIRWISE)
def test_find_in_either_order(interactions: Interactions) -> None:
    first, second = interactions.ends
    every = np.arange(len(interactions))
    np.testing.assert_array_equal(interactions.find(first, second), every)
    np.testing.assert_array_equal(interactions.find(second, first), every)
    for a in every:
        assert interactions.find(int(second[a]), int(first[a])) == a


@given(PAIRWISE, st.sampled_from([np.float64, np.float32, np.int64, np.bool_]))
def test_matrices_there_and_back(interactions: Interactions, kind: type) -> None:
    rng = np.random.default_rng(len(interactions))
    values = (2 * rng.normal(size=(3, len(interactions)))).astype(kind)
    fill, diagonal = kind(1), kind(0)
    matrices = interactions.as_matrix(values, fill, diagonal)
    assert matrices.dtype == values.dtype
    np.testing.assert_array_equal(interactions.of_matrix(matrices), values)
    np.testing.assert_array_equal(interactions.of_matrix(matrices[1].T), values[1])
    size = interactions.n_nodes
    expected = np.full((3, size, size), fill)
    expected[:, range(size), range(size)] = diagonal
    for a, (i, j) in enumerate(interactions.cliques()):
        expected[:, i, j] = expected[:, j, i] = values[:, a]
    np.testing.assert_array_equal(matrices, expected)


@given(NODES, st.data())
def test_matrices_of_all_pairs_agree_with_numpy(n_nodes: int, data: st.DataObject) -> None:
    matrix = np.random.default_rng(n_nodes).normal(size=(n_nodes, n_nodes))
    pairs, upper = Interactions.pairs(n_nodes), np.triu_indices(n_nodes, 1)
    values = pairs.of_matrix(matrix)
    np.testing.assert_array_equal(values, matrix[upper])
    expected = np.zeros((n_nodes, n_nodes))
    expected[upper] = values
    np.testing.assert_array_equal(pairs.as_matrix(values), expected + expected.T)


def test_bits_of_values_are_kept() -> None:
    values = np.array([-0.0, np.nan, np.inf])
    matrix = Interactions.pairs(3).as_matrix(values, diagonal=7)
    assert Interactions.pairs(3).of_matrix(matrix).tobytes() == values.tobytes()
    assert Interactions.pairs(3).of_matrix(matrix.T).tobytes() == values.tobytes()
    assert np.diag(matrix).tolist() == [7, 7, 7]


@given(PAIRWISE, st.data())
def test_labels(interactions: Interactions, data: st.DataObject) -> None:
    size = interactions.n_nodes
    names = data.draw(st.lists(st.text(max_size=3), min_size=size, max_size=size))
    expected = [f"{names[i]} - {names[j]}" for i, j in zip(*interactions.ends, strict=True)]
    assert interactions.labels(names) == expected
    which = data.draw(st.lists(st.sampled_from(range(len(expected))))) if expected else []
    assert interactions.labels(names, which) == [expected[a] for a in which]
    other = [label.replace(" - ", ", ") for label in expected if " " not in "".join(names)]
    assert interactions.labels(names, separator=", ")[: len(other)] == other


def test_cliques_of_any_size() -> None:
    cliques = Interactions.of_cliques(4, [(0, 3, 1), (2, 3)], group_sizes=[4, 2])
    assert (len(cliques), cliques.n_parameters, cliques.is_pairwise) == (2, 6, False)
    assert cliques.node_start.tolist() == [0, 3, 5]
    assert cliques.nodes.tolist() == [0, 3, 1, 2, 3]
    assert cliques.group_start.tolist() == [0, 4, 6]
    assert cliques.labels("abcd") == ["a - d - b", "c - d"]
    for use in (
        lambda: cliques.ends,
        lambda: cliques.find(2, 3),
        lambda: cliques.as_matrix([1, 2]),
        lambda: cliques.of_matrix(np.zeros((4, 4))),
    ):
        with pytest.raises(ValueError, match=r"two nodes.*\(0, 3, 1\)"):
            use()


@pytest.mark.parametrize(("i", "j"), [(1, 1), (-1, 2), (0, 3), ([0, 1], [2, 1])])
@pytest.mark.parametrize(
    "interactions",
    [Interactions.pairs(3), Interactions.of_cliques(3, [(0, 1), (2, 0), (1, 2)], [1, 1, 1])],
    ids=["all", "listed"],
)
def test_pairs_that_are_none(interactions: Interactions, i: object, j: object) -> None:
    with pytest.raises(ValueError, match="two different nodes"):
        interactions.find(i, j)


def test_a_pair_that_is_no_candidate() -> None:
    with pytest.raises(ValueError, match="found nodes without one"):
        Interactions.of_cliques(3, [(0, 1)], [1]).find(1, 2)


def test_bad_cliques_and_values() -> None:
    with pytest.raises(ValueError, match=r"distinct nodes from 0 to 2; found \(1, 1\)"):
        Interactions.of_cliques(3, [(0, 1), (1, 1)], [1, 1])
    with pytest.raises(ValueError, match=r"from 0 to 2; found \(0, 3\)"):
        Interactions.of_cliques(3, [(0, 3)], [1])
    with pytest.raises(ValueError, match="1 interactions and 2 sizes"):
        Interactions.of_cliques(3, [(0, 1)], [1, 1])
    with pytest.raises(ValueError, match="each of the 3 interactions; found 1"):
        Interactions.pairs(3).as_matrix([1.0])


def test_the_index_is_immutable_and_pickles_without_its_arrays() -> None:
    pairs = Interactions.pairs(200)
    with pytest.raises(FrozenInstanceError):
        pairs.n_nodes = 3  # type: ignore[misc]
    assert pairs.ends[0] is pairs.ends[0]
    stored = pickle.dumps(pairs)
    assert len(stored) < 500
    assert pickle.loads(stored) == pairs
    assert pairs != Interactions.pairs(201)


def test_models_own_their_interactions() -> None:
    pairwise = BinaryPairwise(4)
    assert pairwise.interactions is pairwise.interactions
    assert pairwise.interactions == Interactions.pairs(4)
    assert pairwise.ends is pairwise.interactions.ends
    tables = [
        FeatureTable((0, 1, 2), np.zeros((2, 2, 3, 2))),
        FeatureTable((1, 2), np.zeros((2, 3, 4))),
    ]
    model = LogLinear((2, 2, 3), tables)
    assert (model.n_interactions, model.group(1)) == (2, slice(2, 6))
    assert model.group_start is model.interactions.group_start
    assert list(model.interactions.cliques()) == [(0, 1, 2), (1, 2)]
