"""The results page: each claim of the paper with the measured numbers and a verdict."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pandas as pd

import slabfield
from slabfield.io.atomic import write_atomically
from slabfield.reproduce.claims import CLAIMS, FAILS, HOLDS, UNKNOWN, Verdict, judge
from slabfield.reproduce.scale import SCALES, Scale

PAPER = SCALES["paper"]

CAPTIONS = {
    "figure01": "Figure 1. Moves of the sampler on one edge.",
    "figure02": "Figure 2. Langevin dynamics with and without partial momentum refreshment, given "
    "the true structure: autocorrelation of two parameters; means and sds of all.",
    "figure03": "Figure 3. Four couplings given presence, by the paper's sampler and exact. Above "
    "each: inclusion probabilities.",
    "figure04": "Figure 4. Every edge at every p0, the paper's sampler against exact draws.",
    "figure05": "Figure 5. Precision and recall of edges on lattices. A line is over strengths or "
    "over p0; dashed: edges ranked by inclusion probability with p0 learned.",
    "figure06": "Figure 6. Likelihood against density, mean over data sets and sd of the "
    "difference from the true model. Vertical line: true density; dotted: the true model.",
    "figure07": "Figure 7. The same, exact and approximate.",
    "figure08": "Figure 8. Absolute couplings, edges sorted by their size in the true model. The "
    "threshold of Bayes PM is adjusted from 0.5 to match the density.",
    "figure09": "Figure 9. Likelihood against F1. A good model is at the upper right.",
    "figure10": "Figure 10. Likelihood against density on MNIST patches.",
    "figure11": "Figure 11. Gibbs samples from models of density 0.2 learned from MNIST images.",
    "sizes": "Density and likelihood over the number of training rows.",
    "sensitivity": "Each hyperparameter varied, the others at their defaults.",
}


def write_page(out: Path, scale: Scale) -> Path:
    """Write ``reproduction.md`` from the tables and figures in a folder."""
    tables = {path.stem: pd.read_csv(path) for path in sorted(out.glob("*.csv"))}
    verdicts = [judge(claim, tables) for claim in CLAIMS]
    parts = [_head(scale, verdicts), _table(verdicts), *_causes(verdicts), *_figures(out)]
    text = "\n\n".join(parts) + "\n"
    path = out / "reproduction.md"

    def write(temporary: Path) -> None:
        temporary.write_text(text, encoding="utf-8")

    write_atomically(path, write)
    return path


def _head(scale: Scale, verdicts: list[Verdict]) -> str:
    counts = {word: sum(v.verdict == word for v in verdicts) for word in (HOLDS, FAILS, UNKNOWN)}
    summary = "; ".join(f"{word}: {n}" for word, n in counts.items())
    sampler = (
        f"{scale.paper_chains} chain{'s' if scale.paper_chains > 1 else ''} of "
        f"{scale.paper_draws * scale.paper_thin:,} iterations, steps of {scale.paper_step:g} and "
        f"windows of {scale.paper_window:g}"
    )
    if (scale.paper_step, scale.paper_window) != (PAPER.paper_step, PAPER.paper_window):
        sampler += (
            f" (the paper's are {PAPER.paper_step:g} and {PAPER.paper_window:g}: larger ones make "
            "a short chain informative)"
        )
    paragraphs = (
        f"Made by `slabfield reproduce all --scale {scale.name}` (slabfield "
        f"{slabfield.__version__}). Each claim of Chen and Welling (2012) is compared with the "
        "numbers measured here; the verdict follows from the numbers by the stated rule, and is "
        f"not written by hand. Of {len(verdicts)} claims, {summary}.",
        f"Data: {scale.block_sets} block data sets, {scale.lattice_sets} lattices of {scale.side} "
        f"x {scale.side} nodes ({min(scale.sensitivity_sets, scale.lattice_sets)} where "
        f"hyperparameters are varied), {scale.image_sets} of MNIST images; {scale.n_test:,} test "
        "rows. An error bar (+-) is the sd over data sets, unless stated otherwise. "
        "Likelihood is the mean conditional log-likelihood of groups of nodes of test rows: all "
        "12 of a block, 3 x 3 of a lattice or image.",
        f"Figures 2 to 4 use the paper's sampler, {sampler}; the others use the default sampler "
        "with particles. Exact draws are by collapsed Gibbs sweeps under the exact likelihood, "
        "which have the same posterior as the paper's exact sampler and mix faster.",
    )
    filled = [textwrap.fill(text, 100, break_on_hyphens=False) for text in paragraphs]
    return "\n\n".join(["# The paper, claim by claim", *filled])


def _table(verdicts: list[Verdict]) -> str:
    lines = ["| claim | where | measured | rule | verdict |", "|---|---|---|---|---|"]
    for claim, measured, verdict in verdicts:
        word = verdict if verdict != FAILS else f"**{verdict}**"
        lines.append(
            f"| {claim.words} | {claim.where} | {measured.replace('|', '/')} | "
            f"{claim.rule.replace('|', '')} | {word} |"
        )
    return "\n".join(lines)


def _causes(verdicts: list[Verdict]) -> list[str]:
    """Say why claims do not hold; nothing if all do."""
    failed = [claim for claim, _, verdict in verdicts if verdict == FAILS and claim.cause]
    if not failed:
        return []
    lines = [
        textwrap.fill(
            f"- *{claim.words}* {claim.cause}", 100, subsequent_indent="  ",
            break_on_hyphens=False,
        )
        for claim in failed
    ]  # fmt: skip
    return ["Why claims do not hold:", "\n".join(lines)]


def _figures(out: Path) -> list[str]:
    """Figures with captions and links to their tables; missing figures are named."""
    parts = []
    for name, caption in CAPTIONS.items():
        text = textwrap.fill(caption, 100, break_on_hyphens=False)
        if not (out / f"{name}.png").exists():
            parts.append(f"{text} *Not made at this scale.*")
            continue
        tables = sorted(path.name for path in out.glob(f"{name}*.csv"))
        links = ", ".join(f"[{table}]({table})" for table in tables)
        parts.append(
            f"![{caption}]({name}.png)\n\n{text}" + (f" Numbers: {links}." if links else "")
        )
    return parts
