"""What a run returns: draws, inclusion probabilities, summaries, and whether to trust them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slabfield.draws import Draws
from slabfield.files import check_target
from slabfield.posterior.around import data_groups, prior_group
from slabfield.posterior.convergence import LOOKED_AT, array_stats, find_problems, rhat_and_ess
from slabfield.posterior.couplings import Couplings, spread_given_presence
from slabfield.posterior.exports import write_edges
from slabfield.posterior.networks import Networks
from slabfield.posterior.storage import save_posterior
from slabfield.posterior.structure import Structure
from slabfield.posterior.tree import make_tree

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Couplings, Structure, Networks):
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

    @cached_property
    def diagnostics(self) -> dict[str, Array]:
        """R-hat and effective draws, by arviz-stats.

        Keys ``rhat_<what>`` and ``ess_<what>`` for what in ``present`` (each inclusion indicator),
        ``coupling`` (each Y A), ``bias``, ``p0``, ``sigma0``, ``density`` and ``potential`` (the
        log potential of the data). NaN where something never changed: such a chain says nothing
        about its own convergence. Indicators are looked at where the edge is present in 1% to 99%
        of the draws, couplings where it is in 1% or more; elsewhere they are NaN.
        """
        coupling = self._of_edges(1)
        found = {"present": self._of_indicators, "coupling": coupling, "bias": self._of_biases}
        found.update(self._of_the_whole)
        rhat = {f"rhat_{name}": values[0] for name, values in found.items()}
        return rhat | {f"ess_{name}": values[1] for name, values in found.items()}

    # Kept apart: what decides on convergence costs half of what all diagnostics cost.

    @cached_property
    def _of_indicators(self) -> tuple[Array, Array]:
        return self._of_edges(0)

    def _of_edges(self, which: int) -> tuple[Array, Array]:
        """R-hat and effective draws of presence (0) or coupling (1) of the edges looked at."""
        rhat, ess = np.full(self.draws.n_edges, np.nan), np.full(self.draws.n_edges, np.nan)
        share = self.visit_share
        most = 1.0 if which == 1 else 1 - LOOKED_AT
        looked = np.flatnonzero((share >= LOOKED_AT) & (share <= most))
        for begin in range(0, looked.size, 500):
            some = looked[begin : begin + 500]
            rhat[some], ess[some] = rhat_and_ess(self.draws.of_edges(some)[which])
        return rhat, ess

    @cached_property
    def _of_biases(self) -> tuple[Array, Array]:
        return rhat_and_ess(self.draws.bias)

    @cached_property
    def _of_the_whole(self) -> dict[str, tuple[Array, Array]]:
        draws = self.draws
        series = {"p0": draws.p0, "sigma0": draws.sigma0, "density": self.density}
        series["potential"] = draws.potential
        found = {name: rhat_and_ess(values[..., None]) for name, values in series.items()}
        for name, (_, ess) in found.items():
            if np.isfinite(ess[0]):
                ess[0] = min(
                    ess[0], array_stats().ess(series[name], method="tail", prob=(0.05, 0.95))
                )
        return found

    @cached_property
    def warnings(self) -> list[str]:
        """What to know before trusting this result, in plain words; empty where all is well."""
        return [*self.notes, *self._problems]

    @property
    def notes(self) -> list[str]:
        """What was done otherwise than asked: another engine, or an early end."""
        found = []
        if self.settings.get("fell_back"):
            found.append(
                f"{self.settings['fell_back']} The answer is that of half the pseudo-likelihood "
                "instead (likelihood='pseudo')."
            )
        if self.settings.get("stopped_by") == "time":
            found.append(
                f"The time budget ended the run after {self.draws.n_draws} draws of each chain."
            )
        warmed = [c["warmed_up_for"] for c in self.info if "warmed_up_for" in c]
        if warmed:
            found.append(
                f"The time budget ended the warm-up of {len(warmed)} of {len(self.info)} chains "
                f"after {min(warmed)} of {self.settings['n_warmup']} draws; what they had not "
                "learnt by then makes them slower, or leaves the start in their first draws."
            )
        if self.settings.get("stopped_by") == "interrupt":
            found.append(
                f"Ctrl-C ended the run after {self.draws.n_draws} draws of "
                f"{self.draws.n_chains} of its {self.settings['n_chains']} chains."
            )
        return found

    @cached_property
    def _problems(self) -> list[str]:
        return find_problems(self)

    @property
    def converged(self) -> bool:
        """Whether the chains agree and are long enough; ``warnings`` says what is wrong if not.

        Rank-normalised R-hat below 1.01 and at least 400 effective draws (bulk and tail) of p0,
        sigma0, the density and the log potential of the data, from at least four chains; R-hat
        below 1.05 and at least 100 effective draws of every bias and of the indicator of every edge
        with probability in [0.05, 0.95]; chains in which an edge never changes agree on it; and
        the particles, if there are any, are healthy.
        """
        return not self._problems

    def to_dataframe(self) -> pd.DataFrame:
        """One row an edge, the most probable first.

        Columns: ``node_1``, ``node_2``, ``inclusion_probability``; ``mean``, ``sd``, ``lower`` and
        ``upper`` of the coupling given presence, the last two the 95% highest-density interval;
        ``rhat`` and ``ess`` of the inclusion indicator.
        """
        import pandas as pd

        rows, columns = np.triu_indices(self.n_nodes, 1)
        names = np.array(self.feature_names, dtype=object)
        sd, lower, upper = spread_given_presence(self.draws)
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

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`to_dataframe` as CSV, whole or not at all.

        A name that a spreadsheet would take for a formula has a single quote put before it.

        Parameters
        ----------
        path : str or path
            The file, in a folder that exists.
        """
        write_edges(self.to_dataframe(), check_target(path))

    def to_datatree(
        self, dense: bool | None = None, X: Any = None, binarize: Any = None
    ) -> xr.DataTree:
        """Lay the draws out as ArviZ expects them, with names for coordinates.

        Parameters
        ----------
        dense : bool, optional
            Whether couplings and presence are dense. By default they are up to four million
            numbers (chains * draws * edges); above, only what is present is kept.
        X : array or data frame, optional
            The table that was fitted, which a posterior does not keep; with it come the groups
            ``observed_data`` and ``posterior_predictive``.
        binarize : number, "median" or dict, optional
            How it was coded.

        Returns
        -------
        xarray.DataTree
            Groups: ``posterior`` has draws of ``coupling``, ``present``, ``bias``, ``p0`` and
            ``sigma0``; ``sample_stats`` the log potential of the data and the density;
            ``prior`` draws of ``p0`` and ``sigma0`` from their priors;
            ``inclusion`` the probability of each edge, and its mean chance; ``run``, as
            JSON, settings and info; ``sparse``, where draws are not dense, the edges present.
            With X, ``observed_data`` has the shares of rows in which nodes, and pairs of nodes,
            are 1, and ``posterior_predictive`` the same of data sets drawn from the fields of 200
            draws.

        Examples
        --------
        >>> import numpy as np
        >>> from slabfield import Posterior
        >>> from slabfield.draws import Draws
        >>> one = np.ones((2, 3))
        >>> draws = Draws.from_dense(
        ...     one[..., None], one[..., None] == 1, np.zeros((2, 3, 2)), one / 2, one, one
        ... )
        >>> tree = Posterior(draws, ["sleep", "work"], {"engine": "exact"}).to_datatree()
        >>> float(tree["posterior/coupling"].sel(edge="sleep - work").mean())
        1.0
        """
        import xarray as xr

        groups = {"prior": prior_group(self)}
        if X is not None:
            groups |= data_groups(self, X, binarize)
        tree = make_tree(self, dense)
        for name, group in groups.items():
            if group is not None:
                tree[name] = xr.DataTree(group)
        return tree

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to a NetCDF-4 file, which appears whole or not at all.

        :func:`slabfield.load_posterior` reads it back bit for bit and knows when it is damaged;
        ``xarray.open_datatree`` opens it without slabfield.

        Parameters
        ----------
        path : str or path
            The file, in a folder that exists; by custom its name ends in ``.nc``.
        """
        save_posterior(self, path)

    def __repr__(self) -> str:
        chains, draws = self.draws.p0.shape
        edges = int(np.sum(self.edge_probability >= 0.5))
        return (
            f"<Posterior of {self.n_nodes} nodes by {self.settings.get('engine')}: {chains} chains "
            f"of {draws} draws, {edges} edges of probability 0.5 or more>"
        )
