"""Degenerate tables: finite results, in time, with the warning that belongs to them."""

import time
import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from degenerate_tables import LARGE_TABLES, TABLES, find_bad
from slabfield import SpikeSlabMRF
from slabfield.validation import InputError, InputWarning, check_slab_prior

MANY_ROWS = {"0.01% ones (2 in 20,000)", "a million rows"}
CONSTANT = {"a column of zeros", "a column of ones", "all zeros", "all ones", "two equal rows"}


@pytest.mark.parametrize("likelihood", ["exact", "pseudo", "particles"])
@pytest.mark.parametrize("name", [name for name in TABLES if name not in MANY_ROWS])
def test_degenerate_tables_give_finite_results(name: str, likelihood: str) -> None:
    rows = TABLES[name]()
    model = SpikeSlabMRF(
        likelihood=likelihood, n_draws=20, n_warmup=20, n_chains=2, n_jobs=1, random_state=0,
        time_budget=30,
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows)
    assert find_bad(model, rows) == []
    warned = [w for w in caught if "the same value in every row" in str(w.message)]
    assert {w.category for w in caught} <= {InputWarning, ConvergenceWarning}
    has_constant = bool(((rows == rows[0]).all(axis=0)).any())
    assert bool(warned) == has_constant
    assert has_constant or name not in CONSTANT


@pytest.mark.parametrize("given", [{"likelihood": "pseudo"}, {"likelihood": "particles"}])
@pytest.mark.parametrize("name", [name for name in LARGE_TABLES if "million" not in name])
def test_degenerate_tables_of_many_columns(name: str, given: dict[str, str]) -> None:
    rows = LARGE_TABLES[name]()
    assert rows.shape[1] > 24
    model = SpikeSlabMRF(n_draws=10, n_warmup=20, n_chains=1, n_jobs=1, random_state=0, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        model.fit(rows)
    assert find_bad(model, rows) == []


@pytest.mark.parametrize("name", sorted(MANY_ROWS))
def test_many_rows_take_the_exact_engine_no_time(name: str) -> None:
    rows = TABLES[name]()
    model = SpikeSlabMRF(n_draws=20, n_warmup=20, n_chains=2, n_jobs=1, random_state=0)
    model.fit(TABLES["two columns"]())  # compiles, where nothing did before
    start = time.process_time()
    model.fit(rows)
    assert time.process_time() - start < 30
    assert find_bad(model, rows) == []


def test_the_check_finds_nan() -> None:
    rows = TABLES["two columns"]()
    model = SpikeSlabMRF(n_draws=5, n_warmup=5, n_chains=1, n_jobs=1, random_state=0).fit(rows)
    assert find_bad(model, rows) == []
    model.bias_ = model.bias_ * float("nan")
    assert find_bad(model, rows) == ["bias_"]


@pytest.mark.parametrize("given", [{"bias_scale": 100}, {"slab_prior": 30}, {"slab_prior": (1, 1)}])
@pytest.mark.parametrize("name", ["a column twice", "all ones"])
def test_the_widest_priors_that_are_allowed(name: str, given: dict[str, object]) -> None:
    rows = TABLES[name]()
    model = SpikeSlabMRF(
        likelihood="exact", n_draws=20, n_warmup=20, n_chains=2, n_jobs=1, random_state=0, **given
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        model.fit(rows)
    assert find_bad(model, rows) == []


@pytest.mark.parametrize("given", [{"bias_scale": 101}, {"slab_prior": 31}])
def test_wider_ones_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(InputError, match="at most"):
        SpikeSlabMRF(**given).fit([[0, 1], [1, 0]])


@pytest.mark.parametrize("pair", [(0.01, 5), (0.1, 0.1), (0.5, 400)])
def test_slab_priors_without_bounds_are_refused(pair: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="must have sigma0 above 100 with probability"):
        check_slab_prior(pair)


@pytest.mark.parametrize("pair", [(5, 5), (0.5, 0.5), (1, 1), (5, 0.1), (2, 50)])
def test_usual_slab_priors_are_not(pair: tuple[float, float]) -> None:
    assert check_slab_prior(pair).c == pair[0]
