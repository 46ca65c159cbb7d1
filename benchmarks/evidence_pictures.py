"""Pictures of Bayes factors under two likelihoods."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from evidence_comparison import FULL, HALF, STRONG, Findings

# log10 of Bayes factors that a picture shows
SHOWN = (-2.0, 6.0)
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#999999"
# Width and height in inches
SIZE = (8.4, 4.2)


def scatter(findings: Findings, reference: str, file: Path) -> None:
    """Draw log10 Bayes factors with both weights against those of the likelihood."""
    figure = Figure(figsize=SIZE, layout="constrained")
    other = findings.runs[reference]["log10_factor"].clip(*SHOWN)
    for axes, name in zip(figure.subplots(1, 2, sharey=True), (FULL, HALF), strict=True):
        own = findings.runs[name]["log10_factor"].clip(*SHOWN)
        changed = (own.abs() > STRONG) & (other.abs() <= STRONG)
        axes.plot(SHOWN, SHOWN, color=GREY, linewidth=0.8)
        for limit in (-STRONG, STRONG):
            axes.axhline(limit, color=GREY, linewidth=0.8, linestyle="--")
            axes.axvline(limit, color=GREY, linewidth=0.8, linestyle="--")
        axes.scatter(other[~changed], own[~changed], s=10, color=BLUE, alpha=0.6, linewidths=0)
        axes.scatter(other[changed], own[changed], s=10, color=ORANGE, alpha=0.8, linewidths=0)
        axes.set_title(f"pseudo-likelihood, {name}", fontsize=10)
        axes.set_xlabel("log10 Bayes factor, likelihood")
        axes.set_aspect("equal")
    figure.axes[0].set_ylabel("log10 Bayes factor, pseudo-likelihood")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=120)


def legend(reference: str) -> str:
    """What a picture shows, in words."""
    return (
        f"One dot per pair: log10 Bayes factors by {reference} along, by the pseudo-likelihood "
        "upward; dashed lines at 10 and 1/10. Orange: strong evidence under the pseudo-likelihood "
        f"only. Logarithms above {SHOWN[1]:g} are drawn there."
    )
