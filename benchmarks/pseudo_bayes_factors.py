"""What the pseudo-likelihood does to Bayes factors: writes docs/pseudo-likelihood.md.

Run by ``make pseudo-evidence``. Tables of ordinal items are fitted with the likelihood and with the
pseudo-likelihood under one prior; each sampler on each table is one piece, kept on disk when it is
done. The real table is in the folder that SLABFIELD_DATA names, and left out without it.
"""

from __future__ import annotations

import argparse
import os
import warnings
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from evidence_comparison import (
    COLUMNS,
    FULL,
    HALF,
    LIKELIHOOD,
    PARTICLES,
    SEEDS,
    Findings,
    Quality,
    Tables,
    summarize,
)
from pseudo_evidence_page import page
from reference import plain_levels
from slabfield import SpikeSlabMRF
from timing import kept, sampler_version

# Numbers of items and of levels of the simulated tables, and of their rows
DESIGNS = ((5, 3), (5, 4), (6, 3), (6, 4))
N_ROWS = (100, 300, 1_000)
FIELDS = 3
# What is fixed: sigma0 and p0, those from which the fields are drawn
PRIOR = {"slab_prior": 1.0, "inclusion_prior": 0.5}
SYMPTOMS = "wenchuan_ptsd_ordinal.csv"


class Sampler(NamedTuple):
    """Parameters of the estimator, and draws of each of the four chains."""

    parameters: dict[str, Any]
    n_draws: int


def pseudo(weight: float, n_draws: int) -> Sampler:
    parameters = {"likelihood": "pseudo", "sampler": {"pseudo_weight": weight}, "n_warmup": 200}
    return Sampler(parameters, n_draws)


def samplers(n_draws: int, n_particle_draws: int) -> dict[str, Sampler]:
    """The likelihood, by exact sums and by particles, and the pseudo-likelihood in two weights."""
    return {
        LIKELIHOOD: Sampler({"likelihood": "exact", "n_warmup": 200}, n_draws),
        PARTICLES: Sampler({"likelihood": "particles", "n_warmup": 150}, n_particle_draws),
        FULL: pseudo(1.0, n_draws),
        HALF: pseudo(0.5, n_draws),
    }


class SimulatedTable(NamedTuple):
    name: str
    rows: np.ndarray
    coupling: np.ndarray


def simulate(n_items: int, n_levels: int, n_rows: int, seed: int) -> SimulatedTable:
    """Rows of a random field, drawn again until every level occurs, and its couplings."""
    nodes, rng = [plain_levels.node("ordinal", n_levels)] * n_items, np.random.default_rng(seed)
    rows = np.zeros((0, n_items), int)
    while not all(np.unique(column).size == n_levels for column in rows.T):
        mu, groups = plain_levels.draw_field(nodes, rng)
        rows = plain_levels.draw_rows(nodes, mu, groups, n_rows, rng)
    pairs = zip(*np.triu_indices(n_items, 1), strict=True)
    coupling = [groups[pair].item() if pair in groups else 0.0 for pair in pairs]
    name = f"{n_items} items of {n_levels} levels, {n_rows} rows, seed {seed}"
    return SimulatedTable(name, rows, np.array(coupling))


def simulated_tables(n_fields: int) -> list[SimulatedTable]:
    designs = [(*design, n_rows) for design in DESIGNS for n_rows in N_ROWS] * n_fields
    return [simulate(*design, seed) for seed, design in enumerate(designs)]


def fit(sampler: Sampler, rows: Any, parameters: dict[str, Any]) -> dict:
    """Four chains of a sampler: what is compared, and how well it is known.

    Chains that have not converged are run again with other seeds; those of the last seed are kept.
    """
    for seed in SEEDS:
        model = SpikeSlabMRF(
            **sampler.parameters, **PRIOR, **parameters, n_draws=sampler.n_draws,
            random_state=seed, n_jobs=1,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the page says how many have not converged
            posterior = model.fit(rows).posterior_
        if posterior.converged:
            break
    return {
        **summarize(posterior), "n_rows": model.n_rows_, "converged": posterior.converged,
        "seed": seed, "visits": int(posterior.draws.visits.min()),
        "cpu": sum(chain["cpu_seconds"] for chain in posterior.info),
    }  # fmt: skip


def pieces(asked: dict[str, Sampler], name: str, rows: Any, folder: Path, **given: Any) -> dict:
    """Every sampler on one table, unless that is kept."""
    found = {}
    for label, sampler in asked.items():
        plain = "".join(c if c.isalnum() else "-" for c in f"{label} {name}")
        settings = sha256(repr((sampler, PRIOR, given)).encode()).hexdigest()[:8]
        file = folder / f"{plain}-{settings}-{sampler_version()}.json"
        found[label] = kept(file, partial(fit, sampler, rows, given))
    return found


def findings(found: list[dict], tables: Tables, n_draws: dict[str, int]) -> Findings:
    """Runs of all samplers over all tables, and how well they went."""
    runs, quality = {}, {}
    for label in found[0]:
        own = [one[label] for one in found]
        frames = [pd.DataFrame({name: one[name] for name in COLUMNS}) for one in own]
        runs[label] = pd.concat(frames, ignore_index=True)
        quality[label] = Quality(
            n_draws[label], sum(not one["converged"] for one in own),
            sum(one["seed"] > SEEDS[0] for one in own), min(one["visits"] for one in own),
            sum(one["cpu"] for one in own),
        )  # fmt: skip
    return Findings(runs, quality, tables)


def simulated(options: argparse.Namespace) -> Findings:
    """Every sampler on every simulated table."""
    data = simulated_tables(options.fields)
    asked = samplers(options.draws, options.particle_draws)
    found = [pieces(asked, one.name, one.rows, options.cache, kinds="ordinal") for one in data]
    sizes = [one.coupling.size for one in data]
    tables = Tables(
        np.repeat(np.arange(len(data)), sizes),
        np.repeat([len(one.rows) for one in data], sizes),
        np.concatenate([one.coupling for one in data]),
    )
    return findings(found, tables, {label: one.n_draws for label, one in asked.items()})


def symptoms(options: argparse.Namespace) -> Findings | None:
    """Every sampler but the exact one on the answers about symptoms, where these are."""
    file = Path(os.environ.get("SLABFIELD_DATA", "no-folder")) / SYMPTOMS
    if not file.is_file():
        return None
    asked = samplers(options.draws, options.particle_draws)
    del asked[LIKELIHOOD]  # 5^17 states
    found = pieces(asked, "symptoms", pd.read_csv(file), options.cache, na="drop")
    first = found[PARTICLES]
    size = len(first["inclusion"])
    tables = Tables(np.zeros(size, int), np.full(size, first["n_rows"]), np.full(size, np.nan))
    return findings([found], tables, {label: one.n_draws for label, one in asked.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fields", type=int, default=FIELDS)
    parser.add_argument("--draws", type=int, default=1_500)
    parser.add_argument("--particle-draws", type=int, default=500)
    parser.add_argument("--cache", type=Path, default=Path(".cache/pseudo-evidence"))
    parser.add_argument("--out", type=Path, default=Path("docs/pseudo-likelihood.md"))
    options = parser.parse_args()
    text = page(simulated(options), symptoms(options), options.out.parent / "images")
    options.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
