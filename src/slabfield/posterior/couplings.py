"""Couplings: means and intervals given presence, averages over graphs, odds ratios, draws."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.draws import Draws
from slabfield.models.field import BinaryField
from slabfield.posterior.convergence import array_stats
from slabfield.posterior.summaries import Summaries
from slabfield.validation import InputError, check_number, find_edges

Array = NDArray[np.float64]

# Posterior probability of intervals by default
CI_PROB = 0.95


class Couplings(Summaries):
    """Means and intervals of couplings.

    Where a pair has several parameters, because a nominal node of three or more levels takes part,
    its strength, their norm, is in the place of the coupling.
    """

    @cached_property
    def coupling_averaged(self) -> Array:
        """Posterior mean of each coupling averaged over graphs, (D, D); 0 where the edge is absent.

        The mean of Y A: ``coupling_given_presence`` times ``inclusion_probability``, and 0 for an
        edge that was never present.
        """
        return np.nan_to_num(self.coupling_given_presence) * self.inclusion_probability

    @cached_property
    def coupling_raw(self) -> Array:
        """Log odds ratio of adjacent levels of each pair, given presence, (D, D).

        ``coupling_given_presence`` per step of the levels, times the differences of their scores:
        between binary nodes the same. NaN for pairs without a sign, and if the edge was never
        present; 0 on the diagonal. Where scores are not equally spaced, the steps are means.
        """
        if not self.has_levels:
            return self.coupling_given_presence
        raw = self.coupling_given_presence * np.outer(self.level_step, self.level_step)
        np.fill_diagonal(raw, 0.0)
        return raw

    @cached_property
    def odds_ratio(self) -> Array:
        """Odds ratio of adjacent levels of each pair, given presence and all other nodes, (D, D).

        The exponential of ``coupling_raw``: one step up at one node multiplies the odds of one
        step up at the other by it; between binary nodes, a 1 the odds of a 1. NaN for pairs without
        a sign, and if the edge was never present; 1 on the diagonal.
        """
        with np.errstate(over="ignore"):
            return np.exp(self.coupling_raw)

    def of_edges(self, edges: Any) -> tuple[NDArray[np.bool_], Array]:
        """Draws of some edges: whether each is present, and its coupling, 0 where it is absent.

        Parameters
        ----------
        edges : list of pairs of nodes
            Each two names, such as ``("sleep", "work")``, or two indices from 0.

        Returns
        -------
        present, coupling : array of shape (chains, draws, edges)

        Examples
        --------
        >>> import numpy as np
        >>> from slabfield import Posterior
        >>> from slabfield.draws import Draws
        >>> coupling = np.array([0.0, 2.0, 3.0]).reshape(1, 3, 1)
        >>> one = np.ones((1, 3))
        >>> draws = Draws.from_dense(coupling, coupling != 0, np.zeros((1, 3, 2)), one, one, one)
        >>> posterior = Posterior(draws, ["sleep", "work"], {})
        >>> present, coupling = posterior.of_edges([("work", "sleep")])
        >>> coupling[0, :, 0]
        array([0., 2., 3.])
        """
        return self.draws.dense(find_edges("edges", edges, self.feature_names, self.interactions))

    def coupling_interval(
        self, ci_prob: float = CI_PROB, given_presence: bool = True
    ) -> tuple[Array, Array]:
        """Highest-density interval of every coupling.

        Parameters
        ----------
        ci_prob : float
            Posterior probability of the interval.
        given_presence : bool
            Whether to use only draws that contain the edge. Otherwise an absent edge counts as 0.

        Returns
        -------
        lower, upper : array of shape (D, D)
            Bounds of the interval; given presence, NaN if the edge is in fewer than two draws.

        Examples
        --------
        >>> import numpy as np
        >>> from slabfield import Posterior
        >>> from slabfield.draws import Draws
        >>> coupling = np.array([0.0, 0.0, 0.0, 2.0, 3.0]).reshape(1, 5, 1)
        >>> one = np.ones((1, 5))
        >>> draws = Draws.from_dense(coupling, coupling != 0, np.zeros((1, 5, 2)), one, one, one)
        >>> posterior = Posterior(draws, ["sleep", "work"], {})
        >>> lower, upper = posterior.coupling_interval()
        >>> lower[0, 1], upper[0, 1]
        (np.float64(2.0), np.float64(3.0))
        >>> lower, upper = posterior.coupling_interval(0.5, given_presence=False)
        >>> lower[0, 1], upper[0, 1]
        (np.float64(0.0), np.float64(0.0))
        """
        ci_prob = check_ci_prob(ci_prob)
        n_all = self.draws.n_chains * self.draws.n_draws
        bounds = np.full((self.draws.n_edges, 2), np.nan if given_presence else 0.0)
        for edge, values in _visited(self.draws, 2 if given_presence else 1):
            all_draws = values if given_presence else _with_zeros(values, n_all)
            bounds[edge] = array_stats().hdi(all_draws, ci_prob)
        return self.interactions.as_matrix(bounds[:, 0]), self.interactions.as_matrix(bounds[:, 1])

    def to_ising(self) -> tuple[Array, Array]:
        """Posterior means on the scale of states -1 and +1, averaged over graphs.

        The conversion is linear, so the means of converted draws are the converted means.

        Returns
        -------
        bias : array of shape (D,)
        coupling : array of shape (D, D)

        Raises
        ------
        InputError
            If a node has more than two levels.

        Examples
        --------
        >>> import numpy as np
        >>> from slabfield import Posterior
        >>> from slabfield.draws import Draws
        >>> one = np.ones((2, 3))
        >>> draws = Draws.from_dense(
        ...     one[..., None], one[..., None] == 1, np.zeros((2, 3, 2)), one / 2, one, one
        ... )
        >>> bias, coupling = Posterior(draws, ["sleep", "work"], {}).to_ising()
        >>> bias
        array([0.25, 0.25])
        """
        if self.has_levels:
            found = next(variable for variable in self.variables if variable.kind != "binary")
            raise InputError(
                "levels-not-ising",
                "The Ising model has nodes with two states; found other kinds of variables, such "
                "as {kind} {name}. Use coupling_raw, the log odds ratios of adjacent levels, or "
                "to_bgms.",
                kind=found.kind,
                name=repr(found.name),
            )
        return BinaryField(self.bias_mean, self.coupling_averaged).to_ising()


def check_ci_prob(ci_prob: float) -> float:
    """Check the posterior probability of an interval, and return it."""
    return check_number("ci_prob", ci_prob, 0, 1, include_low=False, include_high=False)


def sd_and_interval_given_presence(
    draws: Draws, ci_prob: float = CI_PROB
) -> tuple[Array, Array, Array]:
    """Standard deviation and highest-density interval of each coupling given presence."""
    ci_prob = check_ci_prob(ci_prob)
    sd, interval = np.full(draws.n_edges, np.nan), np.full((draws.n_edges, 2), np.nan)
    for edge, values in _visited(draws, 2):
        sd[edge] = values.std()
        interval[edge] = array_stats().hdi(values, ci_prob)
    return sd, interval[:, 0], interval[:, 1]


def _visited(draws: Draws, min_visits: int) -> Iterator[tuple[int, Array]]:
    """Edges present in at least ``min_visits`` draws, with their couplings in those draws."""
    by_edge = draws.values.tocsc()
    for edge in np.flatnonzero(np.diff(by_edge.indptr) >= min_visits):
        yield int(edge), by_edge.data[by_edge.indptr[edge] : by_edge.indptr[edge + 1]]


def _with_zeros(values: Array, size: int) -> Array:
    return np.concatenate([values, np.zeros(size - values.size)])
