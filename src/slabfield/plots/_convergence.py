"""Plot of convergence diagnostics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from slabfield.plots._inputs import check_panels, check_posterior
from slabfield.plots._style import (
    BLUE,
    GREY,
    INK,
    LIMIT_DASHES,
    MAX_NAME_LENGTH,
    ORANGE,
    PALE,
    PLAIN,
    SMALL,
    edge_names,
    headline,
    new_figure,
    tidy,
)
from slabfield.posterior import Posterior
from slabfield.posterior.convergence import (
    ESS_LIMIT,
    RHAT_LIMIT,
    UNDECIDED_RANGE,
)
from slabfield.posterior.node_names import short_name
from slabfield.validation import check_positive_int

Array = NDArray[np.float64]

# Range of R-hat - 1 on the vertical axis; values beyond are drawn at its ends
MIN_EXCESS, MAX_EXCESS = 1e-4, 3.0
# Of the global quantities, in their order
MARKERS = "Dso^v"


class DiagnosticSet(NamedTuple):
    """Diagnostics of quantities of one kind; ``worst`` are those not converged, worst first."""

    kind: str
    marker: str
    color: str
    names: list[str]
    rhat: Array
    ess: Array
    checked: NDArray[np.bool_]
    worst: NDArray[np.intp]


def convergence(posterior: Posterior, n_named: int = 5, ax: Any = None) -> NDArray[Any]:
    """Plot R-hat and effective draws against the limits of ``converged``.

    On the left p0, sigma0, the density and the log potential of the data; on the right the biases
    (thresholds of levels) and the inclusion indicators of edges. Points in the shaded corner at the
    bottom right are within the limits. The others are orange with a black outline, and the worst
    are named. Edges that are almost certainly present or absent are pale and hollow; they need not
    meet the limits.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    n_named : int
        Number of quantities named in each panel, worst first.
    ax : array of two matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    array of two matplotlib Axes
        Of the global quantities, and of biases and edges.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> from slabfield.plots import convergence
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> convergence(posterior)[1].get_xlabel()
    'effective draws (should be at least 100)'
    """
    posterior = check_posterior(posterior)
    n_named = check_positive_int("n_named", n_named, low=0)
    own_figure = ax is None
    if own_figure:
        ax = new_figure(9.0, 4.3).subplots(1, 2)
    panels = check_panels(ax, 2, (4.5, 4))
    global_sets = _global_sets(posterior)
    local_sets = [_edge_set(posterior), _bias_set(posterior)]
    _draw(panels[0], global_sets, RHAT_LIMIT, ESS_LIMIT, n_named)
    _draw(panels[1], local_sets, RHAT_LIMIT, ESS_LIMIT, n_named)
    headline(panels[0], _summary("global quantities", global_sets))
    biases = "thresholds" if posterior.has_levels else "biases"
    headline(panels[1], _summary(f"{biases} and undecided edges", local_sets))
    if own_figure:
        panels[0].figure.suptitle(_title(posterior), fontsize=11, x=0.02, ha="left")
    return panels


def _global_sets(posterior: Posterior) -> list[DiagnosticSet]:
    sets = []
    items = posterior.convergence.quantities.items()
    for (name, (rhat, ess)), marker in zip(items, MARKERS, strict=False):
        bad = np.flatnonzero((rhat > RHAT_LIMIT) | (ess < ESS_LIMIT))
        checked = np.isfinite(ess) | np.isfinite(rhat)
        sets.append(DiagnosticSet(name, marker, BLUE, [name], rhat, ess, checked, bad))
    return sets


def _bias_set(posterior: Posterior) -> DiagnosticSet:
    rhat, ess = posterior.convergence.biases
    names = [short_name(name, MAX_NAME_LENGTH) for name in posterior.bias_names]
    checked = np.ones(rhat.size, np.bool_)
    worst = posterior.convergence.unconverged_biases
    kind = "threshold" if posterior.has_levels else "bias"
    return DiagnosticSet(kind, "^", INK, names, rhat, ess, checked, worst)


def _edge_set(posterior: Posterior) -> DiagnosticSet:
    rhat, ess = posterior.convergence.indicators
    worst = posterior.convergence.unconverged_edges
    low, high = UNDECIDED_RANGE
    checked = (posterior.edge_probability >= low) & (posterior.edge_probability <= high)
    checked[worst] = True
    names = edge_names(posterior, longest=12)
    return DiagnosticSet("undecided edge", "o", BLUE, names, rhat, ess, checked, worst)


def _draw(
    ax: Axes, sets: list[DiagnosticSet], rhat_limit: float, ess_limit: float, n_named: int
) -> None:
    most = max([np.nanmax(each.ess, initial=ess_limit) for each in sets])
    least = min([np.nanmin(each.ess, initial=ess_limit) for each in sets])
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(least / 2.2, most * 2.2)
    ax.set_ylim(MIN_EXCESS / 1.5, MAX_EXCESS * 1.8)
    ax.fill_between(
        [ess_limit, most * 3], MIN_EXCESS / 2, rhat_limit - 1, color="0.92", linewidth=0
    )
    ax.axhline(rhat_limit - 1, color=GREY, linewidth=0.9, linestyle=LIMIT_DASHES)
    ax.axvline(ess_limit, color=GREY, linewidth=0.9, linestyle=LIMIT_DASHES)
    for each in sets:
        _draw_points(ax, each)
    _name_worst(ax, sets, n_named)
    ax.yaxis.set_major_locator(FixedLocator([MIN_EXCESS, 0.001, 0.01, 0.05, 0.2, 1.0]))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(
        FuncFormatter(lambda y, _: "1" if y <= MIN_EXCESS else f"{1 + y:.4g}")
    )
    ticks = [d * 10.0**k for k in range(7) for d in (1, 2, 5)]
    shown = [x for x in ticks if least / 2.2 <= x <= most * 2.2]
    ax.xaxis.set_major_locator(FixedLocator(shown if len(shown) < 8 else shown[::3]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.set_xlabel(f"effective draws (should be at least {ess_limit:.0f})")
    ax.set_ylabel(f"R-hat (should be below {rhat_limit:g})")
    tidy(ax)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(
            fontsize=SMALL, loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False,
            ncols=2, labelcolor=GREY,
        )  # fmt: skip


def _points(diagnostics: DiagnosticSet) -> tuple[Array, Array]:
    """Coordinates of points; an undefined R-hat (of one chain) is drawn at the lower end."""
    excess = np.where(np.isnan(diagnostics.rhat), MIN_EXCESS, diagnostics.rhat - 1)
    return diagnostics.ess, np.clip(excess, MIN_EXCESS, MAX_EXCESS)


def _draw_points(ax: Axes, diagnostics: DiagnosticSet) -> None:
    x, y = _points(diagnostics)
    kind, checked = diagnostics.kind, diagnostics.checked
    bad = np.zeros(x.size, np.bool_)
    bad[diagnostics.worst] = True
    kinds: tuple[tuple[NDArray[np.bool_], str, dict[str, Any]], ...] = (
        (checked & ~bad, kind, {"color": diagnostics.color, "alpha": 0.7, "zorder": 2}),
        (bad, f"{kind}, not converged", {"color": ORANGE, "mec": "black", "zorder": 3}),
        (~checked & ~bad, "decided edge", {"color": PALE, "mfc": "none", "zorder": 1}),
    )
    for chosen, label, style in kinds:
        shown = chosen & np.isfinite(x)
        if shown.any():
            size = 6 if bad[shown].all() or len(diagnostics.names) == 1 else 4
            ax.plot(
                x[shown], y[shown], diagnostics.marker, markersize=size, label=label,
                linestyle="none", markeredgewidth=0.7, **style,
            )  # fmt: skip


def _name_worst(ax: Axes, sets: list[DiagnosticSet], n_named: int) -> None:
    """List the quantities that have not converged, at the upper right, where points are rare."""
    names = [each.names[k] for each in sets for k in each.worst]
    # By effective draws, fewest first; constant quantities (NaN) before all others
    ess = np.concatenate([each.ess[each.worst] for each in sets])
    order = np.argsort(np.nan_to_num(ess, nan=-1.0), kind="stable")
    lines = [names[k] for k in order[:n_named]]
    if not lines:
        return
    if len(names) > len(lines):
        lines.append(f"and {len(names) - len(lines)} more")
    ax.text(
        0.98, 0.98, "not converged:\n" + "\n".join(lines), transform=ax.transAxes, ha="right",
        va="top", fontsize=SMALL, color=INK, **PLAIN,
    )  # fmt: skip


def _summary(what: str, sets: list[DiagnosticSet]) -> str:
    n_unconverged = sum(each.worst.size for each in sets)
    n_checked = int(sum(each.checked.sum() for each in sets))
    if n_unconverged == 0:
        return f"{n_checked} {what}, all converged"
    return f"{n_unconverged} of {n_checked} {what} not converged"


def _title(posterior: Posterior) -> str:
    chains, draws = posterior.draws.n_chains, posterior.draws.n_draws
    run = f"{chains} chain{'' if chains == 1 else 's'} of {draws} draws"
    return f"{'Converged' if posterior.converged else 'Not converged'}: {run}"
