"""Marginals of nodes given the known entries of a row, against enumeration."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from slabfield.kernels.gibbs import new_streams
from slabfield.kernels.row_marginals import find_components, sum_out_hidden
from slabfield.models.field import BinaryField


def random_field(n_nodes: int, seed: int, share: float, scale: float = 1.0) -> BinaryField:
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=(n_nodes, n_nodes)) * (rng.random((n_nodes, n_nodes)) < share)
    upper = scale * np.triu(drawn, 1)
    return BinaryField(scale * rng.normal(size=n_nodes), upper + upper.T)


def random_gaps(n_rows: int, n_nodes: int, share: float) -> tuple[NDArray, NDArray[np.bool_]]:
    rng = np.random.default_rng(n_rows)
    hidden = rng.random((n_rows, n_nodes)) < share
    return np.where(hidden, 0.0, rng.integers(0, 2, hidden.shape)), hidden


def enumerated(field: BinaryField, row: NDArray, hidden: NDArray[np.bool_], node: int) -> float:
    """P(node = 1 given the known others), from log weights of all states that agree with them."""
    free = hidden.copy()
    free[node] = True
    states = np.tile(row, (2 ** int(free.sum()), 1))
    states[:, free] = list(itertools.product([0, 1], repeat=int(free.sum())))
    logs = field.log_potential(states)
    weights = np.exp(logs - logs.max())
    return float(weights[states[:, node] == 1].sum() / weights.sum())


def marginals(
    field: BinaryField,
    rows: NDArray,
    hidden: NDArray[np.bool_],
    wanted: NDArray[np.bool_] | None = None,
    max_enumerated: int = 16,
    sweeps: tuple[int, int] = (100, 200),
    function=sum_out_hidden,
) -> NDArray:
    found = np.full(rows.shape, np.nan)
    wanted = np.ones(field.n_nodes, bool) if wanted is None else wanted
    streams = new_streams(8, np.random.default_rng(0))
    function(
        rows, hidden, field.bias + rows @ field.coupling, np.array(field.coupling), wanted,
        max_enumerated, streams, *sweeps, found,
    )  # fmt: skip
    return found


def all_enumerated(field: BinaryField, rows: NDArray, hidden: NDArray[np.bool_]) -> NDArray:
    return np.array(
        [
            [enumerated(field, row, gaps, node) for node in range(field.n_nodes)]
            for row, gaps in zip(rows, hidden, strict=True)
        ]
    )


@pytest.mark.parametrize("share", [0.0, 0.15, 0.5, 1.0])
@pytest.mark.parametrize("gaps", [0.0, 0.3, 0.8, 1.0])
def test_marginals_equal_enumeration(share: float, gaps: float) -> None:
    field = random_field(8, 3, share)
    rows, hidden = random_gaps(12, 8, gaps)
    expected = all_enumerated(field, rows, hidden)
    np.testing.assert_allclose(marginals(field, rows, hidden), expected, rtol=1e-12)
    # the test has power
    wrong = BinaryField(field.bias, 1.01 * field.coupling)
    assert share == 0 or np.abs(marginals(wrong, rows, hidden) - expected).max() > 1e-4


def test_couplings_beyond_the_range_of_exp() -> None:
    field = random_field(6, 5, 0.8, scale=400.0)
    rows, hidden = random_gaps(20, 6, 0.4)
    found = marginals(field, rows, hidden)
    np.testing.assert_allclose(found, all_enumerated(field, rows, hidden), atol=1e-12)


def test_only_wanted_nodes_are_filled_and_the_others_do_not_matter() -> None:
    field = random_field(8, 1, 0.4)
    rows, hidden = random_gaps(10, 8, 0.4)
    wanted = np.array([1, 0, 0, 1, 0, 0, 1, 0], bool)
    found = marginals(field, rows, hidden, wanted)
    np.testing.assert_array_equal(found[:, wanted], marginals(field, rows, hidden)[:, wanted])
    assert np.isnan(found[:, ~wanted]).all()


def test_sampled_marginals_are_close_to_enumerated_ones() -> None:
    """Components above the limit are sampled, smaller ones that touch the same node are not."""
    field = random_field(9, 2, 0.3)
    rows, hidden = random_gaps(15, 9, 0.6)
    exact = marginals(field, rows, hidden)
    sampled = marginals(field, rows, hidden, max_enumerated=2, sweeps=(200, 4_000))
    assert 0 < np.abs(sampled - exact).max() < 0.015
    wrong = marginals(BinaryField(field.bias, 1.2 * field.coupling), rows, hidden)
    assert np.abs(wrong - exact).max() > 0.015


def test_a_row_does_not_depend_on_the_others() -> None:
    field = random_field(9, 2, 0.5)
    rows, hidden = random_gaps(6, 9, 0.6)
    together = marginals(field, rows, hidden, max_enumerated=2)
    alone = [marginals(field, rows[[k]], hidden[[k]], max_enumerated=2)[0] for k in range(6)]
    np.testing.assert_array_equal(together, alone)


def test_compiled_marginals_equal_their_plain_python() -> None:
    field = random_field(6, 4, 0.5)
    rows, hidden = random_gaps(4, 6, 0.7)
    options = {"max_enumerated": 2, "sweeps": (2, 3)}
    compiled = marginals(field, rows, hidden, **options)
    plain = marginals(field, rows, hidden, **options, function=sum_out_hidden.py_func)
    np.testing.assert_allclose(compiled, plain, atol=1e-6)


def test_components_are_those_of_the_hidden_nodes() -> None:
    coupling = np.zeros((7, 7))
    for i, j in ((0, 2), (2, 5), (1, 3), (3, 4)):
        coupling[i, j] = coupling[j, i] = 1.0
    hidden = np.array([0, 1, 2, 4, 5, 6])  # node 3, which is known, joins 1 and 4
    order, start = np.zeros(7, np.int64), np.zeros(8, np.int64)
    count = getattr(find_components, "py_func", find_components)(hidden, 6, coupling, order, start)
    found = [sorted(order[start[c] : start[c + 1]].tolist()) for c in range(count)]
    assert found == [[0, 2, 5], [1], [4], [6]]
