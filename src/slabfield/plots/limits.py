"""The picture of whether a run is to be trusted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from slabfield.checks import check_positive_int
from slabfield.plots.inputs import check_panels, check_posterior
from slabfield.plots.style import (
    BLUE,
    GREY,
    INK,
    LIMIT_DASHES,
    ORANGE,
    PALE,
    PLAIN,
    SMALL,
    edge_name,
    headline,
    short_name,
    tidy,
)
from slabfield.posterior import Posterior
from slabfield.posterior.convergence import (
    ESS_LIMIT,
    OPEN_RANGE,
    RHAT_LIMIT,
    WHOLE_ESS,
    WHOLE_RHAT,
    rough_edges,
    unsettled_biases,
)

Array = NDArray[np.float64]

LEAST, MOST = 1e-4, 3.0
"""What R-hat is above 1 by is drawn from here to there; what lies beyond is drawn at the end."""


class Cloud(NamedTuple):
    """Quantities of one kind, and those of them that hold convergence up, the worst first."""

    kind: str
    marker: str
    colour: str
    names: list[str]
    rhat: Array
    ess: Array
    judged: NDArray[np.bool_]
    worst: NDArray[np.intp]


def convergence(posterior: Posterior, n_named: int = 5, ax: Any = None) -> NDArray[Any]:
    """Draw R-hat and effective draws of everything against the limits of ``converged``.

    On the left p0, sigma0, the density and the log potential of the data; on the right the biases
    and the inclusion indicators of edges. What lies in the shaded corner, at the bottom right of
    its panel, is within the limits. What is not is orange with a black rim, and the worst are
    named. Edges that are all but certain to be there or not are pale and hollow, and not judged.

    Parameters
    ----------
    posterior : Posterior
        What a run returned.
    n_named : int
        How many of the worst in each panel are named.
    ax : array of two matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    array of two matplotlib Axes
        Of the whole, and of biases and edges.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> from slabfield.plots import convergence
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> convergence(posterior)[1].get_xlabel()
    'effective draws (should be 100 or more)'
    """
    posterior = check_posterior(posterior)
    n_named = check_positive_int("n_named", n_named, low=0)
    own = ax is None
    if own:
        ax = Figure(figsize=(9.0, 4.3), layout="constrained").subplots(1, 2)
    panels = check_panels(ax, 2, (4.5, 4))
    whole = _of_the_whole(posterior)
    parts = [_of_edges(posterior), _of_biases(posterior)]
    _draw(panels[0], whole, WHOLE_RHAT, WHOLE_ESS, n_named)
    _draw(panels[1], parts, RHAT_LIMIT, ESS_LIMIT, n_named)
    headline(panels[0], _in_words("quantities of the whole", whole))
    headline(panels[1], _in_words("biases and open edges", parts))
    if own:
        panels[0].figure.suptitle(_verdict(posterior), fontsize=11, x=0.02, ha="left")
    return panels


def _of_the_whole(posterior: Posterior) -> list[Cloud]:
    clouds = []
    for (name, (rhat, ess)), marker in zip(posterior._of_the_whole.items(), "Dso^", strict=True):
        bad = np.flatnonzero((rhat > WHOLE_RHAT) | (ess < WHOLE_ESS))
        judged = np.isfinite(ess) | np.isfinite(rhat)
        clouds.append(Cloud(name, marker, BLUE, [name], rhat, ess, judged, bad))
    return clouds


def _of_biases(posterior: Posterior) -> Cloud:
    rhat, ess = posterior._of_biases
    names = [short_name(name) for name in posterior.feature_names]
    judged = np.ones(rhat.size, np.bool_)
    return Cloud("bias", "^", INK, names, rhat, ess, judged, unsettled_biases(posterior))


def _of_edges(posterior: Posterior) -> Cloud:
    rhat, ess = posterior._of_indicators
    worst = rough_edges(posterior)
    low, high = OPEN_RANGE
    judged = (posterior.edge_probability >= low) & (posterior.edge_probability <= high)
    judged[worst] = True
    first, second = np.triu_indices(posterior.n_nodes, 1)
    names = [
        edge_name(posterior.feature_names, (int(i), int(j)), 12)
        for i, j in zip(first, second, strict=True)
    ]
    return Cloud("open edge", "o", BLUE, names, rhat, ess, judged, worst)


def _draw(ax: Axes, clouds: list[Cloud], rhat_limit: float, ess_limit: float, n_named: int) -> None:
    most = max([np.nanmax(cloud.ess, initial=ess_limit) for cloud in clouds])
    least = min([np.nanmin(cloud.ess, initial=ess_limit) for cloud in clouds])
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(least / 2.2, most * 2.2)
    ax.set_ylim(LEAST / 1.5, MOST * 1.8)
    ax.fill_between([ess_limit, most * 3], LEAST / 2, rhat_limit - 1, color="0.92", linewidth=0)
    ax.axhline(rhat_limit - 1, color=GREY, linewidth=0.9, linestyle=LIMIT_DASHES)
    ax.axvline(ess_limit, color=GREY, linewidth=0.9, linestyle=LIMIT_DASHES)
    for cloud in clouds:
        _draw_cloud(ax, cloud)
    _name_worst(ax, clouds, n_named)
    ax.yaxis.set_major_locator(FixedLocator([LEAST, 0.001, 0.01, 0.05, 0.2, 1.0]))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: "1" if y <= LEAST else f"{1 + y:.4g}"))
    round_numbers = [d * 10.0**k for k in range(7) for d in (1, 2, 5)]
    shown = [x for x in round_numbers if least / 2.2 <= x <= most * 2.2]
    ax.xaxis.set_major_locator(FixedLocator(shown if len(shown) < 8 else shown[::3]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.set_xlabel(f"effective draws (should be {ess_limit:.0f} or more)")
    ax.set_ylabel(f"R-hat (should be below {rhat_limit:g})")
    tidy(ax)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(
            fontsize=SMALL, loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False,
            ncols=2, labelcolor=GREY,
        )  # fmt: skip


def _places(cloud: Cloud) -> tuple[Array, Array]:
    """Where points go: R-hat of a single chain at the bottom, an infinite one at the top."""
    above = np.where(np.isnan(cloud.rhat), LEAST, cloud.rhat - 1)
    return cloud.ess, np.clip(above, LEAST, MOST)


def _draw_cloud(ax: Axes, cloud: Cloud) -> None:
    x, y = _places(cloud)
    bad = np.zeros(x.size, np.bool_)
    bad[cloud.worst] = True
    kinds: tuple[tuple[NDArray[np.bool_], str, dict[str, Any]], ...] = (
        (cloud.judged & ~bad, cloud.kind, {"color": cloud.colour, "alpha": 0.7, "zorder": 2}),
        (bad, f"{cloud.kind}, not settled", {"color": ORANGE, "mec": "black", "zorder": 3}),
        (~cloud.judged & ~bad, "decided edge", {"color": PALE, "mfc": "none", "zorder": 1}),
    )
    for chosen, label, look in kinds:
        shown = chosen & np.isfinite(x)
        if shown.any():
            size = 6 if bad[shown].all() or len(cloud.names) == 1 else 4
            ax.plot(
                x[shown], y[shown], cloud.marker, markersize=size, label=label, linestyle="none",
                markeredgewidth=0.7, **look,
            )  # fmt: skip


def _name_worst(ax: Axes, clouds: list[Cloud], n_named: int) -> None:
    """List what has not settled at the top right, where hardly a point ever is."""
    names = [cloud.names[k] for cloud in clouds for k in cloud.worst]
    # Those with the fewest effective draws first, before them what never changed
    few = np.concatenate([cloud.ess[cloud.worst] for cloud in clouds])
    order = np.argsort(np.nan_to_num(few, nan=-1.0), kind="stable")
    lines = [names[k] for k in order[:n_named]]
    if not lines:
        return
    if len(names) > len(lines):
        lines.append(f"and {len(names) - len(lines)} more")
    ax.text(
        0.98, 0.98, "not settled:\n" + "\n".join(lines), transform=ax.transAxes, ha="right",
        va="top", fontsize=SMALL, color=INK, **PLAIN,
    )  # fmt: skip


def _in_words(what: str, clouds: list[Cloud]) -> str:
    held = sum(cloud.worst.size for cloud in clouds)
    n_judged = int(sum(cloud.judged.sum() for cloud in clouds))
    if held == 0:
        return f"{n_judged} {what}, all settled"
    return f"{held} of {n_judged} {what} not settled"


def _verdict(posterior: Posterior) -> str:
    chains, draws = posterior.draws.n_chains, posterior.draws.n_draws
    run = f"{chains} chain{'' if chains == 1 else 's'} of {draws} draws"
    return f"{'Converged' if posterior.converged else 'Not converged'}: {run}"
