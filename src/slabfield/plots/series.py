"""The series that trace, rank and autocorrelation pictures show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.checks import InputError
from slabfield.checks.errors import shown_value
from slabfield.plots.inputs import check_posterior, find_edge
from slabfield.plots.style import edge_name
from slabfield.posterior import Posterior
from slabfield.posterior.convergence import rhat_and_ess

Array = NDArray[np.float64]

SCALARS = ("p0", "sigma0", "density", "potential")
USUAL = SCALARS[:3]


class Series(NamedTuple):
    """One quantity, draw by draw.

    Parameters
    ----------
    label : str
        What it is called in a picture.
    values : array (chains, draws)
        A coupling counts as 0 where its edge is absent.
    present : array of bool (chains, draws), or None
        Where the edge is present; None for what is always there.
    """

    label: str
    values: Array
    present: NDArray[np.bool_] | None = None

    @property
    def moves(self) -> bool:
        """Whether it ever changes."""
        return bool(np.ptp(self.values) > 0)


def choose_series(posterior: object, what: Sequence[Any] | None) -> list[Series]:
    """Return the series that are asked for.

    Parameters
    ----------
    posterior : Posterior
        Whose draws.
    what : sequence, optional
        Each "p0", "sigma0", "density", "potential" (the log potential of the data), or a pair of
        nodes for the coupling of their edge. By default the first three, without those that were
        fixed.

    Returns
    -------
    list of Series
        At least one.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield import Posterior
    >>> from slabfield.draws import Draws
    >>> from slabfield.plots.series import choose_series
    >>> one = np.ones((2, 3))
    >>> draws = Draws.from_dense(
    ...     one[..., None], one[..., None] == 1, np.zeros((2, 3, 2)), one / 2, one, one
    ... )
    >>> posterior = Posterior(draws, ["sleep", "work"], {})
    >>> [series.label for series in choose_series(posterior, ["p0", ("sleep", "work")])]
    ['p0', 'sleep - work']
    """
    checked: Posterior = check_posterior(posterior)
    if what is None:
        usual = [_one(checked, name) for name in USUAL]
        return [series for series in usual if series.moves] or usual[-1:]
    if isinstance(what, str) or not isinstance(what, Sequence | np.ndarray) or len(what) == 0:
        raise InputError(
            f"what must be a list of quantities; got {shown_value(what)}. Pass for example "
            f"what=['p0', ({checked.feature_names[0]!r}, {checked.feature_names[-1]!r})]."
        )
    return [_one(checked, item) for item in what]


def effective_draws(series: Series) -> tuple[float, float]:
    """R-hat and effective draws of a series; NaN where it never changes.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.plots.series import Series, effective_draws
    >>> effective_draws(Series("p0", np.ones((2, 100))))
    (nan, nan)
    """
    rhat, ess = rhat_and_ess(series.values[..., None])
    return float(rhat[0]), float(ess[0])


def summary(series: Series) -> str:
    """Say what a series is, whether its chains agree, and how many draws it is worth.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.plots.series import Series, summary
    >>> summary(Series("p0", np.ones((2, 100))))
    'p0: never changes'
    """
    if not series.moves:
        return f"{series.label}: never changes"
    rhat, ess = effective_draws(series)
    agree = "" if np.isnan(rhat) else f"R-hat {rhat:.3f}, "
    worth = "too few draws to judge" if np.isnan(ess) else f"{ess:.0f} effective draws"
    return f"{series.label}: {agree}{worth}"


def _one(posterior: Posterior, item: Any) -> Series:
    draws = posterior.draws
    if isinstance(item, str):
        if item not in SCALARS:
            raise InputError(
                f"A quantity must be one of {', '.join(map(repr, SCALARS))}, or a pair of nodes; "
                f"got {shown_value(item)}. Choose one of these."
            )
        values = posterior.density if item == "density" else getattr(draws, item)
        return Series(item, np.asarray(values, dtype=np.float64))
    edge = find_edge(posterior, item)
    present, coupling = draws.of_edges([edge])
    first, second = np.triu_indices(posterior.n_nodes, 1)
    label = edge_name(posterior.feature_names, (int(first[edge]), int(second[edge])))
    return Series(label, coupling[..., 0], present[..., 0])
