"""Plots of a posterior: the content is right, names are plain text, no state leaks."""

import io
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from matplotlib.text import Text

from slabfield import Posterior, SpikeSlabMRF, datasets, plots
from slabfield.draws import Draws
from slabfield.plots._autocorrelation import correlations
from slabfield.plots._convergence import MIN_EXCESS
from slabfield.plots._density import prior_of_count
from slabfield.plots._evidence import _drawn_classes
from slabfield.plots._rank import shares_of_ranks
from slabfield.posterior.evidence_classes import CLASSES, NOT_ASSESSED, count_classes
from slabfield.posterior.predictive import replicate_tables
from slabfield.validation import InputError

NAMES = [
    "$x_1$",
    "a_b^{c",
    "<script>alert(1)</script>",
    "a very long name indeed, far too long to be drawn",
    "two\nlines",
    r"\frac $",
]
# Plots that name nodes only if something is wrong
NAMELESS = ("density", "convergence", "predictive_check")
UPPER = np.triu_indices(6, 1)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rows = datasets.make_block(80, random_state=3, n_groups=2, group_size=3).rows
    return pd.DataFrame(rows, columns=NAMES)


@pytest.fixture(scope="module")
def posterior(table: pd.DataFrame) -> Posterior:
    model = SpikeSlabMRF(likelihood="exact", n_draws=150, n_jobs=1, random_state=0)
    return model.fit(table).posterior_


PLOTS: dict[str, Callable[[Posterior, pd.DataFrame], Any]] = {
    "network": lambda p, _: plots.network(p, 0.1),
    "inclusion_matrix": lambda p, _: plots.inclusion_matrix(p),
    "edge_forest": lambda p, _: plots.edge_forest(p, threshold=0),
    "evidence": lambda p, _: plots.evidence(p),
    "evidence ranked": lambda p, _: plots.evidence(p, view="ranked"),
    "trace": lambda p, _: plots.trace(p, ["p0", (0, 1), (NAMES[4], NAMES[5])]),
    "rank": lambda p, _: plots.rank(p, ["p0", (0, 1), (NAMES[4], NAMES[5])]),
    "autocorrelation": lambda p, _: plots.autocorrelation(p, ["p0", (0, 1)]),
    "convergence": lambda p, _: plots.convergence(p),
    "density": lambda p, _: plots.density(p),
    "degree": lambda p, _: plots.degree(p),
    "interaction_table": lambda p, _: plots.interaction_table(p, NAMES[0], NAMES[4]),
    "predictive_check": lambda p, x: plots.predictive_check(p, x, n_draws=20),
}


def made_posterior(
    coupling: Any, names: list[str] | None = None, settings: dict[str, Any] | None = None
) -> Posterior:
    """Posterior with edges present where the coupling, (chains, draws, edges), is not zero."""
    coupling = np.asarray(coupling, dtype=np.float64)
    n_nodes = round((1 + np.sqrt(1 + 8 * coupling.shape[2])) / 2)
    rng = np.random.default_rng(0)
    shape = coupling.shape[:2]
    p0, sigma0, potential = rng.random((3, *shape))
    bias = rng.normal(size=(*shape, n_nodes))
    draws = Draws.from_dense(coupling, coupling != 0, bias, p0, sigma0, potential)
    return Posterior(draws, names or [f"x{k}" for k in range(n_nodes)], settings or {})


def render(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=30)
    return buffer.getvalue()


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("name", PLOTS)
def test_every_plot_has_axes_and_plain_names_and_leaves_no_state(
    name: str, posterior: Posterior, table: pd.DataFrame
) -> None:
    import matplotlib.pyplot as plt

    settings, figures = dict(mpl.rcParams), plt.get_fignums()
    drawn = PLOTS[name](posterior, table)
    panels = np.ravel(np.asarray(drawn, dtype=object))
    assert all(isinstance(panel, Axes) for panel in panels)
    assert len({id(panel.figure) for panel in panels}) == 1
    assert len(render(panels[0].figure)) > 1000
    assert dict(mpl.rcParams) == settings
    assert plt.get_fignums() == figures
    assert_names_are_plain(panels[0].figure, named=name not in NAMELESS)


def assert_names_are_plain(figure: Figure, named: bool) -> None:
    special = [
        text
        for text in figure.findobj(Text)
        if any(sign in text.get_text() for sign in ("$", "_", "<", "\\", "…"))
    ]
    assert bool(special) or not named
    for text in special:
        assert not text.get_parse_math(), text.get_text()
        assert not text.get_usetex()
    assert not any("two\nlines" in text.get_text() for text in figure.findobj(Text))


@pytest.mark.parametrize("name", sorted(set(plots.__all__) - {"comparison"}))
def test_a_model_in_place_of_a_posterior_is_rejected(name: str) -> None:
    further: dict[str, list[Any]] = {"predictive_check": [[[0, 1]]], "interaction_table": [0, 1]}
    arguments: list[Any] = [SpikeSlabMRF(), *further.get(name, [])]
    with pytest.raises(InputError, match=r"got a SpikeSlabMRF\. Fit it and pass model.posterior_"):
        getattr(plots, name)(*arguments)
    arguments[0] = np.zeros(3)
    with pytest.raises(InputError, match=r"posterior must be a Posterior; got an? ndarray\."):
        getattr(plots, name)(*arguments)


@pytest.mark.parametrize(
    "name", ["inclusion_matrix", "edge_forest", "evidence", "density", "degree"]
)
def test_plots_are_drawn_in_the_axes_given(name: str, posterior: Posterior) -> None:
    ax = Figure().add_subplot()
    assert getattr(plots, name)(posterior, ax=ax) is ax
    with pytest.raises(InputError, match="ax must be one matplotlib Axes"):
        getattr(plots, name)(posterior, ax="here")


@pytest.mark.parametrize("name", ["trace", "rank", "autocorrelation"])
def test_series_have_a_panel_each(name: str, posterior: Posterior) -> None:
    given = Figure().subplots(2, 1)
    found = getattr(plots, name)(posterior, ["sigma0", (1, 0)], ax=given)
    assert list(found) == list(given)
    assert found[0].get_title(loc="left").startswith("sigma0: R-hat")
    assert found[1].get_title(loc="left").startswith("$x_1$ - a_b^{c:")
    assert len(getattr(plots, name)(posterior)) == 3
    assert len(getattr(plots, name)(posterior, var_names="p0")) == 1
    with pytest.raises(InputError, match=r"ax must be 3 matplotlib Axes.*; got 2 of them"):
        getattr(plots, name)(posterior, ax=given)


@pytest.mark.parametrize(
    ("var_names", "message"),
    [
        (["sigma"], "A quantity must be one of 'p0', .*; got 'sigma'"),
        ("sigma", "A quantity must be one of 'p0', .*; got 'sigma'"),
        ([], "var_names must be a quantity or a list"),
        (3, "var_names must be a quantity or a list"),
        ([("no such", 0)], r"var_names must name nodes of the table; got 'no such'"),
        ([(0, 6)], "got 6.*from 0 to 5"),
        ([(0, -1)], "got -1.*from 0 to 5"),
        ([(True, 0)], "got True"),
        ([(2, 2)], "var_names must hold pairs of different nodes"),
        ([(0, 1, 2)], "var_names must hold pairs of nodes"),
        ([7], "var_names must hold pairs of nodes"),
    ],
)
def test_bad_quantities(var_names: Any, message: str, posterior: Posterior) -> None:
    with pytest.raises(InputError, match=message):
        plots.trace(posterior, var_names)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: plots.edge_forest(p, n_edges=0), "n_edges must be a whole number"),
        (lambda p: plots.edge_forest(p, threshold=2), "threshold must be a number"),
        (lambda p: plots.edge_forest(p, ci_prob=1), "ci_prob must be a number"),
        (lambda p: plots.evidence(p, view="round"), "view must be one of"),
        (lambda p: plots.rank(p, n_bins=1), "n_bins must be"),
        (lambda p: plots.autocorrelation(p, max_lag=0), "max_lag must be"),
        (lambda p: plots.degree(p, n_nodes=0), "n_nodes must be"),
        (lambda p: plots.convergence(p, n_named=-1), "n_named must be"),
        (
            lambda p: plots.predictive_check(p, [[0, 1]] * 5 + [[1, 0]]),
            "2 features, but Posterior is expecting 6",
        ),
    ],
)
def test_bad_parameters(
    call: Callable[[Posterior], Any], message: str, posterior: Posterior
) -> None:
    with pytest.raises(InputError, match=message):
        call(posterior)


def test_the_matrix_shows_the_probabilities(posterior: Posterior) -> None:
    ax = plots.inclusion_matrix(posterior)
    shown = np.ma.filled(ax.images[0].get_array(), 0.0)
    np.testing.assert_array_equal(shown, posterior.inclusion_probability)
    assert len(texts(ax)) == 30
    assert next(label.get_text() for label in ax.get_yticklabels()) == "$x_1$"
    assert ax.images[0].get_clim() == (0, 1)


def test_lightness_of_shades_decreases() -> None:
    from slabfield.plots._inclusion_matrix import SHADES

    red, green, blue, _ = SHADES(np.linspace(0, 1, 50)).T
    assert np.all(np.diff(0.299 * red + 0.587 * green + 0.114 * blue) < 0)


def test_the_forest_has_the_strongest_edges_first(posterior: Posterior) -> None:
    ax = plots.edge_forest(posterior, n_edges=4, threshold=0.2)
    mean, probability = posterior.edge_mean, posterior.edge_probability
    probable = np.flatnonzero(probability >= 0.2)
    order = probable[np.argsort(-np.abs(mean[probable]))][:4]
    dots = [line for line in ax.lines if line.get_marker() in ("o", "s")]
    np.testing.assert_allclose([line.get_xdata()[0] for line in dots], mean[order])
    assert [line.get_ydata()[0] for line in dots] == [0, 1, 2, 3]
    lower, upper = (ends[UPPER][order] for ends in posterior.coupling_interval())
    bars = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 1.6]
    np.testing.assert_allclose(bars, np.column_stack([lower, upper]))
    assert ax.get_title(loc="left").startswith(f"The strongest 4 of {probable.size} edges")
    written = [text for text in texts(ax) if text != "probability"]
    assert written[0] in (f"{probability[order[0]]:.2f}", "> 0.99", "1")
    assert [line.get_marker() for line in dots] == ["o" if m >= 0 else "s" for m in mean[order]]


def test_a_forest_plot_without_edges_has_a_title() -> None:
    coupling = np.zeros((2, 10, 3))
    ax = plots.edge_forest(made_posterior(coupling))
    assert ax.get_title(loc="left") == "No edge has probability 0.5 or more"
    render(ax.figure)


@pytest.mark.parametrize("view", ["network", "ranked"])
def test_evidence_counts_edges_of_each_class(view: str, posterior: Posterior) -> None:
    ax = plots.evidence(posterior, view=view)
    counts = count_classes(posterior.bayes_factor[UPPER])
    assert counts.pop(NOT_ASSESSED) == 0
    n_inconclusive = counts["inconclusive"]
    if view == "network":
        del counts["inconclusive"]
    legend = ax.get_legend()
    assert legend is not None
    expected = [f"{k} ({n})" for k, n in counts.items()]
    if view == "network":
        expected.append(f"inconclusive ({n_inconclusive}), not drawn")
        lines = [c for c in ax.collections if isinstance(c, LineCollection)]
        drawn = [len(c.get_segments()) for c in lines]
        order = ("strong against", "moderate against", "moderate for", "strong for")
        assert drawn == [counts[name] for name in order]
        assert len({(str(c.get_linestyles()[0]), c.get_linewidths()[0]) for c in lines}) == 4
    else:
        marks = [line for line in ax.lines if line.get_linestyle() == "None"]
        assert [len(line.get_xdata()) for line in marks] == list(counts.values())
    assert [t.get_text() for t in legend.get_texts()] == expected


@pytest.mark.parametrize(
    ("n_inconclusive", "n_against", "drawn"),
    [(40, 30, "against"), (30, 31, "inconclusive"), (31, 31, "")],
)
def test_a_network_of_evidence_draws_few_edges(
    n_inconclusive: int, n_against: int, drawn: str
) -> None:
    counts = dict.fromkeys(CLASSES, 0) | {"strong for": 99, "inconclusive": n_inconclusive}
    counts["strong against"] = n_against
    found = _drawn_classes(counts, 30)
    assert found[:2] == ["strong for", "moderate for"]
    expected = [name for name in CLASSES[2:] if drawn and name.endswith(drawn)]
    assert found[2:] == expected


def test_a_network_of_evidence_up_to_30_nodes() -> None:
    for n_nodes, kind in ((30, 0), (31, 5)):
        coupling = np.zeros((2, 4, n_nodes * (n_nodes - 1) // 2))
        settings = {"inclusion_prior": {"a": 5.0, "b": 5.0, "edges": None}}
        ax = plots.evidence(made_posterior(coupling, settings=settings))
        marks = [line for line in ax.lines if line.get_linestyle() == "None"]
        assert len(marks) == kind


def test_strong_evidence_and_edges_fixed_by_the_prior() -> None:
    coupling = np.zeros((2, 20_000, 3))
    coupling[:, :, 0] = 1.0
    settings = {"inclusion_prior": {"a": 5.0, "b": 5.0, "edges": [None, None, 0.0]}}
    ranked = plots.evidence(made_posterior(coupling, settings=settings), view="ranked")
    render(ranked.figure)
    heights = {float(y) for line in ranked.lines for y in line.get_ydata()}
    assert {-4.0, 4.0} <= heights
    drawn = plots.evidence(made_posterior(coupling, settings=settings), view="network")
    legend = drawn.get_legend()
    assert legend is not None
    assert legend.get_texts()[-1].get_text() == "forced or forbidden (1), not drawn"
    with pytest.raises(InputError, match="prior of the edges must be known"):
        plots.evidence(made_posterior(coupling))


def test_traces_show_every_draw(posterior: Posterior) -> None:
    whole, edge = plots.trace(posterior, ["p0", (0, 1)])
    chains = [line.get_ydata() for line in whole.lines if len(line.get_ydata()) == 150]
    np.testing.assert_array_equal(chains, posterior.draws.p0)
    present, coupling = posterior.of_edges([(0, 1)])
    dots = [line.get_ydata() for line in edge.lines if line.get_marker() == "."]
    np.testing.assert_array_equal(np.concatenate(dots), coupling[present])
    crosses = [line.get_ydata() for line in edge.lines if line.get_marker() == "x"]
    assert np.concatenate(crosses).size == np.sum(~present)
    assert [label.get_text() for label in whole.get_xticklabels()] == [
        f"chain {k}" for k in (1, 2, 3, 4)
    ]


def test_ranks_are_even_where_chains_agree_and_lean_where_they_do_not() -> None:
    rng = np.random.default_rng(0)
    same = rng.normal(size=(4, 5000))
    assert np.abs(shares_of_ranks(same, 10) - 0.1).max() < 0.02
    same[2] += 1
    assert shares_of_ranks(same, 10)[2, -1] > 0.15
    ties = np.zeros((4, 5000))
    assert np.abs(shares_of_ranks(ties, 10) - 0.1).max() < 0.02
    np.testing.assert_allclose(shares_of_ranks(same, 7).sum(axis=1), 1)


def test_rank_bars_are_the_shares(posterior: Posterior) -> None:
    (ax,) = plots.rank(posterior, ["density"], n_bins=8)
    drawn = [patch.get_data() for patch in ax.patches if isinstance(patch, StepPatch)]
    heights = [data.baseline - data.values for data in drawn]
    shares = shares_of_ranks(posterior.density, 8)
    np.testing.assert_allclose(heights, 0.4 * np.minimum(8 * shares, 2.4))


def test_autocorrelation_is_that_of_an_autoregression() -> None:
    rng = np.random.default_rng(1)
    values = np.zeros((4, 20_000))
    for t in range(1, values.shape[1]):
        values[:, t] = 0.8 * values[:, t - 1] + rng.normal(size=4)
    found = correlations(values, 5)
    np.testing.assert_allclose(found.mean(axis=0), 0.8 ** np.arange(6), atol=0.02)
    np.testing.assert_array_equal(correlations(np.ones((1, 9)), 2), [[1, 0, 0]])


def test_lags_are_cut_where_draws_are_few(posterior: Posterior) -> None:
    assert plots.autocorrelation(posterior, ["p0"])[0].get_xlim()[1] == 50.5
    assert plots.autocorrelation(posterior, ["p0"], max_lag=9)[0].get_xlim()[1] == 9.5
    few = made_posterior(np.ones((2, 6, 1)))
    assert plots.autocorrelation(few, ["p0"], max_lag=99)[0].get_xlim()[1] == 5.5


def test_constant_quantities_are_labeled() -> None:
    constant = made_posterior(np.ones((2, 30, 1)))
    for plot in (plots.trace, plots.rank, plots.autocorrelation):
        panels = plot(constant, ["density", (0, 1)])
        titles = [panel.get_title(loc="left") for panel in panels]
        assert titles == ["density: never changes", "x0 - x1: never changes"]
        render(panels[0].figure)
    # By default, constant quantities are left out.
    assert len(plots.trace(constant)) == 2


@pytest.mark.parametrize("shape", [(1, 3, 3), (12, 20, 1)])
def test_few_draws_one_chain_many_chains(shape: tuple[int, int, int]) -> None:
    coupling = np.random.default_rng(2).integers(0, 2, shape)
    posterior = made_posterior(coupling)
    for plot in (plots.trace, plots.rank, plots.autocorrelation, plots.convergence):
        plot(posterior)[0].figure.draw_without_rendering()
    for plot in (plots.density, plots.degree, plots.inclusion_matrix, plots.edge_forest):
        plot(posterior).figure.draw_without_rendering()


def test_one_chain_has_effective_draws_but_no_rhat() -> None:
    posterior = made_posterior(np.random.default_rng(5).integers(0, 2, (1, 60, 1)))
    whole, parts = plots.convergence(posterior)
    render(whole.figure)
    lowest = [y for line in parts.lines[2:] for y in line.get_ydata()]
    assert set(lowest) == {MIN_EXCESS}
    assert plots.trace(posterior)[0].get_title(loc="left").startswith("p0: ")
    assert "R-hat" not in plots.trace(posterior)[0].get_title(loc="left")


def test_convergence_names_unconverged_quantities() -> None:
    rng = np.random.default_rng(3)
    coupling = rng.integers(0, 2, (4, 400, 3)).astype(float)
    coupling[:2, :, 1] = 0
    coupling[2:, :, 1] = 1  # two chains never have it and two always do
    coupling[:, :, 2] = np.repeat(rng.integers(0, 2, (4, 4)), 100, axis=1)
    posterior = made_posterior(coupling, ["a", "b", "c"])
    posterior.draws.bias[..., 0] = 1.0
    whole, parts = plots.convergence(posterior)
    assert texts(whole) == ["not converged:\ndensity"]
    assert texts(parts) == ["not converged:\na\na - c\nb - c"]
    assert parts.get_title(loc="left") == "3 of 6 biases and undecided edges not converged"
    assert whole.figure.get_suptitle() == "Not converged: 4 chains of 400 draws"
    assert texts(plots.convergence(posterior, n_named=1)[1]) == ["not converged:\na\nand 2 more"]


def test_convergence_shows_the_diagnostics(posterior: Posterior) -> None:
    whole, parts = plots.convergence(posterior)
    found = posterior.diagnostics
    points = [line for line in whole.lines if line.get_marker() in "Dso^"]
    x = np.sort(np.concatenate([line.get_xdata() for line in points]))
    expected = [found[f"ess_{name}"][0] for name in ("p0", "sigma0", "density", "potential")]
    np.testing.assert_allclose(x, np.sort(expected))
    points = [line for line in parts.lines if line.get_marker() == "o"]
    x = np.concatenate([line.get_xdata() for line in points])
    assert x.size == np.isfinite(found["ess_present"]).sum()
    assert posterior.converged == whole.figure.get_suptitle().startswith("Converged")


def test_density_bars_have_area_one_and_the_prior_is_drawn(posterior: Posterior) -> None:
    ax = plots.density(posterior)
    bars = [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in ax.patches]
    assert sum(width * height for _, width, height in bars) == pytest.approx(1)
    share = np.mean(posterior.draws.n_present == posterior.draws.n_present.min())
    assert bars[0][1] * bars[0][2] == pytest.approx(share)
    (line,) = ax.lines
    np.testing.assert_allclose(line.get_ydata() / 15, prior_of_count(BETA_PRIOR, 15))
    assert not plots.density(made_posterior(np.ones((2, 9, 3)))).lines


BETA_PRIOR = {"a": 5.0, "b": 5.0, "edges": None}


def test_the_prior_of_the_density() -> None:
    learned = prior_of_count(BETA_PRIOR, 10)
    assert learned is not None
    assert learned.sum() == pytest.approx(1)
    assert learned @ np.arange(11) == pytest.approx(5)
    mixed = prior_of_count({"a": 1.0, "b": 1.0, "edges": [None, 1.0, 0.0, 0.5]}, 4)
    np.testing.assert_allclose(mixed, [0, 0.25, 0.5, 0.25, 0], atol=1e-12)
    fixed = prior_of_count({"a": 1.0, "b": 1.0, "edges": 0.5}, 2)
    np.testing.assert_allclose(fixed, [0.25, 0.5, 0.25])
    assert prior_of_count(None, 4) is None


def test_a_narrow_posterior_fills_the_axis() -> None:
    coupling = np.zeros((2, 100, 1225))
    coupling[:, :, :20] = 1
    coupling[:, ::2, 20] = 1
    ax = plots.density(made_posterior(coupling, settings={"inclusion_prior": BETA_PRIOR}))
    assert ax.get_xlim()[1] < 0.03


def test_degrees_are_sorted_means(posterior: Posterior) -> None:
    ax = plots.degree(posterior, n_nodes=3)
    mean = posterior.degree.mean(axis=(0, 1))
    dots = ax.lines[0].get_xdata()
    np.testing.assert_allclose(dots, np.sort(mean)[::-1][:3])
    assert len(ax.get_yticklabels()) == 3
    assert ax.get_title(loc="left") == "Degrees of the 3 most connected of 6 nodes"


def test_the_predictive_check_shows_the_observed_pairs(
    posterior: Posterior, table: pd.DataFrame
) -> None:
    ax = plots.predictive_check(posterior, table, n_draws=30)
    rows = table.to_numpy(dtype=float)
    observed = (rows.T @ rows / len(rows))[UPPER]
    points = [line for line in ax.lines if line.get_marker() in ("o", "s")]
    x = np.concatenate([line.get_xdata() for line in points])
    np.testing.assert_allclose(np.sort(x), np.sort(observed))
    y = np.concatenate([line.get_ydata() for line in points])
    assert np.abs(x - y).max() < 0.15
    assert ax.get_title(loc="left").startswith("0 of 15 pairs outside")


def test_the_predictive_check_detects_misfit(posterior: Posterior, table: pd.DataFrame) -> None:
    other = 1 - table
    ax = plots.predictive_check(posterior, other, n_draws=30, n_named=2)
    n_outside = int(ax.get_title(loc="left").split()[0])
    assert n_outside > 3
    (listed,) = texts(ax)
    assert len(listed.splitlines()) == 3
    with pytest.raises(InputError, match="the same names in another order"):
        plots.predictive_check(posterior, table[NAMES[::-1]])


def test_replicates_by_gibbs_have_the_moments_of_their_fields() -> None:
    rng = np.random.default_rng(4)
    n_nodes = 18
    coupling = np.where(rng.random((1, 1, 153)) < 0.1, rng.normal(size=(1, 1, 153)), 0.0)
    posterior = made_posterior(np.repeat(coupling, 20, axis=1))
    posterior.draws.bias[:] = posterior.draws.bias[:, :1]
    found = replicate_tables(posterior, 500, 20, seed=0)
    assert not found.exact
    from slabfield.inference import enumeration
    from slabfield.models.field import BinaryField

    matrix = posterior.interactions.as_matrix(coupling[0, 0])
    field = BinaryField(posterior.draws.bias[0, 0], matrix)
    expected = enumeration.moments(field)[1]
    error = np.sqrt(expected * (1 - expected) / (500 * 20))
    assert np.abs((found.summary.pairs.mean(axis=0) - expected) / error).max() < 6
    assert found.summary.pairs.shape == (20, n_nodes, n_nodes)
    again = replicate_tables(posterior, 500, 20, seed=0)
    np.testing.assert_array_equal(found.summary.pairs, again.summary.pairs)


def test_functions_are_found_after_their_modules_are_imported() -> None:
    for module in pkgutil.iter_modules(plots.__path__):
        assert module.name not in plots.__all__
        import_module(f"slabfield.plots.{module.name}")
    assert all(callable(getattr(plots, name)) for name in plots.__all__)
    assert set(plots.__all__) <= set(dir(plots))
    with pytest.raises(AttributeError, match="no attribute 'pie'"):
        plots.pie  # noqa: B018


def test_matplotlib_is_imported_with_the_first_plot() -> None:
    code = "import sys, slabfield.plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("notebook", [False, True])
def test_figures_are_those_of_pyplot_in_a_notebook(
    notebook: bool, monkeypatch: pytest.MonkeyPatch, posterior: Posterior
) -> None:
    """A cell shows the figures of pyplot; elsewhere they would pile up."""
    monkeypatch.setattr("slabfield.plots._style.in_notebook", lambda: notebook)
    plt.close("all")
    plots.inclusion_matrix(posterior)
    plots.convergence(posterior)
    assert len(plt.get_fignums()) == 2 * notebook
    plt.close("all")
