"""Plots of posteriors of nodes with levels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from made_up_posteriors import make_up_levels, mixed_variables
from slabfield import Posterior, plots
from slabfield.plots._style import BLUE, ORANGE, UNSIGNED
from slabfield.validation import InputError


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    return make_up_levels()


@pytest.fixture(scope="module")
def scored() -> Posterior:
    return make_up_levels(mixed_variables()[:4])


PLOTS: dict[str, Callable[[Posterior], Any]] = {
    "network": plots.network,
    "inclusion_matrix": plots.inclusion_matrix,
    "edge_forest": plots.edge_forest,
    "evidence": plots.evidence,
    "evidence ranked": lambda p: plots.evidence(p, view="ranked"),
    "trace": lambda p: plots.trace(p, ["sigma0_nominal", "mood[3]", ("place", "work")]),
    "rank": lambda p: plots.rank(p, "opinion[linear]"),
    "autocorrelation": lambda p: plots.autocorrelation(p, ["work[none]", "sleep"]),
    "convergence": plots.convergence,
    "density": plots.density,
    "degree": plots.degree,
    "interaction_table": lambda p: plots.interaction_table(p, "place", "mood"),
}


@pytest.mark.parametrize("name", PLOTS)
def test_every_plot_takes_levels(posterior: Posterior, name: str) -> None:
    drawn = np.asarray(PLOTS[name](posterior)).flat[0]
    assert isinstance(drawn, Axes)
    drawn.figure.canvas.draw()


def lines_by_color(ax: Axes) -> dict[tuple[float, ...], int]:
    collections = [each for each in ax.collections if isinstance(each, LineCollection)]
    return {
        tuple(each.get_color()[0][:3]): len(each.get_segments())
        for each in collections
        if each.get_segments()
    }


def legend_texts(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_edges_without_a_sign_have_their_own_color(posterior: Posterior, scored: Posterior) -> None:
    ax = plots.network(posterior, 0.3)
    drawn, signed = posterior.edge_probability >= 0.3, posterior.edge_is_signed
    positive = np.nan_to_num(posterior.edge_mean) >= 0
    expected = {
        to_rgba(BLUE)[:3]: int(np.sum(drawn & signed & positive)),
        to_rgba(ORANGE)[:3]: int(np.sum(drawn & signed & ~positive)),
        to_rgba(UNSIGNED)[:3]: int(np.sum(drawn & ~signed)),
    }
    assert min(expected.values()) > 0
    assert lines_by_color(ax) == expected
    assert "without sign" in legend_texts(ax)
    assert "without sign" not in legend_texts(plots.network(scored, 0.0))


def test_the_forest_labels_strengths(posterior: Posterior, scored: Posterior) -> None:
    ax = plots.edge_forest(posterior, threshold=0.3)
    markers = [line.get_marker() for line in ax.lines if line.get_linestyle() == "None"]
    drawn = (posterior.edge_probability >= 0.3) & np.isfinite(posterior.edge_mean)
    assert markers.count("D") == np.sum(drawn & ~posterior.edge_is_signed)
    assert "strength, without sign" in ax.get_xlabel()
    assert "strength" not in plots.edge_forest(scored, threshold=0).get_xlabel()


def test_thresholds_are_named_where_they_have_not_converged() -> None:
    stuck = make_up_levels()
    stuck.draws.bias[0, :, 2] += 5
    left, right = plots.convergence(stuck)
    assert "mood[3]" in right.texts[-1].get_text()
    assert right.get_title(loc="left").endswith("thresholds and undecided edges not converged")
    assert "sigma0_nominal" in legend_texts(left)


def test_traces_of_thresholds(posterior: Posterior) -> None:
    (ax,) = plots.trace(posterior, "place[west]")
    assert ax.get_title(loc="left").startswith("threshold place[west]: R-hat")
    at = posterior.bias_names.index("place[west]")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), posterior.draws.bias[0, :, at])


def test_an_unknown_quantity_is_refused_with_an_example(scored: Posterior) -> None:
    with pytest.raises(InputError) as caught:
        plots.trace(scored, "mood[9]")
    assert caught.value.code == "unknown-quantity"
    assert "such as 'sleep'" in str(caught.value)
    with pytest.raises(InputError):
        plots.trace(scored, "sigma0_nominal")


def test_the_table_of_a_pair_shows_its_numbers(posterior: Posterior) -> None:
    ax = plots.interaction_table(posterior, "place", "work")
    table = posterior.interaction_table("place", "work")
    np.testing.assert_array_equal(ax.images[0].get_array(), table)
    assert ax.images[0].norm.vmin == -ax.images[0].norm.vmax
    assert [label.get_text() for label in ax.get_yticklabels()] == ["north", "south", "west"]
    shown = [float(text.get_text()) for text in ax.texts]
    np.testing.assert_allclose(shown, table.to_numpy().ravel(), atol=0.0051)
    assert ax.get_title(loc="left").endswith("(probability 0.96)")


def test_the_table_of_an_edge_never_present_is_empty(posterior: Posterior) -> None:
    ax = plots.interaction_table(posterior, "sleep", "worry")
    assert len(ax.texts) == 0
    assert ax.images[0].get_array().mask.all()
