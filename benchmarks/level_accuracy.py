"""Accuracy of the samplers for nodes with levels, against a plain sampler.

Writes docs/level-accuracy.md. Each sampler on each data set is one piece, kept on disk when it is
done.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from level_runs import model_of, problem_of, run_exact
from reference import plain_levels
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
N_CHAINS = 8
PLAIN_SWEEPS = 6_000
# Where all pairs have one parameter, and where some have several
EXACT_SWEEPS = (1_200, 4_000)
# Root mean squared difference of inclusion probabilities, and Monte Carlo error of each sampler
MOST_DIFFERENCE = 0.01
MOST_ERROR = 0.003


class DataSet(NamedTuple):
    name: str
    kinds: Kinds
    rows: np.ndarray


def data_sets(name: str, n_fields: int) -> list[DataSet]:
    """Rows of random fields; fields are drawn again until every level occurs in the data."""
    found = []
    nodes = [plain_levels.node(*kind) for kind in SETTINGS[name]]
    for seed in range(n_fields):
        rng, rows, n_rows = np.random.default_rng(seed), np.zeros((0, len(nodes)), int), 0
        while not all(np.unique(x).size == len(n.bias) for x, n in zip(rows.T, nodes, strict=True)):
            n_rows = N_ROWS[seed % len(N_ROWS)]
            field = plain_levels.draw_field(nodes, rng)
            rows = plain_levels.draw_rows(nodes, *field, n_rows, rng)
        found.append(DataSet(f"{name}, {n_rows} rows, seed {seed}", SETTINGS[name], rows))
    return found


def run_plain(data: DataSet) -> dict:
    """Chains of the plain sampler."""
    nodes = [plain_levels.node(*kind) for kind in data.kinds]
    chains = [
        plain_levels.run_chain(nodes, data.rows, PLAIN_SWEEPS, seed) for seed in range(N_CHAINS)
    ]
    return {key: [chain[key].tolist() for chain in chains] for key in chains[0]}


def run_exact_chains(data: DataSet) -> dict:
    """Chains of the sampler with exact likelihoods."""
    problem = problem_of(model_of(data.kinds), data.rows)
    several = any(kind == "nominal" for kind, _ in data.kinds)
    runs = [run_exact(problem, EXACT_SWEEPS[several], 300, seed) for seed in range(N_CHAINS)]
    parts = {
        "coupling": [run.record.coupling for run in runs],
        "bias": [run.record.bias for run in runs],
        "hyper": [run.record.hyper[:, :-1] for run in runs],
    }
    found = {"inclusion": [run.inclusion.tolist() for run in runs]}
    for key, draws in parts.items():
        found[key] = [part.mean(axis=0).tolist() for part in draws]
        found[f"{key}_sd"] = np.vstack(draws).std(axis=0).tolist()
    return found


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
        f"{PLAIN_SWEEPS:,} sweeps (plain), and of {EXACT_SWEEPS[0]:,} or, where pairs have several "
        f"parameters, {EXACT_SWEEPS[1]:,} (exact). Their Monte Carlo errors are standard errors "
        "from the variance between chains, as root mean squares over all edges. Differences are of "
        "inclusion probabilities, exact less plain, and contain both errors. The last column is "
        "the root mean squared difference of posterior means of couplings, biases, p0 and sigma0, "
        "in posterior standard deviations.",
        table(head, lines),
        f"Differences of at most {MOST_DIFFERENCE:g} rms in every field, and Monte Carlo errors of "
        f"at most {MOST_ERROR:g} in every line: {'yes' if within else 'no'}.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fields", type=int, default=10)
    parser.add_argument("--cache", type=Path, default=Path(".cache/levels"))
    parser.add_argument("--out", type=Path, default=Path("docs/level-accuracy.md"))
    asked = parser.parse_args()
    text = f"""# Accuracy for nodes with levels

Made by `make accuracy` (`benchmarks/level_accuracy.py`).
{setting()}

{exact_section(asked.fields, asked.cache)}"""
    asked.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
