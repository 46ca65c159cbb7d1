"""Larger fields of ordinal nodes: known truth, and cost. Writes docs/ordinal-fields.md.

Run by ``make ordinal-fields``. Each fit is one piece, kept on disk when it is done.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from level_runs import model_of, problem_of
from slabfield.chains.chain_run import chain_rng
from slabfield.chains.collapsed_chain import CollapsedChain, run_sweeps
from slabfield.chains.collapsed_warmup import start_collapsed
from slabfield.configuration import Settings
from slabfield.datasets import make_ordinal, make_random
from slabfield.evaluate import edge_recovery, precision_recall
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.chain_state import insert
from timing import kept, sampler_version, section, setting, table

N_ROWS, N_LEVELS, MEAN_DEGREE = 1000, 5, 4.0
SIZES, SEEDS = (30, 50), (1, 2)
# On the Ising scale; couplings of standard scores have four times this standard deviation
COUPLING_SCALE = 0.25
# Seconds of wall time that a fit may take on two cores
TIME_BUDGET = 90.0
# Largest difference of the share of true edges from the mean probability, above one half
MOST_GAP = 0.05
COST_SIZES, COST_PARTICLES = (20, 40), 2048
MOST_COST = 8.0
ROUNDS, SWEEPS = 7, 10


def fit(n_nodes: int, seed: int) -> dict[str, Any]:
    """Fit a field whose truth is known."""
    from slabfield import SpikeSlabMRF

    data = make_ordinal(
        N_ROWS, n_nodes, N_LEVELS, MEAN_DEGREE, random_state=seed, coupling_scale=COUPLING_SCALE
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SpikeSlabMRF(random_state=seed, time_budget=TIME_BUDGET, progress=False)
        model.fit(data.table)
    posterior = model.posterior_
    pairs = posterior.interactions
    truth = pairs.of_matrix(data.edges)
    probability = posterior.edge_probability
    likely = probability > 0.5
    return {
        "n_true": int(truth.sum()),
        "auc": precision_recall(data.field, posterior.inclusion_probability).auc,
        "f1": edge_recovery(data.field, posterior.inclusion_probability >= 0.5).f1,
        "n_likely": int(likely.sum()),
        "share_true": float(truth[likely].mean()),
        "mean_probability": float(probability[likely].mean()),
        "brier": float(np.mean((probability - truth) ** 2)),
        "n_draws": posterior.draws.n_draws,
        "converged": bool(posterior.converged),
        "engine": posterior.settings["engine"],
        "cpu_seconds": sum(info["cpu_seconds"] for info in posterior.info),
        "least_ess": float(
            np.min([values[1] for values in posterior.convergence.quantities.values()])
        ),
    }


def truth_section(folder: Path) -> str:
    """Recovery and calibration of edges."""
    rows, gaps = [], []
    for n_nodes in SIZES:
        pieces = [
            kept(
                folder / f"truth-{n_nodes}-{seed}-{sampler_version()}.json",
                lambda n_nodes=n_nodes, seed=seed: fit(n_nodes, seed),
            )
            for seed in SEEDS
        ]
        for seed, piece in zip(SEEDS, pieces, strict=True):
            rows.append(
                (n_nodes, seed, piece["n_true"], f"{piece['auc']:.3f}", f"{piece['f1']:.3f}",
                 piece["n_likely"], f"{piece['share_true']:.3f}",
                 f"{piece['mean_probability']:.3f}", f"{piece['cpu_seconds']:.0f}",
                 piece["n_draws"], f"{piece['least_ess']:.0f}", piece["engine"],
                 "yes" if piece["converged"] else "no")
            )  # fmt: skip
        weights = [piece["n_likely"] for piece in pieces]
        both = [
            np.average([piece[key] for piece in pieces], weights=weights)
            for key in ("share_true", "mean_probability")
        ]
        gaps.append(float(both[0] - both[1]))
    head = ("nodes", "seed", "true edges", "AUC", "F1", "edges above 1/2", "share true",
            "mean probability", "CPU s", "draws", "least effective draws", "engine",
            "converged")  # fmt: skip
    by_size = ", ".join(f"{gap:+.3f} with {n} nodes" for gap, n in zip(gaps, SIZES, strict=True))
    good = all(abs(gap) <= MOST_GAP for gap in gaps)
    return section(
        "Fields whose truth is known",
        f"Random graphs of mean degree {MEAN_DEGREE:g}; couplings of standard scores have a "
        f"standard deviation of {4 * COUPLING_SCALE:g}; {N_ROWS:,} rows, nodes of {N_LEVELS} "
        f"levels. `SpikeSlabMRF(time_budget={TIME_BUDGET:g})` on two cores, four chains, all else "
        "as it is by default. CPU seconds are those of all chains, without compilation. AUC and F1 "
        "are of inclusion probabilities against the true edges. An edge is called with probability "
        "above one half; of calibrated probabilities, the share of true edges among these is their "
        'mean probability. "least effective draws" is the smallest of p0, sigma0, density and '
        "potential.",
        table(head, rows),
        f"Share of true edges less mean probability: {by_size} (within {MOST_GAP:g}: "
        f"{'yes' if good else 'no'}).",
    )


def chain_at_truth(kind: str, n_nodes: int) -> CollapsedChain:
    """Return a chain with particles at the field that its data were drawn from."""
    settings = Settings(
        engine="particles", scheme="collapsed", thin=1, n_particles=COST_PARTICLES, n_sweeps=0
    )
    if kind == "binary":
        data = make_random(N_ROWS, n_nodes, MEAN_DEGREE, random_state=1,
                           coupling_scale=COUPLING_SCALE, method="gibbs")  # fmt: skip
        model: Any = BinaryPairwise(n_nodes)
        coupling = model.interactions.of_matrix(data.field.coupling)
        bias, rows = data.field.bias, data.rows
    else:
        levels = make_ordinal(N_ROWS, n_nodes, N_LEVELS, MEAN_DEGREE, random_state=1,
                              coupling_scale=COUPLING_SCALE)  # fmt: skip
        model = model_of([("ordinal", N_LEVELS)] * n_nodes)
        bias, coupling, rows = levels.field.bias, levels.field.coupling, levels.rows
    chain = start_collapsed(problem_of(model, rows), settings, chain_rng(1, 0), "empty")
    state = chain.state
    state.bias[:], state.coupling[:], state.hyper[0] = bias, coupling, np.mean(coupling != 0)
    for alpha in np.flatnonzero(coupling):
        if not state.present[alpha]:
            insert(state, int(alpha))
    run_sweeps(chain, 5)
    return chain


def cost(n_nodes: int) -> dict[str, float]:
    """Least CPU time of a sweep per pair of nodes, of ordinal and of binary nodes, in turns."""
    chains = {kind: chain_at_truth(kind, n_nodes) for kind in ("binary", "ordinal")}
    best = dict.fromkeys(chains, np.inf)
    for _ in range(ROUNDS):
        for kind, chain in chains.items():
            start = time.thread_time()
            run_sweeps(chain, SWEEPS)
            best[kind] = min(best[kind], (time.thread_time() - start) / SWEEPS)
    n_pairs = n_nodes * (n_nodes - 1) / 2
    return {kind: 1e6 * seconds / n_pairs for kind, seconds in best.items()}


def cost_section(folder: Path) -> str:
    """Cost of levels against that of bits."""
    rows, ratios = [], []
    for n_nodes in COST_SIZES:
        file = folder / f"cost-{n_nodes}-{sampler_version()}.json"
        found = kept(file, lambda n_nodes=n_nodes: cost(n_nodes))
        ratios.append(found["ordinal"] / found["binary"])
        rows.append(
            (n_nodes, f"{found['binary']:.1f}", f"{found['ordinal']:.1f}", f"{ratios[-1]:.1f}")
        )
    good = all(ratio <= MOST_COST for ratio in ratios)
    return section(
        "Cost per edge and sweep",
        f"CPU time of a sweep divided by the number of pairs, {COST_PARTICLES:,} particles, fields "
        f"as above, the least of {ROUNDS} rounds in turns. Up to 24 nodes a sweep updates every "
        "pair; above, it updates likely edges in blocks and screens the others.",
        table(("nodes", "binary, µs", f"{N_LEVELS} levels, µs", "ratio"), rows),
        f"At most {MOST_COST:g} times: {'yes' if good else 'no'}.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path(".cache/ordinal-fields"))
    parser.add_argument("--only", choices=["truth", "cost"], help="one part, without the page")
    parser.add_argument("--out", type=Path, default=Path("docs/ordinal-fields.md"))
    asked = parser.parse_args()
    parts = {"truth": truth_section, "cost": cost_section}
    if asked.only:
        print(parts[asked.only](asked.cache))
        return
    text = "\n".join(
        [f"# Larger fields of ordinal nodes\n\nMade by `make ordinal-fields` "
         f"(`benchmarks/ordinal_fields.py`).\n{setting()}\n",
         *(part(asked.cache) for part in parts.values())]
    )  # fmt: skip
    asked.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
