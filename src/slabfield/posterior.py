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
        return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)

    @cached_property
    def coupling_mean(self) -> Array:
        """Mean of couplings given presence as a symmetric (D, D) matrix, NaN where never present."""
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
        draws = self.draws
        result: dict[str, Array] = {}
        series: dict[str, NDArray[Any]] = {
            "present": draws.present.astype(np.float64),
            "coupling": draws.coupling,
            "bias": draws.bias,
            "p0": draws.p0[..., None],
            "sigma0": draws.sigma0[..., None],
            "density": self.density[..., None],
        }
        for name, values in series.items():
            result[f"rhat_{name}"], result[f"ess_{name}"] = _rhat_and_ess(values)
        return result

    @cached_property
    def warnings(self) -> list[str]:
        """When not to trust this result, in plain words; empty where nothing is wrong."""
        return _find_problems(self)

    @property
    def converged(self) -> bool:
        """Whether the chains agree and are long enough; ``warnings`` says what is wrong if not.

        R-hat below 1.05 and at least 100 effective draws of p0, sigma0, the density, and the
        indicator of every edge with probability in [0.05, 0.95]; and chains in which an edge never
        changes agree on it.
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
                "rhat": self.diagnostics["rhat_present"],
                "ess": self.diagnostics["ess_present"],
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


def _rhat_and_ess(values: Array) -> tuple[Array, Array]:
    """Rank-normalised R-hat and bulk effective draws along the last axis; NaN where constant."""
    from arviz_stats.base import array_stats

    size = values.shape[2]
    rhat, ess = np.full(size, np.nan), np.full(size, np.nan)
    moving = np.flatnonzero(np.ptp(values, axis=(0, 1)) > 0)
    if values.shape[1] < 4 or moving.size == 0:
        return rhat, ess
    chosen = values[:, :, moving]
    ess[moving] = array_stats.ess(chosen, chain_axis=0, draw_axis=1)
    if values.shape[0] > 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            rhat[moving] = array_stats.rhat(chosen, chain_axis=0, draw_axis=1)
    return rhat, ess


def _spread_given_presence(draws: Draws) -> tuple[Array, Array, Array]:
    """Standard deviation and highest-density interval of each coupling given presence."""
    from arviz_stats.base import array_stats

    n_edges = draws.present.shape[2]
    sd, interval = np.full(n_edges, np.nan), np.full((n_edges, 2), np.nan)
    present = draws.present.reshape(-1, n_edges)
    coupling = draws.coupling.reshape(-1, n_edges)
    for edge in np.flatnonzero(present.sum(axis=0) > 1):
        values = coupling[present[:, edge], edge]
        sd[edge] = values.std()
        interval[edge] = array_stats.hdi(values, INTERVAL)
    return sd, interval[:, 0], interval[:, 1]


def _find_problems(posterior: Posterior) -> list[str]:
    found, diagnostics = posterior.diagnostics, []
    chains, draws = posterior.draws.p0.shape
    more = "Run longer (n_draws, n_warmup)"
    if chains < 2:
        diagnostics.append(
            "Convergence cannot be judged from one chain. Run at least two, better four (n_chains)."
        )
    for name in ("p0", "sigma0", "density"):
        rhat, ess = found[f"rhat_{name}"][0], found[f"ess_{name}"][0]
        if rhat > RHAT_LIMIT or ess < ESS_LIMIT:
            diagnostics.append(
                f"{name} has not settled: R-hat {rhat:.2f} (should be below {RHAT_LIMIT}), "
                f"{ess:.0f} effective draws (should be {ESS_LIMIT:.0f} or more). {more}."
            )
    low, high = OPEN_RANGE
    probability = posterior.edge_probability
    undecided = (probability >= low) & (probability <= high)
    rhat, ess = found["rhat_present"], found["ess_present"]
    # an edge that each chain holds to a value of its own has no within-chain variance, and R-hat inf
    slow = np.flatnonzero(undecided & ((rhat > RHAT_LIMIT) | (ess < ESS_LIMIT)))
    if slow.size:
        worst = slow[np.argsort(ess[slow])][:3]
        first, second = np.triu_indices(posterior.n_nodes, 1)
        names = posterior.feature_names
        shown = ", ".join(f"{names[first[e]]} - {names[second[e]]}" for e in worst)
        diagnostics.append(
            f"{slow.size} undecided {'edge has' if slow.size == 1 else 'edges have'} too few "
            f"effective draws or chains that disagree (worst: {shown}). Their probabilities are "
            f"rough. {more}."
        )
    if draws < 4:
        diagnostics.append(f"{draws} draws a chain are too few to judge convergence. {more}.")
    return diagnostics
