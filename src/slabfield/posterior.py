"""What a run returns: draws, inclusion probabilities, summaries, and whether to trust them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

RHAT_LIMIT = 1.05
ESS_LIMIT = 100.0
OPEN_RANGE = (0.05, 0.95)
INTERVAL = 0.95
MIN_DRAWS = 4
RUN_LONGER = "Run longer (n_draws, n_warmup)"


class Draws(NamedTuple):
    """Kept states of all chains; the first two axes are chain and draw.

    Edges are in the order of ``numpy.triu_indices(D, 1)``; ``coupling`` is A, and 0 where the edge
    is absent (``present``, Y, is False).
    """

    coupling: Array
    present: NDArray[np.bool_]
    bias: Array
    p0: Array
    sigma0: Array


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """The posterior of a binary pairwise field, as draws.

    Attributes
    ----------
    draws : Draws
        Draws of couplings, their presence, biases, p0 and sigma0.
    feature_names : list of str
        Names of the nodes.
    settings : dict
        What the run was told and what was chosen for it, with the engine's name and the seed.
    info : list of dict
        What happened in each chain: births and deaths, Langevin steps accepted, CPU seconds.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> posterior.inclusion_probability.shape
    (4, 4)
    >>> list(posterior.to_dataframe().columns[:3])
    ['node_1', 'node_2', 'inclusion_probability']
    """

    draws: Draws
    feature_names: list[str]
    settings: dict[str, Any]
    info: list[dict[str, float]] = field(default_factory=list)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, D."""
        return len(self.feature_names)

    def _matrix(self, values: Array, diagonal: float) -> Array:
        matrix = np.full((self.n_nodes, self.n_nodes), diagonal)
        rows, columns = np.triu_indices(self.n_nodes, 1)
        matrix[rows, columns] = matrix[columns, rows] = values
        return matrix

    @cached_property
    def edge_probability(self) -> Array:
        """Inclusion probability of every edge, in edge order."""
        return np.asarray(self.draws.present.mean(axis=(0, 1)), dtype=np.float64)

    @cached_property
    def inclusion_probability(self) -> Array:
        """P(edge present given the data) as a symmetric (D, D) matrix, zero on the diagonal."""
        return self._matrix(self.edge_probability, 0.0)

    @cached_property
    def edge_mean(self) -> Array:
        """Mean of every coupling given that the edge is present; NaN where it never was."""
        count = self.draws.present.sum(axis=(0, 1))
        total = self.draws.coupling.sum(axis=(0, 1))
        mean: Array = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
        return mean

    @cached_property
    def coupling_mean(self) -> Array:
        """Mean of couplings given presence, symmetric (D, D), NaN where never present."""
        return self._matrix(self.edge_mean, 0.0)

    @cached_property
    def bias_mean(self) -> Array:
        """Posterior mean of every bias."""
        return np.asarray(self.draws.bias.mean(axis=(0, 1)), dtype=np.float64)

    @cached_property
    def density(self) -> Array:
        """Share of candidate edges present, (chain, draw)."""
        return np.asarray(self.draws.present.mean(axis=2), dtype=np.float64)

    @cached_property
    def diagnostics(self) -> dict[str, Array]:
        """R-hat and effective draws, by arviz-stats.

        Keys ``rhat_<what>`` and ``ess_<what>`` for what in ``present`` (each inclusion indicator),
        ``coupling`` (each Y A), ``bias``, ``p0``, ``sigma0`` and ``density``. NaN where something
        never changed: such a chain says nothing about its own convergence.
        """
        coupling = _rhat_and_ess(self.draws.coupling)
        found = {"present": self._of_indicators, "coupling": coupling, "bias": self._of_biases}
        found.update(self._of_the_whole)
        rhat = {f"rhat_{name}": values[0] for name, values in found.items()}
        return rhat | {f"ess_{name}": values[1] for name, values in found.items()}

    # Kept apart: what decides on convergence costs half of what all diagnostics cost.

    @cached_property
    def _of_indicators(self) -> tuple[Array, Array]:
        return _rhat_and_ess(self.draws.present)

    @cached_property
    def _of_biases(self) -> tuple[Array, Array]:
        return _rhat_and_ess(self.draws.bias)

    @cached_property
    def _of_the_whole(self) -> dict[str, tuple[Array, Array]]:
        series = {"p0": self.draws.p0, "sigma0": self.draws.sigma0, "density": self.density}
        return {name: _rhat_and_ess(values[..., None]) for name, values in series.items()}

    @cached_property
    def warnings(self) -> list[str]:
        """When not to trust this result, in plain words; empty where nothing is wrong."""
        return _find_problems(self)

    @property
    def converged(self) -> bool:
        """Whether the chains agree and are long enough; ``warnings`` says what is wrong if not.

        R-hat below 1.05 and at least 100 effective draws of p0, sigma0, the density, every bias,
        and the indicator of every edge with probability in [0.05, 0.95]; and chains in which an
        edge never changes agree on it.
        """
        return not self.warnings

    def to_dataframe(self) -> pd.DataFrame:
        """One row an edge, the most probable first.

        Columns: ``node_1``, ``node_2``, ``inclusion_probability``; ``mean``, ``sd``, ``lower`` and
        ``upper`` of the coupling given presence, the last two the 95% highest-density interval;
        ``rhat`` and ``ess`` of the inclusion indicator.
        """
        import pandas as pd

        rows, columns = np.triu_indices(self.n_nodes, 1)
        names = np.array(self.feature_names, dtype=object)
        sd, lower, upper = _spread_given_presence(self.draws)
        table = pd.DataFrame(
            {
                "node_1": names[rows],
                "node_2": names[columns],
                "inclusion_probability": self.edge_probability,
                "mean": self.edge_mean,
                "sd": sd,
                "lower": lower,
                "upper": upper,
                "rhat": self._of_indicators[0],
                "ess": self._of_indicators[1],
            }
        )
        order = np.lexsort((-np.nan_to_num(np.abs(self.edge_mean)), -self.edge_probability))
        return table.iloc[order].reset_index(drop=True)

    def __repr__(self) -> str:
        chains, draws = self.draws.p0.shape
        edges = int(np.sum(self.edge_probability >= 0.5))
        return (
            f"<Posterior of {self.n_nodes} nodes by {self.settings.get('engine')}: {chains} chains "
            f"of {draws} draws, {edges} edges of probability 0.5 or more>"
        )


def _array_stats() -> Any:
    """Import arviz-stats, which takes a second, when it is needed."""
    from arviz_stats.base.array import array_stats

    return array_stats


def _rhat_and_ess(values: NDArray[Any]) -> tuple[Array, Array]:
    """Rank-normalised R-hat and bulk effective draws along the last axis; NaN where constant.

    R-hat splits every chain in two, without the middle draw where their number is odd; what never
    changes but there is constant too. It is infinite where no half changes but they differ.
    """
    n_chains, n_draws, size = values.shape
    rhat, ess = np.full(size, np.nan), np.full(size, np.nan)
    if n_draws < MIN_DRAWS:
        return rhat, ess
    half = n_draws // 2
    for k in range(size):
        series = values[:, :, k].astype(np.float64)
        split = np.concatenate([series[:, :half], series[:, -half:]])
        if not np.ptp(split) > 0:
            continue
        ess[k] = _array_stats().ess(series)
        if n_chains > 1 and np.any(np.ptp(split, axis=1) > 0):
            # Where just half of the draws are 1, folding them about their median leaves 0 / 0.
            with np.errstate(divide="ignore", invalid="ignore"):
                rhat[k] = _array_stats().rhat(series)
        elif n_chains > 1:
            rhat[k] = np.inf
    return rhat, ess


def _spread_given_presence(draws: Draws) -> tuple[Array, Array, Array]:
    """Standard deviation and highest-density interval of each coupling given presence."""
    n_edges = draws.present.shape[2]
    sd, interval = np.full(n_edges, np.nan), np.full((n_edges, 2), np.nan)
    present = draws.present.reshape(-1, n_edges)
    coupling = draws.coupling.reshape(-1, n_edges)
    for edge in np.flatnonzero(present.sum(axis=0) > 1):
        values = coupling[present[:, edge], edge]
        sd[edge] = values.std()
        interval[edge] = _array_stats().hdi(values, INTERVAL)
    return sd, interval[:, 0], interval[:, 1]


def _find_problems(posterior: Posterior) -> list[str]:
    problems = []
    chains, draws = posterior.draws.p0.shape
    if chains < 2:
        problems.append(
            "Convergence cannot be judged from one chain. Run at least two, better four (n_chains)."
        )
    if draws < MIN_DRAWS:
        problems.append(f"{draws} draws a chain are too few to judge convergence. {RUN_LONGER}.")
        return problems
    for name, (rhats, esses) in posterior._of_the_whole.items():
        rhat, ess = rhats[0], esses[0]
        if rhat > RHAT_LIMIT or ess < ESS_LIMIT:
            agree = "" if np.isnan(rhat) else f"R-hat {rhat:.2f} (should be below {RHAT_LIMIT}), "
            problems.append(
                f"{name} has not settled: {agree}{ess:.0f} effective draws (should be "
                f"{ESS_LIMIT:.0f} or more). {RUN_LONGER}."
            )
    names = posterior.feature_names
    unsettled = _unsettled_biases(posterior)
    if unsettled.size:
        shown = ", ".join(names[i] for i in unsettled[:3])
        problems.append(
            f"The bias{'' if unsettled.size == 1 else 'es'} of {unsettled.size} "
            f"node{' has' if unsettled.size == 1 else 's have'} too few effective draws or chains "
            f"that disagree (worst: {shown}). Their couplings are rough too. {RUN_LONGER}."
        )
    rough = _rough_edges(posterior)
    if rough.size:
        first, second = np.triu_indices(posterior.n_nodes, 1)
        shown = ", ".join(f"{names[first[e]]} - {names[second[e]]}" for e in rough[:3])
        problems.append(
            f"{rough.size} undecided {'edge has' if rough.size == 1 else 'edges have'} too few "
            f"effective draws or chains that disagree (worst: {shown}). Their probabilities are "
            f"rough. {RUN_LONGER}."
        )
    return problems


def _unsettled_biases(posterior: Posterior) -> NDArray[np.intp]:
    """Nodes whose bias has not settled, the worst first; in a stuck chain it never moves."""
    rhat, ess = posterior._of_biases
    worst: NDArray[np.intp] = np.flatnonzero((rhat > RHAT_LIMIT) | ~(ess >= ESS_LIMIT))
    return worst[np.argsort(ess[worst], kind="stable")]


def _rough_edges(posterior: Posterior) -> NDArray[np.intp]:
    """Edges whose probability is not to be trusted, the worst first."""
    low, high = OPEN_RANGE
    probability = posterior.edge_probability
    undecided = (probability >= low) & (probability <= high)
    rhat, ess = posterior._of_indicators
    rough = undecided & ((rhat > RHAT_LIMIT) | ~(ess >= ESS_LIMIT))
    # Chains that never change and do not agree count however few of many chains they are.
    of_chain = posterior.draws.present.mean(axis=1)
    rough |= np.any(of_chain == 1, axis=0) & np.any(of_chain == 0, axis=0)
    worst: NDArray[np.intp] = np.flatnonzero(rough)
    return worst[np.argsort(ess[worst], kind="stable")]
