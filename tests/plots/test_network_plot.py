"""The network plot: its content, its stability, and unusual input."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from slabfield.plots import network
from slabfield.plots._layout import bent_lines, part_boxes, place_nodes
from slabfield.plots._network import BLUE, ORANGE
from slabfield.validation import InputError


def made_up_posterior(n_nodes: int, seed: int = 0) -> SimpleNamespace:
    rng = np.random.default_rng(seed)
    upper = np.triu_indices(n_nodes, 1)
    probability, coupling = np.zeros((2, n_nodes, n_nodes))
    probability[upper] = rng.beta(0.5, 1.5, size=upper[0].size)
    coupling[upper] = rng.normal(size=upper[0].size)
    return SimpleNamespace(
        feature_names=[f"item {k}" for k in range(n_nodes)],
        inclusion_probability=probability + probability.T,
        coupling_mean=coupling + coupling.T,
    )


def lines(ax: Axes) -> dict[str, LineCollection]:
    positive, negative = (c for c in ax.collections if isinstance(c, LineCollection))
    return {"positive": positive, "negative": negative}


def label_places(ax: Axes) -> dict[str, tuple[float, float]]:
    return {text.get_text(): text.get_position() for text in ax.texts}


def render(ax: Axes) -> bytes:
    buffer = io.BytesIO()
    assert isinstance(ax.figure, Figure)
    ax.figure.savefig(buffer, dpi=40, metadata={"Software": None})
    return buffer.getvalue()


def test_edges_at_or_above_the_threshold_are_drawn_by_sign() -> None:
    posterior = made_up_posterior(8)
    ax = network(posterior, threshold=0.4)
    upper = np.triu_indices(8, 1)
    drawn = posterior.inclusion_probability[upper] >= 0.4
    positive = posterior.coupling_mean[upper] >= 0
    assert len(lines(ax)["positive"].get_segments()) == np.sum(drawn & positive) > 0
    assert len(lines(ax)["negative"].get_segments()) == np.sum(drawn & ~positive) > 0
    assert ax.get_title(loc="left").startswith(f"{drawn.sum()} of 28 possible edges")


def test_sign_is_shown_by_color_and_by_dashes() -> None:
    drawn = lines(network(made_up_posterior(8), threshold=0.2))
    assert to_hex(drawn["positive"].get_colors()[0]) == BLUE.lower()
    assert to_hex(drawn["negative"].get_colors()[0]) == ORANGE.lower()
    assert drawn["positive"].get_linestyles()[0][1] is None
    assert drawn["negative"].get_linestyles()[0][1] is not None


def test_stronger_is_wider_and_more_probable_is_more_opaque() -> None:
    probability = np.array([[0, 0.6, 1.0], [0.6, 0, 0], [1.0, 0, 0]])
    coupling = np.array([[0, 3.0, 1.0], [3.0, 0, 0], [1.0, 0, 0]])
    source = SimpleNamespace(
        feature_names=["a", "b", "c"], inclusion_probability=probability, coupling_mean=coupling
    )
    drawn = lines(network(source))["positive"]
    strong_width, weak_width = drawn.get_linewidths()
    assert strong_width > weak_width
    opacity = drawn.get_colors()[:, 3]
    assert opacity[0] < opacity[1] == 1


def test_nodes_and_widths_do_not_depend_on_the_threshold() -> None:
    posterior = made_up_posterior(10)
    low, high = network(posterior, threshold=0.1), network(posterior, threshold=0.7)
    assert label_places(low) == label_places(high)
    for sign in ("positive", "negative"):
        widths = lines(low)[sign].get_linewidths()
        assert set(lines(high)[sign].get_linewidths()) <= set(widths)


def test_the_plot_is_reproducible() -> None:
    assert render(network(made_up_posterior(9))) == render(network(made_up_posterior(9)))


def test_it_draws_in_the_axes_given() -> None:
    ax = Figure().add_subplot()
    assert network(made_up_posterior(4), ax=ax) is ax


def test_matplotlib_is_left_as_it_was() -> None:
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    network(made_up_posterior(4))
    assert plt.get_fignums() == before


@pytest.mark.parametrize("n_nodes", [2, 3, 16, 64])
def test_every_size_renders_with_distinct_positions_of_names(n_nodes: int) -> None:
    ax = network(made_up_posterior(n_nodes))
    places = np.array(list(label_places(ax).values()))
    assert places.shape == (n_nodes, 2)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + 9 * np.eye(n_nodes)
    assert gaps.min() > 0.01
    assert np.abs(places).max() <= 1 + 1e-9
    assert len(render(ax)) > 1000


@pytest.mark.parametrize("n_nodes", [12, 108])
def test_names_do_not_overlap(n_nodes: int) -> None:
    posterior = made_up_posterior(n_nodes)
    posterior.feature_names = [f"item number {k}"[: 5 + k % 12] + str(k) for k in range(n_nodes)]
    ax = network(posterior, threshold=0.9)
    assert isinstance(ax.figure, Figure)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    n_overlaps = sum(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    assert n_overlaps == 0


def test_boxes_move_apart_as_little_as_possible() -> None:
    places = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    sizes = np.full((40, 2), 0.15)
    parted = part_boxes(places, sizes, np.ones(2))
    overlap = 0.15 - np.abs(parted[:, None] - parted[None])
    overlaps = np.all(overlap > 1e-6, axis=2) & ~np.eye(40, dtype=bool)
    assert not overlaps.any()
    assert np.abs(parted).max() <= 1
    alone = np.array([[-1.0, 0], [0, 0], [1, 0]])
    np.testing.assert_array_equal(part_boxes(alone, sizes[:3], np.ones(2)), alone)
    same = part_boxes(np.zeros((3, 2)), sizes[:3], np.ones(2))
    assert len({tuple(place) for place in same}) == 3


def test_lines_go_around_the_boxes_of_other_nodes_and_stay_in_the_plot() -> None:
    rng = np.random.default_rng(1)
    sizes = np.tile([0.16, 0.08], (14, 1))
    places = part_boxes(rng.uniform(-1, 1, (14, 2)), sizes, np.ones(2))
    first, second = np.triu_indices(14, 1)
    crossed = np.zeros(2)
    for i, j, line in zip(first, second, bent_lines(places, sizes, first, second), strict=True):
        np.testing.assert_allclose(line[[0, -1]], places[[i, j]])
        ways = [line, np.stack([places[i], places[j]])]
        assert np.all(np.abs(line) <= 1.08)
        hits = [in_boxes(way, places, sizes, {int(i), int(j)}) for way in ways]
        assert hits[0] <= hits[1]
        crossed += np.array(hits) > 0
        if hits[1] == 0 and len(line) > 2:
            # extents of boxes are upper bounds: a line bends only if a box is nearby
            assert in_boxes(ways[1], places, 1.6 * sizes, {int(i), int(j)}) > 0
    assert crossed[0] <= crossed[1] / 3


def in_boxes(line: np.ndarray, places: np.ndarray, sizes: np.ndarray, ends: set[int]) -> int:
    """Number of boxes, other than those at its ends, that a line crosses."""
    t = np.linspace(0, len(line) - 1, 400)
    points = np.column_stack([np.interp(t, np.arange(len(line)), line[:, k]) for k in (0, 1)])
    within = np.all(np.abs(points[:, None] - places[None]) < sizes[None] / 2, axis=2).any(axis=0)
    return sum(bool(hit) for k, hit in enumerate(within) if k not in ends)


def test_no_edges_all_edges_and_couplings_never_present() -> None:
    posterior = made_up_posterior(5)
    posterior.inclusion_probability = np.zeros((5, 5))
    posterior.coupling_mean = np.full((5, 5), np.nan)
    ax = network(posterior)
    render(ax)
    assert ax.get_title(loc="left").startswith("0 of 10")
    posterior.inclusion_probability = np.ones((5, 5))
    assert network(posterior).get_title(loc="left").startswith("10 of 10")


def test_dollar_signs_and_long_names_are_plain_text() -> None:
    posterior = made_up_posterior(3)
    posterior.feature_names = ["$x", "a$b_{", "a very long name indeed"]
    ax = network(posterior)
    render(ax)
    assert set(label_places(ax)) == {"$x", "a$b_{", "a very long nam…"}


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), "half"])
def test_bad_thresholds(threshold: object) -> None:
    with pytest.raises(InputError, match="threshold must be a number"):
        network(made_up_posterior(3), threshold=threshold)  # type: ignore[arg-type]


def test_nodes_with_probable_edges_are_placed_closer() -> None:
    probability = np.full((12, 12), 0.02)
    for k in range(0, 12, 4):
        probability[k : k + 4, k : k + 4] = 0.95
    places = place_nodes(probability)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2)
    within = probability > 0.5
    np.fill_diagonal(within, False)
    assert gaps[within].max() < gaps[probability < 0.5].min()


def test_large_networks_have_a_layout() -> None:
    places = place_nodes(made_up_posterior(160).inclusion_probability)
    assert places.shape == (160, 2)
    assert np.isfinite(places).all()
