"""Posteriors of nodes with levels: summaries, tables, conversion, convergence, files."""

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import sparse

from made_up_posteriors import make_up_levels, mixed_variables
from slabfield import Posterior, load_posterior
from slabfield.draws import Draws
from slabfield.encoding import Encoder, Variable
from slabfield.models.pairwise import pairwise_model
from slabfield.posterior.bayes_factors import MIN_VISITS, least_of_group
from slabfield.posterior.evidence_classes import evidence_sentences
from slabfield.posterior.exports import read_edges
from slabfield.posterior.methods_levels import dropped_levels
from slabfield.posterior.storage import save_posterior
from slabfield.validation import InputError

PLACE_WORK, SLEEP_MOOD, SLEEP_WORRY = ("place", "work"), ("sleep", "mood"), ("sleep", "worry")
STRENGTHS = {"place", "work"}
"""The nominal nodes: pairs with one of them have several parameters."""


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    return make_up_levels()


@pytest.fixture(scope="module")
def scored() -> Posterior:
    """Binary, ordinal and Blume-Capel nodes only."""
    return make_up_levels(mixed_variables()[:4])


def edge_of(posterior: Posterior, pair: tuple[str, str]) -> int:
    i, j = (posterior.feature_names.index(name) for name in pair)
    return int(posterior.interactions.find(i, j))


# --- summaries --------------------------------------------------------------------------------


def test_biases_are_named_by_node_and_level(posterior: Posterior) -> None:
    assert posterior.bias_names == [
        "sleep", "mood[2]", "mood[3]", "mood[4]", "mood[5]", "worry[rarely]", "worry[often]",
        "opinion[linear]", "opinion[quadratic]", "place[south]", "place[west]", "work[shop]",
        "work[farm]", "work[none]",
    ]  # fmt: skip
    assert posterior.bias_mean.shape == (14,)
    assert posterior.bias_start.tolist() == pairwise_model(mixed_variables()).bias_start.tolist()


def test_a_pair_with_a_nominal_node_has_a_strength_without_sign(posterior: Posterior) -> None:
    table = posterior.to_dataframe()
    nominal = table["node_1"].isin(STRENGTHS) | table["node_2"].isin(STRENGTHS)
    np.testing.assert_array_equal(table["kind"] == "strength", nominal)
    assert (table["coupling_given_presence"][nominal] >= 0).all()
    assert (table["coupling_given_presence"][~nominal] < 0).any()
    edge = edge_of(posterior, PLACE_WORK)
    group = posterior.draws.group(edge)
    norms = np.linalg.norm(group, axis=-1)[group[..., 0] != 0]
    assert posterior.edge_mean[edge] == pytest.approx(norms.mean())
    for column in ("coupling_raw", "odds_ratio"):
        assert table[column][nominal].isna().all()


def test_the_raw_coupling_is_the_log_odds_ratio_of_adjacent_levels(posterior: Posterior) -> None:
    weights = posterior.interaction_table("mood", "opinion").to_numpy()
    ratios = weights[1:, 1:] - weights[:-1, 1:] - weights[1:, :-1] + weights[:-1, :-1]
    i, j = (posterior.feature_names.index(name) for name in ("mood", "opinion"))
    np.testing.assert_allclose(ratios, posterior.coupling_raw[i, j])
    assert posterior.odds_ratio[i, j] == pytest.approx(np.exp(posterior.coupling_raw[i, j]))
    assert abs(posterior.coupling_raw[i, j]) < 0.2 * abs(posterior.coupling_given_presence[i, j])


def test_binary_tables_have_no_further_columns() -> None:
    binary = make_up_levels([Variable.binary(name, (0, 1)) for name in "abc"])
    assert not binary.has_levels
    assert binary.bias_names == ["a", "b", "c"]
    assert {"coupling_raw", "kind"}.isdisjoint(binary.to_dataframe().columns)
    np.testing.assert_array_equal(binary.coupling_raw, binary.coupling_given_presence)


def test_a_nominal_node_of_two_levels_is_like_a_binary_one() -> None:
    two = Variable("sex", "nominal", ("f", "m"), ())
    posterior = make_up_levels([two, Variable.binary("sleep", (0, 1))])
    assert posterior.edge_is_signed.all()
    table = posterior.interaction_table("sex", "sleep").to_numpy()
    ratio = table[1, 1] - table[1, 0] - table[0, 1] + table[0, 0]
    assert posterior.coupling_raw[0, 1] == pytest.approx(ratio)


def test_the_table_of_thresholds(posterior: Posterior) -> None:
    table = posterior.thresholds()
    assert [f"{row.node}[{row.level}]" for row in table.itertuples()][1:] == (
        posterior.bias_names[1:]
    )
    values = posterior.draws.bias.reshape(-1, 14)
    np.testing.assert_allclose(table["mean"], values.mean(axis=0))
    np.testing.assert_allclose(table["sd"], values.std(axis=0))
    inside = (values >= table["lower"].to_numpy()) & (values <= table["upper"].to_numpy())
    np.testing.assert_allclose(inside.mean(axis=0), 0.95, atol=0.01)
    narrow = posterior.thresholds(0.5)
    assert (narrow["upper"] - narrow["lower"] < table["upper"] - table["lower"]).all()


# --- tables of pairs --------------------------------------------------------------------------


@pytest.mark.parametrize("pair", [("place", "work"), ("work", "mood"), ("opinion", "sleep")])
def test_the_table_of_a_pair_is_the_mean_of_the_fields(
    posterior: Posterior, pair: tuple[str, str]
) -> None:
    model, draws = pairwise_model(posterior.variables), posterior.draws
    i, j = (posterior.feature_names.index(name) for name in pair)
    present = draws.present[..., edge_of(posterior, pair)].ravel()
    parameters = draws.parameters.toarray()[present]
    fields = [model.field(np.zeros(model.n_biases), row).pair_energy(i, j) for row in parameters]
    table = posterior.interaction_table(*pair)
    np.testing.assert_allclose(table, np.mean(fields, axis=0), atol=1e-12)
    assert (table.index.name, table.columns.name) == pair
    np.testing.assert_array_equal(table.T, posterior.interaction_table(*pair[::-1]))


def test_weights_of_nominal_levels_sum_to_zero(posterior: Posterior) -> None:
    both = posterior.interaction_table("place", "work")
    np.testing.assert_allclose([*both.sum(), *both.sum(axis=1)], 0, atol=1e-12)
    one = posterior.interaction_table("place", "mood")
    np.testing.assert_allclose(one.sum(), 0, atol=1e-12)
    np.testing.assert_array_equal(one["1"], 0)


def test_the_table_of_a_pair_that_was_never_present_is_nan(posterior: Posterior) -> None:
    assert posterior.interaction_table(*SLEEP_WORRY).isna().all(axis=None)


def test_a_pair_needs_two_nodes(posterior: Posterior) -> None:
    with pytest.raises(InputError, match="'plaze'"):
        posterior.interaction_table("sleep", "plaze")
    with pytest.raises(InputError):
        posterior.interaction_table("sleep", "sleep")


# --- other programs ---------------------------------------------------------------------------


def bgms_weights(posterior: Posterior, rows: np.ndarray) -> np.ndarray:
    """Log weights of rows in bgms's model, with the converted parameters."""
    main, pairwise = posterior.to_bgms()
    scores = np.zeros(rows.shape)
    total = np.zeros(len(rows))
    for i, variable in enumerate(posterior.variables):
        place = np.array(variable.positions) - variable.positions[0]
        if variable.reference is None:
            thresholds = np.array([0.0, *main[i, : variable.n_levels - 1]])
        else:
            place = np.array(variable.positions) - variable.reference
            thresholds = main[i, 0] * place + main[i, 1] * place**2
        scores[:, i] = place[rows[:, i]]
        total += thresholds[rows[:, i]]
    return total + np.einsum("ri,ij,rj->r", scores, pairwise, scores)


@pytest.mark.parametrize("first", [0.0, -0.7])
def test_bgms_gives_the_same_distribution(scored: Posterior, first: float) -> None:
    variables = [
        replace(variable, scores=tuple(score + first for score in variable.scores))
        for variable in scored.variables
    ]
    posterior = replace(scored, encoder=Encoder(tuple(variables)))
    model = pairwise_model(variables)
    rows = np.random.default_rng(0).integers(0, model.n_states, (50, 4))
    theta = model.interactions.of_matrix(posterior.coupling_averaged)
    expected = model.log_potential(rows, posterior.bias_mean, theta)
    found = bgms_weights(posterior, rows)
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-10)


def test_interactions_of_bgms_are_half_the_log_odds_ratio(scored: Posterior) -> None:
    _, pairwise = scored.to_bgms()
    averaged = np.nan_to_num(scored.coupling_raw) * scored.inclusion_probability
    np.testing.assert_allclose(pairwise, averaged / 2, atol=1e-12)


def test_bgms_has_no_nominal_variables(posterior: Posterior, scored: Posterior) -> None:
    with pytest.raises(InputError) as caught:
        posterior.to_bgms()
    assert caught.value.code == "not-in-bgms"
    assert "'place' and 'work'" in str(caught.value)
    uneven = replace(scored.variables[1], scores=(0.0, 1.0, 2.0, 3.0, 9.0))
    variables = (scored.variables[0], uneven, *scored.variables[2:])
    with pytest.raises(InputError, match="not equally spaced: 'mood'"):
        replace(scored, encoder=Encoder(variables)).to_bgms()


def test_the_ising_model_has_two_states(scored: Posterior) -> None:
    with pytest.raises(InputError) as caught:
        scored.to_ising()
    assert caught.value.code == "levels-not-ising"
    assert "ordinal 'mood'" in str(caught.value)


# --- Bayes factors ----------------------------------------------------------------------------


def test_what_is_within_reach_with_several_parameters() -> None:
    rng = np.random.default_rng(3)
    covariance = np.array([[0.04, 0.01], [0.01, 0.09]])
    values = rng.multivariate_normal([5.0, -3.0], covariance, 40_000).T
    expected = np.sqrt(np.linalg.det(covariance)) / 0.8**2
    assert least_of_group(values, np.array([0.8])) == pytest.approx(expected, rel=0.02)
    assert least_of_group(values, np.array([0.01])) == 1.0
    assert np.isnan(least_of_group(values[:, : 2 * MIN_VISITS - 1], np.array([0.8])))


def test_one_parameter_is_the_ratio_of_standard_deviations(posterior: Posterior) -> None:
    least = posterior.edge_least_bayes_factor
    edge, draws = edge_of(posterior, ("worry", "opinion")), posterior.draws
    sd = draws.values.tocsc()[:, [edge]].data.std()
    some = np.unique(np.linspace(0, draws.sigma0.size - 1, 400).astype(int))
    assert least[edge] == pytest.approx(sd * np.mean(1 / draws.sigma0.ravel()[some]))
    nominal = edge_of(posterior, PLACE_WORK)
    group = draws.group(nominal)[draws.present[..., nominal]]
    scales = draws.sigma0_nominal.ravel()[some]
    expected = np.sqrt(np.linalg.det(np.cov(group.T))) * np.mean(scales**-6)
    assert least[nominal] == pytest.approx(expected)


def test_edges_out_of_reach_are_left_out_of_the_sentence(posterior: Posterior) -> None:
    least = posterior.edge_least_bayes_factor
    seldom = edge_of(posterior, ("worry", "work"))
    assert np.isnan(least[seldom])
    # never present, but the shares of the levels are known
    never = edge_of(posterior, SLEEP_WORRY)
    information = 300 * 0.25 * np.var(posterior.variables[2].scores)
    sigma0 = posterior.draws.sigma0
    assert least[never] == pytest.approx(np.mean((1 + sigma0**2 * information) ** -0.5), rel=0.02)
    assert "nan" not in " ".join(evidence_sentences(posterior))


# --- convergence ------------------------------------------------------------------------------


def test_thresholds_and_both_slabs_must_converge() -> None:
    posterior = make_up_levels()
    assert posterior.converged
    assert set(posterior.convergence.quantities) == {
        "p0", "sigma0", "sigma0_nominal", "density", "potential",
    }  # fmt: skip
    assert posterior.diagnostics["rhat_bias"].shape == (14,)
    stuck = make_up_levels()
    stuck.draws.bias[0, :, 13] += 5
    (message,) = stuck.problems
    assert message.code == "unconverged-biases"
    assert "1 threshold has too few" in str(message)
    assert "work[none]" in str(message)
    assert stuck.convergence.unconverged_parameters == "1 threshold"
    assert "1 threshold had not converged" in stuck.methods_text()
    drifting = make_up_levels()
    drifting.draws.sigma0_nominal[1] += 5
    (message,) = drifting.problems
    assert "sigma0_nominal has not converged" in str(message)
    assert "sigma0 of pairs with several parameters had not converged" in drifting.methods_text()


def test_one_slab_if_all_pairs_are_of_one_sort(scored: Posterior) -> None:
    assert scored.draws.sigma0_nominal is None
    assert "sigma0_nominal" not in scored.convergence.quantities
    assert "sigma0_nominal" not in scored.to_datatree()["posterior"]


# --- methods ----------------------------------------------------------------------------------


def test_methods_say_what_the_model_makes_of_levels(posterior: Posterior) -> None:
    text = posterior.methods_text().split("\n\n")[0]
    for part in (
        "among 6 variables (1 binary, 2 ordinal, 1 Blume-Capel and 2 nominal) were estimated",
        "A level that never occurred was left out: 'sometimes' of worry.",
        "Every level but the first of ordinal and nominal variables had a threshold",
        "a linear and a quadratic function of its distance from a reference level",
        "the score was a sqrt(3 / (K^2 - 1)), which is 0 and 1 for two levels.",
        "the strength of such an edge is their Euclidean norm",
        "each had a sigma0 of their own",
        "mean 0 and covariance 50 (I + J)",
        "a sum over all 1,800 states",
        "for each threshold and for the inclusion indicator",
    ):
        assert part in text, part
    assert "Ising" not in text
    assert "bias" not in text


def test_methods_of_variables_of_one_kind() -> None:
    mood = Variable("mood", "ordinal", (0, 1, 2), (0.0, 1.0, 2.0))
    text = make_up_levels([mood, replace(mood, name="worry")]).methods_text()
    assert "among 2 ordinal variables were estimated" in text
    assert "All variables were coded ordinal with levels 0, 1 and 2." in text
    assert "mood and worry had other scores" in text
    assert "nominal" not in text
    assert "Blume-Capel" not in text


def test_levels_that_never_occurred() -> None:
    stated = Variable("a", "nominal", ("x", "z"), (), levels=("x", "y", "z"), positions=(0, 2))
    assert dropped_levels(stated) == ["'y'"]
    assert dropped_levels(replace(stated, levels=None)) == ["number 2"]
    assert dropped_levels(Variable.binary("b", (0, 1))) == []


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dense", [True, False])
def test_round_trip(tmp_path: Path, posterior: Posterior, dense: bool) -> None:
    save_posterior(posterior, tmp_path / "posterior.nc", dense)
    again = load_posterior(tmp_path / "posterior.nc")
    assert again.encoder == posterior.encoder
    assert again.settings == posterior.settings
    a, b = posterior.draws, again.draws
    assert a.interactions == b.interactions
    for name in ("bias", "p0", "sigma0", "sigma0_nominal", "potential"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name
    for name in ("parameters", "values"):
        one, other = getattr(a, name), getattr(b, name)
        assert one.shape == other.shape
        assert one.data.tobytes() == other.data.tobytes()
        np.testing.assert_array_equal(one.indices, other.indices)
        np.testing.assert_array_equal(one.indptr, other.indptr)


def test_parameters_of_zero_and_signs_of_zero_survive(tmp_path: Path) -> None:
    variables = mixed_variables()[4:]
    interactions = pairwise_model(variables).interactions
    coupling = np.array([[[0.0, -0.0, 5e-324, 1 / 3, -1e100, 0.0]], [[0.0] * 6]])
    present, one = np.ones((2, 1, 1), bool), np.ones((2, 1))
    draws = Draws.from_dense(
        coupling, present, np.zeros((2, 1, 5)), one, one, one, interactions, None
    )
    names = [variable.name for variable in variables]
    posterior = Posterior(draws, names, {}, [], Encoder(variables))
    for dense in (True, False):
        save_posterior(posterior, tmp_path / "posterior.nc", dense)
        again = load_posterior(tmp_path / "posterior.nc").draws
        assert again.parameters.data.tobytes() == draws.parameters.data.tobytes()
        assert again.visits.tolist() == [2]


def drop_one(draws: Draws) -> None:
    """Remove the last parameter of all, of an edge with several."""
    parameters = draws.parameters
    end = parameters.indptr.copy()
    end[-1] -= 1
    draws.parameters = sparse.csr_array(
        (parameters.data[:-1], parameters.indices[:-1], end), shape=parameters.shape
    )


def swap_two(draws: Draws) -> None:
    """Exchange the last two parameters of all."""
    indices = draws.parameters.indices
    indices[-1], indices[-2] = indices[-2], indices[-1]


@pytest.mark.parametrize("change", [drop_one, swap_two])
def test_edges_with_parts_of_their_parameters_are_refused(tmp_path: Path, change: object) -> None:
    posterior = make_up_levels(n_draws=20)
    assert posterior.draws.present[-1, -1, -1]
    change(posterior.draws)  # type: ignore[operator]
    save_posterior(posterior, tmp_path / "posterior.nc", dense=False)
    with pytest.raises(InputError, match="only some of their parameters"):
        load_posterior(tmp_path / "posterior.nc")


def test_the_tree_names_thresholds_and_parameters(posterior: Posterior) -> None:
    group = posterior.to_datatree()["posterior"]
    assert group["threshold"].to_numpy().tolist() == posterior.bias_names
    assert group["bias"].dims == ("chain", "draw", "threshold")
    parts = group["parameters"].sel(parameter=[f"place - work[{k}]" for k in range(1, 7)])
    norm = np.sqrt((parts**2).sum("parameter"))
    xr.testing.assert_allclose(norm, group["coupling"].sel(edge="place - work", drop=True))
    one = group["parameters"].sel(parameter="sleep - mood", drop=True)
    xr.testing.assert_equal(one, group["coupling"].sel(edge="sleep - mood", drop=True))
    assert '"work": {"kind": "nominal", "labels": ["office", "shop"' in group.attrs["variables"]


def test_graphs_tell_couplings_from_strengths(tmp_path: Path, posterior: Posterior) -> None:
    posterior.write_graphml(tmp_path / "network.graphml", 0.3)
    graph = nx.read_graphml(tmp_path / "network.graphml")
    assert graph.nodes["place"]["kind"] == "nominal"
    assert graph.nodes["place"]["levels"] == "north, south, west"
    assert "bias" in graph.nodes["sleep"]
    assert "bias" not in graph.nodes["mood"]
    strength = graph.edges["place", "work"]
    assert strength["strength"] == strength["weight"]
    assert {"coupling_given_presence", "odds_ratio"}.isdisjoint(strength)
    coupling = graph.edges["worry", "opinion"]
    assert coupling["coupling_given_presence"] == -coupling["weight"]
    assert "strength" not in coupling
    drawn = posterior.measure(lambda g: sum("coupling" in data for *_, data in g.edges(data=True)))
    signed = posterior.draws.present[..., posterior.edge_is_signed].sum(axis=-1).ravel()
    np.testing.assert_array_equal(drawn, signed[posterior.draws.evenly_spaced(100)])


def test_edges_are_written_and_read(tmp_path: Path, posterior: Posterior) -> None:
    posterior.write_csv(tmp_path / "edges.csv")
    pd.testing.assert_frame_equal(
        read_edges(tmp_path / "edges.csv"), posterior.to_dataframe(), check_exact=False, rtol=1e-5,
        check_dtype=False,
    )  # fmt: skip
