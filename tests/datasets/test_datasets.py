"""Data sets: the requested distribution of fields, exact rows, and real data from every source."""

import gzip
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from skips import NEEDS_DATA
from slabfield.datasets import (
    draw_rows,
    load_adhd,
    load_boredom,
    load_digits_binary,
    load_mnist_patches,
    make_block,
    make_lattice,
    make_random,
)
from slabfield.datasets.adhd import HYPERACTIVITY, INATTENTION, SYMPTOMS
from slabfield.datasets.boredom import ITEMS
from slabfield.datasets.gibbs_rows import color_classes
from slabfield.inference import elimination, enumeration
from slabfield.models.field import BinaryField

MAKERS = {
    "block": make_block,
    "lattice": lambda n_rows, **more: make_lattice(n_rows, (3, 8), **more),
    "random": lambda n_rows, **more: make_random(n_rows, 25, **more),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_field_of_a_seed_does_not_depend_on_the_number_of_rows(make):
    few, many, again = (make(n, random_state=7) for n in (10, 500, 500))
    np.testing.assert_array_equal(few.field.coupling, many.field.coupling)
    np.testing.assert_array_equal(few.field.bias, many.field.bias)
    np.testing.assert_array_equal(many.rows, again.rows)
    assert not np.array_equal(few.field.bias, make(10, random_state=8).field.bias)
    assert few.rows.shape == (10, few.field.n_nodes)
    assert few.rows.dtype == np.uint8
    assert set(np.unique(many.rows)) == {0, 1}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_generator_is_a_seed_too(make):
    one, other = (make(20, random_state=np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one.rows, other.rows)
    shared = np.random.default_rng(3)
    assert not np.array_equal(
        make(20, random_state=shared).field.bias, make(20, random_state=shared).field.bias
    )


def test_block_has_the_stated_distribution():
    fields = [make_block(1, random_state=seed).field for seed in range(300)]
    group = np.arange(12) // 4
    within = group[:, None] == group[None, :]
    upper = np.triu(np.ones((12, 12), dtype=bool), 1)
    inside = np.array([field.coupling[within & upper] for field in fields])
    across = np.array([field.coupling[~within & upper] for field in fields])
    assert inside.shape[1] == 18
    assert across.shape[1] == 48
    assert np.all(inside >= 0)
    # Couplings of sd 0.5 on the Ising scale are of sd 2 on the 0/1 scale. Five standard errors.
    assert abs(np.mean(inside != 0) - 0.8) < 5 * np.sqrt(0.16 / inside.size)
    assert abs(np.mean(across != 0) - 0.1) < 5 * np.sqrt(0.09 / across.size)
    for values in (inside, across):
        present = values[values != 0]
        assert abs(np.mean(present**2) / 4 - 1) < 5 * np.sqrt(2 / present.size)
    assert abs(np.mean(across[across != 0] > 0) - 0.5) < 5 * 0.5 / np.sqrt(np.sum(across != 0))
    bias = np.array([field.to_ising()[0] for field in fields])
    assert abs(np.mean(bias**2) / 0.01 - 1) < 5 * np.sqrt(2 / bias.size)


def test_block_of_other_sizes():
    data = make_block(5, 0, n_groups=2, group_size=3, p_within=1, p_across=0, bias_scale=0)
    assert data.field.n_edges == 6
    assert not data.field.to_ising()[0].round(12).any()


@pytest.mark.parametrize(("shape", "n_edges"), [((10, 10), 180), ((3, 4), 17), ((1, 5), 4)])
def test_lattice_joins_nearest_neighbors(shape, n_edges):
    field = make_lattice(1, shape, random_state=0).field
    position = np.array([divmod(i, shape[1]) for i in range(field.n_nodes)])
    distance = np.abs(position[:, None] - position[None, :]).sum(axis=2)
    np.testing.assert_array_equal(field.edges, distance == 1)
    assert field.n_edges == n_edges


def test_random_graph_has_the_mean_degree_and_scale():
    fields = [
        make_random(1, 60, 3.0, seed, coupling_scale=0.2, method="gibbs", n_sweeps=1).field
        for seed in range(100)
    ]
    n_edges = np.array([field.n_edges for field in fields])
    pairs, probability = 60 * 59 / 2, 3.0 / 59
    error = np.sqrt(pairs * probability * (1 - probability) / len(fields))
    assert abs(n_edges.mean() - pairs * probability) < 5 * error
    values = np.concatenate([field.coupling[np.triu(field.edges)] for field in fields]) / 4
    assert abs(np.mean(values**2) / 0.04 - 1) < 5 * np.sqrt(2 / values.size)


# How rows are sampled


def test_auto_is_exact():
    assert make_block(10, random_state=0).method == "enumeration"
    assert make_lattice(10, random_state=0).method == "elimination"


def test_refuses_if_exact_draws_are_out_of_reach():
    with pytest.raises(ValueError, match="out of reach") as caught:
        make_random(10, 400, random_state=0)
    message = str(caught.value)
    assert "400 nodes" in message
    assert "memory_limit is 1,073,741,824 bytes" in message
    assert "method='gibbs'" in message
    needed = elimination.plan(make_lattice(1, random_state=0).field).sample_bytes
    with pytest.raises(ValueError, match=f"need at least {needed:,} bytes"):
        make_lattice(10, random_state=0, memory_limit=needed - 1)
    with pytest.raises(ValueError, match="for example 20 binary nodes; this one of 100 nodes"):
        make_lattice(10, random_state=0, method="enumeration")


def test_gibbs_is_used_on_request():
    data = make_random(30, 400, random_state=0, method="gibbs", n_sweeps=20)
    assert data.method == "gibbs"
    assert data.rows.shape == (30, 400)


def test_neighbors_have_different_colors():
    field = make_random(1, 50, 6.0, 1, method="gibbs", n_sweeps=1).field
    classes = color_classes(field)
    assert sorted(np.concatenate(classes).tolist()) == list(range(50))
    assert not any(field.edges[np.ix_(nodes, nodes)].any() for nodes in classes)


def ring(factor: float) -> BinaryField:
    coupling = 1.6 * (np.eye(5, k=1) + np.eye(5, k=4))
    coupling[1, 2] *= factor
    return BinaryField(np.full(5, -1.0), coupling + coupling.T)


@pytest.mark.parametrize("method", ["enumeration", "elimination", "gibbs"])
@pytest.mark.parametrize(("factor", "fits"), [(1.0, True), (1.1, False)])
def test_rows_have_the_right_distribution(method, factor, fits):
    rows = draw_rows(ring(factor), 40_000, random_state=4, method=method, n_sweeps=30)
    counts = np.bincount(rows @ (1 << np.arange(5)), minlength=32)
    pvalue = chisquare(counts, 40_000 * enumeration.probabilities(ring(1.0))).pvalue
    assert pvalue > 1e-3 if fits else pvalue < 1e-6


def test_further_rows_of_the_same_field():
    field = make_lattice(10, random_state=0).field
    rows = draw_rows(field, 25, random_state=1)
    assert rows.shape == (25, 100)
    assert not np.array_equal(rows, draw_rows(field, 25, random_state=2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_block(0), "n_rows must be a whole number of at least 1; got 0"),
        (lambda: make_block(5, p_within=1.5), "p_within must be a number"),
        (lambda: make_block(5, coupling_scale=-1), "coupling_scale must be a number"),
        (lambda: make_block(5, method="exact"), "method must be one of 'auto'"),
        (
            lambda: make_lattice(5, (3, 3, 3)),
            "height and a width, each a whole number of at least 1; got",
        ),
        (lambda: make_lattice(5, (3, 0)), r"each a whole number of at least 1; got \(3, 0\)"),
        (lambda: make_random(5, 4, 5.0), "from 0 to n_nodes - 1 = 3; found 5"),
        (lambda: load_digits_binary(pool=3), "pool must be None or 2; found 3"),
        (lambda: load_mnist_patches(-1), "n_train must be a whole number"),
    ],
)
def test_messages_name_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_importing_data_sets_imports_nothing_heavy():
    code = (
        "import sys, slabfield.datasets;"
        "print([m for m in ('numba', 'pandas', 'sklearn', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ADHD


def test_adhd_has_the_children_and_symptoms_of_the_study():
    children = load_adhd()
    assert children.data.shape == (355, 18)
    assert list(children.data.columns) == children.feature_names
    assert (children.data.dtypes == np.uint8).all()
    assert set(np.unique(children.data)) == {0, 1}
    assert children.target.value_counts().to_dict() == {0: 209, 1: 146}
    assert children.target_names == ["no ADHD", "ADHD"]
    assert "diagnosis" not in children.data
    assert children.frame.columns.tolist() == [*children.feature_names, "diagnosis"]
    np.testing.assert_array_equal(children.frame[children.feature_names], children.data)


@pytest.mark.parametrize(
    ("load", "file", "items", "group"),
    [(load_adhd, "adhd", SYMPTOMS, "group"), (load_boredom, "boredom", ITEMS, "language")],
)
def test_columns_keep_their_values_under_readable_names(load, file, items, group):
    with files("slabfield.datasets").joinpath("data", f"{file}.csv").open() as stored:
        raw = pd.read_csv(stored)
    data, target = load(return_X_y=True)
    assert set(raw.columns) == {*items, group}
    for column, item in items.items():
        np.testing.assert_array_equal(data[item.name], raw[column])
    np.testing.assert_array_equal(target, raw[group])
    assert max(map(len, data.columns)) <= 15  # pictures cut longer names


def test_adhd_has_the_symptoms_that_the_study_counts():
    data = load_adhd().data
    assert data["Interrupts"].sum() == 186
    assert data["Noisy at play"].sum() == 80


@pytest.mark.parametrize("load", [load_adhd, load_boredom])
def test_shipped_tables_as_arrays(load):
    X, y = load(return_X_y=True, as_frame=False)
    assert type(X) is type(y) is np.ndarray
    arrays = load(as_frame=False)
    assert arrays.frame is None
    np.testing.assert_array_equal(arrays.data, X)
    np.testing.assert_array_equal(load().data, X)
    np.testing.assert_array_equal(load().target, y)


def test_boredom_has_the_people_and_items_of_the_study():
    people = load_boredom()
    assert people.data.shape == (986, 8)
    assert list(people.data.columns) == people.feature_names == list(people.descriptions)
    assert (people.data.dtypes == np.uint8).all()
    assert set(np.unique(people.data)) == set(range(1, 8))
    assert people.target.value_counts().to_dict() == {"en": 496, "fr": 490}
    assert people.target_names == ["en", "fr"]
    assert people.frame.columns.tolist() == [*people.feature_names, "language"]
    for fact in ("10.1027/1015-5759/a000718", "CC BY 4.0", "Martarelli", "bgms"):
        assert fact in people.DESCR


def test_the_means_that_the_page_on_boredom_states():
    data, language = load_boredom(return_X_y=True)
    means = data.groupby(language).mean()
    assert means.loc["fr"].agg(["min", "max"]).round(1).tolist() == [2.2, 3.1]
    assert means.loc["en"].agg(["min", "max"]).round(1).tolist() == [3.2, 4.2]


def test_adhd_says_what_the_symptoms_are_and_whose_the_data():
    children = load_adhd()
    assert list(children.descriptions) == list(children.communities) == children.feature_names
    assert [
        list(children.communities.values()).count(each) for each in (INATTENTION, HYPERACTIVITY)
    ] == [9, 9]
    for fact in ("10.1371/journal.pone.0211053", "CC BY 4.0", "Silk", "bgms"):
        assert fact in children.DESCR


def test_the_correlations_that_the_page_on_adhd_states():
    data, target = load_adhd(return_X_y=True)
    pairs = np.triu_indices(18, 1)
    for rows in (data, data[target == 1], data[target == 0]):
        mean = rows.corr().to_numpy()[pairs].mean()
        assert f"{mean:.2f}" in load_adhd().DESCR
        assert f"{mean:.2f}" in load_adhd.__doc__


# Digits


def test_digits_are_the_thresholded_images():
    from sklearn.datasets import load_digits

    images = load_digits().images
    table = load_digits_binary()
    assert table.shape == (1797, 64)
    assert (table.dtypes == np.uint8).all()
    for row, column in [(0, 3), (4, 4), (7, 2)]:
        np.testing.assert_array_equal(table[f"r{row}c{column}"], images[:, row, column] >= 4)
    constant = [name for name in table if table[name].nunique() == 1]
    assert constant == ["r0c0", "r1c0", "r2c0", "r3c0", "r3c7", "r4c0", "r4c7", "r7c0"]
    assert all(name in load_digits_binary.__doc__ for name in constant)


def test_pooled_digits_have_no_constant_pixel():
    full, pooled = load_digits_binary(), load_digits_binary(pool=2)
    assert pooled.shape == (1797, 16)
    block = full[["r2c4", "r2c5", "r3c4", "r3c5"]].sum(axis=1) >= 2
    np.testing.assert_array_equal(pooled["r1c2"], block)
    assert pooled.mean().between(0.007, 0.95).all()


# MNIST


def make_images(n: int, seed: int) -> np.ndarray:
    """Images whose pixels all vary, before and after pooling."""
    rng = np.random.default_rng(seed)
    dark = rng.integers(0, 51, (n, 28, 28))
    return np.where(rng.random((n, 28, 28)) < 0.4, 255 - dark, dark).astype(np.uint8)


def write_npz(folder, train, test):
    labels = {f"y_{name}": np.zeros(1, np.uint8) for name in ("train", "test")}
    np.savez(folder / "mnist.npz", x_train=train, x_test=test, **labels)


def write_idx(path, images):
    content = np.array([0x803, *images.shape], dtype=">u4").tobytes() + images.tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.fixture
def tiny():
    return make_images(60, 0), make_images(20, 1)


def pooled_reference(image: np.ndarray) -> np.ndarray:
    return np.array(
        [
            [
                np.mean(image[2 * row : 2 * row + 2, 2 * column : 2 * column + 2] > 50) >= 0.5
                for column in range(14)
            ]
            for row in range(14)
        ]
    )


def test_mnist_from_the_data_folder(tmp_path, monkeypatch, tiny):
    write_npz(tmp_path, *tiny)
    monkeypatch.setenv("SLABFIELD_DATA", str(tmp_path))
    data = load_mnist_patches()
    assert (data.shape, data.corner) == ((9, 12), (2, 1))
    assert data.train.shape == (60, 108)
    assert data.test.shape == (20, 108)
    assert data.train.dtype == data.test.dtype == np.uint8
    for row, image in zip(data.test, tiny[1], strict=True):
        np.testing.assert_array_equal(row, pooled_reference(image)[2:11, 1:13].ravel())
    assert data.names[:2] == ["r2c1", "r2c2"]
    assert data.names[-1] == "r10c12"


@pytest.mark.parametrize(
    ("train_name", "test_name"),
    [
        ("train-images-idx3-ubyte", "t10k-images-idx3-ubyte"),
        ("train-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz"),
        ("train-images.idx3-ubyte", "t10k-images.idx3-ubyte.gz"),
    ],
)
def test_mnist_from_idx_files(tmp_path, monkeypatch, tiny, train_name, test_name):
    monkeypatch.delenv("SLABFIELD_DATA", raising=False)
    write_idx(tmp_path / train_name, tiny[0])
    write_idx(tmp_path / test_name, tiny[1])
    other = tmp_path / "npz"
    other.mkdir()
    write_npz(other, *tiny)
    from_idx, from_npz = load_mnist_patches(source=tmp_path), load_mnist_patches(source=other)
    np.testing.assert_array_equal(from_idx.train, from_npz.train)
    np.testing.assert_array_equal(from_idx.test, from_npz.test)


def test_mnist_from_openml(monkeypatch, tiny):
    import sklearn.datasets

    from slabfield.datasets import mnist_files

    class Answer:
        data = np.concatenate(tiny).reshape(80, 784).astype(float)

    def fetch(name, **options):
        assert (name, options) == ("mnist_784", {"version": 1, "as_frame": False})
        return Answer

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    monkeypatch.setattr(mnist_files, "N_TRAIN", 60)
    data = load_mnist_patches(source="openml")
    assert (len(data.train), len(data.test)) == (60, 20)
    np.testing.assert_array_equal(data.test[0], pooled_reference(tiny[1][0])[2:11, 1:13].ravel())

    def fail(name, **options):
        raise OSError("no route")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(OSError, match=r"no route.*Check the network"):
        load_mnist_patches(source="openml")


@pytest.mark.parametrize("given", ["nothing", "an empty folder", "an empty data folder"])
def test_the_message_of_missing_mnist_names_the_three_sources(tmp_path, monkeypatch, given):
    import sklearn.datasets

    def fetch(*_, **__):
        raise AssertionError("the network was used")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    monkeypatch.delenv("SLABFIELD_DATA", raising=False)
    if given == "an empty data folder":
        monkeypatch.setenv("SLABFIELD_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="MNIST was not found") as caught:
        load_mnist_patches(source=tmp_path if given == "an empty folder" else None)
    for way in ("SLABFIELD_DATA", "mnist.npz", "train-images-idx3-ubyte", 'source="openml"'):
        assert way in str(caught.value)


def test_mnist_training_rows_are_drawn_without_replacement(tmp_path, tiny):
    write_npz(tmp_path, *tiny)
    every = load_mnist_patches(source=tmp_path)
    some = load_mnist_patches(40, source=tmp_path, random_state=0)
    again = load_mnist_patches(40, source=tmp_path, random_state=0)
    np.testing.assert_array_equal(some.train, again.train)
    np.testing.assert_array_equal(some.test, every.test)
    assert some.corner == every.corner
    assert len({row.tobytes() for row in some.train}) == 40
    assert {row.tobytes() for row in some.train} <= {row.tobytes() for row in every.train}
    with pytest.raises(ValueError, match="at most the number of training images, 60; found 61"):
        load_mnist_patches(61, source=tmp_path)


@pytest.mark.parametrize(
    ("dead_rows", "dead_columns", "shape", "corner"),
    [
        ([2], [], (9, 12), (3, 1)),
        ([3], [], (9, 12), (4, 1)),
        ([], [1], (12, 9), (1, 2)),
        ([], [12], (12, 9), (1, 2)),
        ([], [2], (12, 9), (1, 3)),
        ([13], [1, 2], (12, 9), (1, 3)),
    ],
)
def test_mnist_patch_is_the_most_central_one(
    tmp_path, tiny, dead_rows, dead_columns, shape, corner
):
    train, test = tiny
    pixels = np.ones((14, 14), dtype=bool)
    pixels[dead_rows], pixels[:, dead_columns] = False, False
    write_npz(tmp_path, train * np.kron(pixels, np.ones((2, 2), bool)), test)
    data = load_mnist_patches(source=tmp_path)
    assert (data.shape, data.corner) == (shape, corner)


def test_messages_name_bad_mnist_files(tmp_path, tiny):
    write_npz(tmp_path, tiny[0][:, :20], tiny[1])
    with pytest.raises(ValueError, match=r"shape \(n, 28, 28\).*found \(60, 20, 28\)"):
        load_mnist_patches(source=tmp_path)
    write_npz(tmp_path, np.zeros_like(tiny[0]), tiny[1])
    with pytest.raises(ValueError, match=r"No 9 x 12 patch.*0 of 196 pixels"):
        load_mnist_patches(source=tmp_path)
    np.savez(tmp_path / "mnist.npz", x_train=tiny[0])
    with pytest.raises(ValueError, match="x_test missing"):
        load_mnist_patches(source=tmp_path / "mnist.npz")
    (tmp_path / "mnist.npz").unlink()
    write_idx(tmp_path / "train-images-idx3-ubyte", tiny[0])
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(b"not images at all")
    with pytest.raises(ValueError, match=r"t10k-images-idx3-ubyte must be an idx file"):
        load_mnist_patches(source=tmp_path)


@NEEDS_DATA
def test_mnist_itself():
    data = load_mnist_patches(1000, random_state=0)
    assert (data.shape, data.corner) == ((9, 12), (3, 1))
    assert data.train.shape == (1000, 108)
    assert data.test.shape == (10_000, 108)
    mean = load_mnist_patches().train.mean(axis=0)
    assert mean.min() >= 1e-4
    assert mean.max() <= 1 - 1e-4
