"""Accuracy of the samplers for nodes with levels, against a plain sampler and exact sums.

Writes docs/level-accuracy.md. Each sampler on each data set is one piece, kept on disk when it is
done.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from level_runs import model_of, problem_of
from reference import plain_levels
from slabfield.chains.chain_run import ChainResult, run_chain
from slabfield.configuration import Settings, default_exact, default_particles, pseudo
from timing import kept, sampler_version, section, setting, table

Kinds = list[tuple[str, int]]
SETTINGS: dict[str, Kinds] = {
    "5 ordinal of 4 levels": [("ordinal", 4)] * 5,
    "6 ordinal of 3 levels": [("ordinal", 3)] * 6,
    "ordinal, levels 2, 2, 3, 5, 5": [("ordinal", k) for k in (2, 2, 3, 5, 5)],
    "5 nominal of 3 levels": [("nominal", 3)] * 5,
    "4 nominal of 4 levels": [("nominal", 4)] * 4,
    "4 Blume-Capel of 5 levels": [("blume-capel", 5)] * 4,
    "ordinal 2 and 3, nominal 3 and 4, Blume-Capel 4": [
        ("ordinal", 2), ("ordinal", 3), ("nominal", 3), ("nominal", 4), ("blume-capel", 4)
    ],
}  # fmt: skip
# Rows of the data sets of each setting, in turn
N_ROWS = (100, 300, 1000)
# Larger fields, for particles against exact sums, and their rows
LARGE: dict[str, Kinds] = {
    "8 ordinal of 5 levels": [("ordinal", 5)] * 8,
    "12 ordinal of 3 levels": [("ordinal", 3)] * 12,
}
LARGE_ROWS = (300, 1000)
LARGE_FIELDS = 1
N_CHAINS = 8
PLAIN_SWEEPS = 6_000
# Draws of a chain, every second sweep: where all pairs have one parameter, and where some have more
EXACT_DRAWS = (800, 2_000)
N_WARMUP = 200
# Draws of each of the chains of the approximate samplers, and of the exact one on larger fields
APPROXIMATE_CHAINS, APPROXIMATE_DRAWS, LARGE_DRAWS = 4, 1_500, 400
APPROXIMATE: dict[str, Settings] = {
    "particles": default_particles(),
    "pseudo, weight 1/2": pseudo(0.5),
    "pseudo, weight 1": pseudo(1.0),
}
# Root mean squared difference of inclusion probabilities, and Monte Carlo error of each sampler
MOST_DIFFERENCE = 0.01
MOST_ERROR = 0.003
# The same of particles, and of the pseudo-likelihood on average, against exact sums
MOST_PARTICLES, MOST_PSEUDO = 0.015, 0.06


class DataSet(NamedTuple):
    name: str
    kinds: Kinds
    rows: np.ndarray


def data_set(name: str, kinds: Kinds, n_rows: int, seed: int) -> DataSet:
    """Rows of a random field, drawn again until every level occurs in the data."""
    nodes = [plain_levels.node(*kind) for kind in kinds]
    rng, rows = np.random.default_rng(seed), np.zeros((0, len(nodes)), int)
    while not all(np.unique(x).size == len(n.bias) for x, n in zip(rows.T, nodes, strict=True)):
        rows = plain_levels.draw_rows(nodes, *plain_levels.draw_field(nodes, rng), n_rows, rng)
    return DataSet(f"{name}, {n_rows} rows, seed {seed}", kinds, rows)


def data_sets(name: str, n_fields: int) -> list[DataSet]:
    """Data sets of a setting."""
    return [
        data_set(name, SETTINGS[name], N_ROWS[seed % len(N_ROWS)], seed) for seed in range(n_fields)
    ]


def large_sets(name: str, n_rows: int) -> list[DataSet]:
    """Data sets of a larger field."""
    return [data_set(name, LARGE[name], n_rows, seed) for seed in range(LARGE_FIELDS)]


def run_plain(data: DataSet) -> dict:
    """Chains of the plain sampler."""
    nodes = [plain_levels.node(*kind) for kind in data.kinds]
    chains = [
        plain_levels.run_chain(nodes, data.rows, PLAIN_SWEEPS, seed) for seed in range(N_CHAINS)
    ]
    return {key: [chain[key].tolist() for chain in chains] for key in chains[0]}


def run_chains(data: DataSet, settings: Settings, n_chains: int) -> list[ChainResult]:
    """Run chains as a fit does."""
    problem = problem_of(model_of(data.kinds), data.rows)
    return [run_chain(problem, settings, 1, chain, lambda n: None) for chain in range(n_chains)]


def run_exact_chains(data: DataSet) -> dict:
    """Chains of the default sampler with exact likelihoods."""
    several = any(kind == "nominal" for kind, _ in data.kinds)
    settings = replace(default_exact(), n_draws=EXACT_DRAWS[several], n_warmup=N_WARMUP)
    runs = run_chains(data, settings, N_CHAINS)
    parts = {
        "coupling": [run.record.coupling for run in runs],
        "bias": [run.record.bias for run in runs],
        "hyper": [run.record.hyper[:, :-1] for run in runs],
    }
    found = {"inclusion": [run.conditional_probability.tolist() for run in runs]}
    for key, draws in parts.items():
        found[key] = [part.mean(axis=0).tolist() for part in draws]
        found[f"{key}_sd"] = np.vstack(draws).std(axis=0).tolist()
    return found


def run_inclusion(settings: Settings, n_draws: int) -> Callable[[DataSet], dict]:
    """Return what runs chains of a sampler and keeps their inclusion probabilities."""

    def run(data: DataSet) -> dict:
        runs = run_chains(data, replace(settings, n_draws=n_draws), APPROXIMATE_CHAINS)
        return {
            "inclusion": [run.conditional_probability.tolist() for run in runs],
            "cpu_seconds": sum(run.cpu_seconds for run in runs),
        }

    return run


def plain_version() -> str:
    """What tells apart results of one plain sampler from those of another: its source."""
    return sha256(Path(plain_levels.__file__).read_bytes()).hexdigest()[:16]


def piece(sampler: str, version: str, data: DataSet, folder: Path, run: Callable) -> dict:
    """One sampler on one data set, unless that is kept."""
    plain = "".join(c if c.isalnum() else "-" for c in f"{sampler} {data.name}")
    return kept(folder / f"{plain}-{version}.json", lambda: run(data))


def mean_and_error(found: dict, key: str = "inclusion") -> tuple[np.ndarray, np.ndarray]:
    """Mean over chains, and its standard error from their variance."""
    values = np.array(found[key])
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def line(name: str, pieces: list[tuple[dict, dict]]) -> tuple:
    """One line of the table: all edges of all fields of a setting."""
    plain = [mean_and_error(reference) for reference, _ in pieces]
    exact = [mean_and_error(found) for _, found in pieces]
    gaps = [found[0] - reference[0] for reference, found in zip(plain, exact, strict=True)]
    shifts = [
        (mean_and_error(found, key)[0] - mean_and_error(reference, key)[0]) / found[f"{key}_sd"]
        for reference, found in pieces
        for key in ("coupling", "bias", "hyper")
    ]
    errors = [rms(np.concatenate([error for _, error in side])) for side in (plain, exact)]
    all_gaps = np.concatenate(gaps)
    return (
        name, len(pieces), f"{errors[0]:.4f}", f"{errors[1]:.4f}", f"{rms(all_gaps):.4f}",
        f"{max(rms(gap) for gap in gaps):.4f}", f"{np.abs(all_gaps).max():.4f}",
        f"{all_gaps.mean():+.4f}", f"{rms(np.concatenate(shifts)):.3f}",
    )  # fmt: skip


def exact_section(n_fields: int, folder: Path) -> str:
    """Exact sampler against plain sampler."""
    head = ("nodes", "fields", "Monte Carlo error: plain", "exact", "rms difference",
            "largest of a field", "of an edge", "mean", "parameters, sd")  # fmt: skip
    lines = []
    for name in SETTINGS:
        pieces = [
            (
                piece("plain", plain_version(), data, folder, run_plain),
                piece("exact", sampler_version(), data, folder, run_exact_chains),
            )
            for data in data_sets(name, n_fields)
        ]
        lines.append(line(name, pieces))
        print(lines[-1], flush=True)
    within = all(
        float(cells[2]) <= MOST_ERROR
        and float(cells[3]) <= MOST_ERROR
        and float(cells[5]) <= MOST_DIFFERENCE
        for cells in lines
    )
    return section(
        "Exact against a plain sampler",
        "`benchmarks/reference/plain_levels.py` is written from the definition of the model and "
        "shares no code with the sampler: sums over all joint states, random walks, births and "
        "deaths of whole groups of parameters by reversible jump, conjugate draws of p0 and "
        f"sigma0. Rows, {', '.join(map(str, N_ROWS))} in turn, come from random fields in which "
        f"half of the edges are present. Both samplers run {N_CHAINS} chains, of "
        f"{PLAIN_SWEEPS:,} sweeps (plain), and of {EXACT_DRAWS[0]:,} draws or, where pairs have "
        f"several parameters, {EXACT_DRAWS[1]:,} (exact, the default sampler). "
        "Their Monte Carlo errors are standard errors from the variance between chains, as root "
        "mean squares over all edges. Differences are of inclusion probabilities, exact less "
        "plain, and contain both errors. The last column is the root mean squared difference of "
        "posterior means of couplings, biases, p0 and sigma0, in posterior standard deviations.",
        table(head, lines),
        f"Differences of at most {MOST_DIFFERENCE:g} rms in every field, and Monte Carlo errors of "
        f"at most {MOST_ERROR:g} in every line: {'yes' if within else 'no'}.",
    )


def approximate_section(n_fields: int, folder: Path) -> str:
    """Particles and the pseudo-likelihood against exact sums."""
    rows, within = [], []
    for name in SETTINGS:
        exact = [
            (data, piece("exact", sampler_version(), data, folder, run_exact_chains))
            for data in data_sets(name, n_fields)
        ]
        rows.append((name, f"{', '.join(map(str, N_ROWS))}", *against_exact(exact, folder, within)))
        print(rows[-1], flush=True)
    for name in LARGE:
        for n_rows in LARGE_ROWS:
            run = run_inclusion(default_exact(), LARGE_DRAWS)
            exact = [
                (data, piece("exact", sampler_version(), data, folder, run))
                for data in large_sets(name, n_rows)
            ]
            rows.append((name, str(n_rows), *against_exact(exact, folder, within)))
            print(rows[-1], flush=True)
    pseudo_mean = np.mean([float(row[5]) for row in rows])
    head = ("nodes", "rows", "fields", "particles", "Monte Carlo", "pseudo, weight 1/2",
            "pseudo, weight 1")  # fmt: skip
    return section(
        "Particles and pseudo-likelihood against exact sums",
        "Root mean squared differences of inclusion probabilities from those of the exact sampler, "
        f"over all edges of all fields. {APPROXIMATE_CHAINS} chains of {APPROXIMATE_DRAWS:,} draws "
        'each with the default settings. "Monte Carlo" is the difference that the errors of '
        "particles and exact sums predict, from the variance between chains.",
        table(head, rows),
        f"Particles: at most {MOST_PARTICLES:g} in every line: "
        f"{'yes' if all(within) else 'no'}. Pseudo-likelihood with weight 1/2: "
        f"{pseudo_mean:.4f} on average (at most {MOST_PSEUDO:g} wanted).",
    )


def against_exact(
    exact: list[tuple[DataSet, dict]], folder: Path, within: list[bool]
) -> tuple[str, ...]:
    """Differences of each sampler from exact sums, over all edges of some data sets."""
    gaps: dict[str, list[np.ndarray]] = {name: [] for name in APPROXIMATE}
    expected = []
    for data, reference in exact:
        mean, error = mean_and_error(reference)
        for name, settings in APPROXIMATE.items():
            run = run_inclusion(settings, APPROXIMATE_DRAWS)
            found = piece(name, sampler_version(), data, folder, run)
            own, own_error = mean_and_error(found)
            gaps[name].append(own - mean)
            if name == "particles":
                expected.append(np.sqrt(error**2 + own_error**2))
    cells = [rms(np.concatenate(gap)) for gap in gaps.values()]
    within.append(cells[0] <= MOST_PARTICLES)
    cells.insert(1, rms(np.concatenate(expected)))
    return (str(len(exact)), *(f"{cell:.4f}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fields", type=int, default=10)
    parser.add_argument("--cache", type=Path, default=Path(".cache/levels"))
    parser.add_argument("--out", type=Path, default=Path("docs/level-accuracy.md"))
    asked = parser.parse_args()
    text = f"""# Accuracy for nodes with levels

Made by `make accuracy` (`benchmarks/level_accuracy.py`).
{setting()}

{exact_section(asked.fields, asked.cache)}
{approximate_section(asked.fields, asked.cache)}"""
    asked.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
