"""Where ``exact`` ends: all states summed beside particles, on fields of 16 to 20 nodes.

Run by ``make accuracy``; writes docs/small-fields.md. Each engine on each data set is one piece,
kept on disk when it is done.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np

from slabfield import SpikeSlabMRF
from slabfield.datasets import make_random
from timing import kept, sampler_version, setting, table

ENGINES = ("exact", "particles")
NODES = (16, 17, 18, 19, 20)
DEGREE = 4.0
MOST_DRAWS = 4_000
SYMPTOMS = "wenchuan_ptsd_binary_ge3.csv"


def data_sets(n_seeds: int) -> dict[str, np.ndarray]:
    """Rows of random graphs, and answers about symptoms where there are any."""
    found = {
        f"random, {d} nodes, {n:,} rows, seed {seed}": make_random(n, d, DEGREE, seed).rows
        for d in NODES
        for n in (200, 1_000)
        for seed in range(1, n_seeds + 1)
    }
    file = Path(os.environ.get("SLABFIELD_DATA", "")) / SYMPTOMS
    if file.is_file():
        rows = np.loadtxt(file, delimiter=",", skiprows=1).astype(np.uint8)
        found[f"symptoms, {rows.shape[1]} nodes, {len(rows):,} rows"] = rows
    return found


def fit(engine: str, rows: np.ndarray) -> dict:
    """Fit rows until the chains have converged, or have as many draws as they may."""
    parameters = {"likelihood": engine, "random_state": 1, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SpikeSlabMRF(n_draws=4, n_warmup=2, **parameters).fit(rows[:50])  # compiles
        clock = time.process_time()
        model = SpikeSlabMRF(n_draws="auto", max_draws=MOST_DRAWS, **parameters).fit(rows)
    cpu_seconds = time.process_time() - clock
    posterior = model.posterior_
    upper = np.triu_indices(posterior.n_nodes, 1)
    return {
        "cpu": cpu_seconds, "converged": posterior.converged, "draws": posterior.draws.n_draws,
        "particles": posterior.info[0].get("n_particles"),
        "inclusion": model.inclusion_probability_[upper].tolist(),
    }  # fmt: skip


def piece(engine: str, name: str, rows: np.ndarray, folder: Path) -> dict:
    """One engine on one data set, unless that is kept."""
    plain = "".join(c if c.isalnum() else "-" for c in f"{engine} {name}")
    return kept(folder / f"{plain}-{sampler_version()}.json", lambda: fit(engine, rows))


def line(name: str, exact: dict, particles: dict) -> tuple:
    gap = np.array(particles["inclusion"]) - np.array(exact["inclusion"])
    cells = [
        f"{found['cpu']:.1f} ({found['draws']:,}{'' if found['converged'] else ', no'})"
        for found in (exact, particles)
    ]
    return (
        name, *cells, f"{exact['cpu'] / particles['cpu']:.2f}", f"{particles['particles']:,}",
        f"{np.sqrt(np.mean(gap**2)):.4f}", f"{np.abs(gap).max():.3f}", f"{gap.mean():+.4f}",
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=Path(".cache/small"))
    parser.add_argument("--out", type=Path, default=Path("docs/small-fields.md"))
    asked = parser.parse_args()
    found = {
        name: [piece(engine, name, rows, asked.cache) for engine in ENGINES]
        for name, rows in data_sets(asked.seeds).items()
    }
    lines = [line(name, *both) for name, both in found.items()]
    most = max(exact["cpu"] / particles["cpu"] for exact, particles in found.values())
    head = ("data", "exact: CPU s (draws)", "particles: CPU s (draws)", "time, exact / particles",
            "particles", "rms difference", "largest", "mean")  # fmt: skip
    text = f"""# Small fields: where exact ends

Made by `benchmarks/small_fields.py` (`make accuracy`). What `likelihood="auto"` may choose between
in small fields: `exact`, which sums over all states, and `particles`. Both run with
`n_draws="auto"`, until converged (*no*: not within {MOST_DRAWS:,} draws a chain), four chains,
nothing tuned; CPU seconds are of all chains, warm-up included. Random graphs are
`datasets.make_random`, mean degree {DEGREE:g}; symptoms are answers of survivors of an earthquake
(the page on [real data](real-data.md)). Differences are of inclusion probabilities, particles less
exact, over all edges; Monte Carlo errors of both are in them.

Up to 20 nodes `auto` is `exact`: that has no error but the Monte Carlo one, and here took
{most:.1f} times the time of particles at most.
{setting()}

{table(head, lines)}
"""
    asked.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
