"""Series shown in trace, rank and autocorrelation plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.plots._inputs import check_posterior
from slabfield.plots._style import edge_names
from slabfield.posterior import Posterior
from slabfield.posterior.convergence import global_series, rhat_and_ess
from slabfield.posterior.node_names import short_name
from slabfield.validation import InputError, Parameter, find_edges
from slabfield.validation.errors import shown_value

Array = NDArray[np.float64]

DEFAULT = ("p0", "sigma0", "density")
# Characters of the name of a bias
BIAS_LENGTH = 32


class Series(NamedTuple):
    """One quantity, draw by draw.

    Parameters
    ----------
    label : str
        Name in a plot.
    values : array (chains, draws)
        A coupling counts as 0 where its edge is absent.
    present : array of bool (chains, draws), or None
        Whether the edge is present; None for quantities that are not couplings.
    """

    label: str
    values: Array
    present: NDArray[np.bool_] | None = None

    @property
    def varies(self) -> bool:
        """Whether the value ever changes."""
        return bool(np.ptp(self.values) > 0)


def choose_series(posterior: object, var_names: str | Sequence[Any] | None) -> list[Series]:
    """Return the requested series.

    Parameters
    ----------
    posterior : Posterior
        Posterior with the draws.
    var_names : str or sequence, optional
        Each "p0", "sigma0", "sigma0_nominal" (if there are two slabs), "density", "potential" (the
        log potential of the data), the name of a bias (``posterior.bias_names``), or a pair of
        nodes, by name or number, for the coupling or strength of their edge. By default p0, sigma0
        and the density, without those that were fixed.

    Returns
    -------
    list of Series
        At least one.
    """
    checked: Posterior = check_posterior(posterior)
    if var_names is None:
        default = [_find_series(checked, name) for name in DEFAULT]
        return [series for series in default if series.varies] or default[-1:]
    if isinstance(var_names, str):
        return [_find_series(checked, var_names)]
    if not isinstance(var_names, Sequence | np.ndarray) or len(var_names) == 0:
        raise InputError(
            "not-a-list-of-quantities",
            "{parameter} must be a quantity or a list of them; got {value}. Pass, for example, "
            "{example}.",
            parameter=Parameter("var_names"),
            value=shown_value(var_names),
            example=Parameter(
                "var_names", ["p0", (checked.feature_names[0], checked.feature_names[-1])]
            ),
        )
    return [_find_series(checked, item) for item in var_names]


def effective_draws(series: Series) -> tuple[float, float]:
    """R-hat and effective draws of a series; NaN if it never changes."""
    rhat, ess = rhat_and_ess(series.values[..., None])
    return float(rhat[0]), float(ess[0])


def summary(series: Series) -> str:
    """Describe a series: its name, R-hat and effective draws."""
    if not series.varies:
        return f"{series.label}: never changes"
    rhat, ess = effective_draws(series)
    rhat_text = "" if np.isnan(rhat) else f"R-hat {rhat:.3f}, "
    ess_text = "too few draws to judge" if np.isnan(ess) else f"{ess:.0f} effective draws"
    return f"{series.label}: {rhat_text}{ess_text}"


def _find_series(posterior: Posterior, item: Any) -> Series:
    draws = posterior.draws
    if isinstance(item, str):
        scalars = global_series(draws)
        if item in scalars:
            return Series(item, np.asarray(scalars[item], dtype=np.float64))
        if item not in posterior.bias_names:
            raise InputError(
                "unknown-quantity",
                "A quantity must be one of {allowed}, the name of a bias, such as {bias}, or a "
                "pair of nodes; got {value}. Choose one of these.",
                allowed=", ".join(map(repr, scalars)),
                bias=shown_value(posterior.bias_names[0]),
                value=shown_value(item),
            )
        label = f"{'threshold' if posterior.has_levels else 'bias'} {short_name(item, BIAS_LENGTH)}"
        return Series(label, draws.bias[..., posterior.bias_names.index(item)])
    edge = find_edges("var_names", [item], posterior.feature_names, posterior.interactions)
    present, coupling = draws.dense(edge)
    (label,) = edge_names(posterior, edge)
    return Series(label, coupling[..., 0], present[..., 0])
