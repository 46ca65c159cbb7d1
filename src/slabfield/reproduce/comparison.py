"""Comparison of slabfield with all baselines: held-out likelihoods, density and CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield import validation
from slabfield.baselines import ChowLiuTree, L1Neighborhood, L1PseudoLikelihood
from slabfield.chains.dask_client import everywhere
from slabfield.estimators.spike_slab import SpikeSlabMRF
from slabfield.evaluate import (
    conditional_log_likelihood,
    edge_density,
    pseudo_log_likelihood,
)

if TYPE_CHECKING:
    from distributed import Client

Bits = NDArray[np.uint8]

# Nodes per group that is predicted given the others
GROUP_SIZE = 9
# Rows of a table, training and test
MIN_ROWS = 20
SLABFIELD = "slabfield"


class Score(NamedTuple):
    """Scores of a method: means over test rows; ``cll_error`` is the standard error of ``cll``."""

    method: str
    cll: float
    cll_error: float
    pll: float
    density: float
    cpu_seconds: float


def estimators(seed: int | None, n_jobs: int | None, **settings: Any) -> dict[str, Any]:
    """All methods by name: slabfield with its defaults, L1 methods tuned by cross-validation.

    Parameters
    ----------
    **settings
        Other parameters of `SpikeSlabMRF`.
    """
    shared: dict[str, Any] = {"random_state": seed, "n_jobs": n_jobs}
    return {
        SLABFIELD: SpikeSlabMRF(**shared, **settings),
        "L1 neighborhood, max": L1Neighborhood(rule="max", **shared),
        "L1 neighborhood, min": L1Neighborhood(rule="min", **shared),
        "L1 pseudo-likelihood": L1PseudoLikelihood(**shared),
        "Chow-Liu tree": ChowLiuTree(),
    }


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


def random_groups(n_nodes: int, n_rows: int, seed: int | None) -> NDArray[np.int64]:
    """Draw a random group of up to nine nodes for each row."""
    keys = np.random.default_rng(seed).random((n_rows, n_nodes))
    return np.argsort(keys, axis=1)[:, : min(GROUP_SIZE, n_nodes)].astype(np.int64)


def score_method(
    name: str,
    estimator: Any,
    train: Any,
    test: Bits,
    groups: NDArray[np.int64],
    client: Client | None = None,
) -> list[Score]:
    """Fit and score one method; slabfield has two scores, of a mixture and of one field.

    Parameters
    ----------
    estimator : estimator
        Fitted in place.
    train, test : arrays of 0 and 1
        Training rows, optionally as a DataFrame with names of columns, and test rows.
    groups : array (rows, g)
        Nodes to predict in each test row, given the others.
    client : distributed.Client, optional
        Cluster that runs chains, nodes or folds.

    Returns
    -------
    list of Score
        CPU time is that of the fit, over all threads, without compilation; NaN on a cluster.
    """
    if client is None:
        _compile(estimator, train)
    begin = time.process_time()
    with everywhere(client):
        estimator.fit(train, **{"cluster": client} if isinstance(estimator, SpikeSlabMRF) else {})
    seconds = time.process_time() - begin if client is None else np.nan
    models: dict[str, tuple[Any, float]] = {name: (estimator, edge_density(estimator))}
    if isinstance(estimator, SpikeSlabMRF):
        posterior = estimator.posterior_
        models = {
            f"{name}, mixture of draws": (posterior.fields(100), float(posterior.density.mean())),
            f"{name}, one field": models[name],
        }
    scores = []
    for title, (model, density) in models.items():
        values = conditional_log_likelihood(model, test, groups)
        error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
        pll = pseudo_log_likelihood(model, test).mean()
        scores.append(Score(title, float(values.mean()), error, pll, density, seconds))
    return scores


def compare(
    methods: dict[str, Any],
    train: Any,
    test: Bits,
    seed: int | None,
    advance: Callable[[str], None] = lambda name: None,
    client: Client | None = None,
) -> list[Score]:
    """Fit and score all methods, one after the other, so that times are comparable."""
    groups = random_groups(train.shape[1], len(test), seed)
    scores = []
    for name, estimator in methods.items():
        advance(name)
        scores += score_method(name, estimator, train, test, groups, client)
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


def _compile(estimator: Any, train: Any) -> None:
    """Compile the code, or load it from the cache, before time is measured."""
    kind = type(estimator)
    params = estimator.get_params()
    if isinstance(estimator, SpikeSlabMRF):
        params |= {"n_draws": 1, "n_warmup": 1, "n_chains": 1, "progress": False}
        kind(**params).fit(train)
    else:
        few = np.asarray(train)[:, : min(3, train.shape[1])]
        kind(**params | ({"n_strengths": 2} if "n_strengths" in params else {})).fit(few)
