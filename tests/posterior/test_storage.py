"""Storage of posteriors: files are read back bit for bit, and invalid files are rejected."""

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import arviz_stats
import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from made_up_posteriors import make_up
from slabfield import Posterior, SpikeSlabMRF, datasets, evaluate, load_posterior
from slabfield.encoding import Variable
from slabfield.posterior import arviz_groups
from slabfield.posterior import datatree as tree_module
from slabfield.posterior.integrity import CHECKSUM_LENGTH, FORMAT, append_checksum
from slabfield.posterior.storage import save_posterior
from slabfield.validation import InputError


def assert_same(one: Posterior, other: Posterior) -> None:
    """Compare bit by bit: -0.0 is not 0.0 here, and NaN equals itself."""
    assert one.feature_names == other.feature_names
    assert one.encoder == other.encoder
    assert one.settings == other.settings
    assert one.info == other.info
    a, b = one.draws, other.draws
    assert (a.n_chains, a.n_draws, a.values.shape) == (b.n_chains, b.n_draws, b.values.shape)
    np.testing.assert_array_equal(a.values.indptr, b.values.indptr)
    np.testing.assert_array_equal(a.values.indices, b.values.indices)
    for name in ("bias", "p0", "sigma0", "potential", "conditional_probability",
                 "log_bayes_factor", "log_bayes_factor_mcse"):  # fmt: skip
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name
        assert getattr(a, name).shape == getattr(b, name).shape
    assert a.values.data.tobytes() == b.values.data.tobytes()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "posterior.nc"
    make_up().save(path)
    return path


def error_message(path: Path) -> str:
    """Return the error message for an invalid file."""
    with pytest.raises(InputError) as caught:
        load_posterior(path)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


# --- round trips ------------------------------------------------------------------------------


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_round_trip(tmp_path: Path, dense: bool, share: float) -> None:
    posterior = make_up(share=share)
    save_posterior(posterior, tmp_path / "posterior.nc", dense)
    again = load_posterior(str(tmp_path / "posterior.nc"))
    assert_same(posterior, again)
    np.testing.assert_array_equal(again.edge_probability, posterior.edge_probability)


NAMES = st.lists(st.text(max_size=6), min_size=2, max_size=5, unique=True)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    names=NAMES,
    n_chains=st.integers(1, 3),
    n_draws=st.integers(1, 6),
    seed=st.integers(0, 99),
    dense=st.booleans(),
)
def test_round_trip_of_anything(
    tmp_path_factory: pytest.TempPathFactory,
    names: list[str],
    n_chains: int,
    n_draws: int,
    seed: int,
    dense: bool,
) -> None:
    path = tmp_path_factory.mktemp("stored") / "posterior.nc"
    posterior = make_up(n_chains, n_draws, names, seed)
    save_posterior(posterior, path, dense)
    assert_same(posterior, load_posterior(path))


def test_names_that_cannot_be_encoded_as_text(tmp_path: Path) -> None:
    posterior = make_up(names=["a\0b", "\ud800", "a\tb\n"])
    posterior.save(tmp_path / "posterior.nc")
    assert_same(posterior, load_posterior(tmp_path / "posterior.nc"))


@pytest.mark.parametrize("dense", [True, False])
def test_large_draws_are_compressed_without_loss(tmp_path: Path, dense: bool) -> None:
    posterior = make_up(2, 300, [f"x{k}" for k in range(20)], share=0.02)
    save_posterior(posterior, tmp_path / "posterior.nc", dense)
    assert_same(posterior, load_posterior(tmp_path / "posterior.nc"))
    assert (tmp_path / "posterior.nc").stat().st_size < 0.6 * posterior.draws.coupling.nbytes


def test_draws_are_sparse_above_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = make_up(2, 5)
    monkeypatch.setattr(tree_module, "MAX_DENSE", 2 * 5 * 3)
    assert "sparse" not in posterior.to_datatree()
    monkeypatch.setattr(tree_module, "MAX_DENSE", 2 * 5 * 3 - 1)
    tree = posterior.to_datatree()
    assert "sparse" in tree
    assert "coupling" not in tree["posterior"]


def test_draws_above_the_limit_are_not_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "DENSE_LIMIT", 29)
    with pytest.raises(InputError, match="there are 10 draws of 3 couplings"):
        make_up().to_datatree(dense=True)


def test_many_edges_have_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "MAX_NAMED", 2)
    tree = make_up().to_datatree()
    assert "edge" not in tree["posterior"].coords
    assert tree["inclusion/node_2"].values.tolist() == [1, 2, 2]


def test_saving_twice_gives_identical_files(saved: Path, tmp_path: Path) -> None:
    load_posterior(saved).save(tmp_path / "again.nc")
    assert (tmp_path / "again.nc").read_bytes() == saved.read_bytes()


def test_an_existing_file_is_replaced(saved: Path) -> None:
    other = make_up(3, 4, seed=9)
    other.save(saved)
    assert_same(other, load_posterior(saved))


def test_numpy_values_in_settings_become_plain_numbers(tmp_path: Path) -> None:
    posterior = make_up()
    posterior.settings.update(a=np.float32(0.5), b=np.arange(3), c=(1, 2))
    posterior.save(tmp_path / "posterior.nc")
    loaded = load_posterior(tmp_path / "posterior.nc").settings
    assert (loaded["a"], loaded["b"], loaded["c"]) == (0.5, [0, 1, 2], [1, 2])


# --- other programs ---------------------------------------------------------------------------


def test_xarray_opens_it(saved: Path) -> None:
    posterior = make_up()
    with xr.open_datatree(saved) as tree:
        assert tree.attrs["slabfield_format"] == FORMAT
        assert (tree.attrs["engine"], tree.attrs["seed"]) == ("exact", str(2**64 - 1))
        group = tree["posterior"]
        assert group["coupling"].dims == group["present"].dims == ("chain", "draw", "edge")
        assert group["bias"].dims == ("chain", "draw", "node")
        assert group["present"].dtype == np.int8
        np.testing.assert_array_equal(group["present"], posterior.draws.present)
        np.testing.assert_array_equal(group["coupling"], posterior.draws.coupling)
        assert group["edge"].values.tolist() == ["sleep - work", "sleep - joy", "work - joy"]
        np.testing.assert_array_equal(group["bias"].sel(node="joy"), posterior.draws.bias[:, :, 2])
        np.testing.assert_array_equal(tree["sample_stats/density"], posterior.density)
        np.testing.assert_array_equal(
            tree["inclusion/conditional_probability"], posterior.draws.conditional_probability
        )
        assert json.loads(tree["run/settings"].item()) == posterior.settings


def test_sparse_draws_are_documented_and_can_be_reconstructed(tmp_path: Path) -> None:
    posterior = make_up()
    save_posterior(posterior, tmp_path / "posterior.nc", dense=False)
    with xr.open_datatree(tmp_path / "posterior.nc") as tree:
        stored = tree["sparse"]
        assert "start[r + 1]" in stored.attrs["about"]
        start = stored["start"].values
        row = 1 * 5 + 3
        part = slice(start[row], start[row + 1])
        present = np.zeros(3, bool)
        present[stored["edge_number"].values[part]] = True
        np.testing.assert_array_equal(present, posterior.draws.present[1, 3])


def test_arviz_accepts_the_tree() -> None:
    import arviz_base

    posterior = make_up()
    flat = arviz_base.extract(posterior.to_datatree(), var_names=["coupling", "p0"])
    assert flat["coupling"].sizes == {"edge": 3, "sample": 10}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # an edge that is always there
def test_arviz_summarizes_a_saved_file(tmp_path: Path) -> None:
    rows = datasets.make_block(80, random_state=1, n_groups=1).rows
    posterior = SpikeSlabMRF(n_draws=300, random_state=1).fit(rows).posterior_
    posterior.save(tmp_path / "posterior.nc")
    with xr.open_datatree(tmp_path / "posterior.nc") as tree:
        table = arviz_stats.summary(tree, ci_prob=0.9, ci_kind="eti", round_to="none")
        densest = arviz_stats.hdi(tree["posterior"].to_dataset(), prob=0.9)["coupling"]
    assert len(table) == 2 * 6 + 4 + 2
    coupling = table.loc["coupling[x0 - x1]"]
    assert coupling["mean"] == pytest.approx(posterior.draws.coupling[..., 0].mean())
    ends = np.quantile(posterior.draws.coupling[..., 0], [0.05, 0.95])
    assert coupling[["eti90_lb", "eti90_ub"]].to_numpy() == pytest.approx(ends)
    ours = [bound[0, 1] for bound in posterior.coupling_interval(0.9, given_presence=False)]
    assert densest.sel(edge="x0 - x1").to_numpy() == pytest.approx(ours)
    present = table.loc["present[x0 - x1]", "mean"]
    assert present == pytest.approx(posterior.visit_share[0])


# --- writing ----------------------------------------------------------------------------------


def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved.read_bytes()

    def fail(path: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("slabfield.posterior.storage.append_checksum", fail)
    with pytest.raises(OSError, match="no space"):
        make_up(seed=1).save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_settings_that_are_not_json_are_rejected(tmp_path: Path) -> None:
    posterior = make_up()
    posterior.settings["odd"] = {1, 2}
    with pytest.raises(InputError, match=r"settings must be serializable as JSON; found .* set"):
        posterior.save(tmp_path / "posterior.nc")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "expected"), [("", "is a folder"), ("no/such.nc", "does not")])
def test_invalid_targets(tmp_path: Path, name: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        make_up().save(tmp_path / name)


# --- invalid files ----------------------------------------------------------------------------


def test_files_that_are_not_posteriors(tmp_path: Path) -> None:
    path = tmp_path / "file.nc"
    assert "found no such file" in error_message(path)
    assert "found a folder without it" in error_message(tmp_path)
    path.write_bytes(b"")
    assert "found an empty file" in error_message(path)
    path.write_text("node_1,node_2\n")
    assert "found a text file." in error_message(path)


def test_a_file_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "other.nc"
    xr.Dataset({"a": ("x", [1.0, 2.0])}).to_netcdf(path, engine="h5netcdf")
    assert "another program wrote or changed it" in error_message(path)


def test_a_file_cut_short_anywhere(saved: Path) -> None:
    whole = saved.read_bytes()
    places = {*range(0, len(whole), 997), *range(len(whole) - CHECKSUM_LENGTH - 3, len(whole))}
    for length in sorted(places):
        saved.write_bytes(whole[:length])
        message = error_message(saved)
        assert ("cut short" if length >= 8 else "found a") in message
    saved.write_bytes(whole)
    assert_same(make_up(), load_posterior(saved))


def test_a_file_with_a_flipped_bit_anywhere(saved: Path) -> None:
    whole = saved.read_bytes()
    rng = np.random.default_rng(0)
    for place in {*rng.integers(0, len(whole), 300), *range(-CHECKSUM_LENGTH, 0), *range(40)}:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        saved.write_bytes(damaged)
        message = error_message(saved)
        assert "is damaged" in message or "cut short" in message or "of another kind" in message


def test_bytes_added_or_swapped(saved: Path) -> None:
    whole = saved.read_bytes()
    for changed in (whole + b"\n", whole + whole[-CHECKSUM_LENGTH:], whole[:1000] + whole):
        saved.write_bytes(changed)
        error_message(saved)


@pytest.mark.parametrize("version", [FORMAT - 1, FORMAT + 1])
def test_another_format(saved: Path, version: int) -> None:
    saved.write_bytes(saved.read_bytes()[:-CHECKSUM_LENGTH])
    append_checksum(saved, version)
    with pytest.raises(InputError) as caught:
        load_posterior(saved)
    assert caught.value.message.code == "posterior-of-another-format"
    assert caught.value.message.fields["found"] == version


# --- valid checksum, invalid content ----------------------------------------------------------


def replace(name: str, values: Any, **options: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[name]
        file.create_dataset(name, data=values, **options)

    return change


def text(name: str, words: str) -> Callable[[h5py.File], None]:
    return replace(name, np.frombuffer(words.encode(), "S1"))


def huge(name: str, shape: tuple[int, ...]) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        kind = file[name].dtype
        del file[name]
        file.create_dataset(name, shape=shape, dtype=kind, chunks=(1,) * len(shape))

    return change


def link_elsewhere(file: h5py.File) -> None:
    del file["posterior/bias"]
    file["posterior/bias"] = h5py.ExternalLink("/etc/other.nc", "/bias")


def encoder(**changes: Any) -> Callable[[h5py.File], None]:
    records = [Variable.binary(name, (0, 1)).as_record() for name in ("sleep", "work", "joy")]
    records[0] |= changes
    return text("run/encoder", json.dumps({"variables": records, "has_names": True}))


def many_nodes(file: h5py.File) -> None:
    record = Variable.binary("x", (0, 1)).as_record()
    text("run/encoder", json.dumps({"variables": [record] * 100_000, "has_names": True}))(file)
    huge("inclusion/conditional_probability", (math.comb(100_000, 2),))(file)


WRONG: dict[str, tuple[Callable[[h5py.File], None], str]] = {
    "no group": (lambda file: file.__delitem__("run"), "no run/encoder"),
    "no array": (lambda file: file.__delitem__("posterior/bias"), "no posterior/bias"),
    "link": (link_elsewhere, "no posterior/bias"),
    "axes": (replace("posterior/p0", np.zeros(10)), "posterior/p0 of shape (10,)"),
    "shape": (replace("posterior/bias", np.zeros((2, 5, 4))), "bias of shape (2, 5, 4)"),
    "type": (replace("posterior/bias", np.zeros((2, 5, 3), "i4")), "and type int32"),
    "text": (replace("run/info", np.zeros(3)), "run/info, which is not text"),
    "heap": (replace("run/info", "[]"), "run/info, which is not text"),
    "bytes": (replace("run/info", np.full(3, b"\xff", "S1")), "can't decode byte 0xff"),
    "json": (text("run/info", "[{]"), "Expecting property name"),
    "nested": (text("run/info", "[" * 100_000), "recursion"),
    "names": (encoder(name=3), "a variable whose name is not text"),
    "labels": (encoder(labels=["no"]), "1 labels but 2 scores of 'sleep'"),
    "kind": (encoder(kind="color"), "variable 'sleep' of unknown kind 'color'"),
    "no variables": (text("run/encoder", "[1, 2]"), "list indices must be integers"),
    "settings": (text("run/settings", "3"), "settings or info of the wrong type"),
    "start": (replace("sparse/start", np.arange(11)[::-1].copy()), "sparse draws out of order"),
    "edge": (replace("sparse/edge_number", np.full(10, 3, "i4")), "sparse draws out of order"),
    "many draws": (huge("posterior/p0", (2**30, 2**30)), "sparse/start of shape (11,)"),
    "many entries": (huge("sparse/value", (2**40,)), "sparse/edge_number of shape (10,)"),
    "many nodes": (many_nodes, "posterior/bias of shape (2, 5, 3)"),
}


@pytest.mark.parametrize(("change", "expected"), WRONG.values(), ids=WRONG.keys())
def test_files_with_a_valid_checksum_and_invalid_content(
    tmp_path: Path, change: Callable[[h5py.File], None], expected: str
) -> None:
    path = tmp_path / "posterior.nc"
    posterior = make_up()
    assert posterior.draws.values.nnz == 10
    save_posterior(posterior, path, dense=False)
    with h5py.File(path, "r+") as file:
        change(file)
    append_checksum(path)
    message = error_message(path)
    assert "has a valid checksum but is not a posterior" in message
    assert expected in message


def test_no_more_memory_is_allocated_than_the_file_can_fill(tmp_path: Path) -> None:
    """Both arrays claim 2^40 entries, none of which were written."""
    path = tmp_path / "posterior.nc"
    save_posterior(make_up(), path, dense=False)
    with h5py.File(path, "r+") as file:
        huge("sparse/value", (2**40,))(file)
        huge("sparse/edge_number", (2**40,))(file)
    append_checksum(path)
    assert "found sparse/edge_number of shape (1099511627776,)" in error_message(path)


def test_the_tree_has_the_groups_of_arviz() -> None:
    data = datasets.make_block(80, random_state=1, n_groups=1)
    posterior = SpikeSlabMRF(n_draws=300, random_state=1).fit(data.rows).posterior_
    tree = posterior.to_datatree(X=data.rows)
    assert {"posterior", "prior", "sample_stats", "observed_data", "posterior_predictive"} <= set(
        tree.children
    )
    prior = tree["prior/p0"].to_numpy()
    assert prior.mean() == pytest.approx(0.5, abs=0.02)
    assert prior.var() == pytest.approx(1 / 44, abs=0.005)
    assert tree["prior/sigma0"].to_numpy() ** -2 == pytest.approx(1.0, abs=6)
    first, second = np.triu_indices(4, 1)
    both = (data.rows[:, first] * data.rows[:, second]).mean(axis=0)
    np.testing.assert_allclose(tree["observed_data/pair_frequency"], both)
    np.testing.assert_allclose(tree["observed_data/node_frequency"], data.rows.mean(axis=0))
    again = tree["posterior_predictive/pair_frequency"]
    assert again.dims == ("chain", "draw", "edge")
    np.testing.assert_allclose(again.mean(("chain", "draw")), both, atol=0.08)
    np.testing.assert_array_equal(tree["observed_data/x"], data.rows)
    assert "observed_data" not in posterior.to_datatree()


# --- likelihoods of rows ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_rows() -> tuple[Posterior, NDArray[np.uint8], xr.DataTree]:
    rows = datasets.make_block(80, random_state=1, n_groups=1).rows
    posterior = SpikeSlabMRF(n_draws=300, random_state=1).fit(rows).posterior_
    return posterior, rows, posterior.to_datatree(X=rows)


def test_pointwise_groups_hold_what_their_names_say(
    with_rows: tuple[Posterior, NDArray[np.uint8], xr.DataTree],
) -> None:
    posterior, rows, tree = with_rows
    exact, pseudo = tree["log_likelihood/x"], tree["pseudo_log_likelihood/x"]
    assert exact.dims == pseudo.dims == ("chain", "draw", "row")
    assert exact.sizes == {"chain": 4, "draw": 250, "row": 80}
    assert tree["log_likelihood"].attrs["method"] == "enumeration"
    assert float(tree["log_partition/standard_error"].max()) == 0
    for chain, k in ((0, 0), (2, 100), (3, 249)):
        draw = int(exact["draw"][k])
        field = posterior.fields()[chain * 300 + draw]
        values = evaluate.conditional_log_likelihood(field, rows)
        np.testing.assert_allclose(exact[chain, k], values)
        values = evaluate.pseudo_log_likelihood(field, rows)
        np.testing.assert_allclose(pseudo[chain, k], values)
    assert int(exact["draw"][-1]) == 299


def test_leave_one_out_equals_fits_without_a_row(
    with_rows: tuple[Posterior, NDArray[np.uint8], xr.DataTree],
) -> None:
    posterior, rows, tree = with_rows
    found = arviz_stats.loo(tree, pointwise=True)
    fitted = evaluate.log_likelihood(posterior.fields(), rows).values
    worst = np.argsort(fitted)[:3]
    without = []
    for row in worst:
        fit = SpikeSlabMRF(n_draws=300, random_state=2).fit(np.delete(rows, row, axis=0))
        fields = fit.posterior_.fields()
        without.append(evaluate.log_likelihood(fields, rows[[row]]).values[0])
    np.testing.assert_allclose(found.elpd_i.to_numpy()[worst], without, atol=0.15)
    assert np.all(fitted[worst] > np.add(without, 0.15))  # the test has power


def test_a_tree_with_rows_goes_to_a_file_and_back(
    with_rows: tuple[Posterior, NDArray[np.uint8], xr.DataTree], tmp_path: Path
) -> None:
    _, rows, tree = with_rows
    tree.to_netcdf(tmp_path / "tree.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "tree.nc") as again:
        assert set(again.children) == set(tree.children)
        np.testing.assert_array_equal(again["observed_data/x"], rows)
        assert arviz_stats.loo(again).elpd == pytest.approx(arviz_stats.loo(tree).elpd)


def test_no_pseudo_likelihood_is_called_a_likelihood() -> None:
    rows = datasets.make_block(80, random_state=1, n_groups=1).rows
    fit = SpikeSlabMRF(likelihood="pseudo", n_draws=50, n_warmup=20, n_chains=2, random_state=1)
    posterior = fit.fit(rows).posterior_
    tree = posterior.to_datatree(X=rows)
    assert "pseudo_log_likelihood" in tree
    assert "log_likelihood" not in tree
    with pytest.raises(TypeError, match="log likelihood not found"):
        arviz_stats.loo(tree)
    asked = posterior.to_datatree(X=rows, log_likelihood=True, n_draws=20)
    assert asked["log_likelihood/x"].sizes == {"chain": 2, "draw": 10, "row": 80}
    assert "log_likelihood" not in posterior.to_datatree(X=rows, log_likelihood=False)


def test_annealed_likelihoods_have_their_error(
    with_rows: tuple[Posterior, NDArray[np.uint8], xr.DataTree], monkeypatch: pytest.MonkeyPatch
) -> None:
    posterior, rows, _ = with_rows
    exact = posterior.to_datatree(X=rows, n_draws=40)
    annealing = partial(evaluate.log_partition, method="annealing", n_temperatures=100)
    monkeypatch.setattr(arviz_groups, "log_partition", annealing)
    tree = posterior.to_datatree(X=rows, n_draws=40)
    assert tree["log_likelihood"].attrs["method"] == "annealing"
    error = tree["log_partition/standard_error"].to_numpy()
    assert np.all(error > 0)
    assert tree["log_likelihood"].attrs["largest_standard_error"] == error.max()
    off = (tree["log_likelihood/x"] - exact["log_likelihood/x"]).to_numpy()
    assert np.ptp(off, axis=-1).max() < 1e-9  # the same in all rows
    z_scores = off[..., 0] / error
    assert 0.5 < np.sqrt(np.mean(z_scores**2)) < 1.6
    np.testing.assert_allclose(
        off[..., 0], exact["log_partition/value"] - tree["log_partition/value"], atol=1e-9
    )


def test_fixed_hyperparameters_are_fixed_in_the_prior_group() -> None:
    rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    fixed = SpikeSlabMRF(n_draws=50, random_state=0, inclusion_prior=0.2, slab_prior=1.5).fit(rows)
    tree = fixed.posterior_.to_datatree()
    assert np.all(tree["prior/p0"] == 0.2)
    assert np.all(tree["prior/sigma0"] == 1.5)
