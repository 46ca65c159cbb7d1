"""How far the default sampler is from a reference run on lattices: writes docs/lattice-accuracy.md.

Run by ``make accuracy``. 100 nodes cannot be enumerated; the reference has four times the particles
and sweeps the neighbors of every block four times after it. Every chain is one piece, kept on disk
when it is done.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from slabfield import SpikeSlabMRF
from slabfield.datasets import make_lattice
from timing import sampler_version, setting, table, verdict

ROWS = (100, 1_000)
N_CHAINS = 4
TIMES = 4
"""How many times the default's particles the reference has, and its sweeps after every block."""

N_DRAWS = {"default": 250, "reference": 200}
OPEN = (0.02, 0.98)
MOST_RMS, MOST_ERROR = 0.04, 0.01


def chain(kind: str, n_rows: int, number: int, folder: Path) -> dict:
    """Run one chain, unless it is kept; the reference has multiples of the default's particles."""
    code = sampler_version()
    file = folder / f"{kind}-{n_rows}-{number}-{N_DRAWS[kind]}-{code}.npz"
    if not file.exists():
        sampler = None
        if kind == "reference":
            settled = chain("default", n_rows, number, folder)
            sampler = {"n_particles": TIMES * int(settled["n_particles"]), "n_sweeps": TIMES}
        rows = make_lattice(n_rows, random_state=1).rows
        first = number + (0 if kind == "default" else N_CHAINS)
        model = SpikeSlabMRF(
            likelihood="particles", n_chains=1, n_jobs=1, n_draws=N_DRAWS[kind],
            random_state=first, sampler=sampler,
        ).fit(rows)  # fmt: skip
        posterior = model.posterior_
        info = posterior.info[0]
        folder.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial.npz")
        np.savez(
            partial, probability=posterior.edge_probability, cpu=info["cpu_seconds"],
            n_particles=info["n_particles"], n_sweeps=info["n_sweeps"],
        )  # fmt: skip
        partial.replace(file)
        print(f"{kind}, N = {n_rows}, chain {number}: {info['cpu_seconds']:.0f} CPU s", flush=True)
    with np.load(file) as kept:
        return dict(kept)


def compare(n_rows: int, folder: Path) -> tuple:
    """Differences on the edges that are open in the reference, and their Monte Carlo errors."""
    both = {k: [chain(k, n_rows, i, folder) for i in range(N_CHAINS)] for k in N_DRAWS}
    every = {k: np.array([c["probability"] for c in chains]) for k, chains in both.items()}
    mean = {k: values.mean(axis=0) for k, values in every.items()}
    is_open = (mean["reference"] >= OPEN[0]) & (mean["reference"] <= OPEN[1])
    errors = {
        k: np.sqrt(np.mean(values[:, is_open].var(axis=0, ddof=1)) / N_CHAINS)
        for k, values in every.items()
    }
    gap = (mean["default"] - mean["reference"])[is_open]
    rms = float(np.sqrt(np.mean(gap**2)))
    cpu = {k: sum(float(c["cpu"]) for c in chains) for k, chains in both.items()}
    settled = {
        k: f"{int(chains[0]['n_particles']):,} / {float(chains[0]['n_sweeps']):g}"
        for k, chains in both.items()
    }
    return (
        f"{n_rows:,}", int(is_open.sum()), settled["default"], settled["reference"],
        f"{rms:.4f}", f"{np.abs(gap).max():.3f}", f"{gap.mean():+.4f}",
        f"{errors['default']:.4f}", f"{errors['reference']:.4f}",
        f"{mean['default'].sum():.1f}", f"{mean['reference'].sum():.1f}",
        f"{cpu['default']:.0f}", f"{cpu['reference']:.0f}",
        verdict(bool(rms <= MOST_RMS and errors["reference"] < MOST_ERROR)),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", type=Path, default=Path(".cache/lattice-accuracy"))
    parser.add_argument("--out", type=Path, default=Path("docs/lattice-accuracy.md"))
    options = parser.parse_args()
    for kind in N_DRAWS:  # the default first: the reference has multiples of its particles
        Parallel(n_jobs=options.jobs)(
            delayed(chain)(kind, n_rows, number, options.cache)
            for n_rows in ROWS[::-1]
            for number in range(N_CHAINS)
        )
    head = (
        "rows", "open edges", "particles / sweeps", "of the reference", "rms", "max", "bias",
        "MC error", "MC error of the reference", "expected edges", "of the reference", "CPU s",
        "of the reference", "as wanted",
    )  # fmt: skip
    text = f"""# Accuracy on lattices

Made by `make accuracy` (`benchmarks/lattice_accuracy.py`). `datasets.make_lattice(N,
random_state=1)`, 10 x 10 nodes, too many to enumerate. The default sampler ({N_CHAINS} chains of
{N_DRAWS["default"]} draws) beside a reference: {N_CHAINS} chains of {N_DRAWS["reference"]} draws
with {TIMES} times the particles and {TIMES} sweeps of its neighbors after every block.
Over the edges whose probability in the reference is {OPEN[0]:g} to {OPEN[1]:g}: differences in
inclusion probability, and Monte Carlo errors (rms over these edges, from how chains differ).
Wanted: rms at most {MOST_RMS:g}, with an error of the reference below {MOST_ERROR:g}. What the two
have in common is not tested here: moves and the way noise is absorbed, which
[blocks](default-accuracy.md) test against enumeration.
{setting()}

{table(head, [compare(n_rows, options.cache) for n_rows in ROWS])}
"""
    options.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
