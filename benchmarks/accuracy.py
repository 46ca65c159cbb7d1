"""How far every sampler is from the exact posterior, on block data: writes docs/accuracy.md.

Run by ``make accuracy``. Each chain is one task, kept on disk when it is done, so that an
interrupted run goes on where it stopped; it is used again only where a short chain of the same
settings gives the draws, bit for bit, that it gave then. The reference is the collapsed Gibbs
sampler on an exact engine, run twice.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from slabfield.chains.chain_run import run_chain
from slabfield.configuration import (
    Settings,
    bayes_exact,
    default_exact,
    default_particles,
    paper,
    pseudo,
)
from slabfield.datasets import make_block
from slabfield.models.binary import BinaryPairwise
from slabfield.priors import Prior
from slabfield.problem import Problem

N_ROWS = 100
SEEDS = (1, 2, 3)
P0_ALL = (None, 0.1, 0.5, 0.9, 0.99)
P0_EXACT_ONLY = (1e-4, 0.01)
# sweeps of each reference run: more where the structure is more open, and mixing slower
GOLD_DRAWS = {None: 40_000, 0.1: 160_000, 0.5: 30_000, 0.9: 10_000, 0.99: 5_000}
GOLD_DRAWS |= dict.fromkeys(P0_EXACT_ONLY, 160_000)
# paper: as many as the estimator runs; the reference: run against run
N_CHAINS = {
    "collapsed": 2, "Bayes Exact": 2, "paper": 4, "particles": 4, "pseudo": 4,
    "pseudo, weight 1": 4,
}  # fmt: skip
SPARSE_CHAINS = {"Bayes Exact": 4, "paper": 6}
LIKELY = 0.3
LIMITS = {"collapsed": 0.01, "Bayes Exact": 0.02, "paper": 0.05, "particles": 0.015}
MOMENT_LIMIT = 0.15


class Task(NamedTuple):
    """One chain to run."""

    sampler: str
    seed: int
    p0: float | None
    chain: int
    settings: Settings
    n_rows: int = N_ROWS


def make_problem(seed: int, p0: float | None, n_rows: int = N_ROWS) -> Problem:
    data = make_block(n_rows, random_state=seed)
    model = BinaryPairwise(data.field.n_nodes)
    prior = Prior.standard(model.n_interactions, (5.0, 5.0) if p0 is None else p0)
    return Problem(model, data.rows, model.sums(data.rows), prior)


def signature(settings: Settings, p0: float | None) -> str:
    """Name of what a sampler is: a hash of the draws of a short chain.

    Sources that give these draws bit for bit give the long chains too, whatever else has changed.
    """
    short = replace(settings, n_draws=5, n_warmup=2, thin=min(settings.thin, 200))
    record = run_chain(make_problem(0, p0), short, seed=0, chain_index=0, report=_silent).record
    return hashlib.sha256(record.coupling.tobytes() + record.bias.tobytes()).hexdigest()[:16]


def _silent(n_done: int) -> None:
    del n_done


def summarize(task: Task, sampler: str, folder: Path) -> dict:
    """Run one chain, unless it is kept; return sums over its draws for every edge.

    ``sampler`` is the signature of what draws it.
    """
    settings = task.settings
    length = f"{settings.n_warmup}+{settings.n_draws}x{settings.thin}"
    name = settings.engine if settings.scheme == "collapsed" else settings.scheme
    name += "" if task.n_rows == N_ROWS else f"-rows{task.n_rows}"
    file = folder / f"{name}-{task.seed}-{task.p0}-{task.chain}-{length}-{sampler}.npz"
    if file.exists():
        with np.load(file) as kept:
            return dict(kept)
    clock = time.process_time()
    result = run_chain(make_problem(task.seed, task.p0, task.n_rows), settings, seed=100,
                       chain_index=task.chain, report=_silent)  # fmt: skip
    cpu = time.process_time() - clock
    print(f"  {file.stem}: {cpu:.0f} CPU s", flush=True)
    record = result.record
    found = {
        "n_draws": np.array(settings.n_draws),
        "count": record.present.sum(axis=0).astype(float),
        "total": record.coupling.sum(axis=0),
        "square": (record.coupling**2).sum(axis=0),
        "cpu": np.array(cpu),
        "chance": result.conditional_probability,
    }
    folder.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(f".{os.getpid()}.npz")
    np.savez(partial, **found)
    partial.replace(file)
    return found


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else float("nan")


def pool(pieces: list[dict]) -> dict:
    """Inclusion probability, mean and sd given presence, over the draws of all given chains.

    Probabilities are those that the estimator reports: from conditional odds where there are any.
    """
    count, total, square = (sum(p[name] for p in pieces) for name in ("count", "total", "square"))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / count
        sd = np.sqrt(np.maximum(square / count - mean**2, 0))
    probability = np.mean([p["chance"] for p in pieces], axis=0)
    visited = count / sum(p["n_draws"] for p in pieces)
    return {
        "probability": np.where(np.isfinite(probability), probability, visited),
        "mean": mean,
        "sd": sd,
        "cpu": sum(p["cpu"] for p in pieces),
    }


def compare(pieces: dict[str, list[dict]], seed: int, p0: float | None) -> list[dict]:
    """Errors of every sampler on one data set and prior, against the two reference runs pooled.

    ``one chain`` is the root mean square of what each chain by itself would have been off.
    """
    reference = pool(pieces["collapsed"])
    likely, sd = reference["probability"] > LIKELY, reference["sd"]
    rows = []
    for sampler, chains in pieces.items():
        found, target, name = pool(chains), reference, sampler
        if sampler == "collapsed":
            found, target = pool(chains[:1]), pool(chains[1:])
            name = "collapsed, run against run"
        gap = found["probability"] - target["probability"]
        alone = [pool([chain])["probability"] - target["probability"] for chain in chains]
        rows.append({
            "data set": seed, "p0": "learned" if p0 is None else f"{p0:g}", "sampler": name,
            "rms": rms(gap), "max": float(np.abs(gap).max()), "bias": float(gap.mean()),
            "one chain": np.nan if sampler == "collapsed" else rms(np.array(alone)),
            "edges > .3": int(likely.sum()),
            "mean, in sd": rms(((found["mean"] - target["mean"]) / sd)[likely]),
            "sd, in sd": rms(((found["sd"] - target["sd"]) / sd)[likely]),
            "CPU s": found["cpu"],
        })  # fmt: skip
    return rows


def verdicts(table: pd.DataFrame) -> list[str]:
    lines = []
    for name, limit in LIMITS.items():
        part = table[table["sampler"].str.startswith(name)]
        worst = part["rms"].max()
        word = "holds" if worst <= limit else "DOES NOT HOLD"
        lines.append(f"- {name}: largest rms {worst:.4f}; the aim is {limit:g}: {word}.")
    part = table[table["sampler"] == "paper"]
    for column in ("mean, in sd", "sd, in sd"):
        worst = part[column].max()
        word = "holds" if worst <= MOMENT_LIMIT else "DOES NOT HOLD"
        lines.append(
            f"- paper, {column} given presence: largest rms {worst:.3f}; the aim is "
            f"{MOMENT_LIMIT:g}: {word}."
        )
    return lines


def to_markdown(table: pd.DataFrame) -> str:
    head = list(table.columns)
    formats = {
        "rms": "{:.4f}", "rms, visits counted": "{:.4f}", "one chain": "{:.4f}",
        "max": "{:.3f}", "MC error there": "{:.3f}", "bias": "{:+.4f}",
        "mean, in sd": "{:.3f}", "sd, in sd": "{:.3f}", "CPU s": "{:.0f}",
    }  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for _, row in table.iterrows():
        cells = [formats.get(name, "{}").format(row[name]) for name in head]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def n_chains(sampler: str, p0: float | None) -> int:
    """More chains than elsewhere where structures change seldom."""
    if sampler == "Bayes Exact" and p0 in P0_EXACT_ONLY:
        return SPARSE_CHAINS[sampler]
    if sampler == "paper" and p0 == min(p for p in P0_ALL if p is not None):
        return SPARSE_CHAINS[sampler]
    return N_CHAINS[sampler]


def tasks(scale: float) -> list[Task]:
    """All chains of all samplers, the longest first, so that the last do not wait for one."""

    def shorter(settings: Settings) -> Settings:
        return replace(
            settings,
            n_draws=max(200, int(settings.n_draws * scale)),
            n_warmup=max(20, int(settings.n_warmup * min(1.0, scale * 4))),
        )

    found = []
    for seed in SEEDS:
        for p0 in P0_ALL + P0_EXACT_ONLY:
            gold = replace(default_exact(), n_draws=GOLD_DRAWS[p0], n_warmup=1_000, thin=1)
            # sparse structures change seldom: more iterations between the draws kept
            thin = 20 if p0 in P0_EXACT_ONLY else 5
            samplers = {"collapsed": gold, "Bayes Exact": replace(bayes_exact(N_ROWS), thin=thin)}
            if p0 in P0_ALL:
                samplers["paper"] = paper()
            if p0 is None:
                samplers["particles"] = replace(default_particles(), thin=2)
                samplers["pseudo"] = replace(pseudo(), thin=2)
                samplers["pseudo, weight 1"] = replace(pseudo(1.0), thin=2)
            found += [
                Task(sampler, seed, p0, chain, shorter(settings))
                for sampler, settings in samplers.items()
                for chain in range(n_chains(sampler, p0))
            ]
    return sorted(found, key=lambda task: (-task.settings.thin, task.chain))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full run lengths")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", type=Path, default=Path(".cache/accuracy"))
    parser.add_argument("--out", type=Path, default=Path("docs/accuracy.md"))
    parser.add_argument("--only", help="run the chains of this sampler, and write nothing")
    options = parser.parse_args()
    todo = [t for t in tasks(options.scale) if options.only in (None, t.sampler)]
    names = {key: signature(*key) for key in {(t.settings, t.p0) for t in todo}}
    results = Parallel(n_jobs=options.jobs)(
        delayed(summarize)(task, names[task.settings, task.p0], options.cache) for task in todo
    )
    if options.only:
        return
    pieces: dict = defaultdict(lambda: defaultdict(list))
    for task, result in zip(todo, results, strict=True):
        pieces[task.seed, task.p0][task.sampler].append(result)
    rows = [
        row for p0 in P0_ALL + P0_EXACT_ONLY for seed in SEEDS
        for row in compare(pieces[seed, p0], seed, p0)
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    table.to_csv(options.out.with_suffix(".csv"), index=False)
    text = f"""# Accuracy: every sampler against the exact posterior

Made by `make accuracy` (`benchmarks/accuracy.py`), share of the full run lengths {options.scale:g}.
Data: `datasets.make_block({N_ROWS}, random_state=seed)`, 12 nodes, 66 candidate edges, seeds
{", ".join(map(str, SEEDS))}. The reference is the collapsed Gibbs sampler on an exact engine,
checked against nothing but enumeration: two runs of 5,000 to 160,000 sweeps from different
starts, pooled. *Bayes Exact* is `preset="paper"` with `likelihood="exact"`, *paper* the same with
`likelihood="particles"`: 10 million iterations a chain after a warm-up of 1 million, and the four
chains that the estimator runs by default, pooled (six where p0 is 0.1: there births are rarest, and
what one chain is off is Monte Carlo error); *one chain* is what one of them by itself is off (rms
over edges and chains). Bayes Exact runs two chains of 50,000 iterations, where p0 is below
0.1 four of 200,000. *particles* is the default sampler without an exact engine, *pseudo* the engine
on half the pseudo-likelihood, both 2,000 sweeps a chain, where p0 is learned.

rms, max and bias: differences in inclusion probability over the 66 edges. The last columns: rms
differences of the posterior mean and standard deviation given presence, in units of the posterior
standard deviation, over the edges of probability above {LIKELY}. "learned": p0 ~ Beta(5, 5).

{chr(10).join(verdicts(table))}

{to_markdown(table)}
"""
    options.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
