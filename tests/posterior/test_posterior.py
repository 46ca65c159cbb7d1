"""Posterior summaries, diagnostics and warnings, from made-up draws."""

import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

from slabfield.draws import Draws
from slabfield.posterior import Posterior

NAMES = ["a", "b", "c"]
"""Edges, in order: a - b, a - c, b - c."""


def posterior_of(
    present: NDArray[np.bool_],
    coupling: NDArray[np.float64] | None = None,
    names: list[str] | None = None,
    p0: NDArray[np.float64] | None = None,
    bias: NDArray[np.float64] | None = None,
) -> Posterior:
    """Make a posterior of these edges; p0, sigma0 and biases are independent draws."""
    rng = np.random.default_rng(0)
    names = NAMES if names is None else names
    chains, draws, _ = present.shape
    if coupling is None:
        coupling = np.where(present, 1.0 + rng.random(present.shape), 0.0)
    bias = rng.standard_normal((chains, draws, len(names))) if bias is None else bias
    p0 = rng.random((chains, draws)) if p0 is None else p0
    sigma0 = rng.gamma(5.0, size=(chains, draws))
    potential = rng.standard_normal((chains, draws))
    made_up = Draws.from_dense(coupling, present, bias, p0, sigma0, potential)
    return Posterior(made_up, names, {"engine": "exact"})


def coin_tosses(
    chains: int, draws: int, probability: tuple[float, ...] = (0.3, 0.5, 0.7), seed: int = 1
) -> NDArray[np.bool_]:
    """Independent indicators, each edge with its own probability."""
    uniform = np.random.default_rng(seed).random((chains, draws, len(probability)))
    return np.asarray(uniform < np.array(probability))


@pytest.fixture
def by_hand() -> Posterior:
    """Two chains of two draws: a - b in three of four, a - c never, b - c in one."""
    present = np.array(
        [[[True, False, False], [True, False, True]], [[True, False, False], [False, False, False]]]
    )
    coupling = np.zeros(present.shape)
    coupling[:, :, 0] = [[1.0, 2.0], [6.0, 0.0]]
    coupling[0, 1, 2] = -0.5
    return posterior_of(present, coupling)


# --- summaries --------------------------------------------------------------------------------


def test_inclusion_probability_is_symmetric_with_a_zero_diagonal(by_hand: Posterior) -> None:
    expected = [[0, 0.75, 0], [0.75, 0, 0.25], [0, 0.25, 0]]
    np.testing.assert_array_equal(by_hand.inclusion_probability, expected)
    np.testing.assert_array_equal(by_hand.edge_probability, [0.75, 0, 0.25])


def test_the_mean_of_a_coupling_is_given_presence(by_hand: Posterior) -> None:
    expected = [[0, 3, np.nan], [3, 0, -0.5], [np.nan, -0.5, 0]]
    np.testing.assert_array_equal(by_hand.coupling_given_presence, expected)


def test_biases_and_density(by_hand: Posterior) -> None:
    np.testing.assert_allclose(by_hand.bias_mean, by_hand.draws.bias.mean(axis=(0, 1)))
    np.testing.assert_allclose(by_hand.density, [[1 / 3, 2 / 3], [1 / 3, 0]])


def test_the_table_summarizes_the_draws(by_hand: Posterior) -> None:
    table = by_hand.to_dataframe()
    assert list(table.columns) == [
        "node_1", "node_2", "inclusion_probability", "bayes_factor", "log_bayes_factor_mcse",
        "evidence", "coupling_given_presence", "sd_given_presence", "lower_given_presence",
        "upper_given_presence", "coupling_averaged", "odds_ratio", "rhat", "ess",
    ]  # fmt: skip
    assert list(zip(table["node_1"], table["node_2"], strict=True)) == [
        ("a", "b"),
        ("b", "c"),
        ("a", "c"),
    ]
    np.testing.assert_array_equal(table["inclusion_probability"], [0.75, 0.25, 0])
    np.testing.assert_array_equal(table["coupling_given_presence"], [3, -0.5, np.nan])
    np.testing.assert_array_equal(table["coupling_averaged"], [2.25, -0.125, 0])
    np.testing.assert_allclose(table["odds_ratio"], [np.exp(3), np.exp(-0.5), np.nan])
    # one draw of b - c has a mean but no sd
    np.testing.assert_allclose(table["sd_given_presence"], [np.std([1, 2, 6]), np.nan, np.nan])
    np.testing.assert_array_equal(table["lower_given_presence"], [1, np.nan, np.nan])
    np.testing.assert_array_equal(table["upper_given_presence"], [6, np.nan, np.nan])
    assert table["rhat"].isna().all()
    assert table["ess"].isna().all()


def test_edges_of_equal_probability_are_listed_by_strength() -> None:
    present = np.ones((2, 10, 3), dtype=bool)
    coupling = np.broadcast_to([0.5, -2.0, 1.0], present.shape)
    table = posterior_of(present, coupling).to_dataframe()
    assert list(table["coupling_given_presence"]) == [-2.0, 1.0, 0.5]


def test_the_interval_is_the_shortest_that_holds_95_percent() -> None:
    present = np.ones((1, 100, 1), dtype=bool)
    values = np.concatenate([np.linspace(0, 1, 96), [10, 20, 30, 40]])
    table = posterior_of(present, values.reshape(1, 100, 1), ["a", "b"]).to_dataframe()
    assert (table["lower_given_presence"][0], table["upper_given_presence"][0]) == (0, 1)


# --- diagnostics ------------------------------------------------------------------------------


def test_an_edge_that_never_changes_has_no_diagnostics() -> None:
    present = coin_tosses(4, 200)
    present[:, :, 0], present[:, :, 1] = False, True
    posterior = posterior_of(present)
    for name in ("rhat_present", "ess_present"):
        np.testing.assert_array_equal(np.isnan(posterior.diagnostics[name]), [True, True, False])
    np.testing.assert_array_equal(
        np.isnan(posterior.diagnostics["ess_coupling"]), [True, False, False]
    )
    assert posterior.converged


def test_diagnostics_of_everything_that_mixes() -> None:
    posterior = posterior_of(coin_tosses(4, 500))
    assert set(posterior.diagnostics) == {
        f"{kind}_{name}"
        for kind in ("rhat", "ess")
        for name in ("present", "coupling", "bias", "p0", "sigma0", "density", "potential")
    }
    for name, values in posterior.diagnostics.items():
        size = 1 if name.split("_")[1] in ("p0", "sigma0", "density", "potential") else 3
        assert values.shape == (size,)
        limits = (0.99, 1.01) if name.startswith("rhat") else (1500, 2800)
        assert np.all((values > limits[0]) & (values < limits[1])), name


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 4), (2, 5), (3, 6), (1, 7), (2, 100)])
def test_few_draws_and_probability_one_half_raise_no_warnings(shape: tuple[int, int]) -> None:
    half = np.arange(np.prod(shape)).reshape(*shape, 1) % 2 == 0
    posterior = posterior_of(np.concatenate([half, ~half, half], axis=2))
    table = posterior.to_dataframe()
    assert table["ess"].notna().all() == (shape[1] >= 4)
    assert isinstance(posterior.warnings, list)


def test_a_change_only_in_the_middle_draw_counts_as_constant() -> None:
    present = np.zeros((2, 5, 3), dtype=bool)
    present[:, 2, 0] = True
    posterior = posterior_of(present)
    assert np.isnan(posterior.diagnostics["ess_present"]).all()
    assert "a - b" in posterior.warnings[-1]


def test_given_probabilities_for_all_edges_leave_p0_undefined_without_warning() -> None:
    present = coin_tosses(4, 400)
    posterior = posterior_of(present, p0=np.full((4, 400), np.nan))
    assert np.isnan(posterior.diagnostics["rhat_p0"]).all()
    assert posterior.warnings == []


# --- convergence and warnings -----------------------------------------------------------------


def test_draws_that_mix_are_converged() -> None:
    posterior = posterior_of(coin_tosses(4, 500))
    assert posterior.warnings == []
    assert posterior.converged


@pytest.mark.parametrize("chains", [2, 4, 40])
def test_chains_that_disagree_about_an_edge_are_not_converged(chains: int) -> None:
    present = coin_tosses(chains, 300)
    present[:, :, 1] = False
    present[0, :, 1] = True
    posterior = posterior_of(present)
    assert posterior.diagnostics["rhat_present"][1] == np.inf
    assert not posterior.converged
    (warning,) = (text for text in posterior.warnings if "edge" in text)
    assert warning.startswith("The inclusion probability of 1 edge is imprecise (worst: a - c): ")
    assert "a - b" not in warning
    assert warning.endswith("Resume the run.")


def test_an_edge_that_changes_once_in_a_run_is_not_converged() -> None:
    present = coin_tosses(4, 300)
    present[:, :150, 2] = True
    present[:, 150:, 2] = False
    posterior = posterior_of(present)
    assert not posterior.converged
    assert any("b - c" in text for text in posterior.warnings)


def test_the_worst_edges_are_named_first_and_three_at_most() -> None:
    present = coin_tosses(2, 800, probability=(0.5,) * 6)
    # an edge of stride s changes only every s draws; in order ab, ac, ad, bc, bd, cd
    stride = np.array([1, 100, 40, 400, 20, 1])
    present = present[:, np.arange(800)[:, None] // stride, np.arange(6)]
    posterior = posterior_of(present, names=["a", "b", "c", "d"])
    (warning,) = (text for text in posterior.warnings if "edge" in text)
    assert warning.startswith("The inclusion probabilities of 4 edges are imprecise")
    assert "(worst: b - c, a - c, a - d)" in warning


def test_an_edge_that_is_nearly_certain_may_change_rarely() -> None:
    present = coin_tosses(4, 500)
    present[:, :, 0] = True
    present[0, 3:9, 0] = False
    assert posterior_of(present).converged


@pytest.mark.parametrize("drift", [0.0, 3.0])
def test_p0_that_drifts_is_not_converged(drift: float) -> None:
    rng = np.random.default_rng(3)
    p0 = rng.random((4, 400)) + np.linspace(0, drift, 400)
    posterior = posterior_of(coin_tosses(4, 400), p0=p0)
    assert posterior.converged == (drift == 0)
    if drift:
        assert posterior.warnings[0].startswith("p0 has not converged: R-hat ")


@pytest.mark.parametrize("at", ["one place", "different places"])
def test_chains_that_stand_still_are_not_converged(at: str) -> None:
    """As if all Metropolis steps were rejected; p0 and sigma0, which vary, would not show it."""
    start = np.zeros((4, 1, 3)) if at == "one place" else np.arange(12.0).reshape(4, 1, 3)
    posterior = posterior_of(np.ones((4, 300, 3), bool), bias=np.tile(start, (1, 300, 1)))
    (warning,) = posterior.warnings
    assert warning.startswith("The biases of 3 nodes have too few effective draws")


def test_a_bias_that_moves_slowly_is_not_converged() -> None:
    rng = np.random.default_rng(5)
    bias = rng.standard_normal((4, 300, 3))
    bias[:, :, 1] = np.cumsum(bias[:, :, 1], axis=1)
    (warning,) = posterior_of(coin_tosses(4, 300), bias=bias).warnings
    assert warning.startswith("The bias of 1 node has too few")
    assert "(worst: b)" in warning


def test_one_chain_alone_is_not_converged() -> None:
    posterior = posterior_of(coin_tosses(1, 1000))
    assert not posterior.converged
    assert posterior.warnings == [
        "Convergence cannot be judged from fewer than four chains; this run has 1. Run with "
        "n_chains=4."
    ]
    assert np.isnan(posterior.diagnostics["rhat_present"]).all()
    assert np.all(posterior.diagnostics["ess_present"] > 500)


def test_warnings_about_one_short_chain_have_no_rhat() -> None:
    first, *rest = posterior_of(coin_tosses(1, 50)).warnings
    assert "this run has 1" in first
    assert any(text.startswith("p0 has not converged: ") for text in rest)
    assert not any("nan" in text for text in rest)


def test_three_draws_are_too_few() -> None:
    (warning,) = posterior_of(coin_tosses(4, 3)).warnings
    assert warning.startswith("3 draws per chain are too few to judge convergence.")


# --- as an object -----------------------------------------------------------------------------


def test_repr(by_hand: Posterior) -> None:
    assert repr(by_hand) == (
        "<Posterior of 3 nodes by exact: 2 chains of 2 draws; 3 possible edges, strong evidence "
        "for 0 and against 0>"
    )
    factor = by_hand.edge_bayes_factor
    assert not np.any((factor > 10) | (factor < 0.1))


def test_repr_counts_strong_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = posterior_of(coin_tosses(1, 50))
    factors = np.full(posterior.draws.n_edges, 11.0)
    factors[0] = 0.05
    monkeypatch.setattr(Posterior, "edge_bayes_factor", factors)
    assert ": 1 chain of 50 draws;" in repr(posterior)
    assert f"strong evidence for {factors.size - 1} and against 1>" in repr(posterior)


def test_pickling_keeps_everything() -> None:
    posterior = posterior_of(coin_tosses(2, 100))
    before = posterior.to_dataframe()
    again = pickle.loads(pickle.dumps(posterior))
    assert again.to_dataframe().equals(before)
    assert again.warnings == posterior.warnings
    assert again.settings == posterior.settings
