"""Comparison of slabfield with all baselines: held-out likelihoods, density and CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield import encoding, validation
from slabfield.baselines import (
    ChowLiuTree,
    Independent,
    L1Multinomial,
    L1Neighborhood,
    L1PseudoLikelihood,
)
from slabfield.chains.dask_client import everywhere
from slabfield.estimators.spike_slab import SpikeSlabMRF
from slabfield.evaluate import (
    conditional_log_likelihood,
    edge_density,
    pseudo_log_likelihood,
)

if TYPE_CHECKING:
    from distributed import Client

Codes = NDArray[np.uint8]

# Nodes per group that is predicted given the others, and most joint states of a group
GROUP_SIZE = 9
GROUP_STATES = 2**GROUP_SIZE
# Rows of a table, training and test
MIN_ROWS = 20
SLABFIELD = "slabfield"


class Score(NamedTuple):
    """Scores of a method: means over test rows; ``cll_error`` is the standard error of ``cll``.

    Both are NaN for a method without a joint distribution.
    """

    method: str
    cll: float
    cll_error: float
    pll: float
    density: float
    cpu_seconds: float


def estimators(
    seed: int | None, n_jobs: int | None, *, two_valued: bool = True, **settings: Any
) -> dict[str, Any]:
    """Methods by name: slabfield with its defaults, L1 methods tuned by cross-validation.

    Parameters
    ----------
    two_valued : bool
        Whether all columns have two values. If not, only methods that take levels are returned.
    **settings
        Other parameters of `SpikeSlabMRF`.
    """
    shared: dict[str, Any] = {"random_state": seed, "n_jobs": n_jobs}
    methods: dict[str, Any] = {
        SLABFIELD: SpikeSlabMRF(**shared, **settings),
        "L1 neighborhood, max": L1Neighborhood(rule="max", **shared),
        "L1 neighborhood, min": L1Neighborhood(rule="min", **shared),
        "L1 pseudo-likelihood": L1PseudoLikelihood(**shared),
        "Chow-Liu tree": ChowLiuTree(),
        "independent": Independent(),
    }
    if two_valued:
        return methods
    methods["L1 multinomial"] = L1Multinomial(**shared)
    return {name: method for name, method in methods.items() if method.takes_levels}


def split_rows(n_rows: int, held_out: float, seed: int | None) -> tuple[Any, Any]:
    """Choose training and test rows at random.

    Parameters
    ----------
    held_out : float
        Share of test rows.

    Returns
    -------
    train, test : arrays of int
        Indices in increasing order.
    """
    if n_rows < MIN_ROWS:
        raise validation.InputError(
            "too-few-rows-to-compare",
            "A comparison needs at least {limit} rows for training and testing; found {n_rows}. "
            "Collect more rows, or use slabfield fit.",
            limit=MIN_ROWS,
            n_rows=n_rows,
        )
    order = np.random.default_rng(seed).permutation(n_rows)
    n_test = min(max(1, round(held_out * n_rows)), n_rows - MIN_ROWS // 2)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def random_groups(
    n_nodes: int, n_rows: int, seed: int | None, most_levels: int = 2
) -> NDArray[np.int64]:
    """Draw a random group of nodes for each row: up to nine of two levels, fewer of more."""
    size = max(1, int(np.log(GROUP_STATES + 0.5) / np.log(most_levels)))
    keys = np.random.default_rng(seed).random((n_rows, n_nodes))
    return np.argsort(keys, axis=1)[:, : min(size, n_nodes)].astype(np.int64)


def score_method(
    name: str,
    estimator: Any,
    train: Any,
    test: Codes,
    groups: NDArray[np.int64],
    client: Client | None = None,
) -> list[Score]:
    """Fit and score one method; slabfield has two scores, of a mixture and of one field.

    Parameters
    ----------
    estimator : estimator
        Fitted in place.
    train : CodedTable, or table of two-valued columns
        Training rows.
    test : array
        Codes of the test rows.
    groups : array (rows, g)
        Nodes to predict in each test row, given the others.
    client : distributed.Client, optional
        Cluster that runs chains, nodes or folds.

    Returns
    -------
    list of Score
        CPU time is that of the fit, over all threads, without compilation; NaN on a cluster.
    """
    table = encoding.code_table(train)
    if client is None:
        _compile(estimator, table)
    begin = time.process_time()
    with everywhere(client):
        estimator.fit(table, **{"cluster": client} if isinstance(estimator, SpikeSlabMRF) else {})
    seconds = time.process_time() - begin if client is None else np.nan
    density = edge_density(estimator.coupling_)
    if not estimator.has_field:
        pll = float(estimator.score_codes(test).mean())
        return [Score(name, np.nan, np.nan, pll, density, seconds)]
    models: dict[str, tuple[Any, float]] = {name: (estimator.field_, density)}
    if isinstance(estimator, SpikeSlabMRF):
        posterior = estimator.posterior_
        models = {
            f"{name}, mixture of draws": (posterior.fields(100), float(posterior.density.mean())),
            f"{name}, one field": models[name],
        }
    return [
        Score(title, *_likelihoods(fields, test, groups), density, seconds)
        for title, (fields, density) in models.items()
    ]


def _likelihoods(fields: Any, test: Codes, groups: NDArray[np.int64]) -> tuple[float, float, float]:
    """Mean conditional log-likelihood of groups, its error, and mean pseudo-log-likelihood."""
    values = conditional_log_likelihood(fields, test, groups)
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
    return float(values.mean()), error, float(pseudo_log_likelihood(fields, test).mean())


def compare(
    methods: dict[str, Any],
    train: Any,
    test: Codes,
    seed: int | None,
    advance: Callable[[str], None] = lambda name: None,
    client: Client | None = None,
) -> list[Score]:
    """Fit and score all methods, one after the other, so that times are comparable."""
    table = encoding.code_table(train)
    most_levels = max(variable.n_levels for variable in table.variables)
    groups = random_groups(test.shape[1], len(test), seed, most_levels)
    scores = []
    for name, estimator in methods.items():
        advance(name)
        scores += score_method(name, estimator, table, test, groups, client)
    return scores


def score_file(
    file: str, method: str, n_train: int, n_test: int, seed: int, settings: Sequence[Any] = ()
) -> dict[str, Any]:
    """Score one method on stored rows, as a piece of work.

    Parameters
    ----------
    file : str
        An npz file with arrays ``train`` and ``test`` of 0 and 1.
    method : str
        One of `estimators`.
    n_train, n_test : int
        Rows taken from the start of each array.
    settings : pairs of name and value
        Parameters of `SpikeSlabMRF`.

    Returns
    -------
    dict of arrays
        A column for each field of `Score`, and ``converged``, True for methods without chains.
    """
    with np.load(file) as stored:
        train, test = stored["train"][:n_train], stored["test"][:n_test]
    estimator = estimators(seed, 1, **dict(settings))[method]
    groups = random_groups(train.shape[1], len(test), seed)
    scores = score_method(method, estimator, train, test, groups)
    found = {name: np.array([getattr(s, name) for s in scores]) for name in Score._fields}
    posterior = getattr(estimator, "posterior_", None)
    return found | {"converged": posterior is None or posterior.converged}


def _compile(estimator: Any, table: encoding.CodedTable) -> None:
    """Compile the code, or load it from the cache, before time is measured."""
    kind = type(estimator)
    params = estimator.get_params()
    if isinstance(estimator, SpikeSlabMRF):
        params |= {"n_draws": 1, "n_warmup": 1, "n_chains": 1, "progress": False}
        kind(**params).fit(table)
    else:
        few = table._replace(
            rows=table.rows[:, :3], variables=table.variables[:3], missing=table.missing[:, :3]
        )
        kind(**params | ({"n_strengths": 2} if "n_strengths" in params else {})).fit(few)
