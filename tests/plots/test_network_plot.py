"""The network plot: its content, its stability, and unusual input."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from slabfield.plots import network, network_layout
from slabfield.plots._layout import bent_lines, part_boxes, place_nodes
from slabfield.plots._network import BLUE, MAX_WIDTH, ORANGE
from slabfield.plots._style import MAX_LINES, MAX_NAME_LENGTH, wrap_name
from slabfield.plots._threshold import readable_threshold
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
        coupling_given_presence=coupling + coupling.T,
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
    positive = posterior.coupling_given_presence[upper] >= 0
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
        feature_names=["a", "b", "c"],
        inclusion_probability=probability,
        coupling_given_presence=coupling,
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
    posterior.coupling_given_presence = np.full((5, 5), np.nan)
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
    assert set(label_places(ax)) == {"$x", "a$b_{", "a very long\nname indeed"}


def test_long_names_are_wrapped_and_only_very_long_ones_shortened() -> None:
    assert wrap_name("have frequent mood swings") == "have frequent\nmood swings"
    assert wrap_name("trouble_sleeping_week_1") == "trouble_\nsleeping_week_1"
    assert wrap_name("") == ""
    for name in ("n" * 500, "word " * 100, "a_b.c/d-" * 40, "x" * 17):
        lines = wrap_name(name).split("\n")
        assert len(lines) <= MAX_LINES
        assert max(map(len, lines)) <= MAX_NAME_LENGTH
        assert "…" in wrap_name(name)


LONG_NAMES = ["carry the conversation to a higher level", "don't talk a lot", "take charge"]


@pytest.mark.parametrize("n_nodes", [5, 18, 30, 100])
@pytest.mark.parametrize("with_axes", [False, True])
def test_long_names_neither_overlap_nor_leave_the_figure(n_nodes: int, with_axes: bool) -> None:
    posterior = made_up_posterior(n_nodes)
    posterior.feature_names = [f"{LONG_NAMES[k % 3]} {k}" for k in range(n_nodes)]
    ax = Figure(figsize=(9, 4), layout="constrained").subplots(1, 2)[0] if with_axes else None
    ax = network(posterior, 0.95, ax=ax)
    assert isinstance(ax.figure, Figure)
    ax.figure.draw_without_rendering()
    patches = [text.get_bbox_patch() for text in ax.texts]
    boxes = [patch.get_window_extent() for patch in patches if patch is not None]
    assert sum(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k]) == 0
    legend = ax.get_legend()
    assert legend is not None
    extents = [*boxes, legend.get_window_extent()]
    assert min(box.x0 for box in extents) >= 0
    assert min(box.y0 for box in extents) >= 0
    assert max(box.x1 for box in extents) <= ax.figure.bbox.width
    assert max(box.y1 for box in boxes) <= ax.bbox.y1 + 1
    assert min(box.y0 for box in boxes) >= legend.get_window_extent().y1 - 6


def test_by_default_as_many_edges_are_drawn_as_are_readable() -> None:
    posterior = made_up_posterior(12)
    posterior.inclusion_probability = np.where(np.eye(12) == 1, 0, 0.95)
    assert readable_threshold(posterior) == 0.99
    assert network(posterior).get_title(loc="left") == (
        "0 of 66 possible edges have probability 0.99 or more"
    )
    assert "66 of 66" in network(posterior, threshold=0.5).get_title(loc="left")


def test_several_plots_can_share_a_scale_of_widths() -> None:
    one, other = made_up_posterior(6, seed=1), made_up_posterior(6, seed=2)
    other.coupling_given_presence = 3 * one.coupling_given_presence
    other.inclusion_probability = one.inclusion_probability
    own = [lines(network(p, 0.1))["positive"].get_linewidths() for p in (one, other)]
    np.testing.assert_allclose(own[0], own[1])
    shared = [
        lines(network(p, 0.1, max_coupling=1.0))["positive"].get_linewidths() for p in (one, other)
    ]
    assert np.all(shared[1] >= shared[0])
    assert np.any(shared[1] > shared[0])
    strong = np.abs(one.coupling_given_presence) >= 1
    drawn = one.inclusion_probability >= 0.1
    assert (np.max(shared[0]) == MAX_WIDTH) == bool(np.any(strong & drawn))
    with pytest.raises(InputError) as caught:
        network(one, max_coupling=0)
    assert caught.value.fields["parameter"].name == "max_coupling"  # type: ignore[attr-defined]


def legend_texts(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_the_legend_explains_width_color_style_and_opacity() -> None:
    posterior = made_up_posterior(6)
    ax = network(posterior, 0.0, max_coupling=0.4)
    assert legend_texts(ax) == [
        "positive coupling", "negative coupling", "coupling of ±0.4 or more", "coupling of ±0.1",
        "probability 1", "probability 0.5",
    ]  # fmt: skip
    alone = legend_texts(network(posterior, 1.0, max_coupling=100))
    assert alone[2] == "coupling of ±1e+02"
    assert alone[-2:] == ["probability 1", "no edge drawn"]


def test_positions_are_kept_with_their_aspect_ratio() -> None:
    posterior = made_up_posterior(4)
    corners = {"item 0": (0, 0), "item 1": (10, 0), "item 2": (10, 10), "item 3": (0, 10)}
    ax = network(posterior, pos=corners)
    assert isinstance(ax.figure, Figure)
    ax.figure.draw_without_rendering()
    drawn = label_places(ax)
    on_screen = {name: ax.transData.transform(place) for name, place in drawn.items()}
    wide, high = on_screen["item 2"] - on_screen["item 0"]
    assert wide == pytest.approx(high, rel=1e-6)
    np.testing.assert_allclose(on_screen["item 1"][1], on_screen["item 0"][1])
    in_order = network(posterior, pos=list(corners.values()))
    assert label_places(in_order) == drawn


def test_a_layout_can_be_shared() -> None:
    one, other = made_up_posterior(7, seed=1), made_up_posterior(7, seed=2)
    pos = network_layout(one)
    assert list(pos) == one.feature_names
    assert label_places(network(one, pos=pos)) == label_places(network(other, pos=pos))
    assert label_places(network(one)) != label_places(network(other))


def test_labels_colors_sizes_and_title() -> None:
    posterior = made_up_posterior(3)
    ax = network(
        posterior,
        labels={"item 1": "second"},
        node_color={"item 0": "black"},
        node_size={2: 1.5},
        title="Mine",
    )
    assert [text.get_text() for text in ax.texts] == ["item 0", "second", "item 2"]
    patches = [text.get_bbox_patch() for text in ax.texts]
    faces = [to_hex(patch.get_facecolor()) for patch in patches if patch is not None]
    assert faces == ["#000000", "#ffffff", "#ffffff"]
    assert ax.texts[0].get_color() == "white"  # readable on black
    sizes = [text.get_fontsize() for text in ax.texts]
    assert sizes[2] == pytest.approx(1.5 * sizes[0])
    assert ax.get_title(loc="left") == "Mine"
    one_color = network(posterior, node_color="gold", node_size=2, labels=["a", "b", "c"])
    assert [text.get_text() for text in one_color.texts] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("options", "code", "field", "value"),
    [
        ({"labels": {"itm 1": "x"}}, "misspelled-node", "closest", "item 1"),
        ({"labels": {"zzz": "x"}}, "unknown-node", "node", "'zzz'"),
        ({"labels": ["a"]}, "not-one-value-per-node", "n_nodes", 3),
        ({"labels": "abc"}, "not-one-value-per-node", "value", "'abc'"),
        ({"node_color": {"item 0": "no color"}}, "not-a-color", "color", "'no color'"),
        ({"node_color": "no color"}, "not-one-value-per-node", "value", "'no color'"),
        ({"node_size": "big"}, "not-in-range", "value", "'big'"),
        ({"node_size": {"item 0": -1}}, "not-in-range", "value", "-1"),
        ({"pos": {"item 0": (0, 0)}}, "invalid-position", "found", "none for 'item 1'"),
        ({"pos": np.zeros((3, 3))}, "invalid-position", "n_nodes", 3),
        ({"pos": dict.fromkeys(range(3), "ab")}, "invalid-position", "n_nodes", 3),
        ({"pos": np.zeros((2, 2))}, "not-one-value-per-node", "n_nodes", 3),
    ],
)
def test_bad_options(options: dict[str, object], code: str, field: str, value: object) -> None:
    with pytest.raises(InputError) as caught:
        network(made_up_posterior(3), **options)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert caught.value.fields[field] == value


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
