"""Nodes with levels: thresholds, tables of pairs, and the scales of other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding import Variable
from slabfield.posterior.convergence import array_stats
from slabfield.posterior.couplings import CI_PROB, Couplings, check_ci_prob
from slabfield.posterior.node_names import bias_terms, level_names
from slabfield.validation import InputError, find_edges, find_node
from slabfield.validation.errors import listed

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


class Levels(Couplings):
    """Thresholds of levels, log weights of pairs of levels, and conversion to bgms.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield import Posterior
    >>> from slabfield.draws import Draws
    >>> from slabfield.encoding import Encoder, Variable
    >>> from slabfield.models.pairwise import pairwise_model
    >>> sleep = Variable.binary("sleep", ("no", "yes"))
    >>> place = Variable("place", "nominal", ("north", "south", "west"), ())
    >>> one = np.ones((2, 3))
    >>> draws = Draws.from_dense(
    ...     np.ones((2, 3, 2)), np.ones((2, 3, 1), bool), np.zeros((2, 3, 3)), one / 2, one, one,
    ...     pairwise_model([sleep, place]).interactions,
    ... )
    >>> names = ["sleep", "place"]
    >>> posterior = Posterior(draws, names, {}, [], Encoder((sleep, place)))
    >>> posterior.bias_names
    ['sleep', 'place[south]', 'place[west]']
    >>> posterior.coupling_given_presence[0, 1].round(3)  # the norm of two parameters
    np.float64(1.414)
    >>> posterior.interaction_table("sleep", "place").loc["yes"].round(2).tolist()
    [-0.79, 0.21, 0.58]
    """

    def thresholds(self, ci_prob: float = CI_PROB) -> pd.DataFrame:
        """Table of the biases of all nodes, one row each.

        Columns: ``node``; ``level``, the label, or "linear" and "quadratic" for a Blume-Capel node;
        ``mean``, ``sd``, and the ends of the highest-density interval, ``lower`` and ``upper``;
        ``rhat`` and ``ess``.

        A threshold is the log weight of a level minus that of the node's first level, where all
        other nodes have score 0 (their first level, by default), and on average over the levels of
        nominal neighbors.

        Parameters
        ----------
        ci_prob : float
            Posterior probability of the interval.

        Returns
        -------
        DataFrame
        """
        import pandas as pd

        ci_prob = check_ci_prob(ci_prob)
        bias = self.draws.bias.reshape(-1, self.draws.bias.shape[-1])
        interval = np.array([array_stats().hdi(values, ci_prob) for values in bias.T])
        terms = [bias_terms(variable) for variable in self.variables]
        rhat, ess = self.convergence.biases
        return pd.DataFrame(
            {
                "node": np.repeat(
                    np.array(self.feature_names, dtype=object), np.diff(self.bias_start)
                ),
                "level": [term for each in terms for term in each],
                "mean": self.bias_mean,
                "sd": bias.std(axis=0),
                "lower": interval[:, 0],
                "upper": interval[:, 1],
                "rhat": rhat,
                "ess": ess,
            }
        )

    def interaction_table(self, a: str | int, b: str | int) -> pd.DataFrame:
        """Log weights of all pairs of levels of two nodes, posterior means given presence.

        The difference of two rows, less the same in another column, is a log odds ratio. Weights
        are relative to the levels of score 0, where nodes have scores; those of a nominal node
        sum to zero over its levels.

        Parameters
        ----------
        a, b : str or int
            The nodes, by name or number; rows are the levels of the first.

        Returns
        -------
        DataFrame
            One row for each level of ``a`` and one column for each of ``b``; NaN if the edge was
            never present.
        """
        import pandas as pd

        names = self.feature_names
        i, j = (find_node(which, node, names) for which, node in (("a", a), ("b", b)))
        (edge,) = find_edges("a", [(i, j)], names, self.interactions)
        first, second = min(i, j), max(i, j)
        left, right = (self.node_features[k].embedding for k in (first, second))
        group = self.parameter_mean[self.interactions.group(edge)]
        weights = left @ group.reshape(left.shape[1], right.shape[1]) @ right.T
        rows, columns = (
            pd.Index(level_names(self.variables[k]), name=names[k], dtype=object) for k in (i, j)
        )
        return pd.DataFrame(weights if i == first else weights.T, rows, columns)

    def to_bgms(self) -> tuple[Array, Array]:
        r"""Posterior means on the scale of the R package bgms (0.2), averaged over graphs.

        There the score of a level is its number c, from 0, for binary and ordinal variables, and
        the distance from the baseline category for Blume-Capel variables, and

        .. math:: \log P(x) = \sum_i \mu_i(x_i) + 2 \sum_{i<j} \omega_{ij} c_i c_j - \log Z

        With scores :math:`s_i = o_i + h_i c_i` here, :math:`\omega_{ij}` is
        :math:`\theta_{ij} h_i h_j / 2`, half the log odds ratio of adjacent levels, and
        :math:`c_i h_i \sum_j \theta_{ij} o_j` is added to the thresholds. The conversion is linear,
        so the means of converted draws are the converted means. What is not converted are priors
        and inclusion probabilities, which have no scale, and nominal variables, which bgms does
        not have.

        Returns
        -------
        main : array of shape (D, most thresholds of a node)
            As ``posterior_mean_main`` of bgms: the thresholds of levels 1, 2, ... of a node, or the
            linear and the quadratic parameter of a Blume-Capel node, then NaN.
        pairwise : array of shape (D, D)
            As ``posterior_mean_pairwise`` of bgms.

        Raises
        ------
        InputError
            If a variable is nominal, or its scores are not equally spaced.

        Examples
        --------
        >>> import numpy as np
        >>> from slabfield import Posterior
        >>> from slabfield.draws import Draws
        >>> one = np.ones((2, 3))
        >>> draws = Draws.from_dense(
        ...     one[..., None], one[..., None] == 1, np.zeros((2, 3, 2)), one / 2, one, one
        ... )
        >>> main, pairwise = Posterior(draws, ["sleep", "work"], {}).to_bgms()
        >>> pairwise
        array([[0. , 0.5],
               [0.5, 0. ]])
        """
        self._check_bgms()
        step = self.level_step
        origin = np.array([_score_of_zero(variable) for variable in self.variables])
        added = step * (self.coupling_averaged @ origin)
        sizes = np.diff(self.bias_start)
        main = np.full((self.n_nodes, int(sizes.max())), np.nan)
        for i, variable in enumerate(self.variables):
            own = self.bias_mean[self.bias_start[i] : self.bias_start[i + 1]]
            main[i, : sizes[i]] = own + added[i] * _linear_part(variable)
        return main, self.coupling_averaged * np.outer(step, step) / 2

    def _check_bgms(self) -> None:
        """Raise an InputError unless bgms has variables of these kinds and scores."""
        nominal = [variable.name for variable in self.variables if not variable.is_scored]
        uneven = [variable.name for variable in self.variables if not _evenly_spaced(variable)]
        for names, what in ((nominal, "nominal"), (uneven, "scores that are not equally spaced")):
            if names:
                raise InputError(
                    "not-in-bgms",
                    "bgms has binary, ordinal and Blume-Capel variables with equally spaced "
                    "scores; found {what}: {names}. Use interaction_table and thresholds for the "
                    "parameters, or fit without these columns.",
                    what=what,
                    names=listed([repr(name) for name in names]),
                )


def _evenly_spaced(variable: Variable) -> bool:
    if not variable.is_scored:
        return True
    places = np.array(variable.positions) - variable.positions[0]
    even = variable.scores[0] + variable.score_step * places
    return bool(np.allclose(even, variable.scores, rtol=1e-9, atol=1e-12))


def _score_of_zero(variable: Variable) -> float:
    """Score of what bgms counts as 0: the first level, or the baseline of a Blume-Capel node."""
    first = variable.positions[0]
    zero = first if variable.reference is None else variable.reference
    return variable.scores[0] + variable.score_step * (zero - first)


def _linear_part(variable: Variable) -> Array:
    """Change of a node's biases if its score in bgms gets a weight of one."""
    if variable.reference is not None:
        return np.array([1.0, 0.0])
    return np.array(variable.positions[1:], dtype=np.float64) - variable.positions[0]
