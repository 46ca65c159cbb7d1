"""Results of a run: draws, inclusion probabilities, summaries and convergence diagnostics."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slabfield.draws import Draws
from slabfield.encoding import Encoder, Variable
from slabfield.io.atomic import check_target
from slabfield.posterior.arviz_groups import data_groups, prior_group
from slabfield.posterior.couplings import CI_PROB, sd_and_interval_given_presence
from slabfield.posterior.datatree import make_tree
from slabfield.posterior.diagnostics import (
    find_deviations,
    find_problems,
)
from slabfield.posterior.evidence import Structure
from slabfield.posterior.evidence_classes import count_classes
from slabfield.posterior.exports import write_edges
from slabfield.posterior.graphs import Networks
from slabfield.posterior.methods_text import methods_text
from slabfield.posterior.predictions import Predictions
from slabfield.posterior.storage import save_posterior
from slabfield.posterior.wording import counted
from slabfield.validation import Message

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Structure, Networks, Predictions):
    """The posterior of a pairwise field, represented by draws.

    It predicts, scores and samples rows like the estimator that made it, also after it was saved
    and loaded: it has the variables of the fitted table, not its rows.

    Attributes
    ----------
    draws : Draws
        Draws of couplings, their presence, biases (thresholds of levels), p0 and sigma0.
    feature_names : list of str
        Names of the nodes.
    settings : dict
        Settings of the run, given or chosen automatically, with the engine's name and the seed.
    info : list of dict
        Of each chain: counts of moves, CPU seconds, adapted settings, diagnostics of particles.
    encoder : Encoder
        The variables of the fitted table, with which new rows are encoded; by default nodes that
        hold 0 and 1.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> posterior.inclusion_probability.shape
    (4, 4)
    >>> list(posterior.to_dataframe().columns[:3])
    ['node_1', 'node_2', 'inclusion_probability']
    >>> posterior.predict_proba(rows[:5], nodes=["x0"]).shape
    (5, 1)
    """

    draws: Draws
    feature_names: list[str]
    settings: dict[str, Any]
    info: list[dict[str, float]] = field(default_factory=list)
    encoder: Encoder = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.encoder is None:
            variables = (Variable.binary(name, (0, 1)) for name in self.feature_names)
            object.__setattr__(self, "encoder", Encoder(tuple(variables)))

    @cached_property
    def diagnostics(self) -> dict[str, Array]:
        """R-hat and effective draws, computed by arviz-stats.

        Keys ``rhat_<what>`` and ``ess_<what>`` for what in ``present`` (each inclusion indicator),
        ``coupling`` (each Y A), ``bias``, ``p0``, ``sigma0``, ``density`` and ``potential`` (the
        log potential of the data), and ``sigma0_nominal`` if there are two slabs. NaN if a
        quantity never changed: a constant series does not show whether it has converged. Indicators
        have diagnostics if the edge is present in 1% to 99% of the draws, couplings if it is
        present in at least 1%; the others are NaN.
        """
        found = {
            "present": self.convergence.indicators,
            "coupling": self.convergence.couplings,
            "bias": self.convergence.biases,
            **self.convergence.quantities,
        }
        rhat = {f"rhat_{name}": values[0] for name, values in found.items()}
        return rhat | {f"ess_{name}": values[1] for name, values in found.items()}

    @cached_property
    def warnings(self) -> list[str]:
        """Notes and convergence problems, in plain words; empty if there are none."""
        return [str(message) for message in self.messages]

    @property
    def messages(self) -> list[Message]:
        """The messages of ``warnings``, each with its code and fields."""
        return [*find_deviations(self), *self.problems]

    @property
    def notes(self) -> list[str]:
        """Deviations from the requested run: another engine, or an early stop."""
        return [str(message) for message in find_deviations(self)]

    @cached_property
    def problems(self) -> list[Message]:
        """The messages of ``warnings`` that are reasons not to trust the result."""
        return find_problems(self)

    @property
    def converged(self) -> bool:
        """Whether the chains agree and are long enough; if not, ``warnings`` says what is wrong.

        At least four chains; rank-normalized R-hat of at most 1.05 and at least 100 effective draws
        of p0, sigma0 (of both, if there are two slabs), the density and the log potential of the
        data (bulk and tail), of every bias, and of the indicator of every edge with probability in
        [0.05, 0.95]; a Monte Carlo standard error of every inclusion probability of at most
        ``tolerance``; chains in which an edge never changes agree on it; and the particles, if any,
        raise no warning.
        """
        return not self.problems

    def to_dataframe(self, ci_prob: float = CI_PROB) -> pd.DataFrame:
        """Table of edges, one row each, the most probable first.

        Columns:

        - ``node_1``, ``node_2``, ``inclusion_probability``;
        - ``bayes_factor`` of presence, the Monte Carlo standard error of its log,
          ``log_bayes_factor_mcse``, and the class of ``evidence`` that it is (see
          :attr:`edge_evidence`);
        - ``coupling_given_presence``: posterior mean of the coupling if the edge is present, with
          its standard deviation, ``sd_given_presence``, and the ends of its highest-density
          interval, ``lower_given_presence`` and ``upper_given_presence``;
        - ``coupling_averaged``: posterior mean of the coupling averaged over graphs, which is
          ``coupling_given_presence`` times ``inclusion_probability``;
        - ``odds_ratio`` of adjacent levels, which between binary nodes is the exponential of
          ``coupling_given_presence``;
        - ``rhat`` and ``ess`` of the inclusion indicator.

        If there are nodes with more than two levels, also ``coupling_raw``, the log odds ratio of
        adjacent levels, given presence. If pairs have no sign, because a nominal node of three or
        more levels takes part, also ``kind``, which says what the numbers of a pair are: "coupling"
        or "strength", the norm of its parameters.

        What is given presence is NaN for an edge that was never present.

        Parameters
        ----------
        ci_prob : float
            Posterior probability of the interval.

        Returns
        -------
        DataFrame
        """
        import pandas as pd

        first, second = self.interactions.ends
        names = np.array(self.feature_names, dtype=object)
        sd, lower, upper = sd_and_interval_given_presence(self.draws, ci_prob)
        table = pd.DataFrame(
            {
                "node_1": names[first],
                "node_2": names[second],
                "inclusion_probability": self.edge_probability,
                "bayes_factor": self.edge_bayes_factor,
                "log_bayes_factor_mcse": self._log_bayes_factor[1],
                "evidence": self.edge_evidence,
                "coupling_given_presence": self.edge_mean,
                "sd_given_presence": sd,
                "lower_given_presence": lower,
                "upper_given_presence": upper,
                "coupling_averaged": self.interactions.of_matrix(self.coupling_averaged),
                "coupling_raw": self.interactions.of_matrix(self.coupling_raw),
                "odds_ratio": self.interactions.of_matrix(self.odds_ratio),
                "rhat": self.convergence.indicators[0],
                "ess": self.convergence.indicators[1],
                "kind": np.where(self.edge_is_signed, "coupling", "strength"),
            }
        )
        unneeded = {"coupling_raw": not self.has_levels, "kind": self.edge_is_signed.all()}
        table = table.drop(columns=[name for name, omitted in unneeded.items() if omitted])
        order = np.lexsort((-np.nan_to_num(np.abs(self.edge_mean)), -self.edge_probability))
        return table.iloc[order].reset_index(drop=True)

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`to_dataframe` as CSV, atomically.

        A name that a spreadsheet would read as a formula gets a leading single quote.

        Parameters
        ----------
        path : str or path
            The file, in an existing folder.
        """
        write_edges(self.to_dataframe(), check_target(path))

    def to_datatree(
        self,
        dense: bool | None = None,
        X: Any = None,
        log_likelihood: bool | None = None,
        n_draws: int = 1_000,
    ) -> xr.DataTree:
        """Return an xarray DataTree in the layout of ArviZ, with names as coordinates.

        Parameters
        ----------
        dense : bool, optional
            Whether couplings and presence are dense. By default they are dense up to four million
            entries (chains * draws * edges), and sparse above.
        X : array or data frame, optional
            The table that was fitted, whose rows a posterior does not store, or other rows with
            its columns. It adds the groups of data.
        log_likelihood : bool, optional
            Whether the groups of data include log-likelihoods: by default up to 1,048,576 joint
            states (20 binary nodes), where they are exact, unless the draws are of the
            pseudo-likelihood's posterior, of which ``arviz_stats.loo`` would make no sense. Above,
            they are exact if the treewidth is small enough, and else estimates by annealed
            importance sampling, which take long.
        n_draws : int
            Draws of all chains whose likelihoods are computed, evenly spaced.

        Returns
        -------
        xarray.DataTree
            Groups: ``posterior`` has draws of ``coupling``, ``present``, ``bias``, ``p0`` and
            ``sigma0``, where edges have several parameters also ``parameters`` (their couplings
            are norms) and, if there are two slabs, ``sigma0_nominal``; with levels, biases have
            the names of :attr:`bias_names`, and the attribute ``variables`` has kinds and labels.
            ``sample_stats`` has the log potential of the data and the density;
            ``prior`` draws of ``p0`` and ``sigma0`` from their priors;
            ``inclusion`` the inclusion probability of each edge, and the mean of its conditional
            probabilities; ``run`` settings and info as JSON; ``sparse``, if draws are not dense,
            the couplings of present edges. With X, ``observed_data`` has the rows as codes
            (``x``), and the shares of rows in which nodes, and pairs of nodes, are 1 (where nodes
            have more than two levels: the shares of rows in each level, and correlations of scores
            or Cramer's V of pairs); ``posterior_predictive`` has the same of data sets simulated
            from 200 draws.
            ``pseudo_log_likelihood`` and ``log_likelihood`` have a value for each draw and row;
            ``log_partition`` has log Z of each draw, with its standard error.

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
            groups |= data_groups(self, X, log_likelihood, n_draws)
        tree = make_tree(self, dense)
        for name, group in groups.items():
            if group is not None:
                tree[name] = xr.DataTree(group)
        return tree

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the posterior to a NetCDF-4 file, atomically.

        :func:`slabfield.load_posterior` reads it back bit for bit and detects damage;
        ``xarray.open_datatree`` opens it without slabfield.

        Parameters
        ----------
        path : str or path
            The file, in an existing folder; by convention its name ends in ``.nc``.
        """
        save_posterior(self, path)

    def methods_text(self) -> str:
        """Describe the analysis in words that a paper's section on methods can take over.

        Returns
        -------
        str
            One paragraph on data, coding, model, prior, sampler, convergence and versions, with all
            numbers from this run, and after a blank line each of the references that it cites.

        Examples
        --------
        >>> from slabfield import SpikeSlabMRF, datasets
        >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
        >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
        >>> print(posterior.methods_text()[:89])
        The conditional dependencies among 4 binary variables were estimated from 60 observations
        """
        return methods_text(self)

    def __repr__(self) -> str:
        chains, draws = self.draws.p0.shape
        counts = count_classes(self.edge_bayes_factor)
        return (
            f"<Posterior of {self.n_nodes} nodes by {self.settings.get('engine')}: "
            f"{counted(chains, 'chain')} of {counted(draws, 'draw')}; "
            f"{counted(self.draws.n_edges, 'possible edge')}, strong evidence for "
            f"{counts['strong for']:,} and against {counts['strong against']:,}>"
        )
