"""The default sampler on larger and larger fields: writes docs/scale.md. ``make scale``.

Random graphs of mean degree 4, 1,000 rows. Every field is fitted in a process of its own, whose
peak memory is what the kernel says; results are kept on disk when they are done, and the draws too,
to see what held a field up.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from timing import kept, sampler_version, setting, table, verdict

DOCS = Path(__file__).parents[1] / "docs"
NODES = [50, 100, 200, 500, 1_000]
N_ROWS, DEGREE, N_SWEEPS = 1_000, 4.0, 2_000
# What must hold at this size: how far calibration may be off, and CPU seconds
AT, MOST_GAP, MOST_SECONDS = 500, 0.05, 600.0
# and what a chain may take, a pair of nodes, in fields of these sizes
MOST_BYTES, MEASURED = 40, (1_000, 2_000)


def most_memory() -> int:
    """Bytes that the process took at its peak so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def ready() -> int:
    """Have everything imported and compiled; return what the process took until then.

    A small field is fitted, and asked for its verdict too.
    """
    from slabfield import SpikeSlabMRF, datasets

    rows = datasets.make_random(100, n_nodes=30, mean_degree=2, random_state=0).rows
    small = {"n_draws": 8, "n_warmup": 2, "random_state": 0}
    assert not SpikeSlabMRF(likelihood="particles", **small).fit(rows).posterior_.converged
    return most_memory()


def random_graph(n_nodes: int, seed: int) -> Any:
    """Draw a field, and rows of it."""
    from slabfield import datasets

    return datasets.make_random(N_ROWS, n_nodes, DEGREE, seed, method="gibbs", n_sweeps=N_SWEEPS)


def short(n_nodes: int, seed: int, n_chains: int) -> dict:
    """Peak memory of a few draws of chains that run one after the other."""
    from slabfield import SpikeSlabMRF

    data = random_graph(n_nodes, seed)
    before = ready()
    few = {"n_draws": 4, "n_warmup": 16, "random_state": 1, "n_jobs": 1}
    model = SpikeSlabMRF(n_chains=n_chains, **few).fit(data.rows)
    n_particles = model.posterior_.info[0]["n_particles"]
    return {"peak": most_memory() - before, "n_particles": n_particles}


def fit(n_nodes: int, seed: int, most_draws: int, budget: float, path: Path) -> dict:
    """Fit one field and compare what was found with the truth."""
    from slabfield import SpikeSlabMRF

    data = random_graph(n_nodes, seed)
    before = ready()
    clock, wall = time.process_time(), time.monotonic()
    model = SpikeSlabMRF(
        n_draws="auto", max_draws=most_draws, time_budget=budget or None, random_state=1
    ).fit(data.rows)
    posterior = model.posterior_
    good = posterior.converged
    cpu, wall = time.process_time() - clock, time.monotonic() - wall
    peak = most_memory()
    posterior.save(path)
    upper = np.triu_indices(n_nodes, 1)
    found, truth = model.inclusion_probability_[upper], data.field.coupling[upper] != 0
    sure = found > 0.5
    return {
        "nodes": n_nodes, "seed": seed, "cpu": cpu, "wall": wall, "converged": bool(good),
        "draws": posterior.draws.n_draws, "engine": posterior.settings["engine"],
        "particles": posterior.info[0].get("n_particles"),
        "sweeps": posterior.info[0].get("n_sweeps"),
        "chains": sum(chain["cpu_seconds"] for chain in posterior.info),
        "edges": int(truth.sum()), "auc": roc_auc_score(truth, found), "chosen": int(sure.sum()),
        "true_share": float(truth[sure].mean()), "mean_probability": float(found[sure].mean()),
        "expected_edges": float(found.sum()), "peak": peak - before,
        "restarts": sum(chain.get("restarts", 0) for chain in posterior.info),
        "warnings": posterior.warnings,
    }  # fmt: skip


def piece(n_nodes: int, asked: argparse.Namespace) -> dict:
    """One field, in a process of its own, unless its result is kept."""
    budget = asked.budget if n_nodes > AT else 0.0
    kept_as = asked.cache / f"{n_nodes}-{asked.seed}-{sampler_version()}.json"
    draws = str(kept_as.with_suffix(".nc"))
    asked.cache.mkdir(parents=True, exist_ok=True)
    arguments = (n_nodes, asked.seed, asked.most_draws, budget, draws)
    return kept(kept_as, lambda: apart("--one", *arguments))


def apart(*arguments: object) -> dict:
    """Run this file in a process of its own; return what it tells."""
    command = [sys.executable, __file__, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def one_more_chain(n_nodes: int, asked: argparse.Namespace) -> str:
    """Bytes a pair of nodes that a chain takes: four chains less one, by three."""
    found = [
        kept(
            asked.cache / f"chains-{n_chains}-{n_nodes}-{asked.seed}-{sampler_version()}.json",
            lambda n=n_chains: apart("--chains", n_nodes, asked.seed, n),
        )
        for n_chains in (1, 4)
    ]
    each = (found[1]["peak"] - found[0]["peak"]) / 3 / (n_nodes * (n_nodes - 1) // 2)
    n_particles = found[0]["n_particles"]
    return f"""- {n_nodes:,} nodes: {each:.0f} bytes a pair, {n_particles:,} particles with it
  (at most about {MOST_BYTES}: {verdict(each <= MOST_BYTES)})."""


def draw(frame: pd.DataFrame, exponent: float, factor: float) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.subplots()
    fitted = frame[frame["converged"]]
    axes.loglog(fitted["nodes"], factor * fitted["nodes"] ** exponent, color="0.6", linewidth=1)
    for good, marker in ((True, "o"), (False, "x")):
        part = frame[frame["converged"] == good]
        if part.empty:
            continue
        label = "converged" if good else "stopped before"
        axes.loglog(part["nodes"], part["cpu"], marker, color="black", label=label)
    axes.set(xlabel="nodes", ylabel="CPU seconds, all four chains")
    axes.set_xticks(frame["nodes"], [f"{n:,}" for n in frame["nodes"]])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "images" / "scale.png", dpi=120)


def bytes_of(row: dict) -> float:
    """Peak memory for each pair of nodes and each of the four chains."""
    return row["peak"] / 4 / (row["nodes"] * (row["nodes"] - 1) // 2)


def at_the_mark(frame: pd.DataFrame) -> str:
    """What must hold at one size, and whether it does."""
    if AT not in frame["nodes"].to_numpy():
        return f"{AT} nodes, where calibration and time are to be judged, have not been run."
    at = frame[frame["nodes"] == AT].iloc[0]
    gap = abs(at["true_share"] - at["mean_probability"])
    shares = f"share true {at['true_share']:.3f}, mean probability {at['mean_probability']:.3f}"
    fast = bool(at["converged"]) and at["cpu"] <= MOST_SECONDS
    return f"""- {AT} nodes: {shares}, apart by {gap:.3f} (at most {MOST_GAP:g}:
  {verdict(gap <= MOST_GAP)});
  {at["cpu"]:.0f} CPU seconds (at most {MOST_SECONDS:.0f}: {verdict(fast)})."""


def left_over(frame: pd.DataFrame) -> str:
    """Return the warnings of the fields that did not converge."""
    return "\n".join(
        f"- {row['nodes']:,} nodes, stopped after {row['wall']:,.0f} seconds of wall time: "
        f"{' '.join(row['warnings'])}"
        for row in frame[~frame["converged"]].to_dict("records")
    )


def write(frame: pd.DataFrame, chains: list[str], most_draws: int) -> str:
    fitted = frame[frame["converged"] & (frame["nodes"] <= max(NODES))]
    exponent, intercept = np.polyfit(np.log(fitted["nodes"]), np.log(fitted["cpu"]), 1)
    draw(frame, exponent, np.exp(intercept))
    rows = [
        (f"{r['nodes']:,}", r["engine"], "yes" if r["converged"] else "no", f"{r['draws']:,}",
         f"{r['cpu']:.0f}", f"{r['peak'] / 1e6:.0f} MB", f"{bytes_of(r):.0f}", f"{r['auc']:.3f}",
         f"{r['chosen']:,} of {r['edges']:,}", f"{r['true_share']:.3f}",
         f"{r['mean_probability']:.3f}")
        for r in frame.to_dict("records")
    ]  # fmt: skip
    head = (
        "nodes", "engine", "converged", "draws a chain", "CPU s", "peak memory",
        "bytes a pair and chain", "AUC", "edges found", "share true", "mean probability",
    )  # fmt: skip
    text = f"""# Larger fields

Made by `make scale` (`benchmarks/scale.py`). `datasets.make_random`, mean degree {DEGREE:g},
{N_ROWS:,} rows (each drawn by {N_SWEEPS:,} Gibbs sweeps), `SpikeSlabMRF` with
`n_draws="auto"` (until converged, or {most_draws:,} draws a chain; above {AT} nodes a
`time_budget` too), four chains, nothing tuned. CPU seconds are of all of it, from the table to the
verdict on convergence. Peak memory is what the
process took beyond what it had after a fit of 30 nodes, particles and draws with it; in the next
column, for each pair of nodes and chain. Edges found have probability above 1/2; the last two
columns say how many of these are true, and how many should be.

{table(head, rows)}

CPU seconds to convergence grow as the number of nodes to the power {exponent:.2f} (least squares on
logarithms of the {len(fitted)} fields up to {max(NODES):,} nodes that converged).

![CPU seconds against the number of nodes](images/scale.png)

{at_the_mark(frame)}
{left_over(frame)}

What one more chain takes besides its draws (four draws after 16 of warm-up, chains one after the
other: peak memory with four of them less that with one, divided by three):

{chr(10).join(chains)}

{setting()}
"""
    (DOCS / "scale.md").write_text(text, encoding="utf-8")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[*NODES, 2_000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-draws", type=int, default=16_000)
    parser.add_argument("--budget", type=float, default=1_800.0, help=f"seconds above {AT} nodes")
    parser.add_argument("--cache", type=Path, default=Path(".cache/scale"))
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--chains", nargs=3, type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one or asked.chains:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if asked.chains:
                found = short(*asked.chains)
            else:
                found = fit(*map(int, asked.one[:3]), float(asked.one[3]), Path(asked.one[4]))
        print(json.dumps(found))
        return
    frame = pd.DataFrame([piece(n_nodes, asked) for n_nodes in asked.nodes])
    frame.drop(columns="warnings").to_csv(DOCS / "scale.csv", index=False)
    chains = [one_more_chain(n_nodes, asked) for n_nodes in MEASURED]
    print(write(frame, chains, asked.most_draws))


if __name__ == "__main__":
    main()
