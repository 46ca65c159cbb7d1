"""SpikeSlabMRF: scikit-learn's conventions, accepted and refused input, fitted attributes."""

import json
import pickle
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from slabfield import SpikeSlabMRF
from slabfield.datasets import make_block
from slabfield.encoding import code_table
from slabfield.estimators import spike_slab
from slabfield.priors import largest_slab_scale
from slabfield.validation import InputError, InputWarning

ROWS = make_block(80, random_state=2, n_groups=1).rows
NAMES = ["sleep", "work", "mood", "pain"]
FRAME = pd.DataFrame(ROWS, columns=NAMES)


def quick(**parameters: Any) -> SpikeSlabMRF:
    """Return an estimator with few draws."""
    return SpikeSlabMRF(
        **({"n_chains": 2, "n_draws": 50, "n_warmup": 20, "random_state": 0} | parameters)
    )


def same_draws(one: SpikeSlabMRF, other: SpikeSlabMRF) -> bool:
    mine, theirs = one.posterior_.draws, other.posterior_.draws
    names = (
        *("coupling", "present", "bias", "p0", "sigma0", "potential"),
        *("conditional_probability", "log_bayes_factor", "log_bayes_factor_mcse"),
    )
    return all(
        np.array_equal(getattr(mine, name), getattr(theirs, name), equal_nan=name != "present")
        for name in names
    )


@pytest.fixture(scope="module")
def fitted() -> SpikeSlabMRF:
    return quick(n_draws=200).fit(FRAME)


# --- the scikit-learn conventions -------------------------------------------------------------


def test_parameters_are_stored_unchanged() -> None:
    given = {
        "likelihood": "particles", "preset": "paper", "n_chains": 3, "n_warmup": 5, "n_draws": 7,
        "inclusion_prior": np.eye(4), "slab_prior": 2.0, "bias_scale": 3, "edge_threshold": 0.2,
        "binarize": {"a": 2}, "random_state": 5, "n_jobs": 1, "progress": True,
        "sampler": {"n_particles": 64, "step_size": 1, "restart": True},
        "max_draws": 50, "time_budget": 9, "tolerance": 0.1,
        "forbid": [(0, 1)], "require": [(1, 2)], "communities": [0, 0, 1, 1], "within": 0.5,
        "between": 0.1, "na": "drop", "na_values": [9], "levels": {"a": [1, 2]}, "max_memory": 1e9,
        "kinds": {"b": "nominal"}, "scores": {"c": [0, 1, 3]},
    }  # fmt: skip
    model = SpikeSlabMRF(**given)
    assert set(model.get_params()) == set(given)
    for name, value in given.items():
        assert model.get_params()[name] is value
    assert str(clone(model).get_params()) == str(model.get_params())
    again = SpikeSlabMRF().set_params(**given)
    assert again.inclusion_prior is given["inclusion_prior"]
    with pytest.raises(ValueError, match="n_drawz"):
        model.set_params(n_drawz=3)


def test_a_clone_is_not_fitted_and_reproduces_the_fit(fitted: SpikeSlabMRF) -> None:
    again = clone(fitted)
    with pytest.raises(NotFittedError):
        check_is_fitted(again)
    assert same_draws(again.fit(FRAME), fitted)
    check_is_fitted(again)


def test_fitting_does_not_change_the_parameters(fitted: SpikeSlabMRF) -> None:
    expected = quick(n_draws=200).get_params()
    assert fitted.get_params() == expected


def test_a_pickled_estimator_is_the_same(fitted: SpikeSlabMRF) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    assert same_draws(again, fitted)
    assert again.get_params() == fitted.get_params()
    np.testing.assert_array_equal(again.inclusion_probability_, fitted.inclusion_probability_)
    np.testing.assert_array_equal(again.feature_names_in_, fitted.feature_names_in_)
    assert again.posterior_.to_dataframe().equals(fitted.posterior_.to_dataframe())


def test_a_fit_returns_the_estimator_and_ignores_y() -> None:
    model = quick()
    assert model.fit(FRAME, y=ROWS[:, 0]) is model
    assert same_draws(model, quick().fit(FRAME))


# --- fitted attributes ------------------------------------------------------------------------


def test_attributes_and_their_shapes(fitted: SpikeSlabMRF) -> None:
    assert fitted.n_features_in_ == 4
    for matrix in (fitted.inclusion_probability_, fitted.coupling_):
        assert matrix.shape == (4, 4)
        np.testing.assert_array_equal(matrix, matrix.T)
        np.testing.assert_array_equal(np.diag(matrix), 0)
        assert np.isfinite(matrix).all()
    assert fitted.bias_.shape == (4,)
    assert fitted.coding_notes_ == []
    draws = fitted.posterior_.draws
    assert draws.coupling.shape == draws.present.shape == (2, 200, 6)
    assert draws.bias.shape == (2, 200, 4)
    assert draws.p0.shape == draws.sigma0.shape == (2, 200)
    assert draws.present.dtype == bool
    np.testing.assert_array_equal(draws.present, draws.coupling != 0)
    np.testing.assert_allclose(fitted.posterior_.bias_mean, draws.bias.mean(axis=(0, 1)))


def test_the_posterior_records_settings_and_info(fitted: SpikeSlabMRF) -> None:
    recorded = fitted.posterior_.settings
    expected = {
        "preset": "default", "likelihood": "auto", "engine": "exact", "scheme": "collapsed",
        "n_chains": 2, "n_draws": 200, "n_warmup": 20, "seed": 0, "n_rows": 80, "bias_scale": 10.0,
    }  # fmt: skip
    assert {name: recorded[name] for name in expected} == expected
    assert recorded["inclusion_prior"] == {"a": 5.0, "b": 5.0, "edges": None}
    assert recorded["slab_prior"] == {
        "c": 5.0, "d": 5.0, "sigma0": None, "max": largest_slab_scale(5, 5)
    }  # fmt: skip
    assert recorded["data_fingerprint"] == sha256(np.asarray(ROWS, np.uint8).tobytes()).hexdigest()
    assert set(recorded["versions"]) == {"slabfield", "python", "numpy", "scipy", "numba"}
    assert json.loads(json.dumps(recorded)) == recorded
    assert len(fitted.posterior_.info) == 2
    assert all(chain["cpu_seconds"] > 0 for chain in fitted.posterior_.info)
    assert fitted.posterior_.feature_names == NAMES


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_the_field_has_the_edges_above_the_threshold(threshold: float) -> None:
    forbidden = symmetric(0, 1, 0.0)
    model = quick(edge_threshold=threshold, inclusion_prior=forbidden).fit(ROWS)
    likely = model.inclusion_probability_ >= threshold
    likely[0, 1] = likely[1, 0] = False
    np.fill_diagonal(likely, False)
    np.testing.assert_array_equal(model.coupling_ != 0, likely)
    chosen = np.count_nonzero(model.coupling_) // 2
    # averages of conditional probabilities never reach 1
    assert chosen == {0.0: 5, 1.0: 0}.get(threshold, chosen)
    assert chosen < 6
    assert chosen > 0 or threshold == 1.0


def test_the_strongest_edges_of_a_block_are_found() -> None:
    data = make_block(500, random_state=4)
    model = quick(n_draws=150, n_warmup=50).fit(data.rows)
    ising = np.abs(np.triu(data.field.coupling / 4, 1))
    strongest = ising >= np.sort(ising[ising > 0])[-6]
    assert strongest.sum() == 6
    assert np.all(model.inclusion_probability_[strongest] > 0.5)
    absent = np.triu(~data.field.edges, 1)
    assert model.inclusion_probability_[absent].mean() < 0.4
    # couplings are recovered too, within the precision of 500 rows
    truth = data.field.coupling[strongest]
    np.testing.assert_allclose(model.coupling_[strongest], truth, atol=1.5)


# --- tables -----------------------------------------------------------------------------------


def test_column_names_of_a_data_frame_are_stored_and_arrays_have_none(fitted: SpikeSlabMRF) -> None:
    assert fitted.feature_names_in_.tolist() == NAMES
    assert fitted.feature_names_in_.dtype == object
    again = clone(fitted).fit(FRAME).fit(ROWS)
    assert not hasattr(again, "feature_names_in_")
    assert same_draws(again, fitted)


@pytest.mark.parametrize(
    ("low", "high", "rule"),
    [
        ("no", "yes", "1 = 'yes', 0 = 'no'."),
        ("ant", "zebra", "1 = 'zebra', 0 = 'ant'."),
        (1, 2, "1 = 2, 0 = 1."),
        (-1, 1, "1 = 1, 0 = -1."),
        (False, True, "1 = True, 0 = False."),
    ],
)
def test_columns_of_any_two_values_give_the_same_result(
    low: Any, high: Any, rule: str, fitted: SpikeSlabMRF
) -> None:
    table = FRAME.astype(object)
    table["work"] = np.where(ROWS[:, 1] == 1, high, low)
    model = clone(fitted).fit(table)
    assert model.coding_notes_ == [f"Column 'work': {rule}"]
    assert same_draws(model, fitted)


def test_numbers_are_cut_at_the_given_point(fitted: SpikeSlabMRF) -> None:
    table = FRAME.assign(pain=ROWS[:, 3] * 5 + np.arange(80) % 3)
    model = clone(fitted).set_params(binarize={"pain": 5}).fit(table)
    assert model.coding_notes_ == ["Column 'pain': 1 = at least 5, 0 = less than 5."]
    assert same_draws(model, fitted)
    with pytest.raises(InputError, match="'pain' holds 0, 1, 2"):
        clone(fitted).set_params(kinds="binary").fit(table)


@pytest.mark.parametrize("settings", [{}, {"preset": "paper", "likelihood": "exact"}])
def test_a_constant_column_warns_and_fits(settings: dict[str, Any]) -> None:
    table = FRAME.assign(work=1)
    with pytest.warns(InputWarning, match="Column 'work' has the same value in every row"):
        model = quick(**settings).fit(table)
    assert np.isfinite(model.inclusion_probability_).all()
    assert np.isfinite(model.bias_).all()
    assert model.bias_[1] > 1


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"preset": "paper", "likelihood": "exact", "sampler": {"thin": 2}},
        {"preset": "paper", "sampler": {"thin": 2}},
        {
            "preset": "paper",
            "sampler": {"thin": 2, "restart": True, "preconditioner": "full"},
        },
    ],
)
@pytest.mark.parametrize("rows", [[[0, 1, 0], [1, 0, 0]], [[0, 1], [1, 1], [1, 0], [0, 0]]])
def test_two_rows_and_two_columns_are_enough(
    settings: dict[str, Any], rows: list[list[int]]
) -> None:
    constant = len(rows) == 2
    model = quick(**settings)
    if constant:
        with pytest.warns(InputWarning, match="the same value in every row"):
            model.fit(rows)
    else:
        model.fit(rows)
    assert model.inclusion_probability_.shape == (len(rows[0]),) * 2
    assert np.isfinite(model.posterior_.draws.coupling).all()
    assert len(model.posterior_.to_dataframe()) == (3 if constant else 1)


# --- engines and presets ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_nodes", "settings", "engine", "scheme"),
    [
        (4, {}, "exact", "collapsed"),
        (20, {}, "exact", "collapsed"),
        (21, {}, "particles", "collapsed"),
        (20, {"likelihood": "exact"}, "exact", "collapsed"),
        (20, {"likelihood": "particles"}, "particles", "collapsed"),
        (4, {"likelihood": "particles"}, "particles", "collapsed"),
        (4, {"likelihood": "pseudo"}, "pseudo", "collapsed"),
        (4, {"preset": "paper"}, "particles", "approximate"),
        (4, {"preset": "paper", "likelihood": "exact"}, "exact", "adjusted"),
    ],
)
def test_which_engine_and_scheme_are_chosen(
    n_nodes: int, settings: dict[str, str], engine: str, scheme: str
) -> None:
    rows = np.random.default_rng(0).integers(0, 2, size=(30, n_nodes))
    model = quick(n_chains=1, n_draws=2, n_warmup=1, sampler={"thin": 1}, **settings).fit(rows)
    assert model.posterior_.settings["engine"] == engine
    assert model.posterior_.settings["scheme"] == scheme
    assert engine in repr(model.posterior_)


def test_the_paper_preset_has_the_papers_settings_unless_overridden() -> None:
    model = SpikeSlabMRF(preset="paper", n_draws=None, sampler={"n_particles": 64})
    settings = model._settings(code_table(FRAME))
    expected = {
        "n_particles": 64, "n_sweeps": 1, "step_size": 1e-3, "persistence": 0.9,
        "jump_scale": 0.01, "add_probability": 1.0, "delete_probability": 1.0, "n_draws": 10_000,
        "thin": 1_000, "preconditioner": "diagonal", "restart": False,
    }  # fmt: skip
    assert {name: getattr(settings, name) for name in expected} == expected


def test_integers_in_place_of_floats_cause_no_compilation() -> None:
    settings = SpikeSlabMRF(
        preset="paper",
        sampler={"step_size": 1, "persistence": 0, "add_probability": 1, "thin": np.int64(3)},
    )._settings(code_table(FRAME))
    for name, kind in {"step_size": float, "persistence": float, "add_probability": float}.items():
        assert type(getattr(settings, name)) is kind
    assert type(settings.thin) is int


def test_the_prior_reaches_the_sampler() -> None:
    matrix = np.full((4, 4), np.nan)
    matrix[0, 1] = matrix[1, 0] = 1
    matrix[2, 3] = matrix[3, 2] = 0
    model = quick(inclusion_prior=matrix, slab_prior=0.5).fit(FRAME)
    assert model.inclusion_probability_[0, 1] == 1
    assert model.inclusion_probability_[2, 3] == 0
    assert np.all(model.posterior_.draws.sigma0 == 0.5)
    sparse, dense = (quick(inclusion_prior=p0).fit(FRAME) for p0 in (0.01, 0.99))
    assert np.all(sparse.posterior_.draws.p0 == 0.01)
    assert sparse.posterior_.density.mean() < dense.posterior_.density.mean() - 0.3
    tight = quick(bias_scale=0.01).fit(FRAME)
    assert np.all(np.abs(tight.posterior_.bias_mean) < 0.05)


# --- seeds and chains -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: 3,
        lambda: np.int64(3),
        lambda: np.random.RandomState(3),
        lambda: np.random.default_rng(3),
    ],
)
def test_every_kind_of_random_state(make: Callable[[], Any]) -> None:
    model = quick(random_state=make()).fit(ROWS)
    assert same_draws(model, quick(random_state=make()).fit(ROWS))
    assert not same_draws(model, quick(random_state=4).fit(ROWS))
    # the seed that was used is recorded, and reproduces the run
    assert same_draws(model, quick(random_state=model.posterior_.settings["seed"]).fit(ROWS))


def test_without_a_random_state_every_run_differs() -> None:
    assert not same_draws(quick(random_state=None).fit(ROWS), quick(random_state=None).fit(ROWS))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"preset": "paper", "sampler": {"thin": 5}},
        {
            "preset": "paper",
            "likelihood": "exact",
            "sampler": {"thin": 5, "preconditioner": "full"},
        },
    ],
)
def test_the_draws_do_not_depend_on_n_jobs(settings: dict[str, Any]) -> None:
    one, *others = (quick(n_jobs=n, **settings).fit(ROWS) for n in (1, 2, -1, None))
    assert all(same_draws(one, other) for other in others)


def test_a_progress_bar_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with_progress = quick(progress=True).fit(ROWS)
    captured = capsys.readouterr()
    assert "2 chains of 50 draws" in captured.err
    assert captured.out == ""
    assert same_draws(with_progress, quick().fit(ROWS))
    assert capsys.readouterr().err == ""


# --- input that is refused before sampling ----------------------------------------------------


@pytest.fixture
def _no_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if chains are started."""

    def fail(*arguments: Any) -> None:
        pytest.fail("the sampler was started")

    monkeypatch.setattr(spike_slab, "run_chains", fail)


def symmetric(i: int, j: int, value: float) -> NDArray[np.float64]:
    matrix = np.full((4, 4), np.nan)
    matrix[i, j] = matrix[j, i] = value
    return matrix


@pytest.mark.usefixtures("_no_sampling")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("likelihood", "fast"),
        ("likelihood", None),
        ("preset", "fast"),
        ("n_chains", 0),
        ("n_chains", 2.5),
        ("n_chains", None),
        ("n_draws", 0),
        ("n_draws", True),
        ("n_warmup", -1),
        ("sampler", {"thin": 0}),
        ("n_jobs", 0),
        ("n_jobs", "all"),
        ("sampler", {"n_particles": 0}),
        ("sampler", {"n_sweeps": 0}),
        ("bias_scale", 0),
        ("bias_scale", -1.0),
        ("bias_scale", np.inf),
        ("bias_scale", "wide"),
        ("edge_threshold", -0.1),
        ("edge_threshold", 1.1),
        ("edge_threshold", np.nan),
        ("sampler", {"persistence": 1.0}),
        ("sampler", {"persistence": -0.1}),
        ("sampler", {"step_size": 0}),
        ("sampler", {"step_size": -1e-3}),
        ("sampler", {"jump_scale": 0.0}),
        ("sampler", {"add_probability": 0}),
        ("sampler", {"add_probability": 1.5}),
        ("sampler", {"delete_probability": 0.0}),
        ("sampler", {"preconditioner": "cholesky"}),
        ("sampler", {"restart": 1}),
        ("sampler", {"pseudo_weight": 0}),
        ("sampler", {"n_draws": 10}),
        ("sampler", [("thin", 5)]),
        ("random_state", -1),
        ("random_state", 1.5),
        ("random_state", "seed"),
        ("inclusion_prior", 0),
        ("inclusion_prior", 1.0),
        ("inclusion_prior", (5, -1)),
        ("inclusion_prior", "sparse"),
        ("inclusion_prior", np.triu(np.full((4, 4), 0.5))),
        ("inclusion_prior", symmetric(0, 1, 1.5)),
        ("inclusion_prior", symmetric(0, 1, -0.5)),
        ("inclusion_prior", np.full((3, 3), 0.5)),
        ("slab_prior", -1),
        ("slab_prior", 0),
        ("slab_prior", (0, 5)),
        ("slab_prior", (1, 2, 3)),
        ("binarize", "half"),
    ],
)
def test_the_message_names_a_parameter_out_of_range(name: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        SpikeSlabMRF(**{name: value}).fit(ROWS)
    assert str(caught.value).startswith(name)


@pytest.mark.usefixtures("_no_sampling")
def test_the_message_names_the_asymmetric_pair_of_a_matrix() -> None:
    matrix = np.full((4, 4), 0.5)
    matrix[1, 2] = 0.7
    with pytest.raises(InputError, match=r"symmetric; for the pair \('work', 'mood'\)"):
        SpikeSlabMRF(inclusion_prior=matrix).fit(FRAME)


@pytest.mark.usefixtures("_no_sampling")
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_too_many_nodes_for_the_exact_engine_are_refused(preset: str) -> None:
    rows = np.random.default_rng(0).integers(0, 2, size=(30, 21))
    with pytest.raises(InputError) as caught:
        SpikeSlabMRF(likelihood="exact", preset=preset).fit(rows)
    assert str(caught.value) == (
        "likelihood='exact' keeps a table of all joint states, at most 1,048,576 of them (20 "
        "columns of 2 values, 8 of 5); found 21 columns with 2,097,152 joint states. Use "
        "likelihood='particles', or drop columns."
    )


@pytest.mark.usefixtures("_no_sampling")
def test_a_full_preconditioner_of_too_many_parameters_is_refused() -> None:
    rows = np.random.default_rng(0).integers(0, 2, size=(30, 70))
    with pytest.raises(InputError, match="takes at most 2000; found 2485"):
        SpikeSlabMRF(sampler={"preconditioner": "full"}).fit(rows)


@pytest.mark.usefixtures("_no_sampling")
@pytest.mark.parametrize(
    "table",
    [
        ROWS[:1],
        ROWS[:, :1],
        ROWS * 1.0 + np.nan,
        np.arange(12).reshape(4, 3) / 2,
        [[0, 1], [1]],
        [],
    ],
)
def test_invalid_tables_are_refused(table: Any) -> None:
    with pytest.raises(InputError):
        SpikeSlabMRF().fit(table)


def test_the_paper_preset_refuses_the_pseudo_likelihood() -> None:
    with pytest.raises(ValueError, match="Leave the preset out"):
        quick(preset="paper", likelihood="pseudo").fit(ROWS)
