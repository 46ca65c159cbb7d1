"""slabfield beside all baselines on any table: held-out likelihoods, density and CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield import checks
from slabfield.baselines import ChowLiuTree, L1Neighbourhood, L1PseudoLikelihood
from slabfield.estimator import SpikeSlabMRF
from slabfield.evaluate import (
    conditional_log_likelihood,
    draw_fields,
    edge_density,
    pseudo_log_likelihood,
)
from slabfield.sampler.connect import everywhere

if TYPE_CHECKING:
    from distributed import Client

Bits = NDArray[np.uint8]

GROUP_SIZE = 9
FEWEST_ROWS = 20
SLABFIELD = "slabfield"


class Score(NamedTuple):
    """How a method did. Likelihoods are means over test rows; ``cll_error`` is a standard error."""

    method: str
    cll: float
    cll_error: float
    pll: float
    density: float
    cpu_seconds: float


def estimators(seed: int | None, n_jobs: int | None, **settings: Any) -> dict[str, Any]:
    """All methods by name: slabfield as it comes, the L1 ones tuned by cross-validation.

    Parameters
    ----------
    seed : int, optional
        Seed of draws and folds.
    n_jobs : int, optional
        Chains, nodes or folds done at a time.
    **settings
        Other parameters of `SpikeSlabMRF`.

    Examples
    --------
    >>> from slabfield.reproduce.comparison import estimators
    >>> list(estimators(0, 1))[:2]
    ['slabfield', 'L1 neighbourhood, max']
    """
    told: dict[str, Any] = {"random_state": seed, "n_jobs": n_jobs}
    return {
        SLABFIELD: SpikeSlabMRF(**told, **settings),
        "L1 neighbourhood, max": L1Neighbourhood(rule="max", **told),
        "L1 neighbourhood, min": L1Neighbourhood(rule="min", **told),
        "L1 pseudo-likelihood": L1PseudoLikelihood(**told),
        "Chow-Liu tree": ChowLiuTree(),
    }


def split_rows(n_rows: int, held_out: float, seed: int | None) -> tuple[Any, Any]:
    """Choose training and test rows at random.

    Parameters
    ----------
    n_rows : int
        Rows of the table.
    held_out : float
        Share of them to test on.
    seed : int, optional
        Seed of the choice.

    Returns
    -------
    train, test : arrays of int
        Indices in rising order.

    Examples
    --------
    >>> from slabfield.reproduce.comparison import split_rows
    >>> train, test = split_rows(40, 0.25, seed=0)
    >>> len(train), len(test)
    (30, 10)
    """
    if n_rows < FEWEST_ROWS:
        raise checks.InputError(
            f"A comparison needs at least {FEWEST_ROWS} rows to learn from and test on; found "
            f"{n_rows}. Collect more rows, or use slabfield fit."
        )
    order = np.random.default_rng(seed).permutation(n_rows)
    n_test = min(max(1, round(held_out * n_rows)), n_rows - FEWEST_ROWS // 2)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def random_groups(n_nodes: int, n_rows: int, seed: int | None) -> NDArray[np.int64]:
    """Groups of up to nine nodes, at random for each row.

    Examples
    --------
    >>> from slabfield.reproduce.comparison import random_groups
    >>> random_groups(30, 4, seed=0).shape, random_groups(5, 4, seed=0).shape
    ((4, 9), (4, 5))
    """
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
    """Fit one method and score it; slabfield gives two scores, for a mixture and for one field.

    Parameters
    ----------
    name : str
        What to call it.
    estimator : estimator
        Not yet fitted; fitted afterwards.
    train, test : arrays of 0 and 1
        Rows to learn from, or a DataFrame of them that names the columns, and rows to test on.
    groups : array (rows, g)
        Nodes predicted in each test row, given the others.
    client : distributed.Client, optional
        Where chains, nodes or folds are done.

    Returns
    -------
    list of Score
        CPU time is that of the fit, all threads, without compilation; on a cluster it is NaN.

    Examples
    --------
    >>> from slabfield.datasets import make_block
    >>> from slabfield.baselines import ChowLiuTree
    >>> from slabfield.reproduce.comparison import random_groups, score_method
    >>> rows = make_block(100, random_state=1).rows
    >>> tree, = score_method("tree", ChowLiuTree(), rows[:50], rows[50:], random_groups(12, 50, 0))
    >>> round(tree.density, 3)
    0.167
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
            f"{name}, mixture of draws": (draw_fields(posterior), float(posterior.density.mean())),
            f"{name}, one field": models[name],
        }
    scores = []
    for title, (model, density) in models.items():
        values = conditional_log_likelihood(model, test, groups)
        error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
        pll = pseudo_log_likelihood(model, test)
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
    """Fit and score all methods, in turn so that times are fair.

    Examples
    --------
    >>> from slabfield.datasets import make_block
    >>> from slabfield.reproduce.comparison import compare, estimators
    >>> rows = make_block(100, random_state=1).rows
    >>> methods = estimators(0, 1, n_draws=20, n_warmup=5, n_chains=1)
    >>> [score.method for score in compare(methods, rows[:70], rows[70:], seed=0)][:2]
    ['slabfield, mixture of draws', 'slabfield, one field']
    """
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
        Rows taken from the beginning of each.
    seed : int
        Seed of draws, folds and groups.
    settings : pairs of name and value
        Parameters of `SpikeSlabMRF`.

    Returns
    -------
    dict of arrays
        A column for each field of `Score`; ``converged`` of slabfield's chains.
    """
    with np.load(file) as kept:
        train, test = kept["train"][:n_train], kept["test"][:n_test]
    estimator = estimators(seed, 1, **dict(settings))[method]
    groups = random_groups(train.shape[1], len(test), seed)
    scores = score_method(method, estimator, train, test, groups)
    found = {name: np.array([getattr(s, name) for s in scores]) for name in Score._fields}
    posterior = getattr(estimator, "posterior_", None)
    return found | {"converged": posterior is None or posterior.converged}


def _compile(estimator: Any, train: Any) -> None:
    """Have the code compiled, or loaded, before time is taken."""
    kind = type(estimator)
    told = estimator.get_params()
    if isinstance(estimator, SpikeSlabMRF):
        told |= {"n_draws": 1, "n_warmup": 1, "n_chains": 1, "progress": False}
        kind(**told).fit(train)
    else:
        few = np.asarray(train)[:, : min(3, train.shape[1])]
        kind(**told | ({"n_strengths": 2} if "n_strengths" in told else {})).fit(few)
